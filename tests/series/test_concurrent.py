"""Two publishers at once: one of them gets the next release, the other is told so."""

import os
import subprocess
import sys
import threading

import pytest

import reveil as rv
from reveil.core.errors import BusyError
from tests.cli.run import reveil
from tests.series.cases import chain_is_sound, config, contents, series, snapshot, tables, written

HELD = """
import sys
import reveil.verification.series as module
verify = module.verify
def wait(*a, **k):
    print("verifying", flush=True)
    sys.stdin.read()
    return verify(*a, **k)
module.verify = wait
from reveil.cli import main; main()"""


@pytest.fixture(autouse=True)
def _no_key_from_outside(monkeypatch):
    monkeypatch.delenv("REVEIL_KEY", raising=False)


def test_of_two_processes_one_is_told_to_wait(tmp_path):
    path = config(tmp_path)
    raw, other = written(tmp_path, "raw.csv"), written(tmp_path, "other.csv", 5, 50)
    arguments = ["publish", raw, "-c", path, "-o", tmp_path / "r1.csv"]
    with subprocess.Popen(
        [sys.executable, "-c", HELD, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    ) as process:
        assert process.stdout.readline() == "verifying\n"
        late = reveil("publish", other, "-c", path, "-o", tmp_path / "late.csv")
        assert late.returncode == 1
        assert "another publisher is at work" in late.stderr
        assert "Traceback" not in late.stderr
        with pytest.raises(BusyError):
            rv.Series.load(path).history()
        _, said = process.communicate("")
    assert process.returncode == 0, said
    assert not (tmp_path / "late.csv").exists()
    own = rv.Series.load(path)
    assert [row["persons"] for row in own.history()] == [40]
    own.publish_to(tmp_path / "r2.csv", other)
    assert chain_is_sound(tmp_path, "r1", "r2")


def test_of_many_threads_one_gets_the_release(tmp_path):
    own = series(tmp_path)
    own.publish_to(tmp_path / "r1.csv", snapshot())
    start = threading.Barrier(4)
    results = []

    def publish(n):
        mine = series(tmp_path)
        start.wait()
        try:
            results.append((n, mine.publish_to(tmp_path / f"t{n}.csv", snapshot(n, 45 + n)).release))
        except BusyError:
            results.append((n, None))

    threads = [threading.Thread(target=publish, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got = {n: release.manifest["release"] for n, release in results if release is not None}
    assert len(results) == 4
    assert sorted(got.values()) == list(range(2, 2 + len(got)))
    assert len([number for number in got.values() if number == 2]) == 1
    assert [row["state"] for row in own.history()] == ["confirmed"] * (1 + len(got))
    assert {p.stem for p in tmp_path.glob("t*.csv")} == {f"t{n}" for n in got}
    assert own.check(tmp_path) == []


def test_who_publishes_in_between_is_refused(tmp_path):
    """The second begins while the first is between grouping and remembering: nothing of the first may be lost."""
    own, other = series(tmp_path), series(tmp_path)
    refused = []

    def stage(name):
        if name != "remembering":
            return
        before = contents(own.vault / "releases")
        for call in (
            lambda: other.publish(snapshot(0, 50)),
            lambda: other.publish(snapshot(0, 50), dry_run=True),
            lambda: other.forget(3),
            lambda: other.adopt(snapshot(), snapshot().drop("pid")),
            lambda: other.abandon(1),
        ):
            with pytest.raises(BusyError):
                call()
            refused.append(1)
        assert contents(own.vault / "releases") == before

    own.publish_to(tmp_path / "r1.csv", snapshot(), stage=stage)
    assert len(refused) == 5
    assert rv.Release.read(tmp_path / "r1.csv").manifest["release"] == 1
    assert len(tables(own.vault)["persons"]) == 40
    other.publish(snapshot(0, 50))
