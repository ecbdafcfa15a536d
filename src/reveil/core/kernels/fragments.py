"""Kernels of the fragmentation search: the best cut of many fragments along each axis, and the cut itself.

A fragment is the rows ``start..end`` of a table that is permuted in place. All kernels take many fragments at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel


class CountedRows(NamedTuple):
    """Rows of places, how many records each stands for, and where it stood at first; permuted in place."""

    rows: npt.NDArray[np.int32]  # (rows, axes)
    weights: npt.NDArray[np.int64]  # (rows)
    first_place: npt.NDArray[np.int64]  # (rows)


class Axes(NamedTuple):
    """``nodes[i, :heights[i]]`` are the levels of attribute i, from below the root (``heights`` 0: values in a row)."""

    nodes: npt.NDArray[np.int32]  # (axes, levels, places)
    heights: npt.NDArray[np.int64]  # (axes)
    scales: npt.NDArray[np.float64]  # (axes): what a spread is divided by to compare attributes


class Survey(NamedTuple):
    """What fragments are spread now, and for each axis the best cut and what it leaves."""

    now: npt.NDArray[np.int64]  # (fragments, axes)
    cut: npt.NDArray[np.int32]  # (fragments, axes): the last place of the first part; -1 where there is one place only
    after: npt.NDArray[np.int64]  # (fragments, axis of the cut, axes): spread in both parts together


@kernel
def spread(weight, total, lo, hi, nodes):
    """Most that the records of a fragment can be moved in one attribute, in steps.

    ``nodes`` is empty for values in a row: all go to one end. Otherwise its rows are the levels of a tree below its
    root, and all records but one go as far as the height of the lowest node over the range.
    """
    if nodes.shape[0] == 0:
        return max(total - weight * lo, weight * hi - total)
    height = 0
    for level in range(nodes.shape[0]):
        if nodes[level, lo] != nodes[level, hi]:
            height += 1
    return (weight - 1) * height


@kernel
def survey(table, starts, ends, given, out):
    """Write what each fragment is spread, and for each axis the cut that spreads its own attribute least.

    ``given`` are the axes. Between equal cuts the other attributes decide, each divided by its scale; then the most
    even cut wins, without which values that are equally far would be cut off one by one; then the first.
    """
    rows, weights = table.rows, table.weights
    nodes, heights, scales = given
    now, cut, after = out
    axes = rows.shape[1]
    for f in range(starts.shape[0]):
        start, end = starts[f], ends[f]
        size = end - start
        lo, hi = np.empty((size, axes), np.int64), np.empty((size, axes), np.int64)
        total, weight = np.empty((size, axes), np.int64), np.empty(size, np.int64)
        both = np.empty(axes, np.int64)
        for j in range(axes):
            cut[f, j] = -1
            order = np.argsort(rows[start:end, j]) + start
            # From the end: what lies at or behind each row.
            for p in range(size - 1, -1, -1):
                row = order[p]
                weight[p] = weights[row] + (weight[p + 1] if p + 1 < size else 0)
                for i in range(axes):
                    place = np.int64(rows[row, i])
                    lo[p, i] = place if p + 1 == size else min(lo[p + 1, i], place)
                    hi[p, i] = place if p + 1 == size else max(hi[p + 1, i], place)
                    total[p, i] = place * weights[row] + (total[p + 1, i] if p + 1 < size else 0)
            for i in range(axes if j == 0 else 0):
                now[f, i] = spread(weight[0], total[0, i], lo[0, i], hi[0, i], nodes[i, : heights[i]])
            before = np.int64(0)
            sums, least, most = np.zeros(axes, np.int64), np.zeros(axes, np.int64), np.zeros(axes, np.int64)
            best_own, best_rest, best_off = np.int64(-1), 0.0, np.int64(0)
            for p in range(size - 1):
                row = order[p]
                before += weights[row]
                for i in range(axes):
                    place = np.int64(rows[row, i])
                    sums[i] += place * weights[row]
                    least[i] = place if p == 0 else min(least[i], place)
                    most[i] = place if p == 0 else max(most[i], place)
                if rows[row, j] == rows[order[p + 1], j]:
                    continue
                rest = 0.0
                for i in range(axes):
                    levels = nodes[i, : heights[i]]
                    both[i] = spread(before, sums[i], least[i], most[i], levels) + spread(
                        weight[p + 1], total[p + 1, i], lo[p + 1, i], hi[p + 1, i], levels
                    )
                    if i != j:
                        rest += both[i] / scales[i]
                off = abs(2 * before - weight[0])
                if best_own >= 0 and both[j] == best_own:
                    better = rest < best_rest or (rest == best_rest and off < best_off)
                else:
                    better = best_own < 0 or both[j] < best_own
                if better:
                    best_own, best_rest, best_off = both[j], rest, off
                    cut[f, j] = rows[row, j]
                    after[f, j] = both


@kernel
def divide(table, starts, ends, axis, cut, middle):
    """Put the rows of each fragment that lie up to its cut first, both parts in the order they had.

    ``axis`` and ``cut`` are (fragments); writes where the second parts begin into ``middle``.
    """
    rows, weights, index = table
    for f in range(starts.shape[0]):
        start, end = starts[f], ends[f]
        kept, keep_weight, keep_index = rows[start:end].copy(), weights[start:end].copy(), index[start:end].copy()
        left = start
        for p in range(end - start):
            if kept[p, axis[f]] <= cut[f]:
                left += 1
        middle[f] = left
        first, second = start, left
        for p in range(end - start):
            if kept[p, axis[f]] <= cut[f]:
                to, first = first, first + 1
            else:
                to, second = second, second + 1
            rows[to], weights[to], index[to] = kept[p], keep_weight[p], keep_index[p]
