"""Declared orders and hierarchies go with a release, and nothing else does."""

import json
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil
import reveil as rv
from reveil.releases.domains import declared_columns, paths_of, tree_of
from reveil.tables.hierarchy import Taxonomy
from reveil.tables.snapshot import read_snapshot
from reveil.testing.strategies import GRADES, REGIONS
from reveil.verification import verify
from tests.manifests import altered

FRAME = pl.DataFrame({"g": ["none", "none", "primary", "primary"], "r": ["f1", "f2", "c1", "c2"], "n": [1, 2, 3, 4]})
SCHEMA = rv.Schema(quasi=["g", "r", "n"], orders={"g": GRADES}, hierarchies={"r": REGIONS})


@st.composite
def paths(draw):
    """Hierarchies with leaves at different depths and chains of labels."""
    shape = draw(st.lists(st.lists(st.integers(0, 2), max_size=3), min_size=1, max_size=6, unique_by=tuple))
    return [("*", *(f"n{at}" for at in _prefixes(own)), f"leaf{number}") for number, own in enumerate(shape)]


def _prefixes(steps):
    return ["".join(map(str, steps[: end + 1])) for end in range(len(steps))]


@given(paths())
@settings(deadline=None, max_examples=60)
def test_a_hierarchy_reads_back_as_it_was(given_paths):
    taxonomy = Taxonomy.from_paths(given_paths, where="a test")
    again = Taxonomy.from_paths(paths_of(tree_of(taxonomy)), where="a test")
    assert again.leaves == taxonomy.leaves
    meant = [
        {label: tree.leaves[tree.lo[node] : tree.hi[node] + 1] for label, node in tree.node_of_label.items()}
        for tree in (taxonomy, again)
    ]
    assert meant[0] == meant[1]


def test_only_what_was_declared_is_told():
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), seed=1)
    told = release.manifest["domains"]
    assert set(told) == {"g", "r"}
    assert told["g"] == {"kind": "order", "order": list(GRADES)}
    assert declared_columns(release.manifest)["r"].taxonomy.leaves == SCHEMA["r"].taxonomy.leaves
    described = Path(reveil.__file__).parent / "releases" / "manifest.schema.json"
    jsonschema.validate({"domains": told}, {**json.loads(described.read_text()), "required": []})
    plain = rv.anonymize(FRAME, rv.Schema(quasi=["g", "r", "n"]), rv.KAnonymity(2), seed=1)
    assert plain.manifest["domains"] == {}


def test_what_is_kept_back_is_not_told_and_the_judge_insists(tmp_path):
    kept = rv.Schema(quasi=["g", "r", "n"], orders={"g": GRADES}, hierarchies={"r": REGIONS}, tell={"r": False})
    release = rv.anonymize(FRAME, kept, rv.KAnonymity(2), seed=1)
    assert set(release.manifest["domains"]) == {"g"}
    verify(rv.Release.read(release.write(tmp_path / "r.csv")), read_snapshot(FRAME, kept), rv.KAnonymity(2))
    with pytest.raises(rv.VerificationError, match="domain"):
        verify(rv.Release.read(tmp_path / "r.csv"), read_snapshot(FRAME, SCHEMA), rv.KAnonymity(2))
    told = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), seed=1)
    with pytest.raises(rv.VerificationError, match="domain"):
        verify(rv.Release.read(told.write(tmp_path / "t.csv")), read_snapshot(FRAME, kept), rv.KAnonymity(2))
    assert release.count("g >= primary").estimate == 2
    with pytest.raises(rv.ConfigError, match="neither a hierarchy nor an order"):
        rv.Schema(quasi=["n"], tell={"n": False})


@pytest.mark.parametrize(
    "change",
    [
        lambda told: {"g": told["g"]},
        lambda told: {**told, "g": {"kind": "order", "order": ["none", "primary"]}},
        lambda told: {**told, "g": {"kind": "order", "order": list(reversed(GRADES))}},
        lambda told: {**told, "r": {"kind": "hierarchy", "hierarchy": {"*": ["f1", "f2", "c1", "c2"]}}},
        lambda told: {**told, "n": {"kind": "order", "order": ["1", "2", "3", "4"]}},
    ],
)
def test_the_judge_refuses_other_domains(tmp_path, change):
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), seed=1)
    other = release.under(altered(release.manifest, domains=change(release.manifest["domains"])))
    verify(rv.Release.read(release.write(tmp_path / "r.csv")), read_snapshot(FRAME, SCHEMA), rv.KAnonymity(2))
    with pytest.raises(rv.VerificationError, match="domain"):
        verify(rv.Release.read(other.write(tmp_path / "o.csv")), read_snapshot(FRAME, SCHEMA), rv.KAnonymity(2))


@pytest.mark.parametrize(
    "told",
    [
        {"nobody": {"kind": "order", "order": ["a"]}},
        {"g": {"kind": "order", "order": "abc"}},
        {"g": {"kind": "order", "order": [1, 2]}},
        {"g": {"kind": "rank", "rank": ["a"]}},
        {"g": {"kind": "hierarchy", "hierarchy": {"a": ["x"], "b": ["y"]}}},
        {"g": {"kind": "hierarchy", "hierarchy": {"*": []}}},
        {"g": ["a"]},
        ["g"],
    ],
)
def test_domains_that_cannot_be_used_are_refused(tmp_path, told):
    path = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), seed=1).write(tmp_path / "r.csv")
    manifest = tmp_path / "r.manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "domains": told}))
    with pytest.raises(rv.FileError, match="domains"):
        rv.Release.read(path)
