"""A series of releases that stand alone, with BANG regions that last: only touched blocks are published differently."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError
from tests.rarely import mostly_slow

SCHEMA = rv.Schema(person="pid", quasi=["x", "town"], sensitive="disease")


def people(size, first=0, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": range(first, first + size),
            "x": rng.integers(0, 500, size),
            "town": rng.choice([f"t{i}" for i in range(9)], size),
            "disease": rng.choice(["flu", "gout", "asthma", "mumps"], size),
        }
    )


def boxes(series, number, release, frame):
    rows = release.table.with_row_index("row").drop("disease")
    return series.placements(number, frame).select("person", "row").join(rows, on="row").drop("row").sort("person")


def churn(series, snapshots):
    """Publish all; return, step by step, the share of persons whose box changed though their data did not."""
    told = [boxes(series, n, series.publish(own), own) for n, own in enumerate(snapshots, start=1)]
    out = []
    for before, after in pairwise(told):
        names = before.columns[1:]
        both = before.join(after, on="person", suffix="_after")
        same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_after")) for name in names)
        out.append(1 - both.select(same.mean()).item())
    return out


@pytest.mark.parametrize(
    "method", mostly_slow([rv.BangA(), rv.BangA(form="nested"), rv.BangA(scales={"x": [100, 200, 300]})])
)
def test_few_newcomers_change_few_boxes(tmp_path, method):
    start = people(1500)
    snapshots = [start, pl.concat([start, people(10, first=5000, seed=1)])]
    fresh = churn(rv.Series.open(tmp_path / "m", SCHEMA, rv.Static(k=10), rv.Mondrian()), snapshots)
    lasting = churn(rv.Series.open(tmp_path / "b", SCHEMA, rv.Static(k=10), method), snapshots)
    assert lasting[0] < 0.2
    assert lasting[0] < fresh[0] / 2


def test_the_same_people_again_change_nothing(tmp_path):
    start = people(400)
    moved = start.with_columns(disease=pl.col("disease").reverse())  # values are not looked at
    assert churn(rv.Series.open(tmp_path / "v", SCHEMA, rv.Static(k=7), rv.BangA()), [start, moved, start]) == [0, 0]


@pytest.mark.parametrize("guarantee", [rv.Static(k=6), rv.Static(k=6, l=3)], ids=["k", "k and l"])
def test_people_come_and_go_and_every_release_is_sound(tmp_path, guarantee):
    series = rv.Series.open(tmp_path / "v", SCHEMA, guarantee, rv.BangA(form="nested"))
    everybody = people(500)
    rng = np.random.default_rng(3)
    for number in range(5):
        frame = everybody.filter(pl.Series(rng.random(500) < (0.2, 0.9, 0.5, 1, 0.3)[number]))
        frame = frame.with_columns(town=pl.when(pl.col("town") == "t1").then(pl.lit(f"new {number}")).otherwise("town"))
        manifest = series.publish(frame).manifest
        assert manifest["achieved"]["k"] >= 6
        assert manifest["rows"] == frame.height


def test_other_columns_start_anew_and_come_back(tmp_path):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.Static(k=5), rv.BangA())
    frame = people(300)
    assert series.publish(frame).manifest["rows"] == 300
    assert series.publish(frame, columns=["x", "disease"]).manifest["rows"] == 300
    assert series.publish(frame, again=True).manifest["rows"] == 300


@pytest.mark.parametrize("guarantee", [rv.Static(k=5), rv.Refinement(k=5), rv.TauSafety(m=2)], ids=lambda g: g.kind)
def test_scales_of_columns_that_are_not_published_do_not_matter(tmp_path, guarantee):
    method = rv.BangA(scales={"x": [100, 200]})
    frame = people(60).with_columns(disease=pl.Series([f"d{i % 12}" for i in range(60)]))
    series = rv.Series.open(tmp_path / "v", SCHEMA, guarantee, method)
    for columns in (["town", "disease"], ["x", "disease"], None):
        assert series.publish(frame, columns=columns).manifest["rows"] >= 60
    with pytest.raises(ConfigError, match="no quasi column"):
        rv.Series.open(tmp_path / "w", SCHEMA, guarantee, rv.BangA(scales={"disease": ["d1"]}))


def test_cut_points_of_categories_are_read_once(tmp_path):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.Static(k=5), rv.BangA(scales={"town": ["b", "c"]}))
    for towns in ({"a": 30, "b": 20, "c": 10}, {"a": 10, "b": 20, "c": 30}, {"a": 30, "b": 30}):
        named = pl.Series("town", [town for town, many in towns.items() for _ in range(many)])
        assert series.publish(people(60).with_columns(named)).manifest["rows"] == 60, "another order, or none left"


@pytest.mark.parametrize("part", [{"where": "x < 40"}, {"columns": ["x", "disease"]}], ids=["records", "columns"])
def test_a_part_of_the_table_leaves_the_regions_of_the_whole(tmp_path, part):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.Static(k=6), rv.BangA())
    series.publish(people(300))
    frame = people(350)  # so that blocks have been split since they were built
    before = boxes(series, 2, series.publish(frame), frame)
    assert series.publish(frame, **part).manifest["rows"] > 0
    assert boxes(series, 4, series.publish(frame, again=True), frame).equals(before)


def test_a_method_with_other_settings_starts_anew(tmp_path):
    frame = people(300)
    rv.Series.open(tmp_path / "v", SCHEMA, rv.Static(k=5), rv.BangA()).publish(frame)
    later = rv.Series.open(tmp_path / "v", SCHEMA, rv.Static(k=5), rv.BangA(block=20)).publish(frame.head(290))
    assert later.manifest["achieved"]["k"] >= 20


def test_refinement_can_be_put_on_top(tmp_path):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.Refinement(k=5), rv.BangA())
    frame = people(300)
    releases = [series.publish(frame.head(250)), series.publish(frame)]
    assert rv.audit(releases, SCHEMA, truth=[frame.head(250), frame]).held


def test_sampling_is_refused_with_the_reason():
    from reveil.series.config import _method

    with pytest.raises(ConfigError) as caught:
        _method({"kind": "bang", "beta": 0.1})
    assert "safe-grid" in caught.value.hint


def test_scales_that_are_worn_out_are_made_anew(tmp_path):
    """Values that move on, as dates do, would all fall into the last cell for good."""
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.Static(k=5), rv.BangA())
    loss = []
    for number in range(3):
        frame = people(400, first=1000 * number).with_columns(x=pl.col("x") + 600 * number)
        loss.append(rv.measure(frame, series.publish(frame), SCHEMA)["gcp"])
    assert max(loss) < 1.5 * loss[0]
