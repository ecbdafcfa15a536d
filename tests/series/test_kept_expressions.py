"""Expressions hold values and ids: the vault recognises them, and keeps their columns only."""

import json

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError
from tests.series.cases import command, config, contents, series, snapshot, tables
from tests.vault.cases import FORMAT_5, by_hand, in_bytes

TOWN = "lighthouse of the northernmost island"
WHERE = f"age < 75 and not town = '{TOWN}'"
OTHERWISE = f"not town = '{TOWN}' and age<75"


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


def requests(vault):
    return [json.loads(row[3]) for row in tables(vault)["releases"]]


def test_nobody_is_asked_for_by_name(tmp_path):
    schema = rv.Schema(person="pid", identifiers=("name",), quasi=("age", "town"), sensitive="disease")
    own = series(tmp_path, schema=schema)
    frame = snapshot().with_columns(name=pl.format("n{}", "pid"))
    for where, column in (("pid != 5", "pid"), ("age < 50 or pid in {3, 4}", "pid"), ("not name = n7", "name")):
        with pytest.raises(ConfigError, match=f"{column}', which names people one by one"):
            own.publish(frame, where=where)
    assert own.history() == []
    path = config(tmp_path)
    snapshot().write_csv(tmp_path / "raw.csv")
    done = command("publish", tmp_path / "raw.csv", "-c", path, "-o", tmp_path / "o.csv", "--where", "pid != 5")
    assert done.returncode == 2
    assert "'pid'" in done.stderr


def test_the_vault_keeps_columns_and_a_digest(tmp_path):
    own = series(tmp_path)
    first = own.publish(snapshot(), where=WHERE)
    (request,) = requests(own.vault)
    assert request["where"].keys() == {"columns", "digest"}
    assert request["where"]["columns"] == ["age", "town"]
    assert in_bytes(own.vault, TOWN, "75 and") == []
    assert own.publish(snapshot(), where=WHERE).manifest["release"] == 1, "it is recognised"
    assert own.publish(snapshot(), where="age < 74").manifest["release"] == 2
    # The digest takes the key: texts cannot be tried against it elsewhere.
    (tmp_path / "other").mkdir()
    other = series(tmp_path / "other")
    other.publish(snapshot(), where=WHERE)
    assert requests(other.vault)[0]["where"]["digest"] != request["where"]["digest"]
    assert first.manifest["selection"] == {"columns": ["age", "town"]}


@pytest.fixture
def published(tmp_path):
    """A config, and a release of a part of a table."""
    path = config(tmp_path)
    snapshot().write_csv(tmp_path / "raw.csv")
    done = command("publish", tmp_path / "raw.csv", "-c", path, "-o", tmp_path / "o.csv", "--where", WHERE)
    assert done.returncode == 0, done.stderr
    return path


def test_what_needs_the_expression_asks_for_it(tmp_path, published):
    raw, out, page = tmp_path / "raw.csv", tmp_path / "o.csv", tmp_path / "page.html"
    cut = tmp_path / "cut.csv"
    snapshot().filter(pl.col("age") < 75).write_csv(cut)
    for about in (
        lambda table, *more: command("verify", out, table, "-c", published, *more),
        lambda table, *more: command("measure", table, out, "-c", published, *more),
        lambda table, *more: command("report", "-c", published, "-o", page, "--truth", table, *more),
    ):
        done = about(raw)
        assert done.returncode == 2
        assert "release 1 is of a part of the table" in done.stderr
        assert "'age', 'town'" in done.stderr
        assert TOWN not in done.stderr
        assert about(raw, "--where", WHERE).returncode == 0
        assert about(raw, "--where", OTHERWISE).returncode == 0, "another way to ask for the same records"
        assert about(cut).returncode == 0, "the part itself"
        done = about(raw, "--where", "age < 30")
        assert done.returncode == 2
        assert "by another expression" in done.stderr
    assert command("report", "-c", published, "-o", page).returncode == 0, "without snapshots it is not needed"


def old(vault):
    """Make a vault what an earlier version left: format 2, with the text."""
    request = json.dumps({"columns": None, "where": WHERE}).replace("'", "''")
    by_hand(
        vault,
        f"UPDATE releases SET request = '{request}' WHERE release = 1",  # noqa: S608
        *FORMAT_5,
        "DROP TABLE chain",
        "DROP TABLE seals",
        "DELETE FROM migrations WHERE version > 2",
        "ALTER TABLE ledgers DROP COLUMN blanked",
        "DELETE FROM settings WHERE key = 'texts_of_expressions'",
    )


@pytest.mark.parametrize("pending", [False, True])
def test_a_vault_of_an_earlier_version(tmp_path, published, pending):
    vault, raw = tmp_path / "ward.vault", tmp_path / "raw.csv"
    known, bytes_ = requests(vault), (tmp_path / "o.csv").read_bytes()
    old(vault)
    if pending:
        by_hand(vault, "UPDATE releases SET state = 'pending'")
    assert in_bytes(vault, TOWN) == [TOWN]
    publish = ["publish", raw, "-c", published, "-o", tmp_path / "again.csv", "--where", WHERE]
    done = command(*publish)
    assert done.returncode == 0, done.stderr
    assert ("finished release 1" if pending else "already release 1") in done.stderr
    assert (tmp_path / "again.csv").read_bytes() == bytes_
    assert in_bytes(vault, TOWN) == []
    assert requests(vault) == known
    assert command("verify", tmp_path / "o.csv", raw, "-c", published, "--where", WHERE).returncode == 0
    before = contents(vault)
    assert command("history", "-c", published).returncode == 0
    assert contents(vault) == before, "it is done once"


def test_an_interrupted_replacement_is_finished(tmp_path, published, monkeypatch):
    vault = tmp_path / "ward.vault"
    old(vault)

    class StoppedError(Exception):
        pass

    def stop(*_):
        raise StoppedError

    for place in ("vault.replace_texts", "stores.duckdb_file.rewrite"):
        with monkeypatch.context() as patch:
            patch.setattr(f"reveil.vault.{place}", stop)
            with pytest.raises(StoppedError):
                rv.Series.load(published).history()
    assert in_bytes(vault, TOWN) == [TOWN]
    assert len(rv.Series.load(published).history()) == 1
    assert in_bytes(vault, TOWN) == []
