"""Plain twin of :mod:`reveil.core.kernels.stacking`: the same cuts, with lists and a search for what can be given."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

CLOSE, TRIES = 4, 8


def deal(
    rows: Sequence[Sequence[int]],
    values: Sequence[int],
    groups: int,
    counts: Sequence[int],
    positions: Sequence[Sequence[float]],
    depths: Sequence[Sequence[int] | None],
    steps: Sequence[float],
) -> list[list[int]]:
    """Deal all the records; ``counts`` is how often each value occurs. Groups are lists of records."""
    together = [sum(counts[: v + 1]) for v in range(len(counts))]
    shares = Shares([c // groups for c in counts], [c // groups for c in together])

    def cut(node: list[int], groups: int) -> list[list[int]]:
        if groups == 1:
            return [node]
        tried: list[tuple[float, list[list[int]], int]] = []
        spread = [_spread([where[rows[i][a]] for i in node]) for a, where in enumerate(positions)]
        for a in sorted(range(len(positions)), key=lambda a: (-spread[a], a))[:TRIES]:
            if tried and len({rows[i][a] for i in node}) == 1:
                continue
            order = sorted(node, key=lambda i, a=a: rows[i][a])  # type: ignore[misc]
            at, left = place_cut([rows[i][a] for i in order], groups, depths[a])
            right = shares.sides([values[i] for i in order], at, left, groups - left)
            sides = [[i for i, other in zip(order, right, strict=True) if other == side] for side in (False, True)]
            if groups <= CLOSE:
                score = _narrow(sides, rows, positions, steps)
            else:
                cells = [[rows[i][a] for i in side] for side in (node, *sides)]
                whole, one, other = (
                    len(own) * _width(own, len(node) / groups, positions[a], steps[a]) for own in cells
                )
                score = whole - one - other
            tried.append((score, sides, left))
        _, sides, left = max(tried, key=lambda one: one[0])
        return cut(sides[0], left) + cut(sides[1], groups - left)

    return cut(list(range(len(rows))), groups)


def place_cut(codes: Sequence[int], groups: int, depths: Sequence[int] | None) -> tuple[int, int]:
    """Return how many of some ascending codes lie before the cut, and how many groups go there."""
    size = len(codes)
    half = size // groups // 2
    places = [
        (0 if depths is None else min(depths[codes[j - 1] : codes[j]]), abs(2 * j - size), j)
        for j in range(half + 1, size - half)
        if codes[j - 1] != codes[j]
    ]
    if not places:
        return size * (groups // 2) // groups, groups // 2
    at = min(places)[2]
    return at, min(max((2 * groups * at + size) // (2 * size), 1), groups - 1)


class Shares:
    """What every group may have: ``least[v]`` or one more of each value, ``below[v]`` or one more up to each."""

    def __init__(self, least: Sequence[int], below: Sequence[int]) -> None:
        self.least, self.below = least, below

    def sides(self, values: Sequence[int], at: int, left: int, right: int) -> list[bool]:
        """Return which of the records in their order along the cut go to the right."""
        total = [values.count(v) for v in range(len(self.least))]
        there = [list(values[:at]).count(v) for v in range(len(self.least))]
        wanted = self._wanted(total, there, left, right)
        missing = [share - lies for share, lies in zip(wanted, there, strict=True)]
        out = [j >= at for j in range(len(values))]
        for j in [*range(at, len(values)), *range(at - 1, -1, -1)]:
            if (missing[values[j]] > 0 and j >= at) or (missing[values[j]] < 0 and j < at):
                missing[values[j]] += -1 if j >= at else 1
                out[j] = not out[j]
        return out

    def _may(self, count: int, given: int, fewest: int, left: int, right: int) -> bool:
        one, other = given, count - given
        return left * fewest <= one <= left * (fewest + 1) and right * fewest <= other <= right * (fewest + 1)

    def _wanted(self, total: list[int], there: list[int], left: int, right: int) -> list[int]:
        """Give each value in its order the share nearest to what lies there that leaves the others theirs."""

        @cache
        def completable(v: int, given: int) -> bool:
            if v == len(total):
                return True
            return any(fits(v, given, share) for share in range(total[v] + 1))

        def fits(v: int, given: int, share: int) -> bool:
            so_far = sum(total[: v + 1])
            return (
                self._may(total[v], share, self.least[v], left, right)
                and self._may(so_far, given + share, self.below[v], left, right)
                and completable(v + 1, given + share)
            )

        wanted: list[int] = []
        for v, lies in enumerate(there):
            given = sum(wanted)
            wanted.append(min((s for s in range(total[v] + 1) if fits(v, given, s)), key=lambda s: (abs(s - lies), s)))
        return wanted


def _total(places: Sequence[float]) -> float:
    """Add up one by one, as the kernel does: ``sum`` would round better."""
    total = 0.0
    for x in places:
        total += x
    return total


def _spread(places: Sequence[float]) -> float:
    total = _total(places)
    return _total([x * x for x in places]) - total * total / len(places)


def _width(codes: Sequence[int], draws: float, where: Sequence[float], step: float) -> float:
    """Return how wide a cell of so many of these records is to be expected."""
    width, size = 0.0, len(codes)
    found = sorted(set(codes))
    if step > 0:
        for code in found:
            width += step * (1.0 - (1.0 - codes.count(code) / size) ** draws)
        return width
    for one, other in pairwise(found):
        share = sum(code <= one for code in codes) / size
        width += (where[other] - where[one]) * (1.0 - share**draws - (1.0 - share) ** draws)
    return width


def _narrow(
    sides: Sequence[Sequence[int]],
    rows: Sequence[Sequence[int]],
    positions: Sequence[Sequence[float]],
    steps: Sequence[float],
) -> float:
    total = 0.0
    for a, where in enumerate(positions):
        for side in sides:
            codes = [rows[i][a] for i in side]
            width = (len(set(codes)) - 1) * steps[a] if steps[a] > 0 else where[max(codes)] - where[min(codes)]
            total -= len(side) * width
    return total
