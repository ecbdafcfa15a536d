"""Refinement beside m-invariance: time, FEM, VEM, published, withheld, dirty and counterfeits over 21 releases.

The table is like the source's (age, sex, education and place of birth, incomes in 50 steps); of 200,000 persons 20,000
are replaced from release to release. k = l = 10 against m = 10.
"""

from __future__ import annotations

import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import polars as pl

import reveil as rv
from benchmarks.floor import show
from reveil.guarantees.refinement import making, refinement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PERSONS, RELEASES = 200_000, 21
QUASI = ["age", "sex", "education", "birthplace"]


def incomes(rows: int, seed: int = 0) -> pl.DataFrame:
    """Return a table with four quasi columns and incomes in 50 steps of equally many people."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(42, 16, rows).round(), 17, 95).astype(np.int32)
    sex = rng.integers(0, 2, rows)
    education = np.clip(rng.gamma(4, 2.2, rows).astype(np.int32), 0, 16)
    birthplace = np.minimum(rng.geometric(0.08, rows) - 1, 56)
    worth = 0.03 * age - 0.0003 * (age - 40) ** 2 + 0.12 * education + 0.3 * sex + rng.normal(0, 0.8, rows)
    income = np.argsort(np.argsort(worth)) * 50 // rows
    return pl.DataFrame(
        {"age": age, "sex": sex, "education": education, "birthplace": birthplace, "income": income}
    ).with_row_index("pid")


def months(
    persons: int, releases: int, seed: int = 0, *, replaced: int | None = None, pool: pl.DataFrame | None = None
) -> Iterator[pl.DataFrame]:
    """Yield snapshots of which so many are replaced each time, a tenth by default."""
    rng = np.random.default_rng(seed)
    leave = persons // 10 if replaced is None else replaced
    pool = incomes(persons + releases * leave) if pool is None else pool
    here, next_one = np.arange(persons), persons
    for _ in range(releases):
        yield pool[here]
        here = np.concatenate([rng.permutation(here)[leave:], np.arange(next_one, next_one + leave)])
        next_one += leave


@dataclass
class Clock:
    """Adds up the time of some functions."""

    spent: float = 0.0
    patches: list[Any] = field(default_factory=list)

    @contextmanager
    def on(self, *places: tuple[Any, str]) -> Iterator[None]:
        """Time functions while they run inside others."""
        for module, name in places:
            self.patches.append(mock.patch.object(module, name, self._timed(getattr(module, name))))
            self.patches[-1].start()
        try:
            yield
        finally:
            for patch in self.patches:
                patch.stop()

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.spent += time.perf_counter() - started

        return run


def curve(
    guarantee: rv.Refinement | rv.MInvariance,
    persons: int,
    releases: int,
    *,
    show_all: bool,
    replaced: int | None = None,
    pool: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Publish the months and return a line for each release; a pool has the columns of the table, in their order."""
    schema = rv.Schema(person="pid", quasi=QUASI, sensitive="income")
    lines = []
    name = type(guarantee).__name__
    with tempfile.TemporaryDirectory() as folder:
        series = rv.Series.open(Path(folder) / "vault", schema, guarantee, seed=0)
        for number, frame in enumerate(months(persons, releases, replaced=replaced, pool=pool), start=1):
            clock = Clock()
            with clock.on((refinement, "read"), (making, "decide"), (refinement, "entries_of")):
                started = time.perf_counter()
                release = series.publish_to(Path(folder) / f"{number}.csv", frame).release
                taken = time.perf_counter() - started
            manifest, found = release.manifest, rv.measure(frame, release, schema)
            fakes = manifest.counterfeits.total
            line = {
                "release": number,
                "seconds": taken,
                "step": clock.spent,
                "fem": found["fem"],
                "vem": found["vem"],
                "published": (manifest.rows - manifest.dirty - fakes) / frame.height,
                "withheld": manifest.withheld / frame.height,
                "dirty": manifest.dirty / manifest.rows,
                "counterfeits": fakes / manifest.rows,
            }
            if show_all:
                print(
                    f"  {name:<12}"
                    + "  ".join(f"{k} {v:.3f}" if k != "release" else f"{v:>2}" for k, v in line.items())
                )
            lines.append(line)
    return pl.DataFrame(lines)


def run(persons: int = PERSONS, releases: int = RELEASES) -> bool:
    curve(rv.Refinement(k=10, l=10), 2_000, 2, show_all=False)  # compiled before it is timed
    curve(rv.MInvariance(m=10), 2_000, 2, show_all=False)
    print(f"refinement ({persons:,} persons, a tenth replaced, {releases} releases, k = l = 10 against m = 10)")
    ours = curve(rv.Refinement(k=10, l=10), persons, releases, show_all=True)
    theirs = curve(rv.MInvariance(m=10), persons, releases, show_all=True)
    later = ours["seconds"].to_numpy()[1:]
    good = show("refinement step in a release", float(ours["step"][1:].sum() / later.sum()), 0.25, "of the whole")
    late, early = later[-3:].mean(), later[:3].mean()
    good &= show("last releases against the first ones", float(late / early), 1.3, "times")
    vem = (ours["vem"] / theirs["vem"]).to_numpy()
    fem = (ours["fem"] / theirs["fem"]).to_numpy()
    print(f"  VEM {vem.min():.2f} to {vem.max():.2f} times m-invariance's (the source: 1.62 to 2.2)")
    print(f"  FEM {fem.min():.2f} to {fem.max():.2f} times m-invariance's (the source: at least 0.83)")
    good &= show("withheld, on average", float(ours["withheld"].mean()), 0.2, "of what was asked for")  # type: ignore[arg-type]
    return good


if __name__ == "__main__":
    sys.exit(0 if (run(20_000, 6) if sys.argv[1:2] == ["--fast"] else run()) else 1)
