"""An audit in shards finds what one in memory finds, of the attacks that it makes, and names the others."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import reveil as rv
from reveil.adversary import cells
from reveil.adversary.attacks import difference
from reveil.adversary.in_shards import audit_in_shards, audit_where_asked, pairs_of_releases
from reveil.adversary.in_shards.asking import NotInShardsError
from reveil.core.errors import ConfigError, DataError, InputError
from reveil.engines import settings as engine_settings
from reveil.engines.disk import DiskEngine
from reveil.engines.settings import EngineSettings
from reveil.releases.files import read_table, write_table
from reveil.releases.folders import PARTS, digest_over
from reveil.releases.manifest_files import manifest_bytes, read_manifest
from reveil.tables.formats.folder import digest_of_file
from tests.adversary.in_shards.series import ATTACKS, SCHEMA, both, differences, laid_down, naive, safe, snapshots

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("known", ["nothing", "presence", "events"])
def test_naive_releases_are_broken_as_in_memory(tmp_path, known):
    paths, truth = naive(tmp_path, snapshots(200, 2), rv.KAnonymity(k=4))
    here, found = both(paths, truth, known, threshold=0.5)
    assert differences(here, found) == []
    assert not found["summary"]["held"]
    if known == "events":
        assert found["summary"]["certain"] > 0
        assert found["summary"]["certain"] == found["summary"]["certain_and_right"]


def test_a_tau_safe_series_holds_as_in_memory(tmp_path):
    paths, truth = safe(tmp_path, snapshots(200, 3), rv.TauSafety(m=2))
    here, found = both(paths, truth, attacks=(*ATTACKS, "tau"))
    assert differences(here, found) == []
    assert found["known"] == "events"
    assert found["summary"]["held"]
    assert found["summary"]["bound"] == 0.5
    assert found["summary"]["highest_proven"] == 0.5


@pytest.mark.parametrize("known", ["nothing", "presence"])
def test_a_tau_safe_series_against_somebody_who_knows_less(tmp_path, known):
    paths, truth = safe(tmp_path, snapshots(150, 2, seed=4), rv.TauSafety(m=2))
    here, found = both(paths, truth, known, attacks=(*ATTACKS, "tau"))
    assert differences(here, found) == []


def test_more_releases_than_a_mask_can_name(tmp_path):
    frames = snapshots(40, 66, seed=1)
    paths, truth = naive(tmp_path, frames, rv.KAnonymity(k=8))
    attacks = ("difference", "homogeneity", "intersection", "serial")
    here, found = both(paths, truth, "events", threshold=0.5, attacks=attacks, engine=DiskEngine(1_000, workers=1))
    assert differences(here, found) == []
    assert found["summary"]["certain"] > 0


def test_only_releases_that_are_compared_are_carried(tmp_path, monkeypatch):
    """Far releases are not compared where there are too many, in memory and in shards alike."""
    for module in (cells, pairs_of_releases):
        monkeypatch.setattr(module, "LOOKS", 1_000, raising=False)
    monkeypatch.setattr(difference, "LOOKS", 1_000)
    monkeypatch.setattr(cells, "ROWS", 1_000)
    monkeypatch.setattr(cells.pairs_of, "__defaults__", (1, 1_000))
    paths, truth = naive(tmp_path, snapshots(120, 5, seed=11), rv.KAnonymity(k=4))
    here, found = both(paths, truth, "events", threshold=0.5)
    assert differences(here, found) == []
    for name in ("absence", "difference"):
        assert 0 < found["attacks"][name]["pairs"] < found["attacks"][name]["pairs_in_all"]


def test_limits_of_single_releases_are_tried(tmp_path):
    frames = snapshots(150, 2, seed=2)
    paths, truth = naive(tmp_path, frames, rv.KAnonymity(k=5) & rv.DistinctDiversity(l=2))
    here, found = both(paths, truth)
    assert differences(here, found) == []
    assert [limit["held"] for limit in found["limits"]] == [True, True]


def test_people_who_were_left_out_and_who_are_not_listed(tmp_path):
    frames = snapshots(150, 2, seed=3)
    paths, truth = naive(tmp_path, frames, rv.KAnonymity(k=6), suppress=0.1)
    here, found = both(paths, truth, "events")
    assert differences(here, found) == []
    some = laid_down(tmp_path, [frame[: frame.height * 3 // 4] for frame in frames])
    here, found = both(paths, some, "presence")
    assert differences(here, found) == []
    assert any("people are given for release" in note for note in found["notes"])


def test_several_sensitive_columns_and_other_kinds_of_cells(tmp_path):
    schema = rv.Schema(
        person="pid",
        quasi=("age", "zip", "sex"),
        sensitive=("disease", "drug", "dose"),
        types={"zip": "text"},
        orders={"drug": list("gfedcba")},
    )
    frames = [
        frame.with_columns(
            pl.col("zip").mod(7).cast(pl.String),
            drug=pl.col("disease").shuffle(seed=t),
            dose=pl.col("age").fill_null(7) * 3 % 40,
        )
        for t, frame in enumerate(snapshots(150, 2, seed=5))
    ]
    paths, truth = naive(tmp_path, frames, rv.KAnonymity(k=3), schema)
    here, found = both(paths, truth, "events", schema=schema, threshold=0.9)
    assert differences(here, found) == []
    assert found["attacks"]["similarity"]["dose"]["highest"] > 0


def test_only_those_of_whom_something_is_proven_are_kept(tmp_path):
    paths, truth = naive(tmp_path, snapshots(200, 2), rv.KAnonymity(k=4))
    here, all_ = both(paths, truth, "events", threshold=0.5)
    _, found = both(paths, truth, "events", threshold=0.5, everybody=False)
    beyond = [row["person"] for row in here["persons"] if row["belief"] > 0.5 + 1e-9 and row["exact"]]
    assert set(beyond) <= {row["person"] for row in found["persons"]}
    assert len(found["persons"]) <= len(all_["persons"])
    for key in ("summary", "attacks", "limits", "sentence", "releases", "certain"):
        assert differences(here[key], found[key]) == []


@pytest.mark.parametrize("safely", [False, True])
def test_a_sample_is_that_of_memory_and_finds_the_same_of_the_same_people(tmp_path, safely):
    frames = snapshots(200, 3, seed=9)
    paths, truth = safe(tmp_path, frames, rv.TauSafety(m=2)) if safely else naive(tmp_path, frames, rv.KAnonymity(k=4))
    attacks = (*ATTACKS, "tau") if safely else ATTACKS
    here, found = both(paths, truth, "events", sample=40, seed=3, threshold=0.5, attacks=attacks)
    _, everything = both(paths, truth, "events", seed=3, threshold=0.5, attacks=attacks)
    for key in ("persons", "certain", "summary", "sentence", "releases"):
        assert differences(here[key], found[key]) == []
    drawn = {row["person"] for row in found["persons"]}
    assert len(drawn) == 40
    assert [row for row in everything["persons"] if row["person"] in drawn] == found["persons"]
    assert found["summary"]["sample"]["attacked"] == 40
    assert found["summary"]["sample"]["of"] == found["summary"]["persons"] == everything["summary"]["persons"]
    assert any("40 of" in note and "figures of attacks and limits" in note for note in found["notes"])
    # What is counted over groups is counted over all of them.
    for name in ("difference", "absence", "correspondence"):
        for key in ("contained_groups", "groups_with_an_absent_value", "fewest_rows_left", "forward_cracked", "pairs"):
            assert here["attacks"][name].get(key) == found["attacks"][name].get(key)
    assert (found["summary"]["certain"] > 0) is not safely


def test_a_sample_of_everybody_is_none_and_of_nobody_is_refused(tmp_path):
    paths, truth = naive(tmp_path, snapshots(120, 2), rv.KAnonymity(k=4))
    here, found = both(paths, truth, "events", sample=5_000)
    assert differences(here, found) == []
    assert "sample" not in found["summary"]
    with DiskEngine(60, workers=1) as engine, pytest.raises(ConfigError, match="at least one person"):
        audit_in_shards(engine, EngineSettings(), paths, SCHEMA, truth, sample=0)


def test_what_is_not_made_is_named_with_the_reason(tmp_path):
    paths, truth = naive(tmp_path, snapshots(120, 2), rv.KAnonymity(k=4))
    with DiskEngine(60, workers=1) as engine:
        found = audit_in_shards(engine, EngineSettings(), paths, SCHEMA, truth)
    assert found.left_out == ["tau"]
    assert "everybody at once" in found.not_run["tau"]
    assert found.engine == {"kind": "disk", "shard_rows": 60}
    assert "tau" not in found.ran
    assert found.sentence.endswith("Not tried in shards: tau.")


def test_a_promise_that_cannot_be_judged_is_not_called_held(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)
    paths, truth = naive(tmp_path, snapshots(120, 1), rv.TCloseness(0.9))
    with DiskEngine(60, workers=1) as engine, pytest.raises(NotInShardsError, match="whole table"):
        audit_in_shards(engine, EngineSettings(), paths, SCHEMA, truth)
    found = audit_where_asked(EngineSettings(shard_rows=60), paths, SCHEMA, None, truth)
    assert found.engine is None, "one memory judges it"
    assert [limit["held"] for limit in found.limits] == [True]


def altered(path):
    """Let two rows of a release change their values, so that a group has one value twice; digests fit."""
    told = read_manifest(f"{path}manifest.json")
    (part,) = told.parts
    file = Path(path) / part.name
    table = read_table(file).sort("group")
    values = table["disease"].to_list()
    at = next(i for i in range(2, table.height) if values[i] == values[0] and values[i - 1] != values[i])
    other = next(i for i in (0, 1) if table["group"][i] == table["group"][0] and values[i] != values[0])
    values[at], values[other] = values[other], values[at]
    write_table(table.with_columns(disease=pl.Series(values)), file)
    parts = (replace(part, digest=digest_of_file(file)),)
    digest = digest_over(parts)
    told = replace(told, parts=parts, digest=digest, digests={PARTS: digest})
    Path(f"{path}manifest.json").write_bytes(manifest_bytes(told))


def test_a_bound_over_a_series_without_its_attack_is_not_called_held(tmp_path, monkeypatch):
    """A tau-safe series with a group that is not even: only the attack that follows everybody finds what is told."""
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)
    paths, truth = safe(tmp_path, snapshots(120, 2, seed=8), rv.TauSafety(m=2))
    altered(paths[1])
    with DiskEngine(60, workers=1) as engine, pytest.raises(NotInShardsError, match="at everybody at once"):
        audit_in_shards(engine, EngineSettings(), paths, SCHEMA, truth, "events")
    found = audit_where_asked(EngineSettings(shard_rows=60), paths, SCHEMA, None, truth, "events", attacks=["tau"])
    assert found.engine is None, "one memory judges it"
    assert not found.held


def test_all_attacks_of_a_tau_safe_series_are_those_of_memory(tmp_path):
    paths, truth = safe(tmp_path, snapshots(120, 2, seed=6), rv.TauSafety(m=2))
    here, found = both(paths, truth, attacks=None)
    left = ("risks", "table_risks", "riskiest")
    assert differences(*({k: v for k, v in one.items() if k not in left} for one in (here, found))) == []


def test_a_snapshot_of_other_people_is_refused(tmp_path):
    frames = snapshots(120, 1)
    paths, _ = naive(tmp_path, frames, rv.KAnonymity(k=4))
    others = laid_down(tmp_path, [frames[0].with_columns(pl.col("age") + 1000)])
    with DiskEngine(60, workers=1) as engine, pytest.raises(DataError, match="fit no group"):
        audit_in_shards(engine, EngineSettings(), paths, SCHEMA, others, "presence")


# What is asked for


def test_rows_decide_on_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(engine_settings, "FEWEST_ROWS", 10)
    paths, truth = naive(tmp_path, snapshots(120, 1), rv.KAnonymity(k=4))
    few, many = EngineSettings(shard_rows=60), EngineSettings(shard_rows=1000)
    assert audit_where_asked(few, paths, SCHEMA, None, truth).engine == {"kind": "disk", "shard_rows": 60}
    assert audit_where_asked(many, paths, SCHEMA, None, truth).engine is None
    named = audit_where_asked(few, paths, SCHEMA, None, truth, attacks=["prior"])
    assert named.engine is None, "it is made in one memory, where it can be made"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"attacks": ["prior"]}, "the attack 'prior' needs everybody at once"),
        ({"truth": None}, "who is meant is told by the snapshots"),
        ({"known": "ids"}, "--known ids needs everybody at once"),
        ({"pairs": "truth"}, "--pairs needs everybody at once"),
        ({"population": "people.csv"}, "a population needs everybody at once"),
    ],
)
def test_an_engine_that_is_asked_for_is_refused_what_it_cannot_do(tmp_path, more, said):
    paths, truth = naive(tmp_path, snapshots(60, 1), rv.KAnonymity(k=4))
    asked = {"truth": truth, **more}
    with pytest.raises(InputError, match=said) as refused:
        audit_where_asked(EngineSettings(kind="spark"), paths, SCHEMA, **asked, insists=True)
    assert "--engine local" in refused.value.hint


def test_files_and_tables_that_are_read_at_once_are_refused(tmp_path):
    frames = snapshots(60, 1)
    paths, truth = naive(tmp_path, frames, rv.KAnonymity(k=4))
    frames[0].write_csv(tmp_path / "truth.csv")
    rv.anonymize(frames[0], SCHEMA, rv.KAnonymity(k=4)).write(tmp_path / "release.parquet")
    spark = EngineSettings(kind="spark")
    with pytest.raises(InputError, match="one in Parquet is read in pieces"):
        audit_where_asked(spark, paths, SCHEMA, None, [tmp_path / "truth.csv"], insists=True)
    with pytest.raises(InputError, match=r"one in a folder \(OUT/\) is read in parts"):
        audit_where_asked(spark, [tmp_path / "release.parquet"], SCHEMA, None, truth, insists=True)
