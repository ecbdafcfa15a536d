"""The environment of the peers, and how a tool is asked: in a process of its own, timed from outside and inside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers import arx

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.peers.job import Job

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".venv-peers"
PACKAGES = ("anjana", "pycanon", "anonypy")
LIMIT = 1_800  # seconds after which a tool is told to stop


@dataclass(frozen=True)
class Answer:
    """What a tool answered: the whole process and its runs inside, on the clock and in processor time, all in seconds.

    ``peak`` is in bytes, and ``told`` what else it said.
    """

    version: str
    whole: float
    whole_cpu: float
    seconds: list[float]
    cpu: list[float]
    peak: int | None
    told: dict[str, Any]


def install() -> None:
    """Make the environment of the peers, by their names on the package index."""
    if not _python().is_file():
        _call([sys.executable, "-m", "venv", str(PLACE)])
    _call([str(_python()), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES])


def missing(name: str) -> str | None:
    """Return why a tool cannot be asked here; None where it can."""
    if name == "ours":
        return None
    if name == "arx":
        return None if arx.command() else "ARX is not installed (see benchmarks/peers/arx.py)"
    if not _python().is_file():
        return f"{name} is not installed (python -m benchmarks.peers --install)"
    found = subprocess.run(  # noqa: S603  (our own environment)
        [str(_python()), "-c", f"import importlib.util as i, sys; sys.exit(i.find_spec({name!r}) is None)"],
        check=False,
        cwd=PLACE,
    )
    return None if found.returncode == 0 else f"{name} is not installed (python -m benchmarks.peers --install)"


def ask(name: str, job: Job, times: int = 1) -> Answer | str:
    """Ask a tool; of several processes the one with the least processor time counts. A sentence where it failed."""
    answers: list[Answer] = []
    for _ in range(times):
        found = _ask(name, job)
        if isinstance(found, str):
            return found
        answers.append(found)
    return min(answers, key=lambda answer: answer.whole_cpu)


def _ask(name: str, job: Job) -> Answer | str:
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "job.json", Path(folder) / "answer.json"
        job.write(asked)
        started = time.perf_counter()
        try:
            _call([*_command(name), str(asked), str(answered)], limit=LIMIT)
        except subprocess.TimeoutExpired:
            return f"{name} had not answered after {LIMIT:,} s"
        except subprocess.CalledProcessError as error:
            sys.stderr.write(error.stderr.decode(errors="replace"))
            return f"{name} ended with an error"
        whole = time.perf_counter() - started
        told = json.loads(answered.read_text(encoding="utf-8"))
    own = {key: told.pop(key) for key in ("version", "whole_cpu", "seconds", "cpu", "peak")}
    return Answer(**own, whole=whole, told=told)


def _command(name: str) -> list[str]:
    if name == "arx":
        return [str(arx.command())]
    python = Path(sys.executable) if name == "ours" else _python()
    return [str(python), "-m", f"benchmarks.peers.{name}"]


def _python() -> Path:
    return PLACE / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _call(command: Sequence[str], limit: float | None = None) -> None:
    # From the root of the repository, so that the modules here are found; and there `anjana` is the peer's package.
    subprocess.run(command, check=True, cwd=ROOT, timeout=limit, capture_output=True)  # noqa: S603  (our own modules)
