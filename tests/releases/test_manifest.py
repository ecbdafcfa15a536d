"""Manifests: made once, written as the shipped schema says, read strictly, in both formats."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from importlib import resources

import polars as pl
import pytest
from jsonschema import Draft202012Validator

import reveil as rv
from reveil.core import registry
from reveil.core.errors import FileError, VerificationError
from reveil.core.json_values import FrozenObject, thawed
from reveil.guarantees.comparing import as_chosen
from reveil.releases.limits import limits_of, signatures
from reveil.releases.manifest import KEYS, OPTIONAL, Manifest
from reveil.releases.manifest_files import manifest_bytes, manifest_path, read_manifest
from reveil.releases.manifest_parts import Counterfeits, PublishedColumn
from reveil.releases.promise import Promise, StatedLimit, StatedModel

SCHEMA = json.loads(resources.files("reveil.releases").joinpath("manifest.schema.json").read_text())
PEOPLE = rv.Schema(person="pid", quasi=("age", "town"), sensitive="ill")
ILL = ["flu", "gout", "cold", "mumps", "acne", "gall", "burn", "rash"]
GUARANTEES = {
    "static": [rv.Static(k=3, l=2, t=0.9), rv.Static(l=2, diversity="recursive", c=4, suppress=0.1)],
    "m-invariance": [rv.MInvariance(2)],
    "tau-safety": [rv.TauSafety(m=2), rv.TauSafety(m=2, angelize=True), rv.TauSafety(m=2, strict=False)],
    "refinement": [rv.Refinement(k=3, l=2, diversity="frequency"), rv.Refinement(k=3, counterfeits=True)],
    "global": [
        rv.GlobalGuarantee(2, rv.ConstantRatio(releases=3), harmless=["flu"], permanent=["gout"]),
        rv.GlobalGuarantee(2, rv.Geometric(alpha=3.0)),
    ],
    "worlds": [rv.PossibleWorlds(3), rv.PossibleWorlds(3, placement="greedy")],
}


def people(n=60, first=0):
    return pl.DataFrame(
        {
            "pid": range(first, first + n),
            "age": [20 + i % 45 for i in range(n)],
            "town": [f"t{i % 5}" for i in range(n)],
            "ill": [ILL[(i * 5 + i // 8) % len(ILL)] for i in range(n)],
        }
    )


def series(folder, guarantee):
    own = rv.Series.open(folder / "vault", PEOPLE, guarantee, seed=1)
    if guarantee.kind == "global":
        return [own.publish(people(400))]
    if guarantee.kind == "worlds":
        return [own.publish(people(), columns=columns) for columns in (None, ["age", "ill"])]
    return [own.publish(frame) for frame in (people(), pl.concat([people()[6:], people(12, 100)]))]


def written(release, folder):
    path = folder / "out.csv"
    release.write(path)
    return json.loads(manifest_path(path).read_text())


def test_every_guarantee_is_here():
    assert GUARANTEES.keys() == set(registry.names("guarantees"))


@pytest.mark.parametrize(
    "guarantee",
    [pytest.param(own, id=f"{kind} {n}") for kind, all_ in GUARANTEES.items() for n, own in enumerate(all_)],
)
def test_what_is_published_is_as_the_shipped_schema_says(tmp_path, guarantee):
    Draft202012Validator.check_schema(SCHEMA)
    for release in series(tmp_path, guarantee):
        told = written(release, tmp_path)
        assert not [error.message for error in Draft202012Validator(SCHEMA).iter_errors(told)]
        assert set(told) <= set(SCHEMA["properties"])
        manifest = read_manifest(tmp_path / "out.csv")
        assert manifest == told == release.manifest
        assert manifest_bytes(manifest) == manifest_path(tmp_path / "out.csv").read_bytes()
        # What is stated is what the guarantee declares, with the models made again.
        limits = limits_of(manifest.promise)
        declared = as_chosen(guarantee, manifest).promise(PEOPLE, None)
        assert limits == limits_of(declared)
        assert manifest.promise.bound == declared.bound
        assert manifest.promise.against == declared.against
        assert set(guarantee.explained.not_covered) <= set(manifest.promise.not_covered)
        assert limits_of(replace(manifest.promise, limits=None)) == limits, "the first format means the same"
        assert signatures(replace(manifest.promise, limits=None)) == manifest.promise.signatures
        manifest_path(tmp_path / "out.csv").unlink()


def test_the_schema_names_every_field():
    def keys(of, **other):
        return {other.get(own.name, own.name) for own in fields(of)}

    own = keys(Manifest) - {"others"}
    beside = {"guarantee", "claim", "assumes"}  # parts of the promise that the first format had already
    assert set(SCHEMA["properties"]) == own | beside == set(KEYS)
    assert set(SCHEMA["required"]) == set(KEYS) - (OPTIONAL - {"reveil", "promise"})
    defined = SCHEMA["$defs"]
    # Bounds by column are written under bound.
    assert set(defined["promise"]["properties"]) == keys(Promise, settings="parameters") - {"kind", "claim", "bounds"}
    assert set(defined["limit"]["properties"]) == keys(StatedLimit)
    assert set(defined["model"]["properties"]) == keys(StatedModel)
    assert set(defined["column"]["properties"]) == keys(PublishedColumn)
    assert set(SCHEMA["properties"]["counterfeits"]["properties"]) == keys(Counterfeits)


@pytest.fixture
def release():
    return rv.anonymize(people(), PEOPLE, rv.KAnonymity(3) & rv.TCloseness(0.9, distance="equal"), seed=1)


def test_nobody_changes_it(release):
    manifest = release.manifest
    before = manifest_bytes(manifest)
    with pytest.raises(FrozenInstanceError):
        manifest.rows = 1
    with pytest.raises(FrozenInstanceError):
        manifest.promise.claim = "nothing"
    with pytest.raises(TypeError):
        manifest["rows"] = 1
    with pytest.raises(TypeError):
        manifest.achieved["k"] = 1
    with pytest.raises(TypeError):
        manifest.promise.settings["method"]["kind"] = "other"
    manifest["guarantee"]["k"] = 100  # a copy
    manifest.to_json()["columns"].clear()
    assert manifest_bytes(manifest) == before
    assert manifest_bytes(pickle.loads(pickle.dumps(manifest))) == before  # noqa: S301 -- our own bytes


def test_writing_does_not_change_a_release(release, tmp_path):
    release.write(tmp_path / "a.csv")
    assert release.manifest.digest is None
    read = rv.Release.read(tmp_path / "a.csv")
    assert replace(read.manifest, digest=None, digests=None) == release.manifest
    release.write(tmp_path / "a.parquet")
    assert set(read_manifest(tmp_path / "a.csv").digests) == {"csv", "parquet"}, "one manifest for both"


def test_the_first_format_is_read_and_written_back_as_it_was(release, tmp_path):
    path = tmp_path / "out.csv"
    told = written(release, tmp_path)
    del told["promise"]
    old = {**told, "format": 1, "from_elsewhere": {"a": [1]}}
    manifest_path(path).write_text(json.dumps(old))
    read = rv.Release.read(path)
    assert read.manifest == old
    assert read.manifest.promise.limits is None
    assert limits_of(read.manifest.promise) == limits_of(release.manifest.promise)
    read.write(tmp_path / "again.csv")
    assert json.loads(manifest_path(tmp_path / "again.csv").read_text()) == old
    assert rv.audit(read, PEOPLE, truth=people()).held


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("promise",), None),
        (("promise", "limits"), {}),
        (("promise", "limits", 0, "about"), "all"),
        (("promise", "limits", 0, "at_most"), 2),
        (("promise", "limits", 0, "at_most"), True),
        (("promise", "limits", 0, "model"), "KAnonymity"),
        (("promise", "limits", 0, "more"), 1),
        (("promise", "against"), "everybody"),
        (("promise", "bound"), "1/2"),
        (("promise", "signatures"), "some"),
        (("promise", "not_covered"), [1]),
        (("guarantee", "kind"), 4),
        (("columns", 0, "form"), "circle"),
        (("columns", 0, "size"), "8"),
        (("counterfeits", "per_group"), None),
        (("counterfeits", "which"), [1]),
        (("adopted",), ["1"]),
        (("selection",), {"columns": "age"}),
        (("digests",), {"csv": 1}),
        (("rows",), -1),
        (("digest",), None),
    ],
)
def test_what_cannot_be_used_is_named(release, tmp_path, place, value):
    told = written(release, tmp_path)
    below = told
    for key in place[:-1]:
        below = below[key]
    below[place[-1]] = value
    manifest_path(tmp_path / "out.csv").write_text(json.dumps(told))
    with pytest.raises(FileError, match=f"no usable {place[0]!r}"):
        rv.Release.read(tmp_path / "out.csv")


@pytest.mark.parametrize("key", ["k", "grade", "assumes", "kind of nothing"])
def test_a_manifest_that_says_two_things_is_refused(release, tmp_path, key):
    told = written(release, tmp_path)
    if key == "assumes":
        told["assumes"].append("Nothing.")
    else:
        told["guarantee"][key] = "blind" if key == "grade" else 2
    manifest_path(tmp_path / "out.csv").write_text(json.dumps(told))
    with pytest.raises(VerificationError, match="two different things"):
        rv.Release.read(tmp_path / "out.csv")


def test_a_format_of_later_is_not_guessed_at(release, tmp_path):
    told = written(release, tmp_path)
    for later in (3, "2", None):
        manifest_path(tmp_path / "out.csv").write_text(json.dumps({**told, "format": later}))
        with pytest.raises(FileError, match="format that this version does not know"):
            rv.Release.read(tmp_path / "out.csv")


def test_a_model_that_is_not_there_is_named(release):
    limit = release.manifest.promise.limits[0]
    for model in (StatedModel("Mine", FrozenObject({})), StatedModel("KAnonymity", FrozenObject({"many": 3}))):
        promise = replace(release.manifest.promise, limits=(replace(limit, model=model),))
        with pytest.raises(rv.DataError, match=model.name):
            rv.audit(release.under(replace(release.manifest, promise=promise)), PEOPLE, truth=people())


def test_frozen_objects():
    own = FrozenObject({"a": [1, {"b": [2]}]})
    assert own == {"a": [1, {"b": [2]}]}
    assert own != {"a": [1]}
    assert own["a"][1]["b"] == (2,)
    assert thawed(own) == {"a": [1, {"b": [2]}]}
    assert list(own) == ["a"]
    assert len(own) == 1
    assert "b" in repr(own)
