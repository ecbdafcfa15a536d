"""Publishing while publishers are killed and race each other: whatever happened, the same command ends the work."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

from benchmarks.long_run.checking import CONFIG
from benchmarks.long_run.child import STEPS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.long_run.commands import Commands, Ran

KINDS = ("step", "moment", "race")
AGAIN = 0.3  # how often whoever finishes the work is killed, too
BUSY = ("another publisher",)


class Disturber:
    """The dice of one series, and what was done to it.

    ``seconds`` is how long a publisher takes, from which moments to kill it are drawn.
    """

    def __init__(self, commands: Commands, name: str, seconds: float) -> None:
        self._commands = commands
        self._dice = random.Random(name)  # noqa: S311 -- nothing is kept secret by it
        self.done: Counter[str] = Counter()
        self.seconds = seconds
        self._left: list[str] = []

    def publish(self, folder: Path, *words: str) -> list[str]:
        """Disturb a command that publishes, in one of the ways in turns; return what went wrong."""
        if not self._left:
            self._left = self._dice.sample(KINDS, len(KINDS))
        kind = self._left.pop()
        if kind == "race":
            return self._race(folder, *words)
        step = self._dice.choice(STEPS) if kind == "step" else ""
        wrong = self.killed(folder, *words, step=step)
        if self._dice.random() < AGAIN:
            wrong += self.killed(folder, *words)
        return wrong

    def killed(self, folder: Path, *words: str, step: str = "") -> list[str]:
        """Kill a command at a step, or at any moment; return what is wrong about how it ended."""
        if step:
            ran = self._commands.run(folder, *words, step=step)
        else:
            ran = self._commands.start(folder, *words).ended(self._dice.uniform(0.05, 1.05) * self.seconds)
        self.done[f"killed {step or 'at a moment'}" if ran.killed else "ended first"] += 1
        # At a step that it does not come to, because all is done already, it ends.
        wrong = [] if ran.killed or ran.code == 0 else [f"a command to be killed ended by itself: {ran}"]
        left = self._commands.run(folder, "history", *CONFIG, "--check", ".")
        begun = "there is no vault" not in left.err and left.code != 2  # killed before there was one
        return wrong + ([f"after a kill {left}"] if begun and left.code != 0 else [])

    def _race(self, folder: Path, *words: str) -> list[str]:
        """Start the same command twice, with a target of its own for the second; one of them publishes."""
        at = words.index("-o") + 1
        (folder / "rival").mkdir(exist_ok=True)
        both = [
            self._commands.start(folder, *words),
            self._commands.start(folder, *words[:at], f"rival/{words[at]}", *words[at + 1 :]),
        ]
        ended = [one.ended() for one in both]
        self.done["two at once"] += 1
        won = [ran for ran in ended if ran.code == 0]
        lost = [ran for ran in ended if ran.code == 1 and any(said in ran.err for said in BUSY)]
        self.done["refused as the second"] += len(lost)
        if len(won) + len(lost) != len(ended) or not won:
            return [f"of two publishers: {ran}" for ran in ended if ran not in lost]
        return []


def same_as(calm: Path, folder: Path, name: str) -> list[str]:
    """Return which of the files of a release are not those of the calm series, byte by byte."""
    stem = name.removesuffix(".csv")
    files = sorted(path.name for path in calm.glob(f"{stem}.*") if path.suffix == ".csv")
    return [
        f"{file} differs from the undisturbed one"
        for file in files
        if not (folder / file).is_file() or (folder / file).read_bytes() != (calm / file).read_bytes()
    ]


def ended_well(ran: Ran) -> list[str]:
    return [] if ran.code == 0 else [str(ran)]
