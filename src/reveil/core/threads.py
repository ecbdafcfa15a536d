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


def each(work: Callable[[T], R], items: Iterable[T], records: int = SMALL) -> list[R]:
    """Return the results for all items, in their order; ``records`` says how much work there is for each."""
    listed = list(items)
    workers = min(os.cpu_count() or 1, len(listed)) if records >= SMALL else 1
    if workers < 2:
        return [work(item) for item in listed]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, listed))
