"""A series on the command line: publish, history, abandon, and the words and exit codes of each."""

import json

import polars as pl
import pytest

import reveil as rv
from tests.cli.run import reveil, reveil_alone
from tests.series.cases import STATIC, TAU, chain_is_sound, command, config, contents, snapshot, written

KEYS = ["release", "created", "state", "persons", "inserted", "deleted", "updated", "returned"]
KEYS += ["counterfeits", "withheld", "guarantee", "digest"]


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.fixture(params=[TAU, TAU + "\nangelize = true", STATIC], ids=["tau-safety", "angelize", "static"])
def folder(request, tmp_path):
    config(tmp_path, request.param)
    written(tmp_path, "one.csv")
    snapshot(3, 50).write_parquet(tmp_path / "two.parquet")
    return tmp_path


def publish(folder, data, out, *more):
    return command("publish", folder / data, "-c", folder / "reveil.toml", "-o", folder / out, *more)


def history(folder, *more):
    return command("history", "-c", folder / "reveil.toml", *more)


def test_a_life_on_the_command_line(folder):
    assert history(folder).stdout.startswith("nothing was published yet")
    assert json.loads(history(folder, "--json", "-").stdout) == []
    before = contents(folder)
    done = publish(folder, "one.csv", "r1.csv", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "would publish release 1" in done.stderr
    assert "gcp" in done.stdout
    assert contents(folder) == before
    assert not (folder / "ward.vault").exists()

    done = publish(folder, "one.csv", "r1.csv")
    assert (done.returncode, done.stdout) == (0, "")
    assert "published release 1" in done.stderr
    done = publish(folder, "two.parquet", "r2.parquet")
    assert (done.returncode, done.stdout) == (0, "")
    assert chain_is_sound(folder, "r1", "r2")

    snapshot(3, 50).reverse().write_csv(folder / "same.csv")
    before = contents(folder)
    done = publish(folder, "same.csv", "r2.parquet")
    assert done.returncode == 0
    assert "already release 2" in done.stderr
    done = publish(folder, "same.csv", "r3.csv", "--dry-run")
    assert "already release 2: nothing would be published" in done.stderr
    after = contents(folder)
    assert {name: bytes_ for name, bytes_ in after.items() if "duckdb" not in name} == {
        name: bytes_ for name, bytes_ in before.items() if "duckdb" not in name
    }
    done = publish(folder, "same.csv", "r3.parquet", "--again")
    assert "published release 3" in done.stderr

    done = history(folder, "--json", "-", "--check", folder)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert all(set(KEYS) <= set(row) for row in rows)
    assert [row["release"] for row in rows] == [1, 2, 3]
    assert [row["persons"] for row in rows] == [40, 47, 47]
    assert [row["inserted"] for row in rows] == [40, 10, 0]
    assert [row["deleted"] for row in rows] == [0, 3, 0]
    text = history(folder, "--json", folder / "h.json").stdout
    assert "confirmed" in text
    assert json.loads((folder / "h.json").read_text()) == rows
    for release, raw in (("r1.csv", "one.csv"), ("r2.parquet", "two.parquet")):
        done = command("verify", folder / release, folder / raw, "-c", folder / "reveil.toml")
        assert done.returncode == 0, done.stderr


def test_a_pending_release(tmp_path, monkeypatch):
    path = config(tmp_path)
    written(tmp_path, "one.csv")
    written(tmp_path, "two.csv", 0, 50)

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("reveil.series.drafts.put_in_place", fail)
        done = publish(tmp_path, "one.csv", "r1.csv")
    assert done.returncode == 2
    assert "No space" not in done.stderr
    assert "publish the same table again" in done.stderr
    assert "pending" in history(tmp_path).stdout
    done = publish(tmp_path, "two.csv", "r2.csv")
    assert done.returncode == 1
    assert "release 1 is pending" in done.stderr
    assert command("forget", "3", "-c", path).returncode == 1
    done = history(tmp_path, "--abandon", "7")
    assert done.returncode == 1
    done = publish(tmp_path, "one.csv", "r1.csv")
    assert done.returncode == 0
    assert "finished release 1" in done.stderr
    with monkeypatch.context() as patch:
        patch.setattr("reveil.series.drafts.put_in_place", fail)
        publish(tmp_path, "two.csv", "r2.csv")
    done = history(tmp_path, "--abandon", "2")
    assert done.returncode == 0
    assert "abandoned" in done.stdout
    assert "told" in done.stderr
    done = publish(tmp_path, "two.csv", "r3.csv")
    assert "published release 3" in done.stderr
    assert history(tmp_path, "--check", tmp_path).returncode == 0


def test_bad_paths_end_with_2(tmp_path):
    path = config(tmp_path)
    raw = written(tmp_path, "one.csv")
    for arguments in (
        ("publish", raw, "-c", path, "-o", tmp_path / "no" / "o.csv"),
        ("publish", raw, "-c", path, "-o", tmp_path / "ward.vault" / "o.csv"),
        ("publish", raw, "-c", path, "-o", raw),
        ("publish", tmp_path / "none.csv", "-c", path, "-o", tmp_path / "o.csv"),
        ("history", "-c", tmp_path / "none.toml"),
        ("history", "-c", path, "--check", tmp_path),
        ("history", "-c", path, "--abandon", "1"),
        ("history", "-c", path, "--abandon", "x"),
        ("adopt", raw, tmp_path / "none.csv", "-c", path),
    ):
        assert command(*arguments).returncode == 2, arguments
    assert {p.name for p in tmp_path.iterdir()} == {"reveil.toml", "one.csv"}


def test_what_cannot_be_published_tells_no_values(tmp_path):
    config(tmp_path, TAU.replace("2", "3"))
    written(tmp_path, "one.csv")
    done = publish(tmp_path, "one.csv", "r1.csv")
    assert done.returncode == 1
    assert "largest m that fits is 2" in done.stderr
    assert not any(value in done.stderr for value in snapshot()["disease"])
    config(tmp_path, 'kind = "m-invariance"\nm = 2')
    snapshot().with_columns(disease=pl.lit("secretpox")).write_csv(tmp_path / "one.csv")
    done = publish(tmp_path, "one.csv", "r1.csv")
    assert done.returncode == 1
    assert "eligible" in done.stderr
    assert "secretpox" not in done.stderr
    assert not (tmp_path / "r1.csv").exists()


@pytest.mark.slow
def test_in_a_process_of_its_own(tmp_path):
    """The same once more as a user does it, with a key from outside."""
    path = config(tmp_path)
    raw = written(tmp_path, "one.csv")
    done = reveil_alone("publish", raw, "-c", path, "-o", tmp_path / "r1.csv", REVEIL_KEY="a key in words, long enough")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert sorted(p.name for p in (tmp_path / "ward.vault").iterdir()) == ["releases", "vault.duckdb"]
    done = reveil("history", "-c", path, "--json", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "REVEIL_KEY" in done.stderr
    assert rv.Release.read(tmp_path / "r1.csv").manifest["release"] == 1
