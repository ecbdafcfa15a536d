"""Is the vault up to date? Published files are compared with it, and an old vault tells nothing twice."""

import hashlib
import json
import shutil
from dataclasses import replace

import pytest

import reveil as rv
from reveil.core.errors import FileError, RefusedError
from tests.series.cases import chain_is_sound, command, config, contents, copied, snapshot, tables, written
from tests.vault.cases import by_hand


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Three releases (the second in Parquet, the third in two tables), and the vault as it was after the first."""
    folder = tmp_path_factory.mktemp("series") / "ward"
    (folder / "out").mkdir(parents=True)
    path = config(folder)
    rv.Series.load(path).publish_to(folder / "out" / "r1.csv", written(folder, "s1.csv"))
    shutil.copytree(folder / "ward.vault", folder / "old.vault")
    rv.Series.load(path).publish_to(folder / "out" / "r2.parquet", written(folder, "s2.csv", 2, 45))
    path.write_text(path.read_text().replace("m = 2", "m = 2\nangelize = true"))
    rv.Series.load(path).publish_to(folder / "out" / "r3.csv", written(folder, "s3.csv", 3, 50))
    return folder


@pytest.fixture
def folder(published, tmp_path):
    return copied(published, tmp_path / "ward")


def check(folder):
    """Return what is wrong, and see that the command line says the same."""
    wrong = rv.Series.load(folder / "reveil.toml").check(folder / "out")
    assert chain_is_sound(folder / "out", "r1", "r2", "r3") or wrong
    return wrong


def test_all_is_well(folder):
    assert check(folder) == []
    (folder / "out" / "notes.manifest.json").write_text("[not ours")
    (folder / "out" / "other.manifest.json").write_text('{"series_id": "of somebody else", "release": 9}')
    assert check(folder) == []
    done = command("history", "-c", folder / "reveil.toml", "--check", folder / "out")
    assert done.returncode == 0, done.stderr
    assert "confirmed" in done.stdout
    # A release may be there in another format, too, and one may have been moved away.
    rv.Release.read(folder / "out" / "r1.csv").write(folder / "out" / "r1.parquet")
    rv.Release.read(folder / "out" / "r2.parquet").write(folder / "out" / "copy.csv")
    for path in (folder / "out").glob("r2.*"):
        path.unlink()
    own = rv.Series.load(folder / "reveil.toml")
    assert own.check(folder / "out") == []
    own.publish_to(folder / "out" / "r4.csv", snapshot(0, 55))
    with pytest.raises(FileError, match="no such folder"):
        own.check(folder / "nowhere")


def changed_table(out):
    path = out / "r1.csv"
    path.write_text(path.read_text().replace("flu", "gout", 1))


def changed_table_with_its_manifest(out):
    release = rv.Release.read(out / "r1.csv")
    changed_table(out)
    manifest = out / "r1.manifest.json"
    new = "sha256:" + hashlib.sha256((out / "r1.csv").read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text().replace(release.manifest["digest"], new))
    assert rv.Release.read(out / "r1.csv")


def changed_copy_in_another_format(out):
    rv.Release.read(out / "r1.csv").write(out / "copy.parquet")
    release = rv.Release.read(out / "copy.parquet")
    values = release.values.with_columns(disease=release.values["disease"].reverse())
    replace(release, values=values).write(out / "copy.parquet")


def changed_second_table(out):
    path = out / "r3.sensitive.csv"
    path.write_text(path.read_text().replace("flu", "gout", 1))


def missing_second_table(out):
    (out / "r3.sensitive.csv").unlink()


def missing_table(out):
    (out / "r2.parquet").unlink()


def changed_manifest(out):
    path = out / "r2.manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "claim": "Nothing is told."}))


def damaged_manifest(out):
    (out / "r1.manifest.json").write_text("{")


def later_release(out):
    path = out / "r1.manifest.json"
    (out / "r9.manifest.json").write_text(json.dumps({**json.loads(path.read_text()), "release": 9}))


WRONG = {
    changed_table: "r1.csv was changed",
    changed_table_with_its_manifest: "r1.csv was changed",
    changed_copy_in_another_format: "copy.parquet was changed",
    changed_second_table: "r3.csv was changed",
    missing_second_table: "r3.sensitive.csv is missing",
    missing_table: "r2.parquet is missing",
    changed_manifest: "says something else than release 2",
    damaged_manifest: "r1.csv has no manifest",
    later_release: "does not know",
}


@pytest.mark.parametrize("harm", WRONG, ids=lambda harm: harm.__name__)
def test_what_is_wrong_is_named(folder, harm):
    harm(folder / "out")
    wrong = rv.Series.load(folder / "reveil.toml").check(folder / "out")
    assert len(wrong) == 1
    assert WRONG[harm] in wrong[0]


def test_what_is_wrong_ends_with_1(folder):
    changed_table(folder / "out")
    done = command("history", "-c", folder / "reveil.toml", "--check", folder / "out", "--json", folder / "h.json")
    assert done.returncode == 1
    assert "r1.csv was changed" in done.stderr
    assert len(json.loads((folder / "h.json").read_text())) == 3


@pytest.fixture
def restored(folder):
    """The vault as it was after release 1, while releases 2 and 3 are out."""
    shutil.rmtree(folder / "ward.vault")
    (folder / "old.vault").rename(folder / "ward.vault")
    return folder


def test_an_old_vault_is_refused_before_it_tells_something_twice(restored):
    path = restored / "reveil.toml"
    own = rv.Series.load(path)
    assert len(own.check(restored / "out")) == 2
    before = tables(own.vault), contents(restored / "out")
    # The folder of earlier releases is looked at, even if the new one goes elsewhere.
    done = command("publish", restored / "s3.csv", "-c", path, "-o", restored / "elsewhere.csv")
    assert done.returncode == 1
    assert "old one" in done.stderr
    assert "Restore the latest backup" in done.stderr
    assert "adopt" in done.stderr
    for dry_run in (False, True):
        with pytest.raises(RefusedError, match="release 2 of this series"):
            own.publish(snapshot(0, 60), dry_run=dry_run)
    assert (tables(own.vault), contents(restored / "out")) == before
    assert not (restored / "elsewhere.csv").exists()


def test_an_old_vault_goes_on_once_it_was_told_what_is_missing(restored, published):
    own = rv.Series.load(restored / "reveil.toml")
    with pytest.raises(RefusedError, match="release 2 comes first"):
        own.adopt(restored / "s3.csv", restored / "out" / "r3.csv")
    with pytest.raises(RefusedError, match="knows already"):
        own.adopt(restored / "s1.csv", restored / "out" / "r1.csv")
    found = own.adopt(restored / "s2.csv", restored / "out" / "r2.parquet")
    assert found.exact
    assert (found.persons, found.ambiguous, found.unsafe_groups, found.crossed) == (43, 0, 0, 0)
    with pytest.raises(RefusedError, match="release 3 of this series"):
        own.publish(snapshot(0, 60))
    assert own.adopt(restored / "s3.csv", restored / "out" / "r3.csv").exact
    assert own.check(restored / "out") == []
    known, now = tables(published / "ward.vault"), tables(own.vault)
    assert all(known[name] == now[name] for name in ("persons", "ledger_told", "ledger_signatures", "dictionary"))
    assert own.placements(3, snapshot(0, 60)).height, "who is where is known, and archived"
    # The judge has a record of what was published here; what was adopted it takes over with the next release.
    settings = [[row for row in own["settings"] if "judged" not in row] for own in (known, now)]
    assert settings[0] == settings[1]
    own.publish_to(restored / "out" / "r4.csv", snapshot(0, 60))
    assert chain_is_sound(restored / "out", "r1", "r2", "r3", "r4")
    assert [row["state"] for row in own.history()] == ["confirmed", "adopted", "adopted", "confirmed"]
    assert own.check(restored / "out") == []
    found = own.replayed()
    assert (found.releases, found.broken, found.missing) == (4, [], [])


def test_a_vault_that_went_on_from_an_old_backup_is_noticed(restored):
    """Release 2 exists twice: the files elsewhere were not seen when the second one was made."""
    (restored / "out").rename(restored / "hidden")
    (restored / "out").mkdir()
    by_hand(restored / "ward.vault", "UPDATE releases SET path = NULL")
    own = rv.Series.load(restored / "reveil.toml")
    (restored / "hidden").rename(restored.parent / "hidden")  # folders below are looked into
    with pytest.raises(RefusedError, match="releases 2, 3 that this vault does not know"):
        own.publish_to(restored / "out" / "r2.csv", snapshot(0, 60))
    (restored / "ward.anchor").unlink()  # and nothing shows it any more
    done = own.publish_to(restored / "out" / "r2.csv", snapshot(0, 60))
    assert "ward.anchor was not there" in done.note
    hidden = restored.parent / "hidden"
    assert len(own.check(hidden)) == 2
    for path in hidden.glob("r2*"):
        path.rename(restored / "out" / f"original.{path.name.partition('.')[2]}")
    with pytest.raises(RefusedError, match="remembers it otherwise"):
        own.publish(snapshot(0, 65))
