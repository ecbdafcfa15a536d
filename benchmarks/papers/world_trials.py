"""Trials for possible worlds: series of releases, matched and projected, of tables that stay and that grow."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import reveil as rv
from benchmarks.floor import least_work
from benchmarks.papers.common import progress
from benchmarks.worlds import SETS
from reveil.guarantees.worlds.possible_worlds import PossibleWorlds

Columns = tuple[int, ...]
FEW: list[Columns] = [SETS[0], SETS[3], SETS[5], SETS[9]]  # where much varies: one to four columns
# The ten column sets of the source for Adult, in the order of our table: age, sex, education, marital status, race,
# work class, country.
ADULT: list[Columns] = [
    (1, 2, 3, 4, 5), (3, 4, 6, 7), (1, 2, 4, 5), (1, 5, 7), (3, 4, 6, 7), (4, 5, 7), (1, 2, 4, 5, 7), (1, 7), (4,),
    (3, 5, 6),
]  # fmt: skip
VERTICAL: list[Columns] = [(2, 5), (1, 7), (1, 3, 4), (6, 7)]
KNOWN: list[Columns] = [(1, 2, 3, 4, 5), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5, 6, 7)]
FIRST: list[Columns] = [(2, 5), (1, 2, 5, 7), (1, 2, 3, 4, 5, 7), (1, 2, 3, 4, 5, 6, 7)]  # learnt when published
ALL: Columns = (1, 2, 3, 4, 5, 6, 7)
SHARES = (0.5, 0.75, 0.9, 1.0)  # of the people, in the four releases of section 6.3


@dataclass(frozen=True)
class Step:
    """One release: how many people there are, the columns that are known by then, and those that are published."""

    people: int
    known: Columns
    columns: Columns


@dataclass(frozen=True)
class Lost:
    """What a release took and lost."""

    work: float  # processor time in seconds, all threads
    lm: float
    em: float


_DONE: dict[tuple[str, PossibleWorlds, tuple[Step, ...]], list[Lost]] = {}


@dataclass(frozen=True)
class Sizes:
    """What is run."""

    records: int = 100_000
    l: int = 5
    ls: tuple[int, ...] = (2, 3, 5, 10)
    ns: tuple[int, ...] = (25_000, 50_000, 100_000, 148_318)
    ps: tuple[int, ...] = (10, 25, 50, 100, 200)
    adult: int = 32_561
    adult_ls: tuple[int, ...] = (2, 3, 5, 7)
    few: list[Columns] = field(default_factory=lambda: FEW)
    releases: int = 10
    settings: tuple[str, ...] = ("vertical", "horizontal", "full", "full, surprised")
    dynamic: int = 4


FAST = Sizes(200, 2, (2,), (200,), (100,), 0, (), FEW[:1], 1, ("full",), 2)


def floor(frame: pl.DataFrame) -> float:
    """Return the work to read, sort and write a table."""
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder) / "in.csv", Path(folder) / "out.csv"
        frame.write_csv(path)
        return least_work(lambda: pl.read_csv(path).sort(frame.columns[:-1]).write_csv(other))


def published(frame: pl.DataFrame, guarantee: PossibleWorlds, steps: list[Step]) -> list[Lost]:
    """Publish a series; people and columns may be added between releases. What was published before is not again."""
    *quasi, sensitive = frame.columns
    known_already = (sensitive, guarantee, tuple(steps))
    if known_already in _DONE:
        return _DONE[known_already]
    people = frame.with_row_index("pid")
    found: list[Lost] = []
    with tempfile.TemporaryDirectory() as folder:
        for step in steps:
            known = [quasi[a - 1] for a in step.known]
            columns = [*(quasi[a - 1] for a in step.columns), sensitive]
            schema = rv.Schema(person="pid", quasi=known, sensitive=sensitive)
            present = people.head(step.people).select("pid", *known, sensitive)
            series = rv.Series.open(Path(folder) / "vault", schema, guarantee, seed=0)
            started = time.process_time()
            release = series.publish_to(Path(folder) / f"{len(found)}.csv", present, columns).release
            taken = time.process_time() - started
            part = rv.Schema(person="pid", quasi=columns[:-1], sensitive=sensitive)
            measured: Any = rv.measure(present.select("pid", *columns), release, part)
            found.append(Lost(taken, float(measured["gcp"]), float(measured["em_mean"])))
    _DONE[known_already] = found
    work = sum(one.work for one in found)
    progress(f"l = {guarantee.l}, {steps[-1].people:,} people, {len(steps)} releases: {work:.0f} s of work")
    return found


def still(frame: pl.DataFrame, sets: list[Columns]) -> list[Step]:
    """Return releases of a table that does not change."""
    return [Step(frame.height, ALL, own) for own in sets]


def both(frame: pl.DataFrame, sets: list[Columns], l: int, p: int = 100) -> dict[str, list[Lost]]:
    """Publish matched and projected."""
    return {
        "matched": published(frame, PossibleWorlds(l, p=p), still(frame, sets)),
        "projected": published(frame, PossibleWorlds(l, project=True), still(frame, sets)),
    }


def dynamics(frame: pl.DataFrame, sizes: Sizes) -> dict[str, dict[str, list[Lost]]]:
    """Publish the dynamic settings, adaptive and prophetic."""
    n = frame.height
    growing = [int(n * share) for share in SHARES]
    plans = {
        "vertical": ([Step(n, k, c) for k, c in zip(KNOWN, VERTICAL, strict=True)], still(frame, VERTICAL)),
        "horizontal": ([Step(own, ALL, ALL) for own in growing], still(frame, [ALL])),
        "full": ([Step(*own) for own in zip(growing, KNOWN, VERTICAL, strict=True)], still(frame, VERTICAL)),
        "full, surprised": ([Step(*own) for own in zip(growing, FIRST, VERTICAL, strict=True)], still(frame, VERTICAL)),
    }
    found = {}
    for name in sizes.settings:
        adaptive, prophetic = (steps[: sizes.dynamic] for steps in plans[name])
        told = {"adaptive": published(frame, PossibleWorlds(sizes.l), adaptive)}
        once = published(frame, PossibleWorlds(sizes.l), prophetic)
        # All columns of all people: the same release again.
        told["prophetic"] = once * (len(adaptive) // len(once))
        found[name] = told
    return found
