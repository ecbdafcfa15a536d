"""Verification finds what is wrong, and shares nothing with the code that grouped."""

import ast
import json
from pathlib import Path

import polars as pl
import pytest

import reveil as rv
from reveil import hospital, verification
from reveil.manifest import digest_of, manifest_path
from reveil.snapshot import read_snapshot
from reveil.verification import verify

MODEL = rv.KAnonymity(5) & rv.DistinctDiversity(2)


@pytest.fixture
def published(tmp_path):
    frame, schema = hospital.month(300, seed=5), hospital.schema()
    path = rv.anonymize(frame, schema, MODEL, seed=1).write(tmp_path / "r.csv")
    return path, read_snapshot(frame, schema)


def tamper(path, change, **manifest):
    """Change the table, and the manifest so that it matches the bytes."""
    table = pl.read_csv(path, infer_schema=False)
    change(table).write_csv(path)
    described = json.loads(manifest_path(path).read_text())
    described.update(digest=digest_of(path), **manifest)
    manifest_path(path).write_text(json.dumps(described))
    return rv.Release.read(path)


def test_an_honest_release_holds(published):
    path, snapshot = published
    verify(rv.Release.read(path), snapshot, MODEL)


def test_other_bytes_are_refused(published):
    path, _ = published
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(rv.VerificationError, match="not the one its manifest describes"):
        rv.Release.read(path)


def test_a_swapped_value_is_found(published):
    path, snapshot = published
    seventh = pl.int_range(pl.len()) == 7
    for value in ("gout", "asthma"):  # one that the snapshot does not have, one that it has
        changed = pl.when(seventh).then(pl.lit(value)).otherwise("diagnosis").alias("diagnosis")
        release = tamper(path, lambda t, changed=changed: t.with_columns(changed))
        with pytest.raises(rv.VerificationError, match=r"cannot be the records|does not have"):
            verify(release, snapshot, MODEL)


def test_swapped_values_of_two_groups_are_found(published):
    path, snapshot = published
    release = tamper(path, lambda t: t.with_columns(pl.col("diagnosis").reverse()))
    with pytest.raises(rv.VerificationError):
        verify(release, snapshot, MODEL)


def test_a_lost_row_is_found(published):
    path, snapshot = published
    release = tamper(path, lambda t: t.head(299))
    with pytest.raises(rv.VerificationError, match="299 rows"):
        verify(release, snapshot, MODEL)
    smallest = release.text.group_by(*snapshot.schema.quasi).len()["len"].min()
    # A manifest that counts it as suppressed makes up for that.
    verify(tamper(path, lambda t: t, rows=299, suppressed=1, achieved={"k": smallest}), snapshot, rv.KAnonymity(1))


def test_a_doubled_row_is_found(published):
    path, snapshot = published
    release = tamper(path, lambda t: pl.concat([t.head(299), t.head(1)]))
    with pytest.raises(rv.VerificationError):
        verify(release, snapshot, MODEL)


def test_a_box_that_moved_is_found(published):
    path, snapshot = published
    release = tamper(path, lambda t: t.with_columns(age=pl.lit("[0, 1]")))
    with pytest.raises(rv.VerificationError):
        verify(release, snapshot, rv.KAnonymity(1))


def test_a_group_that_is_too_small_is_named(published):
    path, snapshot = published
    with pytest.raises(rv.VerificationError, match=r"the group age=.*does not satisfy KAnonymity\(k=60") as caught:
        verify(rv.Release.read(path), snapshot, rv.KAnonymity(60))
    assert caught.value.exit_code == 1


def test_an_inflated_claim_is_found(published):
    path, snapshot = published
    release = tamper(path, lambda t: t, achieved={"k": 50, "l": 2})
    with pytest.raises(rv.VerificationError, match="claims another level"):
        verify(release, snapshot, MODEL)


def test_another_snapshot_is_noticed(published):
    path, _ = published
    other = read_snapshot(hospital.month(300, seed=6), hospital.schema())
    with pytest.raises(rv.VerificationError):
        verify(rv.Release.read(path), other, MODEL)


def test_a_smuggled_column_is_found(published):
    path, snapshot = published
    with pytest.raises(rv.ReveilError):
        verify(tamper(path, lambda t: t.with_columns(name=pl.lit("x"))), snapshot, MODEL)


def test_a_wrong_placement_is_found():
    frame = pl.DataFrame({"age": [1, 2, 50, 51], "s": ["a", "b", "a", "b"]})
    schema = rv.Schema(quasi="age", sensitive="s")
    snapshot = read_snapshot(frame, schema)
    release = rv.anonymize(frame, schema, rv.KAnonymity(2), seed=1)
    with pytest.raises(rv.VerificationError, match=r"outside its box|altered"):
        verify(release, snapshot, rv.KAnonymity(2), placement=pl.Series([3, 2, 1, 0]).to_numpy())
    with pytest.raises(rv.VerificationError, match="twice"):
        verify(release, snapshot, rv.KAnonymity(2), placement=pl.Series([0, 0, 1, 1]).to_numpy())


def test_overlapping_boxes_need_a_real_matching(tmp_path):
    """Greedy assignment fails here: the record in both boxes must leave the narrow one to the other."""
    frame = pl.DataFrame({"age": [1, 2, 2, 3], "s": ["a"] * 4})
    schema = rv.Schema(quasi="age", sensitive="s")
    path = rv.anonymize(frame, schema, rv.KAnonymity(4), seed=1).write(tmp_path / "r.csv")

    def cells(*texts):
        return tamper(path, lambda _: pl.DataFrame({"age": texts, "s": ["a"] * 4}), achieved={"k": 2})

    snapshot = read_snapshot(frame, schema)
    verify(cells("[1, 2]", "[1, 2]", "[2, 3]", "[2, 3]"), snapshot, rv.KAnonymity(2))
    with pytest.raises(rv.VerificationError, match="cannot be the records"):
        verify(cells("[1, 1]", "[1, 1]", "[2, 3]", "[2, 3]"), snapshot, rv.KAnonymity(2))


def test_verification_imports_nothing_of_the_publishing_side():
    tree = ast.parse(Path(verification.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    for forbidden in ("groupers", "recoders", "guarantees", "events", "vault", "publishing"):
        assert not any(f"reveil.{forbidden}" in (name or "") for name in imported)
