"""Plain twin of :mod:`reveil.core.kernels.nearest_free`: the same choices, from lists searched from end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Points = Sequence[Sequence[float]]


class Pool:
    """Free records by value, along the curve."""

    def __init__(self, records: Sequence[int], values: Sequence[int], ranks: Sequence[int], points: Points) -> None:
        self.values, self.ranks, self.points = values, ranks, points
        self.free = sorted(records, key=lambda r: (values[r], ranks[r]))

    def left(self, value: int) -> int:
        """How many records of a value are free."""
        return sum(self.values[r] == value for r in self.free)

    def take(self, value: int, near: int) -> int:
        """Take the nearer of the two free records around a record on the curve; -1: none."""
        own = [r for r in self.free if self.values[r] == value]
        before = [r for r in own if self.ranks[r] < self.ranks[near]][-1:]
        behind = [r for r in own if self.ranks[r] >= self.ranks[near]][:1]
        if not own:
            return -1
        if before and behind:
            chosen = behind[0] if self._away(behind[0], near) < self._away(before[0], near) else before[0]
        else:
            chosen = (behind or before)[0]
        self.free.remove(chosen)
        return chosen

    def take_first(self, value: int) -> int:
        """Take the first free record of a value."""
        chosen = next(r for r in self.free if self.values[r] == value)
        self.free.remove(chosen)
        return chosen

    def _away(self, one: int, other: int) -> float:
        return sum(abs(x - y) for x, y in zip(self.points[one], self.points[other], strict=True))


def fill(pool: Pool, quota: Mapping[int, int], holes: Sequence[tuple[int, int]]) -> list[int]:
    """Take a record for each hole (value, near), as far as the quota goes."""
    left, taken = dict(quota), []
    for value, near in holes:
        record = pool.take(value, near) if left.get(value, 0) > 0 else -1
        left[value] = left.get(value, 0) - (record >= 0)
        taken.append(record)
    return taken


def draw(pool: Pool, steps: Sequence[tuple[Sequence[int], int]]) -> list[list[int]]:
    """Draw up to so many records of each value of each step: those of the rarest first, the others near to them."""
    lists = []
    for values, amount in steps:
        there = [value for value in values if pool.left(value)]
        rarest = min(there, key=pool.left, default=values[0])
        lead = [pool.take_first(rarest) for _ in range(min(amount, pool.left(rarest)))]
        for value in values:
            wanted = min(amount, pool.left(value))
            own = lead if value == rarest else [pool.take(value, lead[i % len(lead)]) for i in range(wanted)]
            lists.append(own)
    return lists


def fit(
    movers: Sequence[tuple[int, frozenset[int]]],
    holes: Sequence[tuple[int, int, frozenset[int]]],
    values: Sequence[int],
    ranks: Sequence[int],
    look: int,
) -> list[int]:
    """Put movers (record, told) into holes (value, rank, signature), which come sorted; -1: none."""
    free, found = set(range(len(holes))), []
    for record, told in movers:
        own = [h for h in range(len(holes)) if holes[h][0] == values[record]]
        place = sum(holes[h][1] < ranks[record] for h in own)
        tries = [i for away in range(look) for i in (place + away, place - away - 1) if 0 <= i < len(own)]
        good = next((own[i] for i in tries if own[i] in free and not told & holes[own[i]][2]), -1)
        free.discard(good)
        found.append(good)
    return found
