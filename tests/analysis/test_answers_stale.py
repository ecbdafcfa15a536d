"""Answers of releases with dirty and stale rows: rows that nobody asked for, and rows that show a value of earlier."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.testing import hospital
from reveil.testing.strategies import tables
from tests.analysis.test_queries import expressions, has_star, holds, meanings, spelt
from tests.manifests import altered

quick = settings(deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))


@quick
@given(st.data(), tables(max_rows=16, max_quasi=3))
def test_bounds_hold_whichever_rows_are_dirty(data, table):
    """Publish a table, and take some of its records for dirty: nobody had asked for them."""
    assume(not has_star(table))
    frame, schema = table.frame, table.schema
    dirty = data.draw(st.sets(st.integers(0, frame.height - 1), max_size=frame.height - 1))
    release = rv.anonymize(frame, schema, rv.KAnonymity(min(3, frame.height)), seed=0)
    release = release.under(altered(release.manifest, dirty=len(dirty)))
    tree = data.draw(expressions(table))
    asked_for = [row for number, row in enumerate(_rows(table)) if number not in dirty]
    truth = sum(holds(tree, row, meanings(schema)) for row in asked_for)
    found = release.count(spelt(tree), schema)
    assert found.lower <= truth <= found.upper
    assert found.lower <= found.low <= found.estimate <= found.high <= found.upper
    assert release.count().estimate == pytest.approx(len(asked_for))
    assert release.sample(schema=schema).height == len(asked_for)


def _rows(table):
    from reveil.tables.snapshot import read_snapshot

    return read_snapshot(table.frame, table.schema).frame.to_dicts()


FRAME = pl.DataFrame({"age": [20, 20, 30, 30, 40, 40, 50, 50], "cost": [1, 2, 3, 4, 5, 6, 7, 8], "ill": ["a", "b"] * 4})
SCHEMA = rv.Schema(quasi="age", sensitive=("ill", "cost"))


def test_each_row_counts_for_the_share_that_was_asked_for():
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), seed=1)
    release = release.under(altered(release.manifest, dirty=2))
    found = release.count("age < 40")
    assert (found.estimate, found.lower, found.upper) == (3.0, 2, 4)  # three in four of four rows
    assert release.count("ill = a").estimate == 3.0
    assert release.mean("age").estimate == pytest.approx(35.0)  # whoever is dirty is as likely young as old
    assert (release.mean("age").lower, release.mean("age").upper) == (20, 50)
    assert release.crosstab("ill", "age").cells[0].count.estimate == pytest.approx(0.75)


def test_a_stale_row_may_have_any_sensitive_value_and_no_other_place():
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), seed=1)
    release = release.under(replace(release.manifest, stale=3))
    assert (release.count("age < 40").lower, release.count("age < 40").upper) == (4, 4)
    found = release.count("ill = a")
    assert (found.estimate, found.lower, found.upper) == (4.0, 1, 7)
    assert (release.mean("age").lower, release.mean("age").upper) == (35, 35)
    assert release.mean("cost").lower is None
    assert release.mean("age", "ill = a").upper is None
    assert release.quantile("cost", 0.5).lower is None


def test_a_series_with_dirty_and_stale_rows_answers(tmp_path):
    schema = hospital.schema()
    series = rv.Series.open(tmp_path / "vault", schema, rv.Refinement(k=4, l=2), seed=0)
    for frame in hospital.year(300, months=4, seed=3):
        release = series.publish(frame)
    manifest = release.manifest
    assert manifest.dirty
    assert manifest.stale
    assert release.count().estimate == manifest.rows - manifest.dirty == frame.height - manifest.withheld
    for text, truth in (
        ("age >= 50", frame.filter(pl.col("age") >= 50)),
        ("sex = f and age < 70", frame.filter((pl.col("sex") == "f") & (pl.col("age") < 70))),
        ("diagnosis = hypertension", frame.filter(diagnosis="hypertension")),
        (
            "not (diagnosis = hypertension) and age < 60",
            frame.filter(pl.col("age") < 60, pl.col("diagnosis") != "hypertension"),
        ),
    ):
        found = release.count(text)
        assert found.lower <= truth.height <= found.upper
        assert abs(found.estimate - truth.height) < 0.3 * truth.height  # with dirty rows counted it is a sixth more
    found = rv.measure(frame, release, schema, queries=100)  # which asks as a reader does
    assert found["query_error"]["mean"] < 0.3
    assert release.sample(seed=1).height == frame.height - manifest.withheld
