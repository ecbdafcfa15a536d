"""A publisher that is killed at any moment: the series is as it was, or one release is pending and can be finished."""

import json
import os
import signal
import subprocess
import sys

import pytest

import reveil as rv
from reveil.core.errors import FileError, PendingError, RefusedError
from tests.rarely import mostly_slow
from tests.series.cases import chain_is_sound, config, contents, copied, digest, private, snapshot, tables, written

PRELUDE = """
import os, sys
import reveil.releases.release, reveil.series.drafts, reveil.series.series, reveil.vault.writing
from reveil.vault import Vault
def die(*_, **__):
    os.kill(os.getpid(), 9)
def first_only(drafts, folder, *_):
    drafts[0].replace(folder / drafts[0].name)
    die()
def then_die(function):
    def done(*a, **k):
        function(*a, **k)
        die()
    return done
"""
FINISH = "\nfrom reveil.cli import main; main()"
AS_BEFORE = {
    "while the draft is written": "reveil.releases.release.put_in_place = first_only",
    "after the draft": "Vault.prepare = die",
    "inside the transaction": "reveil.vault.writing._write_release = die",
}
PENDING = {
    "after prepare": "Vault.prepare = then_die(Vault.prepare)",
    "during the copy": "reveil.series.drafts.put_in_place = first_only",
    "after the copy": "Vault.confirm = die",
}
AFTER = "Vault.confirm = then_die(Vault.confirm)"


def publish(folder, script=""):
    arguments = ["publish", folder / "second.csv", "-c", folder / "reveil.toml", "-o", folder / "r2.csv"]
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + script + FINISH, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "REVEIL_KEY"},
    )


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """A folder with release 1, and a copy of it in which nobody disturbed release 2."""
    folder = tmp_path_factory.mktemp("series") / "before"
    folder.mkdir()
    path = config(folder)
    written(folder, "first.csv")
    written(folder, "second.csv", 3, 50, p7="gout")
    rv.Series.load(path).publish_to(folder / "r1.csv", folder / "first.csv")
    after = copied(folder, folder.with_name("after"))
    rv.Series.load(after / "reveil.toml").publish_to(after / "r2.csv", after / "second.csv")
    return folder, after


