"""Files that a command writes: never over what must be kept, entirely or not at all; and what Ctrl-C may say."""

import json
import os
import shutil
import subprocess
import sys

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import FileError
from reveil.releases import files
from reveil.vault.opening import DATABASE
from tests.series.cases import STATIC, command, config, contents, copied, snapshot, written


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs") / "ward"
    folder.mkdir()
    rv.Series.load(config(folder)).publish_to(folder / "r1.csv", written(folder, "raw.csv"))
    written(folder, "older.csv", 0, 50)
    snapshot(0, 50).write_parquet(folder / "older.parquet")
    shutil.copy(folder / "older.csv", folder / "older.txt")
    return folder


@pytest.fixture
def folder(published, tmp_path, monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)
    return copied(published, tmp_path / "ward")


KEPT = ["raw.csv", "older.csv", "older.parquet", "r1.csv", "r1.manifest.json", "reveil.toml", "ward.anchor"]
KEPT += ["older.txt", "ward.vault/key", "ward.vault/vault.duckdb", "ward.vault/new.json", "ward.vault/releases/x.json"]


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("what", ["history", "measure", "audit", "query"])
def test_json_is_never_written_over_what_must_be_kept(folder, what, name):
    if what == "query" and name == "older.txt":
        pytest.skip("without a config, nobody knows what persons are called")
    before = contents(folder)
    settings = ["-c", folder / "reveil.toml"]
    arguments = {
        "history": ["history", *settings],
        "measure": ["measure", folder / "raw.csv", folder / "r1.csv", *settings],
        "audit": ["audit", folder / "r1.csv", "--truth", folder / "raw.csv", *settings],
        "query": ["query", folder / "r1.csv", "age > 30"],
    }[what]
    done = command(*arguments, "--json", folder / name)
    assert done.returncode == 2
    assert str(folder / name) in done.stderr
    assert contents(folder) == before
    assert done.stdout == "", "refused before any work is done"


def test_json_replaces_json_in_one_step(folder, monkeypatch):
    target = folder / "history.json"
    assert command("history", "-c", folder / "reveil.toml", "--json", target).returncode == 0
    target.write_text("[]")
    (folder / "link.json").symlink_to(target)
    assert command("history", "-c", folder / "reveil.toml", "--json", folder / "link.json").returncode == 0
    assert (folder / "link.json").is_symlink()
    assert len(json.loads(target.read_text())) == 1
    before = contents(folder)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reveil.releases.files.put_in_place", full)
    done = command("history", "-c", folder / "reveil.toml", "--json", target)
    assert done.returncode == 2
    assert "cannot write here" in done.stderr
    assert contents(folder) == before
    assert command("history", "-c", folder / "reveil.toml", "--json", "/dev/null").returncode == 0


@pytest.mark.parametrize("name", ["older.txt", "ward.vault/page.html"])
def test_a_report_is_never_written_over_what_must_be_kept(folder, name):
    if name == "older.txt":
        (folder / "older.txt").rename(folder / "page.html")
        name = "page.html"
    before = contents(folder)
    done = command("report", "-c", folder / "reveil.toml", "-o", folder / name)
    assert done.returncode == 2
    assert contents(folder) == before


def test_the_numbers_of_a_report_do_not_replace_a_manifest(folder):
    before = contents(folder)
    done = command("report", "-c", folder / "reveil.toml", "-o", folder / "r1.manifest.html")
    assert done.returncode == 2
    assert "the manifest of a release" in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize(
    "name", ["raw.csv", "older.csv", "older.parquet", "r1.csv", "ward.vault/reveil.toml", "ward.anchor"]
)
def test_a_config_is_never_written_over_what_must_be_kept(folder, name):
    before = contents(folder)
    done = command("init", folder / "raw.csv", "--yes", "-o", folder / name)
    assert done.returncode == 2
    assert contents(folder) == before


@pytest.mark.parametrize("guarantee", [None, STATIC])
@pytest.mark.parametrize("name", ["raw.csv", "older.csv", "older.parquet"])
def test_a_release_is_never_written_over_a_raw_table(folder, name, guarantee):
    path = folder / "reveil.toml"
    if guarantee is not None:
        config(folder, guarantee)
        path.write_text(path.read_text().replace('vault = "ward.vault"', ""))
    before = contents(folder)
    done = command("publish", folder / "raw.csv", "-c", path, "-o", folder / name)
    assert done.returncode == 2, done.stderr
    assert contents(folder) == before
    # Somebody's file that is nothing of this is replaced as ever.
    pl.DataFrame({"x": [1]}).write_csv(folder / "plain.csv")
    assert command("publish", folder / "older.csv", "-c", path, "-o", folder / "plain.csv").returncode == 0


def test_without_a_vault_a_release_of_another_name_is_kept(tmp_path):
    path = config(tmp_path, STATIC)
    path.write_text(path.read_text().replace('vault = "ward.vault"', ""))
    written(tmp_path, "raw.csv")
    publish = ["publish", tmp_path / "raw.csv", "-c", path, "-o", tmp_path / "r.csv"]
    assert command(*publish).returncode == 0
    assert command(*publish).returncode == 0, "the same release of the same series"
    path.write_text(path.read_text().replace('"ward"', '"other"'))
    done = command(*publish)
    assert done.returncode == 2
    assert "another release: number 1 of the series 'ward'" in done.stderr
    done = command(*publish, "--new-series")
    assert (done.returncode, "belong to a series" in done.stderr) == (2, True)


def test_drafts_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path):
    with files.draft_folder(tmp_path / "a.csv") as living:
        (tmp_path / ".reveil-draft-dead").mkdir()
        (tmp_path / ".reveil-draft-dead" / "r.csv").write_text("half")
        with files.draft_folder(tmp_path / "b.csv") as second:
            assert sorted(tmp_path.iterdir()) == sorted([living, second])
    assert not list(tmp_path.iterdir())


def test_files_know_what_a_vault_looks_like():
    from reveil.vault.sealed import file_shelf, sealed_store

    assert files.VAULT_FILES == (DATABASE, file_shelf.DATABASE, sealed_store.MARK)


def test_a_folder_that_takes_no_files_is_said(tmp_path):
    with pytest.raises(FileError, match="cannot write here"), files.draft_folder(tmp_path / "nowhere" / "r.csv"):
        pass


INTERRUPTED = """
import os, signal, sys
from reveil.vault import Vault
import reveil.series.series as series, reveil.releases.release as release
def interrupt(function):
    def done(*a, **k):
        found = function(*a, **k)
        os.kill(os.getpid(), signal.SIGINT)
        return found
    return done
{where}
from reveil.cli import main
main()
"""


@pytest.mark.parametrize(
    ("guarantee", "where"),
    [
        (None, "Vault.close = interrupt(Vault.close)"),
        pytest.param(None, "series.remark = interrupt(series.remark)", marks=pytest.mark.slow),
        pytest.param(
            STATIC,
            "release.Release.write_checked = interrupt(release.Release.write_checked)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_ctrl_c_after_a_confirmed_release_changes_nothing(tmp_path, guarantee, where):
    path = config(tmp_path) if guarantee is None else config(tmp_path, guarantee)
    if guarantee is not None:
        path.write_text(path.read_text().replace('vault = "ward.vault"', ""))
    written(tmp_path, "raw.csv")
    arguments = ["publish", tmp_path / "raw.csv", "-c", path, "-o", tmp_path / "r1.csv"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(where=where), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "REVEIL_KEY"},
    )
    assert done.returncode == 0, done.stderr
    assert "published" in done.stderr
    assert "interrupted" not in done.stderr
