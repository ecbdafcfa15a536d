"""Where a cut makes published cells narrower: the fall in published width of every cut of a node.

The records of a node are the rows ``start..end`` of a code matrix. A group is published once for each of its records,
so what a node costs is its size times the width of its box, over all attributes; the *gain* of a cut is what the node
costs less what its halves cost. Nothing but quasi codes is read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel
from reveil.core.kernels.cuts import SPARSE

LISTED, TREE = 1, 2
_FEW = 40  # records that are put in order one by one
_DENSE = 2  # up to so many codes for each record, records are put in order by counting


class BestCuts(NamedTuple):
    """The best cut of each node along each attribute: codes up to ``cut`` go left, ``left`` records of them."""

    gain: npt.NDArray[np.float64]  # (nodes, attributes); negative where there is no cut
    cut: npt.NDArray[np.int32]  # (nodes, attributes)
    left: npt.NDArray[np.int64]  # (nodes, attributes); 0 where there is no cut


class SeenMarks(NamedTuple):
    """Which codes the sweep with the number ``turn[0]`` has met: those whose mark is that number."""

    met: npt.NDArray[np.int64]  # (codes of all attributes)
    turn: npt.NDArray[np.int64]  # (1)


@kernel
def tree_width(low, high, size, line, nodes, widths):
    """Return the width of the lowest node over the codes from ``low`` to ``high``; ``line`` is where its leaves are."""
    while nodes[line + low] != nodes[line + high]:
        line -= size
    return widths[line + low]


@kernel
def propose(rows, starts, ends, attributes, least, whole_below, marks, out):
    """Find the cut with the largest gain of each node along each attribute; of equal ones the first.

    Cuts that leave fewer than ``least`` records on a side are not considered. In nodes of fewer than ``whole_below``
    records the widths of all attributes count, in larger ones only that of the attribute that is cut: there the
    others hardly change, and how often each code occurs says everything.
    """
    columns = rows.shape[1]
    gain, cut, left = out
    largest = 0
    for p in range(starts.shape[0]):
        largest = max(largest, ends[p] - starts[p])
    counts = np.zeros(attributes.nulls.max() + 2, np.int64)
    order = np.empty(largest, np.int64)
    below, above = np.empty(largest + 1), np.empty(largest + 1)
    for p in range(starts.shape[0]):
        start, end = starts[p], ends[p]
        size = end - start
        for a in range(columns):
            gain[p, a], cut[p, a], left[p, a] = -1.0, -1, 0
            low, high = rows[start, a], rows[start, a]
            for i in range(start + 1, end):
                low, high = min(low, rows[i, a]), max(high, rows[i, a])
            if low == high:
                continue
            if size >= whole_below and high - low < SPARSE * size + 64:
                found = _by_counts(rows, start, end, a, low, high, attributes, least, counts)
                gain[p, a], cut[p, a], left[p, a] = found
                continue
            first, behind = (0, columns) if size < whole_below else (a, a + 1)
            _sorted(rows, start, end, a, low, high, counts, order)
            _sweep(rows, order[:size], first, behind, attributes, marks, below)
            _sweep(rows, order[:size][::-1], first, behind, attributes, marks, above)
            total = size * below[size]
            for j in range(least, size - least + 1):
                code = rows[order[j - 1], a]
                if code != rows[order[j], a]:
                    fall = total - j * below[j] - (size - j) * above[size - j]
                    if fall > gain[p, a]:
                        gain[p, a], cut[p, a], left[p, a] = fall, code, j


@kernel
def _by_counts(rows, start, end, a, low, high, attributes, least, counts):
    """Return gain, code and records on the left of the best cut of a node, by the width of the attribute alone."""
    kinds, nulls, offsets, positions, steps, level_offsets, levels, nodes, widths = attributes
    kind, nothing, place = kinds[a], nulls[a], offsets[a]
    line = level_offsets[a] + (levels[a] - 1) * nothing
    for i in range(start, end):
        counts[rows[i, a]] += 1
    size, missing = end - start, counts[nothing]
    top, different = low, 0  # the greatest value, null not counted
    for code in range(low, min(high + 1, nothing)):
        if counts[code] > 0:
            top = code
            different += 1
    beside = steps[a, 1] if missing > 0 else 0.0
    whole = _width(kind, low, top, different, place, positions, steps[a, 0], nothing, line, nodes, widths)
    total = size * (whole + beside)
    best, cut, left = -1.0, np.int32(-1), 0
    code, before, met = low, counts[low], 1
    while code < high and size - before >= least:
        behind = code + 1
        while counts[behind] == 0:
            behind += 1
        if before >= least:
            narrow = _width(kind, low, code, met, place, positions, steps[a, 0], nothing, line, nodes, widths)
            rest = 0.0
            if behind != nothing:
                rest = beside + _width(
                    kind, behind, top, different - met, place, positions, steps[a, 0], nothing, line, nodes, widths
                )
            fall = total - before * narrow - (size - before) * rest
            if fall > best:
                best, cut, left = fall, np.int32(code), before
        code = behind
        before += counts[code]
        met += 1
    counts[low : high + 1] = 0
    return best, cut, left


@kernel
def _width(kind, low, high, different, place, positions, step, size, line, nodes, widths):
    """Return how wide the values from ``low`` to ``high`` are, of which so many are different."""
    if kind == LISTED:
        return step * (different - 1)
    if low == high:
        return 0.0
    if kind == TREE:
        return tree_width(low, high, size, line, nodes, widths)
    return positions[place + high] - positions[place + low]


@kernel
def _sorted(rows, start, end, a, low, high, counts, order):
    """Write the places of a node's records by their code of attribute a, equal ones as they stand."""
    size = end - start
    if size <= _FEW:
        for i in range(start, end):
            code, at = rows[i, a], i - start
            while at > 0 and rows[order[at - 1], a] > code:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
        return
    if high - low > _DENSE * size:
        keys = np.empty(size, np.int64)
        for i in range(size):
            keys[i] = (np.int64(rows[start + i, a]) << 32) | i
        keys.sort()
        for i in range(size):
            order[i] = start + (keys[i] & 0xFFFFFFFF)
        return
    for i in range(start, end):
        counts[rows[i, a]] += 1
    before = 0
    for code in range(low, high + 1):
        before, counts[code] = before + counts[code], before
    for i in range(start, end):
        code = rows[i, a]
        order[counts[code]] = i
        counts[code] += 1
    counts[low : high + 1] = 0


