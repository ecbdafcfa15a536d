"""Commands as a steward gives them: each is a process of its own, which may die, and whose work is counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

ROOT = Path(__file__).resolve().parents[2]
KEY = {"REVEIL_KEY": "6b" * 32}  # the same for every vault, so that all of them publish the same bytes


@dataclass(frozen=True)
class Ran:
    """How a command ended: its code (negative: the signal), what it said, what it used (seconds, MiB at its peak)."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    cpu: float
    seconds: float
    peak: float

    @property
    def killed(self) -> bool:
        """Return whether it was killed."""
        return self.code == -signal.SIGKILL

    def __str__(self) -> str:
        return f"reveil {' '.join(self.words)}: exit {self.code}: {self.err.strip()[-2000:]}"


class Commands:
    """Processes that do commands, forked from one that has imported everything."""

    def __init__(self) -> None:
        self._forge = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.long_run.forge"],
            cwd=ROOT,
            env={**os.environ, **KEY},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._orders, self._answers = cast("IO[str]", self._forge.stdin), cast("IO[str]", self._forge.stdout)

    def order(self, **order: object) -> Any:
        """Give an order, and return the answer."""
        self._orders.write(json.dumps(order) + "\n")
        self._orders.flush()
        return json.loads(self._answers.readline())

    def start(self, folder: Path, *words: str, step: str = "") -> Running:
        """Start a command in a folder; with a step it dies there."""
        return Running(self, folder, words, step)

    def run(self, folder: Path, *words: str, step: str = "") -> Ran:
        """Run a command to its end, or to the step at which it dies."""
        return self.start(folder, *words, step=step).ended()

    def close(self) -> None:
        """End the process from which the others are forked."""
        self._orders.close()
        self._forge.wait()
        self._answers.close()

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Running:
    """A command that has been started."""

    def __init__(self, commands: Commands, folder: Path, words: tuple[str, ...], step: str) -> None:
        self._commands, self.words = commands, words
        self._said = tempfile.NamedTemporaryFile(), tempfile.NamedTemporaryFile()  # noqa: SIM115 -- closed at its end
        self._began = time.monotonic()
        out, err = (file.name for file in self._said)
        self._process = commands.order(words=list(words), folder=str(folder), step=step, out=out, err=err)

    def ended(self, kill_after: float | None = None) -> Ran:
        """Wait for its end, or kill it after so many seconds unless it has ended."""
        told = self._commands.order(process=self._process, seconds=kill_after)
        out, err = (_text(file) for file in self._said)
        return Ran(self.words, told["code"], out, err, told["cpu"], time.monotonic() - self._began, told["peak"])


def _text(stream: IO[bytes]) -> str:
    with stream:
        return stream.read().decode("utf-8", "replace")
