"""The global guarantee and possible worlds from the command line and through a vault: what the owner sees."""

import hashlib
import json

import numpy as np
import polars as pl
import pytest

import reveil as rv
from tests.rarely import mostly_slow
from tests.series.cases import CONFIG, SCHEMA, command, series, snapshot

VALUES = [f"d{n}" for n in range(30)]
GLOBAL = 'kind = "global"\nl = 2\nstrategy = "constant-ratio"\nreleases = 2'
WORLDS = 'kind = "worlds"\nl = 3'


def month(seed, people=range(200)):
    """The ward with other diseases in each month."""
    dice = np.random.default_rng(seed)
    return snapshot(0, 200).with_columns(disease=pl.Series(dice.choice(VALUES, 200)))[list(people)]


def written(folder, guarantee):
    (folder / "reveil.toml").write_text(CONFIG.format(series="seed = 1", guarantee=guarantee))
    return ["-c", str(folder / "reveil.toml")]


def test_what_is_left_of_the_budget(tmp_path):
    config = written(tmp_path, GLOBAL)
    for number in range(3):
        month(number).write_csv(tmp_path / f"{number}.csv")
        done = command("publish", tmp_path / f"{number}.csv", *config, "-o", tmp_path / f"p{number}.csv")
        assert done.returncode == 0, done.stderr
    shown = command("history", *config, "--budget")
    assert "used up" in shown.stdout
    assert "releases left" in shown.stdout
    rows = json.loads(command("history", *config, "--budget", "--json", "-").stdout)
    assert {"value", "persons", "used_up", "least_left", "links_left", "releases_left"} <= set(rows[0])
    assert sum(row["used_up"] for row in rows) > 0
    manifest = json.loads((tmp_path / "p2.manifest.json").read_text())
    assert manifest["withheld"] > 0
    assert command("verify", tmp_path / "p2.csv", tmp_path / "2.csv", *config).returncode == 0
    files = [tmp_path / f"p{n}.csv" for n in range(3)]
    done = command("audit", *files, *config, "--truth", tmp_path / "0.csv", tmp_path / "1.csv", tmp_path / "2.csv")
    assert done.returncode == 0, done.stderr
    assert "held" in done.stderr


def test_other_guarantees_have_no_budget(tmp_path):
    config = written(tmp_path, 'kind = "refinement"\nk = 4')
    month(0).write_csv(tmp_path / "0.csv")
    assert command("publish", tmp_path / "0.csv", *config, "-o", tmp_path / "p.csv").returncode == 0
    done = command("history", *config, "--budget")
    assert done.returncode == 2
    assert "spends no budget" in done.stderr


@pytest.mark.parametrize(
    "more",
    ['when_exhausted = "suppress"', 'permanent = ["d3"]', 'harmless = ["d1"]'],
    ids=["suppress", "permanent", "harmless"],
)
def test_releases_that_show_other_values_are_verified(tmp_path, more):
    config = written(tmp_path, f"{GLOBAL}\n{more}")
    for number in range(3):
        month(number).write_csv(tmp_path / f"{number}.csv")
        done = command("publish", tmp_path / f"{number}.csv", *config, "-o", tmp_path / f"p{number}.csv", "--again")
        assert done.returncode == 0, done.stderr
        done = command("verify", tmp_path / f"p{number}.csv", tmp_path / f"{number}.csv", *config)
        assert done.returncode == 0, done.stderr


def test_an_adopted_release_spends_budgets(tmp_path):
    own = series(tmp_path, rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=2)))
    table = month(0)
    elsewhere = rv.anonymize(table, SCHEMA, rv.KAnonymity(8) & rv.FrequencyDiversity(3), seed=2)
    found = own.adopt(table, elsewhere)
    assert found.persons == 200
    assert found.held_back > 0  # a group of two spends everything
    release = own.publish(month(1))
    assert release.manifest["withheld"] >= found.held_back


def test_nothing_is_adopted_where_values_are_permanent(tmp_path):
    own = series(tmp_path, rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=2), permanent=("d1",)))
    with pytest.raises(rv.RefusedError, match="permanent"):
        own.adopt(month(0), rv.anonymize(month(0), SCHEMA, rv.KAnonymity(5), seed=2))


def test_any_columns_for_any_recipient(tmp_path):
    config = written(tmp_path, WORLDS)
    month(0).write_csv(tmp_path / "t.csv")
    for number, columns in enumerate(["age,disease", "town,age", "age,town,disease"]):
        out = tmp_path / f"p{number}.csv"
        done = command("publish", tmp_path / "t.csv", *config, "-o", out, "--columns", columns)
        assert done.returncode == 0, done.stderr
        assert set(pl.read_csv(out).columns) == set(columns.split(","))
        assert command("verify", out, tmp_path / "t.csv", *config).returncode == 0
    done = command("publish", tmp_path / "t.csv", *config, "-o", tmp_path / "q.csv", "--columns", "disease")
    assert done.returncode == 2
    assert "no quasi column" in done.stderr
    files = [tmp_path / f"p{n}.csv" for n in range(3)]
    assert command("audit", *files, *config, "--truth", *[tmp_path / "t.csv"] * 3).returncode == 0


