"""The floor of all ratios, and how time and memory are taken.

The floor is polars sorting a table of the generator's codes by its quasi columns: what anything that has to look at
the whole table must pay on this machine, now. Times are the best of a few runs; ratios are all that is printed as
a result, because absolute times on shared machines mean nothing.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.testing import hospital

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl


def best_of(run: Callable[[], object], times: int = 3) -> float:
    """Return the shortest of a few runs in seconds."""
    best = float("inf")
    for _ in range(times):
        gc.collect()
        started = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - started)
    return best


def least_work(run: Callable[[], object], times: int = 3) -> float:
    """Return the least processor time of a few runs in seconds, all threads: what a busy machine changes little."""
    best = float("inf")
    for _ in range(times):
        gc.collect()
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
    return best


def best_of_each(*runs: Callable[[], object], times: int = 4) -> list[float]:
    """Return the shortest of a few runs of each, taken in turns, so that a busy minute hits all of them."""
    best = [float("inf")] * len(runs)
    for _ in range(times):
        best = [min(so_far, best_of(run, 1)) for so_far, run in zip(best, runs, strict=True)]
    return best


def quasi_of(frame: pl.DataFrame) -> list[str]:
    """Return the quasi columns of a coded table."""
    return [name for name in frame.columns if name.startswith("q")]


def floor(frame: pl.DataFrame) -> float:
    """Return the time to sort a table by its quasi columns."""
    return best_of(lambda: frame.sort(quasi_of(frame)))


def coded(rows: int, columns: int = 4) -> pl.DataFrame:
    """Return the benchmark table of the generator."""
    return hospital.coded(rows, columns=columns, seed=0)


def resident(key: str) -> int:
    """Return ``VmRSS`` (now) or ``VmHWM`` (the peak) of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{key} is not known here")


def peak_above(run: Callable[[], object]) -> int:
    """Return how far the resident size rises above where it was while something runs, in bytes."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before = resident("VmRSS")
    run()
    return resident("VmHWM") - before


def in_fresh_process(module: str, *arguments: str) -> str:
    """Run a benchmark in a process of its own, for memory; return the last line it printed."""
    done = subprocess.run(  # noqa: S603  (our own module)
        [sys.executable, "-m", module, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip().splitlines()[-1]


def show(name: str, ratio: float, goal: float, unit: str = "floors") -> bool:
    """Print one line: what was measured, against what it should be."""
    good = ratio <= goal
    print(f"  {name:<58} {ratio:8.2f} {unit:<8} goal {goal:g}{'' if good else '   MISSED'}")
    return good
