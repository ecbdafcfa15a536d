"""The same work on several columns at once. NumPy, polars and our kernels release the GIL where it counts."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
R = TypeVar("R")


SMALL = 1 << 15  # records for which starting threads takes longer than they save


def budget() -> int:
    """Return how many threads work is given: as many as there are cores, where ``REVEIL_THREADS`` does not say.

    An engine says so to processes that each have one core of a machine.
    """
    said = os.environ.get("REVEIL_THREADS", "")
    return max(1, int(said)) if said.isdecimal() else os.cpu_count() or 1


def each(work: Callable[[T], R], items: Iterable[T], records: int = SMALL) -> list[R]:
    """Return the results for all items, in their order; ``records`` says how much work there is for each."""
    listed = list(items)
    workers = min(budget(), len(listed)) if records >= SMALL else 1
    if workers < 2:
        return [work(item) for item in listed]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, listed))
