"""The set-up, the backup and the restore of a vault on a server, word for word as docs/vault.md shows them."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import psycopg
import pytest

from reveil.testing import hospital
from tests.cli.run import reveil
from tests.docs.pages import blocks, page
from tests.vault import servers

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(servers.reason() is not None, reason=str(servers.reason())),
]


def lines_of(beginning):
    """Return the commands of the block of the page that begins so."""
    (block,) = (block for block in blocks(page("vault.md")) if block.text.startswith(beginning))
    return [re.sub(r"\s+#.*", "", line) for line in block.text.splitlines()]


def typed(line, monkeypatch):
    """Do what a line says, and return it finished; what the shell knows beside is in the environment."""
    words = shlex.split(line)
    with monkeypatch.context() as own:
        while "=" in words[0]:
            own.setenv(*words.pop(0).split("=", 1))
        if words[0] == "reveil":
            return reveil(*words[1:])
        return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A server with two people who may log in, and a folder with a config, as the page has them."""
    with servers.running() as server:
        monkeypatch.setenv("PATH", f"{servers.binaries()}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("PGHOST", str(server.folder))
        monkeypatch.setenv("PGUSER", servers.OWNER)
        monkeypatch.delenv("REVEIL_KEY", raising=False)
        monkeypatch.chdir(tmp_path)
        with psycopg.connect("dbname=postgres", autocommit=True) as session:
            session.execute("CREATE ROLE alice LOGIN")
            session.execute("CREATE ROLE bob LOGIN")
        (address,) = re.findall(r'"(postgresql://db\.example[^"]*)"', page("vault.md"))
        vault = address.replace("db.example", "") + f"&host={server.folder}"
        config = hospital.config('kind = "tau-safety"\nm = 3', vault=vault)
        (tmp_path / "reveil.toml").write_text(config)
        for name, table in zip(("january", "february"), hospital.year(150, months=2, seed=2), strict=True):
            table.write_csv(tmp_path / f"{name}.csv")
        yield server


def test_five_commands_and_a_dump(site, monkeypatch):
    lines = lines_of("createdb")
    assert len(lines) == 5
    for line in lines:
        done = typed(line, monkeypatch)
        assert done.returncode == 0, (line, done.stderr)
    assert Path("public-01.csv").exists()
    with psycopg.connect("dbname=reveil user=bob", autocommit=True) as bob:
        assert bob.execute("SELECT release, state FROM hospital.history").fetchall() == [(1, "confirmed")]
        (look,) = lines_of('psql -d reveil -c "SELECT')
        seen = typed(f"PGUSER=bob {look}", monkeypatch)
        assert (seen.returncode, "confirmed" in seen.stdout) == (0, True), seen.stderr
        for table in ("hospital.pieces", "hospital.vault"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                bob.execute(f"SELECT * FROM {table}")  # noqa: S608
    monkeypatch.setenv("PGUSER", "bob")  # who looks does not publish
    refused = typed("reveil publish february.csv -c reveil.toml -o public-02.csv", monkeypatch)
    assert refused.returncode == 2
    assert "hospital_publisher" in refused.stderr
    monkeypatch.setenv("PGUSER", servers.OWNER)
    backup, *restore = lines_of("pg_dump")
    for line in (backup, *restore):
        done = typed(line, monkeypatch)
        assert done.returncode == 0, (line, done.stderr)
    # The next release is in the vault, and not in the dump.
    done = typed("PGUSER=alice reveil publish february.csv -c reveil.toml -o public-02.csv", monkeypatch)
    assert done.returncode == 0, done.stderr
    said = [typed(line, monkeypatch) for line in restore]
    assert [done.returncode for done in said] == [0, 0, 1, 1], [done.stderr for done in said]
    assert "knows of release 2 that this vault does not know" in said[2].stdout + said[2].stderr
    adopted = typed("reveil adopt february.csv public-02.csv -c reveil.toml", monkeypatch)
    assert adopted.returncode == 0, adopted.stderr
    assert typed(restore[-1], monkeypatch).returncode == 0


@pytest.mark.slow
def test_a_dump_on_another_server(site, monkeypatch):
    """Which has no roles of this vault; after the set-up of roles whoever is granted one publishes again."""
    make, init, grant, _, publish = lines_of("createdb")
    backup, drop, restore, check, _ = lines_of("pg_dump")
    for line in (make, init, grant, publish, backup, drop):
        done = typed(line, monkeypatch)
        assert done.returncode == 0, (line, done.stderr)
    with psycopg.connect("dbname=reveil", autocommit=True) as session:
        for role in ("publisher", "auditor", "reader"):
            session.execute(f"DROP ROLE hospital_{role}")
    for line in (restore, init, grant, f"PGUSER=alice {check}"):
        done = typed(line, monkeypatch)
        assert done.returncode == 0, (line, done.stderr)
    done = typed("PGUSER=alice reveil publish february.csv -c reveil.toml -o public-02.csv", monkeypatch)
    assert done.returncode == 0, done.stderr
