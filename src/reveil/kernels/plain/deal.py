"""Plain twin of :mod:`reveil.kernels.deal`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def rounds(counts: Sequence[int], least: int) -> tuple[list[list[int]], list[int]]:
    """Take one record of each of the ``least`` most frequent values while so many values are left."""
    left = list(counts)
    groups = []
    while sum(count > 0 for count in left) >= least:
        frequent = sorted(range(len(left)), key=lambda value: (-left[value], value))[:least]
        groups.append(frequent)
        for value in frequent:
            left[value] -= 1
    return groups, left
