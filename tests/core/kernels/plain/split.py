"""Plain twin of :mod:`reveil.core.kernels.split`, for one bucket whose records differ in every attribute."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Group = list[int]


def split(lists: Sequence[Sequence[int]], points: Sequence[Sequence[float]]) -> list[Group]:
    """Return the groups, each with a record or -1 for each list."""
    groups = max(len(own) for own in lists)
    if groups <= 1:
        return [[own[0] if own else -1 for own in lists]] if groups else []
    left = groups // 2
    right = groups - left
    records = [record for own in lists for record in own]
    spans = [max(points[r][a] for r in records) - min(points[r][a] for r in records) for a in range(len(points[0]))]
    a = spans.index(max(spans))
    keys = sorted(points[r][a] for r in records)
    cut = keys[min(max((len(keys) * left + groups // 2) // groups, 1), len(keys) - 1) - 1]
    lower, upper = [], []
    for own in lists:
        ordered = sorted(own, key=lambda r: points[r][a])
        below = sum(points[r][a] < cut for r in own)
        upto = sum(points[r][a] <= cut for r in own)
        here = min(max((2 * len(own) * left + groups) // (2 * groups), below), upto)
        here = min(max(here, len(own) - right), left)
        lower.append(ordered[:here])
        upper.append(ordered[here:])
    return split(lower, points) + split(upper, points)


def swap(groups: Sequence[Group], points: Sequence[Sequence[float]]) -> list[Group]:
    """Swap the records of one list between neighbouring groups where that makes the boxes smaller."""
    found = [list(group) for group in groups]
    for one, other in pairwise(found):
        for s in range(len(one)):
            before = _extent(one, points) + _extent(other, points)
            one[s], other[s] = other[s], one[s]
            if -1 in (max(one), max(other)) or _extent(one, points) + _extent(other, points) >= before - 1e-9:
                one[s], other[s] = other[s], one[s]
    return found


def _extent(group: Group, points: Sequence[Sequence[float]]) -> float:
    own = [points[record] for record in group if record >= 0]
    return sum(max(p[a] for p in own) - min(p[a] for p in own) for a in range(len(points[0]))) if own else 0.0
