"""BangA: an index over 1,000,000 x 3 and x 15, cuts of it, and records that come later."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import reveil as rv
from benchmarks.floor import best_of, coded, floor, in_fresh_process, peak_above, quasi_of, show

if TYPE_CHECKING:
    from reveil.grouping.bang.protocol import Index

ROWS = 1_000_000
MORE = 10_000  # inserted at once
K = 10


def schema_of(columns: int) -> rv.Schema:
    return rv.Schema(quasi=quasi_of(coded(1, columns)), sensitive="disease")


def warm(columns: int) -> None:
    """Compile everything before it is timed."""
    frame = coded(6_000, columns)
    index = rv.BangA().fit(frame.head(5_000), schema_of(columns))
    index.insert(frame.slice(5_000))
    index.cut(K)


def memory(rows: int) -> int:
    """Return the peak above a warmed-up process, in bytes."""
    warm(3)
    frame, schema = coded(rows, 3), schema_of(3)
    return peak_above(lambda: rv.BangA().fit(frame, schema))


def inserting(index: Index, times: int = 8) -> float:
    """Return the shortest of a few insertions of other records."""
    best = float("inf")
    frame = coded(ROWS + times * MORE, 3)
    for turn in range(times):
        part = frame.slice(ROWS + turn * MORE, MORE)
        started = time.perf_counter()
        index.insert(part)
        best = min(best, time.perf_counter() - started)
    return best


def run() -> bool:
    good = True
    for columns, goal in ((15, 40), (3, 20)):
        frame, schema = coded(ROWS, columns), schema_of(columns)
        warm(columns)
        one = floor(frame)
        print(f"bang (floor {one:.3f} s: polars sorts {ROWS:,} x {columns})")
        fit = best_of(lambda frame=frame, schema=schema: rv.BangA().fit(frame, schema))  # type: ignore[misc]
        good &= show(f"fit {ROWS:,} x {columns}, block = 5", fit / one, goal)
    index = rv.BangA().fit(frame, schema)
    good &= show(
        f"the groups of a cut, k = {K}, of the fit", 100 * best_of(lambda: index.groups(K)) / fit, 10, "per cent"
    )
    good &= show("the same cut as a verified release", best_of(lambda: index.cut(K)) / one, 8)
    good &= show(f"{MORE:,} records inserted, of the fit", 100 * inserting(index) / fit, 2, "per cent")
    small, large = (int(in_fresh_process("benchmarks.bang", "memory", str(rows))) for rows in (ROWS, 4 * ROWS))
    return good & show(f"peak memory of {4 * ROWS:,} records, against {ROWS:,}", large / small, 5, "times")


if __name__ == "__main__":
    print(memory(int(sys.argv[2])) if sys.argv[1:2] == ["memory"] else run())
