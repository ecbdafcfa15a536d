"""Plain twin of :mod:`reveil.core.kernels.cells`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def descend(
    rows: Sequence[Sequence[int]], attribute: Sequence[int], code: Sequence[int], below: Sequence[int]
) -> list[int]:
    """Return the node of each record (its codes) that is not cut further."""

    def node_of(record: Sequence[int], node: int) -> int:
        if attribute[node] < 0:
            return node
        return node_of(record, below[node] + (record[attribute[node]] > code[node]))

    return [node_of(record, 0) for record in rows]


def count(place: Sequence[int], codes: Sequence[int]) -> Counter[tuple[int, int]]:
    """Return how often each code occurs at each place."""
    return Counter(pair for pair in zip(place, codes, strict=True) if pair[0] >= 0)
