"""Types: inferred, declared, and written as canonical text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveil.tables.schema import Type
from reveil.tables.snapshot import canonical_text, infer_type, type_of
from reveil.tables.snapshot.types import infer_person, read_as

BIG = 2**63
HUGE = 2**127
UTC = dt.UTC


def text(*cells):
    return pl.Series("c", cells, dtype=pl.String)


@pytest.mark.parametrize(
    ("cells", "dtype", "values"),
    [
        (["1", "-2", None], pl.Int64, [1, -2, None]),
        ([" 1", "2 "], pl.Int64, [1, 2]),
        ([str(BIG), "1"], pl.Int128, [BIG, 1]),
        (["1.5", "2", "1e-3", ".5", "-0.25"], pl.Float64, [1.5, 2.0, 0.001, 0.5, -0.25]),
        (["0", "0.5"], pl.Float64, [0.0, 0.5]),
        (["1.5", "NaN", None], pl.Float64, [1.5, None, None]),
        (["1", "nan"], pl.Int64, [1, None]),
        (["true", "FALSE", None], pl.Boolean, [True, False, None]),
        (["2024-02-29", "0999-01-01"], pl.Date, [dt.date(2024, 2, 29), dt.date(999, 1, 1)]),
        (
            ["2024-01-01T10:00", "2024-01-01 10:00:05.25"],
            pl.Datetime("us"),
            [dt.datetime(2024, 1, 1, 10), dt.datetime(2024, 1, 1, 10, 0, 5, 250000)],
        ),
        (
            ["2024-01-01T10:00Z", "2024-01-01 10:00:00+02:00"],
            pl.Datetime("us", "UTC"),
            [dt.datetime(2024, 1, 1, 10, tzinfo=UTC), dt.datetime(2024, 1, 1, 8, tzinfo=UTC)],
        ),
        (["09:05", "23:59:59.5"], pl.Time, [dt.time(9, 5), dt.time(23, 59, 59, 500000)]),
    ],
)
def test_inferred(cells, dtype, values):
    found = infer_type(text(*cells))
    assert found.dtype == dtype
    assert found.to_list() == values
    assert found.name == "c"


@pytest.mark.parametrize(
    "cells",
    [
        ["007", "12"],
        ["-01", "1"],
        ["00", "0"],
        ["01", "1.5"],
        ["+5", "1"],
        ["1", "x"],
        ["inf", "1"],
        ["1e400", "1"],
        [str(HUGE), "1"],
        ["1,5", "2"],
        ["1_000"],
        ["2023-02-30", "2024-01-01"],
        ["2024-1-1"],
        ["2024-01-01", "2024-01-01T10:00"],
        ["2024-01-01T10:00Z", "2024-01-01T10:00"],
        ["24:00"],
        ["10:00:60"],
        ["yes", "no"],
        ["true", "1"],
        [None, None],
        [],
        ["", "1"],
    ],
)
def test_stays_text(cells):
    found = infer_type(text(*cells))
    assert found.dtype == pl.String
    assert found.to_list() == cells


def test_one_late_cell_decides():
    cells = ["1"] * 5000
    assert infer_type(text(*cells)).dtype == pl.Int64
    assert infer_type(text(*cells, "01")).dtype == pl.String
    assert infer_type(text(*cells, "1.5")).dtype == pl.Float64


def test_only_nan_is_an_empty_column():
    assert infer_type(text("NaN", None)).to_list() == [None, None]
    assert infer_type(text("NaN", None)).dtype == pl.String


def test_persons_are_integers_or_as_written():
    assert infer_person(text("1", "2")).dtype == pl.Int64
    for cells in (["1.10", "1.1"], ["1e2", "100"], ["true", "TRUE"], ["01", "1"]):
        assert infer_person(text(*cells)).to_list() == cells


@given(st.lists(st.integers(-(2**127), 2**127 - 1), min_size=1, max_size=5))
def test_integers_are_exact(numbers):
    assert infer_type(text(*map(str, numbers))).to_list() == numbers


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_floats_are_exact_and_survive_canonical_text(numbers):
    found = infer_type(text(*map(repr, numbers)))
    assert found.cast(pl.Float64).to_list() == numbers
    assert [float(x) for x in canonical_text(pl.Series(numbers, dtype=pl.Float64))] == numbers


@pytest.mark.parametrize(
    ("wanted", "cells", "values"),
    [
        ("number", ["007", "+5", None], [7, 5, None]),
        ("number", ["x", "1.5", "1,5"], [None, 1.5, None]),
        ("number", [str(HUGE), "1"], [None, 1]),
        ("date", ["2024-01-02", "2024-01-01T00:30+02:00", "x"], [dt.date(2024, 1, 2), dt.date(2024, 1, 1), None]),
        ("datetime", ["2024-01-01", "2024-01-01 10:00"], [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 10)]),
        ("time", ["10:00", "24:00"], [dt.time(10), None]),
        ("boolean", ["TRUE", "0", "yes"], [True, False, None]),
        ("text", ["007", "1"], ["007", "1"]),
    ],
)
def test_declared_for_text(wanted, cells, values):
    found = read_as(text(*cells), Type(wanted))
    assert found.to_list() == values
    assert type_of(found.dtype) is Type(wanted)


@pytest.mark.parametrize(
    ("wanted", "series", "values"),
    [
        ("text", pl.Series([1, None]), ["1", None]),
        ("text", pl.Series([1.0, 2.5]), ["1", "2.5"]),
        ("date", pl.Series([dt.datetime(2024, 1, 1, 10)]), [dt.date(2024, 1, 1)]),
        ("datetime", pl.Series([dt.date(2024, 1, 1)]), [dt.datetime(2024, 1, 1)]),
        ("boolean", pl.Series([1, 0, 2]), [True, False, None]),
        ("number", pl.Series([Decimal("1.5")]), [Decimal("1.5")]),
        ("number", pl.Series([dt.date(2024, 1, 1)]), [None]),
        ("date", pl.Series([20240101]), [None]),
    ],
)
def test_declared_for_other_storage(wanted, series, values):
    found = read_as(series, Type(wanted))
    assert found.to_list() == values
    assert type_of(found.dtype) is Type(wanted)


@pytest.mark.parametrize(
    ("series", "texts"),
    [
        (pl.Series([1, -2, None], dtype=pl.Int8), ["1", "-2", None]),
        (pl.Series([2**100], dtype=pl.Int128), [str(2**100)]),
        (pl.Series([3.0, -0.0, 0.1, 1e15, float("nan")]), ["3", "0", "0.1", "1" + "0" * 15, None]),
        (pl.Series([0.1, 3.0], dtype=pl.Float32), ["0.1", "3"]),
        (pl.Series([Decimal("1.50"), Decimal("100.00")]), ["1.5", "100"]),
        (pl.Series([Decimal("100")]), ["100"]),
        (pl.Series([True, False]), ["true", "false"]),
        (pl.Series(["e\u0301", "a"]), ["\u00e9", "a"]),
        (pl.Series(["a", None], dtype=pl.Categorical), ["a", None]),
        (pl.Series([dt.date(2024, 1, 2)]), ["2024-01-02"]),
        (pl.Series([dt.datetime(2024, 1, 2, 3, 4, 5)]), ["2024-01-02T03:04:05"]),
        (pl.Series([dt.datetime(2024, 1, 2)]).dt.replace_time_zone("UTC"), ["2024-01-02T00:00:00+00:00"]),
        (pl.Series([dt.time(3, 4)]), ["03:04:00"]),
        (pl.Series([None, None]), [None, None]),
    ],
)
def test_canonical_text(series, texts):
    found = canonical_text(series)
    assert found.dtype == pl.String
    assert found.to_list() == texts
