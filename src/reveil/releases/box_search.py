"""All pairs of a point and a box that holds it, a bounded number of them at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import CodeArray, IntArray, Ragged, offsets_of
from reveil.core.kernels import ranges

if TYPE_CHECKING:
    from collections.abc import Iterator

AT_ONCE = 1 << 22  # pairs


def points_inside(
    points: CodeArray, lo: CodeArray, hi: CodeArray, weights: IntArray | None = None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, in portions, all pairs of a point and a box that holds it, box by box.

    ``points`` is (points, attributes); box b holds what lies in ``lo[b, a]..hi[b, a]`` for every attribute a. A pair
    with box b counts ``weights[b]`` times for the size of a portion.
    """
    if not len(points):
        return
    points, lo, hi = (np.ascontiguousarray(array, np.int32) for array in (points, lo, hi))
    tree = ranges.build(points)
    ends, out = np.zeros(len(lo) + 1, np.int64), np.empty(max(AT_ONCE, len(points)), np.int64)  # one box has room
    first = 0
    while first < len(lo):
        ends[first] = 0
        stop = ranges.search(tree, lo, hi, first, ends, out)
        counts = np.diff(ends[first : stop + 1])
        weighted = counts if weights is None else counts * weights[first:stop]
        for start, end in portions(offsets_of(weighted)):
            found = out[ends[first + start] : ends[first + end]].copy()
            if len(found):
                yield found, Ragged.of_lengths(counts[start:end], found).owners() + first + start
        first = stop


def points_in_boxes(points: CodeArray, lo: CodeArray, hi: CodeArray) -> tuple[IntArray, IntArray]:
    """Return all pairs (point, box) with the point inside the box."""
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64)), *points_inside(points, lo, hi)]
    return np.concatenate([point for point, _ in parts]), np.concatenate([box for _, box in parts])


def portions(sums: IntArray) -> Iterator[tuple[int, int]]:
    """Cut a list of counts, given as sums from the start, into portions of bounded size; one count may exceed it."""
    start, last = 0, len(sums) - 1
    while start < last:
        end = int(np.searchsorted(sums, sums[start] + AT_ONCE, side="right")) - 1
        end = min(max(end, start + 1), last)
        yield start, end
        start = end
