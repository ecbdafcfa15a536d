"""Several processes, and processes that are killed."""

import os
import signal
import subprocess
import sys

import pytest

from reveil.core.errors import BusyError
from tests.rarely import mostly_slow
from tests.vault.cases import in_bytes, last_records, opened, pseudonym, publish

ROWS = {"p1": {"job": "lighthouse keeper", "disease": "flu"}, "p2": {"job": "nurse", "disease": "cold"}}
NEXT = {"p1": {"job": "smith", "disease": "flu", "ward": "B"}, "p3": {"job": "nurse", "disease": "flu", "ward": None}}
GROUPS = {"p1": ("cold", "flu")}

PRELUDE = f"""
import os, signal, sys, pathlib
import reveil.vault.stores.duckdb_file as module
from reveil.vault import writing
from reveil.vault.stores import rewriting
from tests.vault.cases import change_of, opened, pseudonym, publish
ROWS, NEXT, GROUPS = {ROWS!r}, {NEXT!r}, {GROUPS!r}
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
vault = opened(sys.argv[1])
"""
INSIDE = "writing._write_release = die; vault.prepare(change_of(vault, NEXT, GROUPS))"
AFTER = "vault.prepare(change_of(vault, NEXT, GROUPS)); die()"
BEFORE_COPY = "module.rewrite = die; vault.forget(*pseudonym(vault, 'p1'))"
BEFORE_REPLACE = "pathlib.Path.replace = die; vault.forget(*pseudonym(vault, 'p1'))"
AFTER_REPLACE = "rewriting.sync_folder = die; vault.forget(*pseudonym(vault, 'p1'))"


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


@pytest.fixture
def folder(tmp_path):
    with opened(tmp_path / "v") as vault:
        publish(vault, ROWS, {"p1": ("cold", "flu"), "p2": ("cold", "flu")})
    return vault.folder


def start(folder, script):
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + script, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def killed(folder, script):
    with start(folder, script) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL


def test_killed_inside_the_transaction_nothing_happened(folder):
    killed(folder, INSIDE)
    with opened(folder) as vault:
        assert vault.head() == 1
        assert list(vault.attributes()) == ["job", "disease"]
        assert last_records(vault, ["p1", "p2", "p3"]) == ROWS
        assert publish(vault, NEXT, GROUPS) == 2


def test_killed_after_the_transaction_all_of_it_happened(folder):
    killed(folder, AFTER)
    with opened(folder) as vault:
        assert vault.head() == 2
        assert vault.releases()[1].state == "pending"
        assert last_records(vault, ["p1", "p2", "p3"]) == {**ROWS, **NEXT}
        assert vault.has_archive(2)
        vault.confirm(2)


@pytest.mark.parametrize("moment", mostly_slow([BEFORE_COPY, BEFORE_REPLACE, AFTER_REPLACE]))
def test_killed_while_forgetting_the_person_is_forgotten(folder, moment):
    killed(folder, moment)
    with opened(folder) as vault:
        high, low = pseudonym(vault, "p1")
        assert in_bytes(folder, "lighthouse keeper", high, low) == []
        assert last_records(vault, list(ROWS)) == {"p2": ROWS["p2"]}
        assert publish(vault, NEXT, GROUPS) == 2
        vault.close()
        assert {path.name for path in folder.iterdir()} == {"key", "releases", "vault.duckdb"}


def test_a_second_process_waits_outside(folder):
    with start(folder, "print('open', flush=True); sys.stdin.read(); vault.close()") as process:
        assert process.stdout.readline() == "open\n"
        with pytest.raises(BusyError, match="another publisher is at work") as caught:
            opened(folder)
        assert caught.value.exit_code == 1
        assert caught.value.hint
        process.communicate("")
    assert process.returncode == 0
    with opened(folder) as vault:
        assert vault.head() == 1
