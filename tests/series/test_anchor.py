"""Memory that cannot be lost in silence: the anchor of a vault, and releases of its name."""

import json
import shutil

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError, RefusedError, VaultError
from reveil.vault import Vault
from tests.series.cases import SCHEMA, command, config, contents, copied, series, snapshot, tables, written
from tests.vault.cases import FORMAT_5, by_hand

NEXT = (0, 60)


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Two releases, and the vault after the first and before anything."""
    folder = tmp_path_factory.mktemp("series") / "ward"
    (folder / "out").mkdir(parents=True)
    path = config(folder)
    for number, last in ((1, 40), (2, 50)):
        written(folder, f"s{number}.csv", 0, last)
        rv.Series.load(path).publish_to(folder / "out" / f"r{number}.csv", folder / f"s{number}.csv")
        old = shutil.copytree(folder / "ward.vault", folder.parent / f"after{number}.vault")
        by_hand(old, "UPDATE releases SET path = NULL")  # copies do not look at where these files are
    return folder


@pytest.fixture
def folder(published, tmp_path):
    return copied(published, tmp_path / "ward")


def restored(folder, published, after=1):
    """Put an old vault in the place of the one of today."""
    shutil.rmtree(folder / "ward.vault")
    shutil.copytree(published.parent / f"after{after}.vault", folder / "ward.vault")
    return rv.Series.load(folder / "reveil.toml")


def out_of_sight(folder):
    """Take the published files away: nothing but the anchor shows what was told."""
    (folder / "out").rename(folder.parent / "elsewhere")
    return folder.parent / "elsewhere"


def anchor(folder):
    return json.loads((folder / "ward.anchor").read_text())


def acts(vault):
    with Vault.open(vault, create=False) as opened:
        return [row[0] for row in opened.store.connection.execute("SELECT act FROM chain ORDER BY entry").fetchall()]


def test_every_change_of_state_moves_the_anchor(tmp_path):
    own = rv.Series.load(config(tmp_path))
    assert not (tmp_path / "ward.anchor").exists()
    seen = []

    def step(done):
        done()
        with Vault.open(own.vault, anchor=own.anchor) as vault:
            standing = vault.standing()
        assert standing.contained
        assert not standing.behind
        seen.append((anchor(tmp_path)["entry"], len(anchor(tmp_path)["releases"])))

    step(lambda: own.publish(snapshot()))
    step(lambda: own.publish(snapshot(*NEXT)))
    step(lambda: own.forget(3))
    own.publish(snapshot(1, 66), dry_run=True)
    assert seen == [(3, 1), (5, 2), (6, 2)]
    elsewhere = rv.anonymize(snapshot(1, 70), SCHEMA, rv.KAnonymity(8) & rv.DistinctDiversity(2), seed=1)
    step(lambda: own.adopt(snapshot(1, 70), elsewhere))
    assert seen[-1] == (7, 3)
    assert acts(own.vault) == ["begun", *["prepared", "confirmed"] * 2, "forgotten", "adopted"]
    assert (tmp_path / "ward.anchor").stat().st_mode & 0o777 == 0o600


def test_the_anchor_is_beside_the_config_wherever_the_vault_is(tmp_path):
    path = config(tmp_path)
    path.write_text(path.read_text().replace("ward.vault", "kept/ward.vault"))
    assert rv.Series.load(path).vault == tmp_path / "kept" / "ward.vault"
    assert rv.Series.load(path).anchor == tmp_path / "ward.anchor"


def test_the_anchor_tells_nothing(folder):
    text = (folder / "ward.anchor").read_text()
    assert set(anchor(folder)) == {"format", "series", "entry", "digest", "releases", "erasures", "check"}
    assert (folder / "ward.vault" / "key").read_text().strip() not in text
    published = json.loads((folder / "out" / "r1.manifest.json").read_text())
    assert anchor(folder)["series"] == published["series_id"]


def test_a_vault_ahead_of_its_anchor_is_accepted(folder):
    """A kill between the two, or a colleague with an anchor of their own."""
    old = (folder / "ward.anchor").read_bytes()
    own = rv.Series.load(folder / "reveil.toml")
    own.publish(snapshot(*NEXT))
    now = anchor(folder)
    (folder / "ward.anchor").write_bytes(old)
    assert own.standing() is None
    own.publish(snapshot(*NEXT))  # already release 3
    assert anchor(folder) == now


def test_an_old_vault_is_refused_though_no_file_shows_it(folder, published):
    own = restored(folder, published)
    away = out_of_sight(folder)
    (folder / "out").mkdir()
    before, known = anchor(folder), tables(own.vault)
    for dry_run in (False, True):
        with pytest.raises(RefusedError, match=r"ward.anchor: the anchor knows of release 2 .* an old one") as caught:
            own.publish_to(folder / "out" / "r2.csv", snapshot(*NEXT), dry_run=dry_run)
        assert "reveil adopt SNAPSHOT RELEASE" in caught.value.hint
    done = command("publish", folder / "s2.csv", "-c", folder / "reveil.toml", "-o", folder / "out" / "r2.csv")
    assert done.returncode == 1
    # Saying that it is another series does not help: it is this one.
    done = command(
        "publish", folder / "s2.csv", "-c", folder / "reveil.toml", "-o", folder / "out" / "r2.csv", "--new-series"
    )
    assert done.returncode == 1
    listed = command("history", "-c", folder / "reveil.toml")
    assert listed.returncode == 1
    assert "release 2 that this vault does not know" in listed.stderr
    assert (anchor(folder), tables(own.vault), contents(folder / "out")) == (before, known, {})
    # The repair: what is missing is adopted, and the chain says that it was.
    done = command("adopt", folder / "s2.csv", away / "r2.csv", "-c", folder / "reveil.toml")
    assert done.returncode == 0, done.stderr
    assert "agree again" in done.stderr
    assert acts(own.vault)[-2:] == ["adopted", "joined"]
    assert own.publish(snapshot(*NEXT)).manifest["release"] == 3
    assert command("history", "-c", folder / "reveil.toml").returncode == 0


def test_repair_takes_all_that_is_missing(folder, published):
    rv.Series.load(folder / "reveil.toml").publish_to(folder / "out" / "r3.csv", written(folder, "s3.csv", 0, 60))
    own = restored(folder, published)
    away, before = out_of_sight(folder), anchor(folder)
    own.adopt(folder / "s2.csv", away / "r2.csv")
    assert ["release 3 that this vault does not know yet" in note for note in own.notes] == [True]
    assert anchor(folder) == before, "the anchor does not follow a vault that is behind"
    with pytest.raises(RefusedError, match="release 3"):
        own.publish(snapshot(0, 70))
    own.adopt(folder / "s3.csv", away / "r3.csv")
    assert "agree again" in own.notes[-1]
    assert own.publish(snapshot(0, 70)).manifest["release"] == 4


def test_a_copy_that_went_on_by_itself_is_refused(folder, published, tmp_path):
    """Two vaults made release 2; the anchor is that of the first."""
    other = tmp_path / "copy"
    other.mkdir()
    shutil.copytree(published.parent / "after1.vault", other / "ward.vault")
    config(other)
    fork = rv.Series.load(other / "reveil.toml")
    fork.publish_to(other / "fork.csv", snapshot(0, 45))
    shutil.rmtree(folder / "ward.vault")
    shutil.copytree(other / "ward.vault", folder / "ward.vault")
    own = rv.Series.load(folder / "reveil.toml")
    away = out_of_sight(folder)
    with pytest.raises(RefusedError, match="a copy that went on by itself"):
        own.publish(snapshot(*NEXT))
    # The release of the other is adopted under the next number.
    assert own.adopt(folder / "s2.csv", away / "r2.csv").release == 3
    assert "agree again" in own.notes[-1]
    assert own.publish(snapshot(*NEXT)).manifest["release"] == 4
    assert own.check(away) == []


def test_an_erasure_is_not_undone_by_a_restore(folder, published):
    rv.Series.load(folder / "reveil.toml").forget(7)
    own = restored(folder, published, after=2)
    with pytest.raises(RefusedError, match="knows of 1 erasure that") as caught:
        own.publish(snapshot(*NEXT))
    assert "reveil forget" in caught.value.hint
    own.forget(7)
    assert "agree again" in own.notes[-1]
    own.publish(snapshot(8, 60))


def late_and_erased(folder, published):
    """Restore a vault of before person 45 came; they were published since, erased, and are in no table any more."""
    rv.Series.load(folder / "reveil.toml").forget(45)
    table = folder / "s2.csv"
    pl.read_csv(table).filter(pl.col("pid") != 45).write_csv(table)
    return restored(folder, published), table


def test_an_erasure_of_somebody_the_backup_never_knew_can_be_repeated(folder, published):
    own, table = late_and_erased(folder, published)
    own.adopt(table, folder / "out" / "r2.csv")
    assert "knows of 1 erasure that this vault does not know yet" in own.notes[-1]
    done = command("forget", "45", "-c", folder / "reveil.toml")
    assert done.returncode == 0
    assert "there is nothing to forget" in done.stderr, "the same words as ever"
    assert "agree again" in done.stderr
    known = acts(own.vault)
    assert known[-2:] == ["forgotten", "joined"]
    assert anchor(folder)["erasures"] == 1
    assert not own.forget(45)
    assert not own.forget(777)
    assert acts(own.vault) == known, "not more than are missing"
    own.publish(snapshot(0, 45))


def test_an_erasure_of_nobody_does_not_count_while_a_release_is_missing(folder, published):
    """That release could bring the person in: erasures are repeated when everything is adopted."""
    own, table = late_and_erased(folder, published)
    before = acts(own.vault)
    assert not own.forget(45)
    assert "release 2 and 1 erasure that this vault does not know yet" in own.notes[-1]
    assert acts(own.vault) == before
    own.adopt(table, folder / "out" / "r2.csv")
    with pytest.raises(RefusedError, match="knows of 1 erasure"):
        own.publish(snapshot(0, 45))
    assert not own.forget(45)
    own.publish(snapshot(0, 45))


def test_two_missing_erasures_need_two(folder, published):
    own = rv.Series.load(folder / "reveil.toml")
    own.forget(7)
    own.forget(8)
    own = restored(folder, published, after=2)
    assert not own.forget(777)
    assert "knows of 1 erasure that" in own.notes[-1]
    assert own.forget(7)
    assert acts(own.vault)[-3:] == ["forgotten", "forgotten", "joined"]
    assert anchor(folder)["erasures"] == 2


def elsewhere(last, k):
    return rv.anonymize(snapshot(0, last), SCHEMA, rv.KAnonymity(k) & rv.DistinctDiversity(2), seed=1)


@pytest.mark.parametrize("kind", ["frame", "release", "twice"])
def test_an_old_vault_is_refused_after_adopting_what_never_was_a_file(tmp_path, kind):
    own = series(tmp_path)
    first, second = elsewhere(40, 8), elsewhere(40 if kind == "twice" else 50, 8)
    if kind != "release":
        first, second = first.text, second.text
    own.adopt(snapshot(0, 40), first)
    old = shutil.copytree(own.vault, tmp_path / "old.vault")
    own.adopt(snapshot(0, 40 if kind == "twice" else 50), second)
    shutil.rmtree(own.vault)
    shutil.move(old, own.vault)
    with pytest.raises(RefusedError, match="the anchor knows of release 2"):
        own.publish(snapshot(*NEXT))
    if kind == "frame":
        second = second.select(reversed(second.columns)).sample(fraction=1.0, shuffle=True, seed=1)
    own.adopt(snapshot(0, 40 if kind == "twice" else 50), second)
    assert "agree again" in own.notes[-1], "known again in whatever order"
    assert own.publish(snapshot(*NEXT)).manifest["release"] == 3


def test_a_lost_confirmation_is_no_reason_to_refuse(folder, published):
    """All that was told is known; the chain says that it came by another way."""
    by_hand(
        folder / "ward.vault",
        "UPDATE releases SET state = 'pending' WHERE release = 2",
        "DELETE FROM chain WHERE entry = 5",
    )
    own = rv.Series.load(folder / "reveil.toml")
    done = own.publish_to(folder / "out" / "r2.csv", folder / "s2.csv")
    assert (done.how, acts(own.vault)[-2:]) == ("resumed", ["joined", "confirmed"])


def test_a_missing_anchor_is_written_anew_and_said_so(folder):
    (folder / "ward.anchor").unlink()
    own = rv.Series.load(folder / "reveil.toml")
    done = own.publish_to(folder / "out" / "r3.csv", snapshot(*NEXT))
    assert "ward.anchor was not there, and is written anew" in done.note
    assert own.publish_to(folder / "out" / "r4.csv", snapshot(0, 70)).note is None


def test_a_missing_anchor_does_not_hide_an_old_vault(folder, published):
    own = restored(folder, published)
    (folder / "ward.anchor").unlink()
    with pytest.raises(RefusedError, match=r"r2.manifest.json is release 2 of this series"):
        own.publish(snapshot(*NEXT))
    own.forget(3)
    assert not (folder / "ward.anchor").exists(), "nothing but a release that looked at the files writes it"


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b"\xff", b"{" * 5000, None])
def test_a_damaged_anchor_is_refused(folder, content):
    path = folder / "ward.anchor"
    path.write_bytes(path.read_bytes().replace(b'"entry": 5', b'"entry": 3') if content is None else content)
    with pytest.raises(VaultError, match="this anchor is damaged") as caught:
        rv.Series.load(folder / "reveil.toml").publish(snapshot(*NEXT))
    assert caught.value.hint


def test_a_vault_of_before_gets_a_chain_and_an_anchor(folder):
    (folder / "ward.anchor").unlink()
    by_hand(
        folder / "ward.vault",
        *FORMAT_5,
        "DROP TABLE chain",
        "DROP TABLE seals",
        "DELETE FROM migrations WHERE version > 3",
        "DELETE FROM settings WHERE key = 'anchored'",
    )
    own = rv.Series.load(folder / "reveil.toml")
    assert own.publish_to(folder / "out" / "r3.csv", snapshot(*NEXT)).note is None
    assert acts(own.vault) == ["begun", "prepared", "confirmed"]
    assert len(anchor(folder)["releases"]) == 3


def test_a_changed_chain_is_noticed(folder):
    by_hand(folder / "ward.vault", "UPDATE chain SET release = 9 WHERE entry = 2")
    with pytest.raises(VaultError, match="broken at entry 2"):
        rv.Series.load(folder / "reveil.toml").history()


def test_where_the_anchor_lies(tmp_path):
    path = config(tmp_path, more='anchor = "kept/far.anchor"')
    (tmp_path / "kept").mkdir()
    rv.Series.load(path).publish(snapshot())
    assert (tmp_path / "kept" / "far.anchor").is_file()
    assert not (tmp_path / "ward.anchor").exists()
    with pytest.raises(ConfigError, match="inside the vault"):
        rv.Series.load(config(tmp_path, more='anchor = "ward.vault/anchor"'))
    (tmp_path / "plain").mkdir()
    own = series(tmp_path / "plain", anchor=tmp_path / "kept" / "own.anchor")
    own.publish(snapshot())
    assert (tmp_path / "kept" / "own.anchor").is_file()
    with pytest.raises(VaultError, match="cannot be written"):
        rv.Series.load(config(tmp_path, more='anchor = "nowhere/far.anchor"')).publish(snapshot(0, 44))
    assert [row["state"] for row in rv.Series.load(path).history()] == ["confirmed"], "refused before it was told"


# A vault that is lost


def lost(folder, *, anchored=True):
    shutil.rmtree(folder / "ward.vault")
    if not anchored:
        (folder / "ward.anchor").unlink()


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_series_does_not_start_over_beside_its_releases(folder, dry_run):
    lost(folder, anchored=False)
    before = contents(folder)
    more = ["--dry-run"] if dry_run else []
    for out in (folder / "out" / "r3.csv", folder / "r3.csv", folder.parent / "r3.csv"):
        done = command("publish", folder / "s2.csv", "-c", folder / "reveil.toml", "-o", out, *more)
        assert done.returncode == 1, done.stderr
        assert "r1.manifest.json is release 1 of a series named 'ward'" in done.stderr
        assert "--new-series" in done.stderr
    assert contents(folder) == before, "no vault is made either"


def test_a_series_does_not_start_over_beside_its_anchor(folder):
    lost(folder)
    out_of_sight(folder)
    own = rv.Series.load(folder / "reveil.toml")
    with pytest.raises(RefusedError, match=r"there is no vault yet, and its anchor .* knows of 2 releases"):
        own.publish(snapshot(*NEXT))
    assert not own.vault.exists()


def test_a_new_series_is_begun_if_somebody_says_so(folder):
    lost(folder)
    known = anchor(folder)
    done = command("publish", folder / "s2.csv", "-c", folder / "reveil.toml", "-o", folder / "new.csv", "--new-series")
    assert done.returncode == 0, done.stderr
    assert f"ward.anchor.{known['series']}" in done.stderr
    assert "a new vault was made" in done.stderr
    kept = folder / f"ward.anchor.{known['series']}"
    assert json.loads(kept.read_text()) == known
    own = rv.Series.load(folder / "reveil.toml")
    assert own.publish(snapshot(0, 55)).manifest["release"] == 2, "from then on there is a vault"
    wrong = own.check(folder)
    assert len(wrong) == 1
    assert f"a release of another series (id {known['series']}) named 'ward'" in wrong[0]
    done = command("history", "-c", folder / "reveil.toml", "--check", folder)
    assert done.returncode == 1
    assert known["series"] in done.stderr


def test_a_lost_vault_is_made_again_by_adopting_everything(folder):
    lost(folder)
    own = rv.Series.load(folder / "reveil.toml")
    own.adopt(folder / "s1.csv", folder / "out" / "r1.csv")
    assert any("a new vault was made" in note for note in own.notes)
    with pytest.raises(RefusedError, match="release 2"):
        own.publish(snapshot(*NEXT))
    away = out_of_sight(folder)
    with pytest.raises(RefusedError, match=r"ward.anchor: the anchor knows of release 2"):
        own.publish(snapshot(*NEXT))
    own.adopt(folder / "s2.csv", away / "r2.csv")
    assert "agree again" in own.notes[-1]
    own.publish(snapshot(*NEXT))
    assert own.check(away) == []


def test_a_series_without_a_name_is_known_by_its_columns(tmp_path):
    first = rv.Series.open(tmp_path / "a.vault", SCHEMA, rv.TauSafety(m=2))
    first.publish_to(tmp_path / "r1.csv", snapshot())
    second = rv.Series.open(tmp_path / "b.vault", SCHEMA, rv.TauSafety(m=2))
    with pytest.raises(RefusedError, match="a series without a name, with these columns"):
        second.publish(snapshot(0, 50))
    assert second.publish(snapshot(0, 50), new_series=True).manifest["release"] == 1
    other = rv.Schema(person="pid", quasi=("age",), sensitive="town", identifiers=("disease",))
    rv.Series.open(tmp_path / "c.vault", other, rv.Static(k=3)).publish(snapshot())


def test_folders_below_are_looked_into_and_some_are_not(folder):
    own = rv.Series.load(folder / "reveil.toml")
    own.publish_to(folder / "out" / "r3.csv", snapshot(*NEXT))
    late = folder / "out" / "2026" / "may"
    late.mkdir(parents=True)
    (late / "r9.manifest.json").write_text(
        (folder / "out" / "r1.manifest.json").read_text().replace('"release": 1', '"release": 9')
    )
    assert [line.split(" is ")[0] for line in own.check(folder)] == ["out/2026/may/r9.manifest.json"]
    with pytest.raises(RefusedError, match="release 9"):
        own.publish(snapshot(0, 70))
    hidden = folder / ".trash"
    late.rename(hidden)
    (folder / "link").symlink_to(hidden)
    assert own.check(folder) == []


def test_a_first_publish_that_was_refused_does_not_eat_the_note(tmp_path):
    own = series(tmp_path, rv.TauSafety(m=4))
    with pytest.raises(RefusedError, match="possible values"):
        own.publish(snapshot())
    done = series(tmp_path).publish_to(tmp_path / "r1.csv", snapshot())
    assert "a new vault was made" in done.note
