"""Who tells the k, l and t of a published table how fast: Reveil and pycanon on the same file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

import reveil as rv
from benchmarks.papers.common import SHARED, Finding, Table, progress, short
from benchmarks.peers.checking import Published
from benchmarks.peers.job import Job
from benchmarks.peers.running import Answer, ask, missing

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.papers.common import Cell

QUASI = ["age", "sex", "education", "marital_status", "race", "class_of_worker", "weeks_worked", "num_persons_employer"]
NUMBERS = ["age", "weeks_worked", "num_persons_employer"]
SENSITIVE = "major_occupation"
FAST = 5_000
WARM = 4
GOAL = 100  # how many times faster t should be
STEPS = ("read", "k", "l", "t")


@dataclass(frozen=True)
class Checked:
    """A published table, and what each checker said of it; None for one that is not installed."""

    rows: int
    classes: int
    ours: Answer
    peer: Answer | None
    levels: dict[str, float]

    def agree(self, answer: Answer) -> bool:
        """Return whether a checker found what an independent count finds; t to the six decimals that Reveil tells."""
        return all(abs(answer.told["levels"][name] - level) <= 1.1e-6 for name, level in self.levels.items())


def run(folder: Path, *, fast: bool) -> Checked | str:
    """Publish the table with Reveil, then let both check it; a sentence where that cannot be."""
    source = SHARED / "census_income_kdd.parquet"
    if not source.is_file():
        return "The table census_income_kdd is not beside the repository: nothing was checked."
    progress("a table to check")
    frame = pl.read_parquet(source, columns=[*QUASI, SENSITIVE]).sample(fraction=1, shuffle=True, seed=1)
    frame = frame.head(FAST) if fast else frame
    table = folder / "census.csv"
    schema = rv.Schema(quasi=QUASI, sensitive=SENSITIVE)
    rv.anonymize(frame, schema, rv.KAnonymity(10), seed=1).write(table)
    job = Job(table=str(table), out="", quasi=QUASI, sensitive=SENSITIVE, numbers=NUMBERS, repeat=WARM)
    ours = ask("ours", job)
    if isinstance(ours, str):
        return ours
    peer: Answer | str | None = None
    if missing("pycanon") is None:
        progress("pycanon checks it")
        peer = ask("pycanon", Job(**{**vars(job), "repeat": 1}))
    written = Published.read(str(table), job)
    levels = {"k": float(written.sizes.min()), "l": float(written.diversity()), "t": float(written.distance())}
    return Checked(frame.height, len(written.sizes), ours, None if isinstance(peer, str) else peer, levels)


def tables(found: Checked | str) -> list[Table]:
    """Return the times of both, step by step."""
    if isinstance(found, str):
        return []
    rows: list[list[Cell]] = [_row("Reveil", found, found.ours)]
    rows += [] if found.peer is None else [_row(f"pycanon {found.peer.version}", found, found.peer)]
    if found.peer is not None:
        rows.append(
            [
                "pycanon, times Reveil's",
                *(short(_took(found.peer, s) / _took(found.ours, s), 3) for s in STEPS),
                None,
                None,
            ]
        )
    title = f"Checking a published table of {found.rows:,} records in {found.classes:,} classes"
    return [Table(title, ["checker", "reading, CPU s", "k, CPU s", "l, CPU s", "t, CPU s", "peak, MB", "right"], rows)]


def findings(found: Checked | str) -> list[Finding]:
    """Return the goal beside what was found."""
    what = "t-closeness of a published table, time of pycanon over Reveil's"
    goal = f"goal: {GOAL} times"
    if isinstance(found, str) or found.peer is None:
        return [Finding(what, goal, found if isinstance(found, str) else "pycanon is not installed", "not compared")]
    alone = _took(found.peer, "t") / _took(found.ours, "t")
    file = sum(_took(found.peer, s) for s in ("read", "t")) / sum(_took(found.ours, s) for s in ("read", "t"))
    return [
        Finding(
            what,
            goal,
            f"{alone:,.0f} times once the table is read, {file:,.0f} times with reading it",
            "yes" if min(alone, file) >= GOAL else "partly" if alone >= GOAL else "no",
            "Reading compares the file with its digest, turns every published cell back into numbers and sets and "
            "finds the classes; pycanon reads text, and finds the classes in each call. Both found the same t."
            if found.agree(found.ours) and found.agree(found.peer)
            else "The two did not find the same levels.",
        )
    ]


def _took(answer: Answer, step: str) -> float:
    return float(answer.told["took"][step])


def _row(label: str, found: Checked, answer: Answer) -> list[Cell]:
    right = "yes" if found.agree(answer) else "no"
    peak = None if answer.peak is None else round(answer.peak / 2**20)
    return [label, *(short(_took(answer, step), 3) for step in STEPS), peak, right]