def test_worlds_see_changes_in_columns_that_are_not_published(tmp_path):
    own = series(tmp_path, rv.PossibleWorlds(3))
    own.publish(month(0), columns=["age", "disease"])
    moved = month(0).with_columns(town=pl.lit("Elm"))
    with pytest.raises(rv.RefusedError, match="'town'"):
        own.publish(moved, columns=["age"])
    changed = month(0).with_columns(disease=pl.Series(month(1)["disease"]))
    with pytest.raises(rv.RefusedError, match="another sensitive value"):
        own.publish(changed, columns=["age", "town"])


def test_worlds_adopt_nothing(tmp_path):
    own = series(tmp_path, rv.PossibleWorlds(3))
    with pytest.raises(rv.RefusedError, match="does not fit the worlds"):
        own.adopt(month(0), rv.anonymize(month(0), SCHEMA, rv.KAnonymity(5), seed=2))


@pytest.mark.parametrize("was", mostly_slow(["quasi", "identifier", "plain"]))
@pytest.mark.parametrize("becomes", ["quasi", "identifier", "plain"])
def test_a_column_is_plain_for_ever_or_never(tmp_path, was, becomes):
    """Published in a box once and as it is another time, it would join the releases."""

    def schema(role):
        own = {"quasi": ("age", "town") if role == "quasi" else ("age",), "sensitive": "disease", "person": "pid"}
        own |= {"plain": ("town",)} if role == "plain" else {}
        return rv.Schema(**own, identifiers=("town",) if role == "identifier" else ())

    table = month(0)
    rv.Series.open(tmp_path / "vault", schema(was), rv.PossibleWorlds(3)).publish(table)
    if was != becomes and "plain" in (was, becomes):
        with pytest.raises(rv.RefusedError, match="town"):
            rv.Series.open(tmp_path / "vault", schema(becomes), rv.PossibleWorlds(3)).publish(table)
    else:
        rv.Series.open(tmp_path / "vault", schema(becomes), rv.PossibleWorlds(3)).publish_to(None, table, again=True)


def test_what_a_column_was_is_not_forgotten_while_it_is_dropped(tmp_path):
    table = month(0)
    for roles in ({"quasi": ("age", "town")}, {"quasi": ("age",), "identifiers": ("town",)}):
        own = rv.Schema(person="pid", sensitive="disease", **roles)
        rv.Series.open(tmp_path / "vault", own, rv.PossibleWorlds(3)).publish_to(None, table, again=True)
    plain = rv.Schema(person="pid", quasi=("age",), sensitive="disease", plain=("town",))
    with pytest.raises(rv.RefusedError, match="town"):
        rv.Series.open(tmp_path / "vault", plain, rv.PossibleWorlds(3)).publish(table)


def test_a_changed_file_is_not_the_release(tmp_path):
    """Narrower boxes around the truth are sound by themselves; the vault knows other bytes."""
    config = written(tmp_path, WORLDS)
    month(0).write_csv(tmp_path / "t.csv")
    assert command("publish", tmp_path / "t.csv", *config, "-o", tmp_path / "p.csv").returncode == 0
    release = rv.Release.read(tmp_path / "p.csv")
    release.write(tmp_path / "copy.parquet")
    assert command("verify", tmp_path / "copy.parquet", tmp_path / "t.csv", *config).returncode == 0
    lines = (tmp_path / "p.csv").read_text().splitlines()
    (tmp_path / "p.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    manifest = json.loads((tmp_path / "p.manifest.json").read_text())
    manifest["digest"] = "sha256:" + hashlib.sha256((tmp_path / "p.csv").read_bytes()).hexdigest()
    manifest.pop("digests", None)
    (tmp_path / "p.manifest.json").write_text(json.dumps(manifest))
    done = command("verify", tmp_path / "p.csv", tmp_path / "t.csv", *config)
    assert done.returncode == 1
    assert "changed after it was published" in done.stderr


def test_suppressed_values_are_not_counted_by(tmp_path):
    own = rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=1), when_exhausted="suppress")
    kept = series(tmp_path, own)
    kept.publish(month(0))
    release = kept.publish_to(None, month(0), again=True).release
    assert (release.table["disease"] == "*").any()
    with pytest.raises(rv.DataError, match="suppressed"):
        release.count("disease = d3")
    assert release.count("age >= 0").upper == 200


def test_a_permanent_cohort_keeps_a_tombstone(tmp_path):
    own = rv.GlobalGuarantee(l=2, strategy=rv.ConstantRatio(releases=3), permanent=("d1",))
    kept = series(tmp_path, own)
    kept.publish(month(0))
    with pytest.raises(rv.RefusedError, match="tombstone"):
        kept.forget(3)
    assert kept.forget(3, tombstone=True)
