"""Whatever happens between prepare and confirm on a server, the same command finishes with the same bytes."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from itertools import count
from unittest import mock

import psycopg
import pytest

from reveil.testing import hospital
from reveil.vault.sealed.postgresql import PostgresShelf
from tests.cli.run import reveil
from tests.vault import servers

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(servers.reason() is not None, reason=str(servers.reason())),
]
NUMBERS = count()
STEPS = [f"{when} {what}" for what in ("prepare", "confirm") for when in ("before", "inside", "after")]
HAPPENINGS = ["publisher killed", "server killed", "connection cut", "server's disk full", "publisher's disk full"]


def hooked(happens):
    """Return patches of the shelf that call ``happens`` with each step of a publication, as it is reached."""
    commit, sql = PostgresShelf.commit, PostgresShelf._sql
    commits = iter(("prepare", "confirm"))
    here = []

    def at_commit(self, *given):
        here[:] = [next(commits, "later")]
        happens(f"before {here[0]}")
        commit(self, *given)
        happens(f"after {here[0]}")

    def at_statement(self, text):
        if here and text.startswith("DELETE FROM {}.history"):  # the pieces are there, and nothing is committed
            happens(f"inside {here[0]}")
        return sql(self, text)

    return mock.patch.multiple(PostgresShelf, commit=at_commit, _sql=at_statement)


CHILD = """
import os, signal, sys
from tests.vault.test_interruptions import hooked
from reveil.cli import main

step = sys.argv.pop(1)

def happens(now):
    if now == step:
        os.kill(os.getpid(), signal.SIGKILL)

with hooked(happens):
    main()
"""


@pytest.fixture(scope="module")
def server():
    with servers.running() as found:
        yield found


@pytest.fixture(autouse=True)
def _calm(monkeypatch):
    monkeypatch.setenv("REVEIL_KEY", "17" * 32)
    monkeypatch.delenv("PGPASSWORD", raising=False)


@contextmanager
def disk(folder):
    """Mount a small disk; skip where that is not allowed."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can be mounted by root only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)  # noqa: S607


def fill(folder):
    """Leave no room on a disk; return the file that takes it."""
    filling = folder / "filling"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filling


@pytest.fixture
def small(server, tmp_path):
    """A small disk that the server writes to, and one that the publisher writes to."""
    with disk(server.folder / f"disk{next(NUMBERS)}") as theirs, disk(tmp_path / "publisher") as ours:
        server.own(theirs)
        space = theirs / "space"
        space.mkdir()
        server.own(space)
        yield space, ours


def told(server, text):
    with psycopg.connect(f"postgresql://{servers.OWNER}@/postgres?host={server.folder}", autocommit=True) as session:
        session.execute(text)


class Publisher:
    """Somebody with two months of a hospital and a config, whose vault is on a server."""

    def __init__(self, folder, vault, **more):
        self.folder = folder
        settings = "".join(f'{name} = "{value}"\n' for name, value in more.items())
        config = hospital.config('kind = "tau-safety"\nm = 2', vault=vault)
        (folder / "reveil.toml").write_text(config.replace("[series]\n", f"[series]\nseed = 5\n{settings}"))
        for n, month in enumerate(hospital.year(60, months=2, seed=1), start=1):
            month.write_csv(folder / f"s{n}.csv")

    def words(self, n):
        return ("publish", self.folder / f"s{n}.csv", "-c", self.folder / "reveil.toml", "-o", self.out(n), "-q")

    def out(self, n):
        return self.folder / f"r{n}.csv"

    def publish(self, n):
        done = reveil(*self.words(n))
        assert "Traceback" not in done.stderr
        assert "inside Reveil" not in done.stderr
        return done

    def killed(self, n, step):
        words = [sys.executable, "-c", CHILD, step, *map(str, self.words(n))]
        done = subprocess.run(words, capture_output=True, check=False, env={**os.environ})
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The bytes of two releases of an embedded vault with the same key and seed."""
    with mock.patch.dict(os.environ, {"REVEIL_KEY": "17" * 32}):
        twin = Publisher(tmp_path_factory.mktemp("twin"), "twin.vault")
        for n in (1, 2):
            done = twin.publish(n)
            assert done.returncode == 0, done.stderr
        return [twin.out(n).read_bytes() for n in (1, 2)]


def interrupted(server, small, happening, publisher, number, step):
    """Let something happen at a step of a publication; return what the command said, and mend the damage."""
    space, ours = small
    if happening == "publisher killed":
        publisher.killed(number, step)
        return None
    happened = []

    def happens(now):
        if now != step or happened:
            return
        happened.append(now)
        if happening == "server killed":
            server.stop("immediate")
        elif happening == "connection cut":
            told(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reveil'")
        else:
            fill(space.parent if happening == "server's disk full" else ours)

    with hooked(happens):
        done = publisher.publish(number)
    assert happened == [step]
    if happening == "server killed":
        server.start()
    for folder in (space.parent, ours):
        (folder / "filling").unlink(missing_ok=True)
    return done


def check(server, tmp_path, small, expected, happening, step, number):
    space, ours = small
    schema = f"i{next(NUMBERS)}"
    told(server, f"CREATE TABLESPACE {schema} LOCATION '{space}'")
    options = f"&options=-c%20default_tablespace%3D{schema}"
    publisher = Publisher(ours, server.address(schema) + options, keys="v.keys", anchor="v.anchor")
    try:
        for n in (1, 2)[: number - 1]:
            assert publisher.publish(n).returncode == 0
        done = interrupted(server, small, happening, publisher, number, step)
        if done is not None and done.returncode:  # where nothing was in the way, it is out
            assert done.returncode in (1, 2)
            assert "\n  " in done.stderr  # with a remedy
        again = publisher.publish(number)
        assert again.returncode == 0, again.stderr
        assert [publisher.out(n).read_bytes() for n in range(1, number + 1)] == expected[:number]
        checked = reveil("vault", "check", "-c", publisher.folder / "reveil.toml")
        assert checked.returncode == 0, checked.stderr
        assert f"{number} release" in checked.stderr + checked.stdout
    finally:
        with suppress(psycopg.Error):
            told(server, f"DROP SCHEMA {schema} CASCADE")
            told(server, f"DROP TABLESPACE {schema}")
        shutil.rmtree(space, ignore_errors=True)


@pytest.mark.parametrize("happening", ["connection cut", "publisher's disk full"])
def test_in_the_middle_of_a_commit(server, tmp_path, small, expected, happening):
    check(server, tmp_path, small, expected, happening, "inside prepare", 2)


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("happening", HAPPENINGS)
@pytest.mark.parametrize("step", STEPS)
def test_at_any_step_of_a_later_release(server, tmp_path, small, expected, happening, step):
    check(server, tmp_path, small, expected, happening, step, 2)


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("happening", HAPPENINGS)
@pytest.mark.parametrize("step", STEPS)
def test_at_any_step_of_the_first_release(server, tmp_path, small, expected, happening, step):
    check(server, tmp_path, small, expected, happening, step, 1)
