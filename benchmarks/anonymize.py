"""``rv.anonymize``, frame to frame: 1,000,000 x 4 with k = 10, with diversity, four times the size, and memory."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import reveil as rv
from benchmarks.floor import best_of, best_of_each, coded, floor, in_fresh_process, peak_above, quasi_of, show

if TYPE_CHECKING:
    import polars as pl

ROWS = 1_000_000


def publish(frame: pl.DataFrame, model: rv.models.base.Model) -> pl.DataFrame:
    schema = rv.Schema(quasi=quasi_of(frame), sensitive="disease")
    table: pl.DataFrame = rv.anonymize(frame, schema, model).table
    return table


def memory() -> float:
    """Peak above a warmed-up process, in sizes of the table."""
    publish(coded(20_000), rv.KAnonymity(10))
    frame = coded(ROWS)
    return peak_above(lambda: publish(frame, rv.KAnonymity(10))) / frame.estimated_size()


def run() -> bool:
    frame = coded(ROWS)
    one = floor(frame)
    print(f"anonymize (floor {one:.3f} s: polars sorts {ROWS:,} x 4)")
    publish(frame.head(20_000), rv.KAnonymity(10) & rv.DistinctDiversity(3))  # compiled before it is timed
    alone = best_of(lambda: publish(frame, rv.KAnonymity(10)))
    diverse = best_of(lambda: publish(frame, rv.KAnonymity(10) & rv.DistinctDiversity(3)))
    good = show("1,000,000 x 4, k = 10, verified, frame to frame", alone / one, 8)
    good &= show("the same & DistinctDiversity(3), against k alone", diverse / alone, 2, "times")
    large = coded(4 * ROWS)
    k = rv.KAnonymity(10)
    small_time, large_time = best_of_each(lambda: publish(frame, k), lambda: publish(large, k))
    good &= show("4,000,000 x 4, against 1,000,000", large_time / small_time, 5, "times")
    good &= show(
        "peak memory, against the table", float(in_fresh_process("benchmarks.anonymize", "memory")), 12, "times"
    )
    return good


if __name__ == "__main__":
    print(memory() if sys.argv[1:] == ["memory"] else run())
