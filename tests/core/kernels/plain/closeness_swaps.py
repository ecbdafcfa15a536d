"""Plain twin of :mod:`reveil.core.kernels.closeness_swaps`: groups are lists of records, records tuples of values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Record = tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """For each attribute: how many records of the table have each value, whether they lie in a row, and its t."""

    table: Sequence[Sequence[int]]
    row: Sequence[bool]
    limits: Sequence[float]

    def excess(self, group: Sequence[Record]) -> float:
        """How much the distances of a group exceed the limits."""
        over = 0.0
        for a, (counts, row, limit) in enumerate(zip(self.table, self.row, self.limits, strict=True)):
            own = [record[a] for record in group]
            off = [own.count(v) / len(group) - c / sum(counts) for v, c in enumerate(counts)]
            moved = sum(map(abs, accumulate(off) if row else off))
            distance = moved / max(len(counts) - 1, 1) if row else moved / 2
            over += max(0.0, distance - limit - 1e-12)
        return over

    def pull(self, group: Sequence[Record], value: int, a: int) -> float:
        """How much the distance in attribute a grows, to first order, if such a value comes."""
        counts, own = self.table[a], [record[a] for record in group]

        def sign(values: range) -> int:
            more = sum(own.count(v) for v in values) * sum(counts) - sum(counts[v] for v in values) * len(group)
            return (more > 0) - (more < 0)

        if not self.row[a]:
            return sign(range(value, value + 1)) / 2
        steps = max(len(counts) - 1, 1)
        return sum(sign(range(border + 1)) / steps for border in reversed(range(value, len(counts) - 1)))

    def weigh(self, record: Record, mine: Sequence[Record], theirs: Sequence[Record] = ()) -> float:
        """How much more a record costs in one group than in another."""
        pulls = [(self.pull(mine, v, a), self.pull(theirs, v, a) if theirs else 0.0) for a, v in enumerate(record)]
        return sum((one - other for one, other in pulls), 0.0)


def repair(
    groups: list[list[int]], values: Sequence[Record], failing: Sequence[int], target: Target, reach: int, rounds: int
) -> None:
    """Swap members of failing groups with members of near ones while that lowers what is exceeded."""

    def of(members: Sequence[int]) -> list[Record]:
        return [values[member] for member in members]

    for g in failing:
        near = [h for away in range(1, reach + 1) for h in (g - away, g + away) if 0 <= h < len(groups)]
        for _ in range(rounds):
            if target.excess(of(groups[g])) <= 0 or not any(_swap(groups, of, g, h, target) for h in near):
                break


def _swap(groups: list[list[int]], of: Callable[[Sequence[int]], list[Record]], g: int, h: int, target: Target) -> bool:
    mine, theirs = groups[g], groups[h]
    weights = {m: target.weigh(of([m])[0], of(mine), of(theirs)) for m in (*mine, *theirs)}
    out = max(range(len(mine)), key=lambda p: weights[mine[p]])
    back = min(range(len(theirs)), key=lambda p: weights[theirs[p]])
    if weights[theirs[back]] >= weights[mine[out]]:
        return False
    before = target.excess(of(mine)) + target.excess(of(theirs))
    mine[out], theirs[back] = theirs[back], mine[out]
    if target.excess(of(mine)) + target.excess(of(theirs)) < before - 1e-12:
        return True
    mine[out], theirs[back] = theirs[back], mine[out]
    return False


def clusters(
    points: Sequence[Sequence[float]], values: Sequence[Record], least: int, target: Target, tries: int
) -> list[int]:
    """Cluster one segment; return the cluster of each record."""
    labels, alive, number = [-1] * len(points), list(range(len(points))), 0
    seed: list[float] | None = None

    def away(record: int, place: Sequence[float]) -> float:
        return sum((x - y) ** 2 for x, y in zip(points[record], place, strict=True))

    while len(alive) >= 2 * least:
        middle = seed or [sum(x) / len(alive) for x in zip(*(points[r] for r in alive), strict=True)]
        far = max(alive, key=lambda r: away(r, middle))
        seed = None if seed else list(points[far])
        near = sorted(alive, key=lambda r: away(r, points[far]))
        cluster = near[:least]
        for candidate in near[least : least + tries]:
            own = [values[r] for r in cluster]
            over = target.excess(own)
            if over <= 0:
                break
            out = max(range(least), key=lambda p: target.weigh(own[p], own))
            if target.weigh(values[candidate], own) >= target.weigh(own[out], own):
                continue
            other = [*own[:out], values[candidate], *own[out + 1 :]]
            if target.excess(other) < over - 1e-12:
                cluster[out] = candidate
        for record in cluster:
            labels[record] = number
        number += 1
        alive = [record for record in alive if labels[record] < 0]
    return [number if label < 0 else label for label in labels]
