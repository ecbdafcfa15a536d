"""Nested releases: each record in the innermost box that holds it, checked with and without placements."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.tables.snapshot import read_snapshot
from reveil.testing.strategies import tables
from reveil.verification import verify
from tests.grouping.bang.nested import Nest, grid, prepared
from tests.manifests import altered

SCHEMA = rv.Schema(quasi=["x", "y"])
REGIONS = (((0, 0), (7, 7), 0), ((0, 0), (3, 7), 1), ((0, 0), (3, 3), 2))


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(tables(max_rows=20), st.integers(0, 10**6), st.integers(0, 3), st.sampled_from([".csv", ".parquet"]))
def test_what_is_sound_is_accepted(tmp_path_factory, table, seed, out, suffix):
    if table.frame.width < 3:
        suffix = ".parquet"  # in a CSV of one column, empty cells at the end are empty lines at the end
    model = rv.KAnonymity(1)
    method = Nest(seed=seed, out=out)
    release = rv.anonymize(table.frame, table.schema, model, method, suppress=0.99, seed=1)
    written = rv.Release.read(release.write(tmp_path_factory.mktemp("r") / f"r{suffix}"))
    verify(written, read_snapshot(table.frame, table.schema), model)


@pytest.mark.parametrize("placed", [True, False])
def test_a_record_in_a_box_around_its_own_is_found(placed):
    """Row by row every record still lies in its box."""
    frame = pl.DataFrame(grid())
    made = prepared(frame, SCHEMA, Nest(REGIONS))
    release, model = made.release, made.draft.model
    snapshot = read_snapshot(frame, SCHEMA)
    placement = made.placement if placed else None
    verify(release, snapshot, model, placement=placement)
    around, inside = (int((release.levels == level).argmax()) for level in (1, 2))
    classes = release.classes.copy()
    classes[(classes == inside).argmax()] = around
    manifest = altered(release.manifest, achieved={"k": 15})
    changed = replace(release, classes=classes, manifest=manifest)
    with pytest.raises(rv.VerificationError, match="further inside" if placed else "cannot be the records"):
        verify(changed, snapshot, model, placement=placement)


@pytest.mark.parametrize("placed", [True, False])
@pytest.mark.parametrize("levels", [[0, 1, 1], [3, 1, 2], [0, 0, 2]])
def test_levels_that_do_not_grow_inwards_are_found(placed, levels):
    frame = pl.DataFrame(grid())
    made = prepared(frame, SCHEMA, Nest(REGIONS))
    told = made.release.levels.copy()
    for level, other in enumerate(levels):
        told[made.release.levels == level] = other
    with pytest.raises(rv.VerificationError, match="higher level"):
        verify(
            replace(made.release, levels=told),
            read_snapshot(frame, SCHEMA),
            made.draft.model,
            placement=made.placement if placed else None,
        )


def test_a_manifest_without_the_level_does_not_describe_the_table(tmp_path):
    frame = pl.DataFrame(grid())
    release = rv.anonymize(frame, SCHEMA, rv.KAnonymity(16), Nest(REGIONS), seed=1)
    columns = release.manifest.to_json()["columns"]
    release = release.under(altered(release.manifest, columns=columns[:-1]))
    with pytest.raises(rv.FileError, match="cannot be read"):
        release.write(tmp_path / "r.csv")
