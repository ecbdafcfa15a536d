"""Verification finds what is wrong, and shares nothing with the code that grouped."""

import ast
import json
from pathlib import Path

import polars as pl
import pytest

import reveil as rv
from reveil import verification
from reveil.releases.cell_types import dtype_name, dtype_named
from reveil.releases.files import batch_path
from reveil.releases.manifest_files import digest_of, manifest_path
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital
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


@pytest.mark.parametrize(
    "lie", [{"groups": 3}, {"columns": "roles"}, {"columns": "forms"}, {"rows": 299}, {"suppressed": 1}], ids=str
)
def test_lies_of_the_manifest_are_found(published, lie):
    path, snapshot = published
    if "columns" in lie:
        columns = json.loads(manifest_path(path).read_text())["columns"]
        if lie["columns"] == "roles":
            columns[-1]["role"] = "plain"
        else:
            columns[1]["form"] = "label"
        lie = {"columns": columns}
    with pytest.raises(rv.ReveilError):
        verify(tamper(path, lambda t: t, **lie), snapshot, MODEL)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": "x"},
        {"columns": None},
        {"columns": [{"name": "age"}]},
        {"counterfeits": {}},
        {"achieved": None},
        {"format": 99},
        {"columns": [{"name": "age", "role": "quasi", "form": "interval", "type": "read_csv(source='x')"}]},
    ],
    ids=str,
)
def test_damaged_manifests_are_named(published, change):
    path, _ = published
    with pytest.raises(rv.FileError) as caught:
        tamper(path, lambda t: t, **change)
    assert "r." in str(caught.value)


def test_a_type_is_a_name_and_never_a_call(tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for name in (f"read_csv(source='{tmp_path}/secret.csv')", "Nope", "Int64; 1", None, "List(Int64)"):
        with pytest.raises(ValueError, match="unknown type"):
            dtype_named(name)
    for dtype in (pl.Int64(), pl.Datetime("ns", "Europe/Paris"), pl.Decimal(20, 3), pl.String(), pl.Time()):
        assert dtype_named(dtype_name(dtype)) == dtype


def test_a_second_table_that_its_rows_cannot_fill_is_found(tmp_path):
    """Rows 1 and 2 are published; 2 can only be c, and the second table has no c."""
    frame = pl.DataFrame({"age": [1, 1, 2, 2], "s": ["a", "b", "c", "a"]})
    schema = rv.Schema(quasi="age", sensitive="s")
    path = rv.anonymize(frame, schema, rv.DistinctDiversity(2), rv.Anatomy(), seed=1).write(tmp_path / "r.csv")
    path.write_text("age,group\n1,1\n2,1\n")
    batch_path(path).write_text("group,s,count\n1,a,1\n1,b,1\n")
    described = json.loads(manifest_path(path).read_text())
    described.update(digest=digest_of(path, batch_path(path)), rows=2, groups=1, suppressed=1)
    manifest_path(path).write_text(json.dumps(described))
    with pytest.raises(rv.VerificationError, match="cannot be the records"):
        verify(rv.Release.read(path), read_snapshot(frame.head(3), schema), rv.DistinctDiversity(2))


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
        return tamper(path, lambda _: pl.DataFrame({"age": texts, "s": ["a"] * 4}), achieved={"k": 2}, groups=2)

    snapshot = read_snapshot(frame, schema)
    verify(cells("[1, 2]", "[1, 2]", "[2, 3]", "[2, 3]"), snapshot, rv.KAnonymity(2))
    with pytest.raises(rv.VerificationError, match="cannot be the records"):
        verify(cells("[1, 1]", "[1, 1]", "[2, 3]", "[2, 3]"), snapshot, rv.KAnonymity(2))


def test_verification_imports_nothing_of_the_publishing_side():
    files = Path(verification.__file__).parent.rglob("*.py")
    trees = [ast.parse(file.read_text()) for file in files]
    imported = {node.module for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert len(trees) > 1
    for room in ("adversary", "analysis", "core.kernels", "grouping", "guarantees", "models", "series", "vault"):
        assert not any((name or "").startswith(f"reveil.{room}") for name in imported), room
