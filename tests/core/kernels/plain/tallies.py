"""Plain twin of :mod:`reveil.core.kernels.tallies`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.core.kernels.plain.ranges import inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.core.kernels.plain.ranges import Point


def tally(
    points: Sequence[Point], lo: Sequence[Point], hi: Sequence[Point], amounts: Sequence[int], weights: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Return the sum of the amounts of the boxes around each point, and of the weights of the points in each box."""
    hits, sums = [0] * len(points), [0] * len(lo)
    for point, box in inside(points, lo, hi):
        hits[point] += amounts[box]
        sums[box] += weights[point]
    return hits, sums


def items_around(
    points: Sequence[Point], lo: Sequence[Point], hi: Sequence[Point], items: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return, for each point, the items of the boxes around it, box by box."""
    around = sorted(inside(points, lo, hi))
    return [[item for p, box in around if p == point for item in items[box]] for point in range(len(points))]