@pytest.fixture
def folder(calm, tmp_path, monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    return copied(calm[0], tmp_path / "series")


def killed(folder, script):
    assert publish(folder, script).returncode == -signal.SIGKILL
    return rv.Series.load(folder / "reveil.toml")


def finished(own, calm, how):
    """Publish the same snapshot and compare all with what an undisturbed publisher left."""
    folder = own.vault.parent
    done = own.publish_to(folder / "r2.csv", folder / "second.csv")
    assert done.how == how
    assert (folder / "r2.csv").read_bytes() == (calm[1] / "r2.csv").read_bytes()
    assert tables(own.vault) == tables(calm[1] / "ward.vault")
    assert chain_is_sound(folder, "r1", "r2")
    assert own.check(folder) == []
    assert private(own.vault)
    assert not list(folder.glob(".reveil-draft-*")), "what the killed one left beside the target is gone"
    assert contents(own.vault).keys() == contents(calm[1] / "ward.vault").keys()
    placed = own.placements(2, snapshot(0, 60))
    assert placed.equals(rv.Series.load(calm[1] / "reveil.toml").placements(2, snapshot(0, 60)))


@pytest.mark.parametrize("moment", mostly_slow(AS_BEFORE))
def test_killed_before_it_was_told_the_series_is_as_it_was(folder, calm, moment):
    before = tables(folder / "ward.vault")
    own = killed(folder, AS_BEFORE[moment])
    assert tables(own.vault) == before
    assert [row["state"] for row in own.history()] == ["confirmed"]
    assert not (folder / "r2.csv").exists()
    finished(own, calm, "published")


@pytest.mark.parametrize("moment", mostly_slow(PENDING))
def test_killed_after_it_was_told_a_release_is_pending(folder, calm, moment):
    own = killed(folder, PENDING[moment])
    assert [row["state"] for row in own.history()] == ["confirmed", "pending"]
    before = tables(own.vault)
    for other in (snapshot(), snapshot(0, 60)):
        with pytest.raises(PendingError, match="release 2 is pending") as caught:
            own.publish(other)
        assert "--abandon 2" in caught.value.hint
        assert caught.value.exit_code == 1
    with pytest.raises(PendingError):
        own.publish(folder / "second.csv", where="age > 20")
    with pytest.raises(PendingError):
        own.forget(5)
    with pytest.raises(PendingError):
        own.adopt(folder / "first.csv", folder / "r1.csv")
    assert tables(own.vault) == before
    finished(own, calm, "resumed")
    assert own.publish(folder / "second.csv").manifest["release"] == 2


def test_killed_after_it_was_confirmed_all_is_done(folder, calm):
    own = killed(folder, AFTER)
    assert [row["state"] for row in own.history()] == ["confirmed", "confirmed"]
    finished(own, calm, "already")
    own.publish(snapshot(10, 60))
    assert not list((own.vault / "releases").glob("000001*"))


@pytest.mark.slow
def test_what_is_left_after_it_was_confirmed_goes_even_if_nothing_new_is_published(folder, calm):
    own = killed(folder, AFTER)
    copies = own.vault / "releases"
    assert list(copies.glob("000001*"))
    with pytest.raises(FileError, match="this would replace another release"):
        own.publish_to(folder / "r2.csv", folder / "second.csv", again=True)
    assert contents(own.vault).keys() == contents(calm[1] / "ward.vault").keys()


@pytest.mark.slow
def test_killed_after_it_was_abandoned_the_copies_go_with_the_same_command(folder, monkeypatch):
    own = killed(folder, PENDING["during the copy"])
    with monkeypatch.context() as patched:
        patched.setattr("reveil.series.series.remove_drafts", lambda *_, **__: None)
        own.abandon(2)
    assert list((own.vault / "releases").iterdir())
    with pytest.raises(RefusedError, match="release 2 is abandoned"):
        own.abandon(2)
    assert not list((own.vault / "releases").iterdir())


@pytest.mark.slow
def test_an_abandoned_release_stays_told(folder, calm):
    own = killed(folder, PENDING["during the copy"])
    assert (folder / "r2.csv").exists()
    assert not (folder / "r2.manifest.json").exists()
    assert own.check(folder) == [], "half of a pending release is as it should be"
    told = tables(own.vault)
    with pytest.raises(RefusedError, match="release 1 is confirmed"):
        own.abandon(1)
    own.abandon(2)
    after = tables(own.vault)
    assert {**after, "releases": 0} == {**told, "releases": 0}
    assert [row["state"] for row in own.history()] == ["confirmed", "abandoned"]
    with pytest.raises(RefusedError, match="abandoned"):
        own.abandon(2)
    # Its table lies there without a manifest: nobody can take it for a release.
    assert own.check(folder) == ["r2.csv has no manifest that can be read"]
    (folder / "r2.csv").unlink()
    own.publish_to(folder / "r3.csv", snapshot(3, 52, p7="gout"))
    manifest = json.loads((folder / "r3.manifest.json").read_text())
    assert manifest["release"] == 3
    with_2 = {row.release: row for row in _rows(own)}
    assert manifest["previous"] == with_2[2].manifest_digest
    assert json.loads(with_2[2].manifest)["previous"] == digest(folder / "r1.manifest.json")
    assert own.check(folder) == []
    assert {row[:4] for row in tables(own.vault)["ledger_told"]} >= {row[:4] for row in told["ledger_told"]}
    assert own.history()[2]["inserted"] == 2


def _rows(own):
    with own._opened() as vault:
        return vault.releases()


@pytest.mark.slow
def test_a_pending_release_can_be_finished_in_another_format(folder, calm):
    own = killed(folder, PENDING["after prepare"])
    done = own.publish_to(folder / "r2.parquet", folder / "second.csv")
    assert done.how == "resumed"
    assert rv.Release.read(folder / "r2.parquet").text.equals(rv.Release.read(calm[1] / "r2.csv").text)
    assert own.check(folder) == []
    own.publish_to(folder / "r3.csv", snapshot(0, 60))
    assert own.check(folder) == []


@pytest.mark.slow
def test_a_lost_copy_of_a_pending_release_has_a_way_out(folder, calm):
    own = killed(folder, PENDING["after prepare"])
    for path in (own.vault / "releases").glob("000002*"):
        path.unlink()
    with pytest.raises(rv.VaultError, match="no copy") as caught:
        own.publish(folder / "second.csv")
    assert "--abandon 2" in caught.value.hint
    own.abandon(2)
    assert own.publish(folder / "second.csv").manifest["release"] == 3


def test_a_release_that_cannot_be_written_is_pending_and_said_so(folder, calm, monkeypatch):
    own = rv.Series.load(folder / "reveil.toml")

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("reveil.series.drafts.put_in_place", fail)
        with pytest.raises(rv.FileError, match="could not be written") as caught:
            own.publish_to(folder / "r2.csv", folder / "second.csv")
    assert "again" in caught.value.hint
    finished(own, calm, "resumed")
