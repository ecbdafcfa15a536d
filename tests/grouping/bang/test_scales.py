"""Scales: values into cells, over releases."""

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.grouping.bang.scales import Scales
from reveil.models.encoding import encode
from reveil.tables.snapshot import read_snapshot


def codes_of(frame, **more):
    return encode(read_snapshot(frame, rv.Schema(quasi=frame.columns, **more)))


def cells_of(values, given=None, **more):
    codes = codes_of(pl.DataFrame({"x": values}))
    scales = Scales.of(codes, None if given is None else {"x": given}, **more)
    return scales.bits[0], scales.cells(codes)[:, 0].tolist()


def test_a_small_domain_has_a_cell_for_each_value_and_null_is_the_last():
    assert cells_of([30, 10, 20, 10]) == (2, [2, 0, 1, 0])
    assert cells_of([30, 10, None, 20, 10]) == (2, [2, 0, 3, 1, 0])
    assert cells_of([1, 2, 3, 4, None]) == (3, [0, 1, 2, 3, 7])
    assert cells_of(["b", "a", "b", None]) == (2, [0, 1, 0, 3])
    assert cells_of([1.5, float("nan"), -2.0]) == (2, [1, 3, 0])


def test_a_column_of_one_value_or_of_none():
    assert cells_of([7, 7, 7]) == (1, [0, 0, 0])
    assert cells_of([7, None]) == (1, [0, 1])
    assert cells_of(pl.Series([None, None], dtype=pl.Int64)) == (0, [0, 0])


def test_given_cut_points_start_cells():
    assert cells_of([17, 18, 29, 30, 64, 65, None], [18, 30, 65]) == (3, [0, 1, 1, 2, 2, 3, 7])
    assert cells_of([17, 18], [17.5]) == (2, [0, 1])
    assert cells_of([1.0, 1.5, 2.0], [1.5]) == (2, [0, 1, 1])
    days = [dt.date(1999, 12, 31), dt.date(2000, 1, 1)]
    assert cells_of(days, ["2000-01-01"]) == cells_of(days, [dt.date(2000, 1, 1)]) == (2, [0, 1])
    noon = [dt.datetime(2000, 1, 1, 12), dt.datetime(2000, 1, 2, 12)]
    assert cells_of(noon, ["2000-01-02"]) == cells_of(noon, [dt.date(2000, 1, 2)]) == (2, [0, 1]), "from midnight on"
    assert cells_of([False, False, True], [True]) == (2, [0, 0, 1])
    assert cells_of(pl.Series([5, 100], dtype=pl.Int8), [10, 300]) == (2, [0, 1]), "beyond what the column can hold"
    codes = codes_of(pl.DataFrame({"x": ["high", "low", "mid"]}), orders={"x": ["low", "mid", "high"]})
    assert Scales.of(codes, {"x": ["mid"]}).cells(codes)[:, 0].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": []}, "no cut points(.|\n)*list"),
        ({"x": "18"}, "no cut points"),
        ({"x": [30, 18]}, "does not ascend(.|\n)*ascending"),
        ({"x": [18, 18]}, "does not ascend"),
        ({"x": ["a"]}, "must be numbers"),
        ({"x": [True]}, "must be numbers"),
        ({"x": [float("nan")]}, "must be numbers"),
        ({"d": [5]}, "column's type"),
        ({"d": ["yesterday"]}, "column's type"),
        ({"c": ["zzz"]}, "'zzz', which do not occur"),
        ({"x": list(range(2**16))}, "65,536 cut points"),
    ],
)
def test_cut_points_that_cannot_be_are_refused(given, message):
    codes = codes_of(pl.DataFrame({"x": [1], "d": [dt.date(2000, 1, 1)], "c": ["a"]}))
    with pytest.raises(rv.ConfigError, match=message):
        Scales.of(codes, given)


def large(n=3000):
    rng = np.random.default_rng(5)
    steps = rng.permutation(n)
    return pl.DataFrame(
        {
            "number": np.where(steps == 0, 0, steps**2),
            "float": rng.normal(size=n),
            "day": [dt.date(1950, 1, 1) + dt.timedelta(days=int(s)) for s in steps],
            "moment": [dt.datetime(1950, 1, 1) + dt.timedelta(hours=int(s)) for s in steps],
            "huge": [2**80 + int(s) for s in steps],
            "money": pl.Series([Decimal(int(s)) / 100 for s in steps], dtype=pl.Decimal(10, 2)),
            "text": [f"v{s:04}" for s in steps],
        }
    )


@pytest.mark.parametrize("quantile", [False, True])
def test_large_domains_have_a_thousand_cells_in_the_order_of_the_values(quantile):
    frame = large()
    codes = codes_of(frame)
    scales = Scales.of(codes, quantile=quantile)
    assert scales.bits == (10,) * 7
    cells = scales.cells(codes)
    for a, attribute in enumerate(codes.quasi):
        by_value = cells[np.argsort(attribute.codes, kind="stable"), a]
        assert (np.diff(by_value) >= 0).all()
        assert by_value[0] == 0
        assert by_value[-1] == 1022
    per_cell = np.bincount(cells[:, 0], minlength=1023)
    assert per_cell.max() <= 3 if quantile else per_cell.max() > 50, "squares crowd the lower cells of equal width"


def test_scales_last_over_releases():
    frame = large(1500)
    scales = Scales.of(codes_of(frame))
    stored = json.loads(json.dumps(scales.state()))
    again = Scales.from_state(stored)
    assert again == scales
    codes = codes_of(frame)
    part = codes_of(frame[200:300])
    assert (again.cells(part) == scales.cells(codes)[200:300]).all(), "ranks change, cells do not"
    with pytest.raises(ValueError, match="same attributes"):
        scales.cells(codes_of(frame.select("day")))


def test_new_values_fall_into_decided_cells():
    old = codes_of(pl.DataFrame({"x": [10, 20, 30], "c": ["a", "a", "b"], "d": ["p", "q", "r"]}))
    scales = Scales.of(old)
    new = codes_of(pl.DataFrame({"x": [5, 15, 99, None], "c": ["b", "z", None, "a"], "d": ["new", "p", None, "r"]}))
    cells = scales.cells(new)
    assert cells[:, 0].tolist() == [0, 0, 2, 3], "the next lower value; outside, the end cells"
    assert cells[:, 1].tolist() == [1, 2, 3, 0], "a free cell behind the known ones"
    assert cells[:, 2].tolist() == [3, 0, 3, 2], "without a free cell, the last one"


def test_codes_of_cells():
    codes = codes_of(pl.DataFrame({"x": [10, 20, 30, 40, None]}))
    (first, last), *_ = Scales.of(codes, {"x": [15, 18, 35]}).codes_of_cells(codes)
    # Below 15, 15 to 17 (nothing), 18 to 34, from 35 on; three free cells; null.
    assert first.tolist() == [0, 5, 1, 3, 5, 5, 5, 4]
    assert last.tolist() == [0, -1, 2, 3, -1, -1, -1, 4]
