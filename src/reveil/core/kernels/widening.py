"""Boxes of single rows: how wide they would be with somebody else inside.

A box is, for each attribute, the least and the greatest code, and whether null is in it; lo > hi where nothing else
is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel


class RowBoxes(NamedTuple):
    """The boxes of single rows."""

    lo: npt.NDArray[np.int32]  # (rows, attributes)
    hi: npt.NDArray[np.int32]  # (rows, attributes)
    null: npt.NDArray[np.bool_]  # (rows, attributes)


class Attributes(NamedTuple):
    """Attributes are spans (kind 0), sets (1) or taxonomies (2), described side by side in flat arrays.

    The positions of attribute a begin at ``offsets[a]``. Its taxonomy has ``levels[a]`` levels, one line of as many
    entries as there are codes for each from ``level_offsets[a]`` on: the node over each code, and how wide it is.
    """

    kinds: npt.NDArray[np.int64]  # (attributes)
    nulls: npt.NDArray[np.int64]  # (attributes): the code of a missing value, and so the number of codes
    offsets: npt.NDArray[np.int64]  # (attributes + 1)
    positions: npt.NDArray[np.float64]  # (codes of all attributes)
    steps: npt.NDArray[np.float64]  # (attributes, 2): what one more member of a set costs, and null beside values
    level_offsets: npt.NDArray[np.int64]  # (attributes)
    levels: npt.NDArray[np.int64]  # (attributes)
    nodes: npt.NDArray[np.int32]  # (codes of all levels)
    widths: npt.NDArray[np.float64]  # (codes of all levels)


@kernel
def boxes(points, nulls):
    """Return the boxes of single points, (points, attributes)."""
    lo, hi = points.copy(), points.copy()
    null = np.zeros(points.shape, np.bool_)
    for i in range(points.shape[0]):
        for a in range(points.shape[1]):
            if points[i, a] == nulls[a]:
                null[i, a] = True
                hi[i, a] = -1
    return RowBoxes(lo, hi, null)


@kernel
def widen(points, partner, nulls, row_boxes):
    """Widen each box of ``row_boxes`` to cover its partner, a point."""
    lo, hi, null = row_boxes.lo, row_boxes.hi, row_boxes.null
    for i in range(points.shape[0]):
        for a in range(points.shape[1]):
            code = points[partner[i], a]
            if code == nulls[a]:
                null[i, a] = True
            else:
                lo[i, a] = min(lo[i, a], code)
                hi[i, a] = max(hi[i, a], code)


@kernel
def costs(points, row_boxes, members, filled, rows, persons, attributes):
    """Return how wide each row's box is once it covers each person, over all attributes together: (rows, persons).

    ``row_boxes`` are the boxes, and ``members[row, :filled]`` the records inside so far. Widths are those of the loss
    metric: 0 for one value, 1 for all of them, and a step for null beside values.
    """
    lo, hi, null = row_boxes.lo, row_boxes.hi, row_boxes.null
    kinds, nulls, offsets, positions, steps, level_offsets, levels, nodes, widths = attributes
    out = np.zeros((rows.shape[0], persons.shape[0]))
    seen = np.empty(members.shape[1], np.int32)
    for a in range(kinds.shape[0]):
        nothing = np.int32(nulls[a])
        for i in range(rows.shape[0]):
            row = rows[i]
            low, high, missing = lo[row, a], hi[row, a], null[row, a]
            if kinds[a] == 1:
                many = 0
                for m in range(filled):
                    code = points[members[row, m], a]
                    new = code != nothing
                    for k in range(many):
                        new = new and seen[k] != code
                    if new:
                        seen[many] = code
                        many += 1
                for j in range(persons.shape[0]):
                    code = points[persons[j], a]
                    more = code != nothing
                    for k in range(many):
                        more = more and seen[k] != code
                    size = many + more
                    width = steps[a, 0] * max(size - 1, 0)
                    if (missing or code == nothing) and size > 0:
                        width += steps[a, 1]
                    out[i, j] += min(width, 1.0)
                continue
            for j in range(persons.shape[0]):
                code = points[persons[j], a]
                one, other, gap = low, high, missing
                if code == nothing:
                    gap = True
                else:
                    one, other = min(one, code), max(other, code)
                if one > other:
                    continue
                width = 0.0
                if kinds[a] == 0:
                    width = positions[offsets[a] + other] - positions[offsets[a] + one]
                elif one < other:
                    start = level_offsets[a] + (levels[a] - 1) * nothing
                    while nodes[start + one] != nodes[start + other]:
                        start -= nothing
                    width = widths[start + one]
                if gap:
                    width += steps[a, 1]
                out[i, j] += min(width, 1.0)
    return out


@kernel
def widths_of(points, members, attributes):
    """Return how wide the box of each row is, over all attributes; ``members`` are the records inside, row by row."""
    n = members.shape[0]
    out = np.zeros(n)
    row_boxes = boxes(points[members[:, 0]], attributes.nulls)
    for m in range(1, members.shape[1]):
        widen(points, members[:, m], attributes.nulls, row_boxes)
    row, last = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for i in range(n):
        row[0] = i
        last[0] = members[i, 0]
        full = costs(points, row_boxes, members, members.shape[1], row, last, attributes)
        out[i] = full[0, 0]
    return out
