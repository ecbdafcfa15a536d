"""Plain twin of :mod:`reveil.core.kernels.rematching`: the width of a group, and the best of all assignments."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def width(codes: Sequence[Sequence[int]], kinds: Sequence[str], sizes: Sequence[int]) -> float:
    """Return how wide the box of some records is: columns are lines or sets, and -1 is a missing value."""
    total = 0.0
    for a, kind in enumerate(kinds):
        there = {record[a] for record in codes} - {-1}
        if not there:
            continue
        if kind == "line":
            total += (max(there) - min(there)) / (sizes[a] - 1)
        else:
            total += (len(there) - 1) / (sizes[a] - 1)
        total += any(record[a] < 0 for record in codes) / sizes[a]
    return total


def least(
    groups: Sequence[Sequence[int]], place: int, values: Sequence[int], widths_of: Callable[[Sequence[int]], float]
) -> float:
    """Return the least sum of widths if the records in one place of all groups are assigned anew."""
    found = []
    for order in permutations(range(len(groups))):
        pairs = zip(groups, order, strict=True)
        made = [[*group[:place], groups[other][place], *group[place + 1 :]] for group, other in pairs]
        if all(len({values[record] for record in group}) == len(group) for group in made):
            found.append(sum(widths_of(group) for group in made))
    return min(found)