@kernel
def _sweep(rows, order, first, behind, attributes, marks, out):
    """Note in ``out[j]`` how wide the box of the first j records is, over the attributes from ``first`` on."""
    kinds, nulls, offsets, positions, steps, level_offsets, levels, nodes, widths = attributes
    met, turn = marks
    size = order.shape[0]
    out[: size + 1] = 0.0
    turn[0] += 1
    now = turn[0]
    for b in range(first, behind):
        kind, nothing, place, beside = kinds[b], nulls[b], offsets[b], steps[b, 1]
        line = level_offsets[b] + (levels[b] - 1) * nothing
        width, null, many = 0.0, False, 0
        lo, hi = np.int32(0), np.int32(-1)
        for j in range(size):
            code = rows[order[j], b]
            if code == nothing:
                if not null:
                    null = True
                    width += beside if many > 0 else 0.0
            elif kind == LISTED:
                if met[place + code] != now:
                    met[place + code] = now
                    width += steps[b, 0] if many > 0 else beside if null else 0.0
                    many += 1
            elif many == 0:
                many, lo, hi = 1, code, code
                width = beside if null else 0.0
            elif code < lo or code > hi:
                lo, hi = min(lo, code), max(hi, code)
                if kind == TREE:
                    width = tree_width(lo, hi, nothing, line, nodes, widths)
                else:
                    width = positions[place + hi] - positions[place + lo]
                width += beside if null else 0.0
            out[j + 1] += width
