"""Anatomy: dealing, nearness, two tables."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.kernels import deal, hilbert
from reveil.grouping.hilbert import along_curve
from reveil.models.encoding import encode
from reveil.releases.files import batch_path
from reveil.releases.manifest_files import digest_of, manifest_path, read_manifest
from reveil.releases.manifest_files import manifest_bytes as as_bytes
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital, tables
from reveil.verification import verify
from tests.core.kernels.plain import deal as plain_deal
from tests.core.kernels.plain import hilbert as plain_hilbert
from tests.manifests import altered

quick = settings(deadline=None)


@quick
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=12), min_size=1, max_size=3), st.integers(1, 4))
def test_dealing_is_that_of_the_plain_twin(segments, least):
    values = np.concatenate([np.array(segment) for segment in segments]).astype(np.int32)
    ends = np.cumsum([len(segment) for segment in segments])
    labels, groups = deal.deal(values, ends - [len(segment) for segment in segments], ends, least, 5)
    expected, before = [], 0
    for segment in segments:
        own = plain_deal.deal(segment, least)
        expected += [label + before if label >= 0 else -1 for label in own]
        before += max(own) + 1
    assert labels.tolist() == expected
    assert groups == before


@pytest.mark.parametrize(("dimensions", "bits"), [(1, 4), (2, 3), (3, 2), (4, 2), (5, 1)])
def test_the_curve_visits_every_point_and_takes_single_steps(dimensions, bits):
    axes = np.meshgrid(*[np.arange(2**bits)] * dimensions, indexing="ij")
    points = np.stack([axis.ravel() for axis in axes], axis=1).astype(np.uint64)
    keys = np.empty(len(points), np.uint64)
    hilbert.places(points, bits, keys)
    assert sorted(keys.tolist()) == list(range(len(points)))
    assert plain_hilbert.adjacent(points[np.argsort(keys)].astype(int).tolist())
    assert not plain_hilbert.adjacent([[0, 0], [1, 1]])


def test_neighbours_on_the_curve_are_near():
    codes = encode(
        read_snapshot(hospital.coded(5000, columns=3), rv.Schema(quasi=["q1", "q2", "q3"], sensitive="disease"))
    )
    order = along_curve(codes)
    assert sorted(order.tolist()) == list(range(5000))
    at = np.stack([a.positions[a.codes] for a in codes.quasi], axis=1)

    def steps(way):
        return np.abs(np.diff(at[way], axis=0)).sum(axis=1).mean()

    assert steps(order) < steps(np.arange(5000)) / 4


@quick
@given(tables(max_sensitive=1), st.integers(2, 3), st.integers(0, 3))
def test_every_group_has_different_values_and_both_tables_agree(table, l, seed):
    if not table.schema.sensitive:
        return
    model = rv.FrequencyDiversity(l)
    try:
        release = rv.anonymize(table.frame, table.schema, model, rv.Anatomy(), seed=seed)
    except rv.InfeasibleError:
        return
    assert release.columns == table.schema.quasi
    assert release.manifest["suppressed"] == 0, "a table that is l-eligible loses nobody"
    assert (release.batch["count"] == 1).all()
    sizes = release.text.group_by("group").len()
    assert sizes["len"].min() >= l
    told = release.batch.group_by("group").agg(pl.col("count").sum())
    assert sizes.sort("group")["len"].to_list() == told.sort("group")["count"].to_list()
    verify(release, read_snapshot(table.frame, table.schema), model)


def test_both_tables_are_asked_together():
    month = hospital.month(200)
    release = rv.anonymize(month, hospital.schema(), rv.DistinctDiversity(2), rv.Anatomy(), seed=1)
    assert release.count("age >= 0").estimate == 200
    ill = month.filter(pl.col("diagnosis") == "asthma")
    assert release.count("diagnosis = asthma").lower == release.count("diagnosis = asthma").upper == ill.height
    found = release.count("age > 30 and diagnosis = asthma")
    assert found.lower <= ill.filter(pl.col("age") > 30).height <= found.upper <= ill.height


def test_without_room_for_a_value_it_refuses_and_says_what_would_do():
    frame = pl.DataFrame({"age": range(10), "s": ["a"] * 7 + ["b", "c", "d"]})
    schema = rv.Schema(quasi="age", sensitive="s")
    with pytest.raises(rv.InfeasibleError, match=r"no group for 4 records(.|\n)*up to 1 different"):
        rv.anonymize(frame, schema, rv.DistinctDiversity(2), rv.Anatomy())
    release = rv.anonymize(frame, schema, rv.DistinctDiversity(2), rv.Anatomy(), suppress=0.4)
    assert release.manifest["suppressed"] == 4
    assert release.table.height == 6


def test_what_it_cannot_keep_is_refused_by_name():
    frame, schema = hospital.month(100), hospital.schema()
    with pytest.raises(rv.ConfigError, match=r"'anatomy' cannot keep TCloseness(.|\n)*mondrian"):
        rv.anonymize(frame, schema, rv.TCloseness(0.5), rv.Anatomy())
    two = rv.Schema(quasi="age", sensitive=["s", "t"])
    with pytest.raises(rv.ConfigError, match="one sensitive column"):
        rv.anonymize(pl.DataFrame({"age": [1], "s": [1], "t": [1]}), two, rv.DistinctDiversity(1), rv.Anatomy())
    taken = pl.DataFrame({"age": [1, 2], "group": ["a", "b"]})
    with pytest.raises(rv.ConfigError, match="'group'"):
        rv.anonymize(taken, rv.Schema(quasi="age", sensitive="group"), rv.DistinctDiversity(2), rv.Anatomy())


def test_any_partition_can_be_published_as_two_tables(tmp_path):
    frame, schema = hospital.month(300), hospital.schema()
    model = rv.KAnonymity(5) & rv.TCloseness(0.4)
    release = rv.anonymize(frame, schema, model, rv.Mondrian(recode="anatomy"), seed=1)
    boxes = rv.anonymize(frame, schema, model, rv.Mondrian(), seed=1)
    assert release.manifest["achieved"] == boxes.manifest["achieved"]
    assert sorted(release.table["age"].cast(int)) == sorted(frame["age"])
    assert any("does not hide who" in sentence for sentence in release.manifest["assumes"])
    for suffix in ("csv", "parquet"):
        path = release.write(tmp_path / f"r.{suffix}")
        assert batch_path(path).name == f"r.sensitive.{suffix}"
        again = rv.Release.read(path)
        assert again.batch.equals(release.batch)
        verify(again, read_snapshot(frame, schema), model)


def test_the_groups_are_near():
    frame, schema = hospital.coded(3000, columns=2), rv.Schema(quasi=["q1", "q2"], sensitive="disease")
    near = rv.anonymize(frame, schema, rv.DistinctDiversity(4), rv.Anatomy(recode="boxes"), seed=1)
    widths = [near.typed[c].struct.field("hi") - near.typed[c].struct.field("lo") for c in ("q1", "q2")]
    for name, width in zip(("q1", "q2"), widths, strict=True):
        rng = np.random.default_rng(0)
        random = [np.ptp(rng.choice(frame[name].to_numpy(), 4, replace=False)) for _ in range(500)]
        assert width.mean() < 0.5 * np.mean(random)


def tampered(path, **changes):
    """Change the second table and keep the digest right."""
    batch = pl.read_csv(batch_path(path))
    batch.with_columns(**changes).write_csv(batch_path(path))
    manifest = altered(read_manifest(path), digest=digest_of(path, batch_path(path)))
    manifest_path(path).write_bytes(as_bytes(manifest))
    return rv.Release.read(path)


def test_a_changed_second_table_is_found(tmp_path):
    frame, schema = hospital.month(200), hospital.schema()
    model = rv.DistinctDiversity(2)
    release = rv.anonymize(frame, schema, model, rv.Anatomy(), seed=1)
    path = release.write(tmp_path / "r.csv")
    snapshot = read_snapshot(frame, schema)
    for changes in ({"diagnosis": pl.col("diagnosis").reverse()}, {"count": pl.col("count") + 1}):
        with pytest.raises(rv.VerificationError):
            verify(tampered(path, **changes), snapshot, model)
        release.write(path)
    batch_path(path).write_text("x")
    with pytest.raises(rv.VerificationError, match="manifest"):
        rv.Release.read(path)
    batch_path(path).unlink()
    with pytest.raises(rv.FileError, match="second table"):
        rv.Release.read(path)


def test_only_a_second_table_of_ours_is_removed(tmp_path):
    frame, schema = hospital.month(100), hospital.schema()
    boxes = rv.anonymize(frame, schema, rv.DistinctDiversity(2), seed=1)
    path = tmp_path / "r.csv"
    batch_path(path).write_text("somebody else's\n")
    boxes.write(path)
    assert batch_path(path).read_text() == "somebody else's\n"
    rv.anonymize(frame, schema, rv.DistinctDiversity(2), rv.Anatomy(), seed=1).write(path)
    boxes.write(path)
    assert not batch_path(path).exists()
