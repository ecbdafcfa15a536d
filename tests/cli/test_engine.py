"""Engines on the command line: what they cannot do is refused, and a killed run leaves nothing."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from tests.cli.run import reveil

CONFIG = (
    '[series]\nseed = 1\n[columns]\nage = "quasi"\nzip = "quasi"\ndisease = "sensitive"\n'
    '[guarantee]\nkind = "static"\nk = 5\n[engine]\nshard_rows = 2000\n'
)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    n = 6000
    frame = pl.DataFrame(
        {"age": rng.integers(0, 90, n), "zip": rng.integers(0, 99, n), "disease": rng.integers(0, 9, n)}
    )
    frame.write_parquet(tmp_path / "raw.parquet")
    (tmp_path / "reveil.toml").write_text(CONFIG)
    return tmp_path


def run(folder, *more, out="out/"):
    return reveil("publish", folder / "raw.parquet", "-c", folder / "reveil.toml", "-o", f"{folder}/{out}", *more)


def test_a_large_table_is_published_in_shards(folder):
    done = run(folder)
    assert done.returncode == 0, done.stderr
    assert "6,000 rows" in done.stderr
    assert "every record is inside its box" in done.stderr
    tried = run(folder, "--dry-run", "--engine", "local", out="tried/")
    assert tried.returncode == 0, tried.stderr
    assert not (folder / "tried").exists()


def test_an_engine_that_is_not_there_is_refused(folder):
    done = run(folder, "--engine", "abacus")
    assert done.returncode == 2
    assert "unknown engine 'abacus'" in done.stderr
    assert "local" in done.stderr
    assert not (folder / "out").exists()


@pytest.mark.slow
def test_a_killed_run_leaves_nothing_that_the_next_one_does_not_remove(folder):
    """Killed at several points; the last run publishes, and neither folder has anything else then."""
    place = folder / "temporary"
    place.mkdir()
    command = [
        sys.executable,
        "-c",
        "from reveil.cli import main; main()",
        "publish",
        f"{folder}/raw.parquet",
        "-c",
        f"{folder}/reveil.toml",
    ]
    around = {**os.environ, "TMPDIR": str(place)}
    for wait in (0.0, 0.3, 0.6):
        with subprocess.Popen([*command, "-o", f"{folder}/out/"], env=around, stderr=subprocess.DEVNULL) as running:
            until = time.monotonic() + 120
            while not list(place.glob("reveil-scratch-*/*")) and time.monotonic() < until and running.poll() is None:
                time.sleep(0.01)
            time.sleep(wait)
            running.send_signal(signal.SIGKILL)
        if (folder / "out").exists():
            break
    done = subprocess.run([*command, "-o", f"{folder}/last/"], env=around, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert list(place.iterdir()) == []
    assert {path.name for path in folder.iterdir()} - {"out"} == {"raw.parquet", "reveil.toml", "temporary", "last"}
