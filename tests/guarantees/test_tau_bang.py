"""tau-safety on the regions of a BANG file: where nothing happens, groups stay as they are."""

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError

SCHEMA = rv.Schema(person="pid", quasi=["x", "y"], sensitive="disease")
DISEASES = [f"d{i}" for i in range(8)]


def people(size, first=0, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": range(first, first + size),
            "x": rng.integers(0, 64, size),
            "y": rng.integers(0, 64, size),
            "disease": rng.choice(DISEASES, size),
        }
    )


def boxes(series, number, release, frame):
    rows = release.table.with_row_index("row")
    return series.placements(number, frame).join(rows, on="row").select("person", "x", "y")


def kept(series, frame, then):
    """Publish both; return who of those in both kept their box, and where they live."""
    first, second = series.publish(frame), series.publish(then)
    both = boxes(series, 1, first, frame).join(boxes(series, 2, second, then), on="person", suffix="_then")
    same = both.with_columns(same=(pl.col("x") == pl.col("x_then")) & (pl.col("y") == pl.col("y_then")))
    lives = frame.select(person=pl.col("pid"), lives="x")
    return same.select("person", "same").join(lives, on="person")


def test_where_nobody_comes_or_goes_boxes_stay(tmp_path):
    frame = people(600)
    # Everything happens in the eastern half; whoever comes has one of the values that are there already.
    gone = (pl.col("x") < 32) | (pl.col("pid") % 5 != 0)
    more = people(60, first=1000, seed=1).with_columns(x=pl.col("x") // 2 + 32)
    then = pl.concat([frame.filter(gone), more])
    with_regions = kept(rv.Series.open(tmp_path / "a", SCHEMA, rv.TauSafety(m=2), rv.BangA()), frame, then)
    west = with_regions.filter(pl.col("lives") < 32)["same"].mean()
    assert west > 0.85
    for effort, more in (("quick", 0.25), ("normal", 0.1)):
        without = kept(rv.Series.open(tmp_path / effort, SCHEMA, rv.TauSafety(m=2, effort=effort)), frame, then)
        assert west > more + without.filter(pl.col("lives") < 32)["same"].mean()


def test_the_bound_holds_and_the_manifest_names_the_method(tmp_path):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.TauSafety(m=2), rv.BangA(scales={"x": [16, 32, 48]}))
    frame = people(60)
    changed = frame.with_columns(disease=pl.when(pl.col("pid") % 7 == 0).then(pl.lit("d0")).otherwise("disease"))
    snapshots = [frame, changed.filter(pl.col("pid") % 4 != 0), changed]
    releases = [series.publish(snapshot) for snapshot in snapshots]
    assert releases[2].manifest["guarantee"]["method"]["scales"] == {"x": [16, 32, 48]}
    audit = rv.audit(releases, SCHEMA, truth=snapshots, known="events")
    assert audit.held
    assert audit.summary["bound"] == 0.5


def test_another_order_of_columns_and_new_values_change_nothing_that_was_laid_out(tmp_path):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.TauSafety(m=2, fixed=True), rv.BangA())
    frame = people(100)
    series.publish(frame)
    later = series.publish(pl.concat([frame, people(4, first=500).with_columns(x=pl.lit(999, pl.Int64))]))
    assert later.manifest["rows"] >= 104


@pytest.mark.parametrize(
    ("guarantee", "method", "word"),
    [
        (rv.TauSafety(m=2), rv.Mondrian(), "bang"),
        (rv.TauSafety(m=2, angelize=True), rv.BangA(), "angelize"),
        (rv.TauSafety(m=2, blind=True, domain=DISEASES), rv.BangA(), "blind"),
        (rv.TauSafety(m=2), rv.BangA(form="nested"), "form"),
        (rv.MInvariance(m=2), rv.BangA(), "method"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, guarantee, method, word):
    with pytest.raises(ConfigError, match=word):
        rv.Series.open(tmp_path / "v", SCHEMA, guarantee, method).publish(people(40))
