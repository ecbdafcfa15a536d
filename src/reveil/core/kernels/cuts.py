"""Kernels of Mondrian: where a node may be cut, and the cut itself.

The records of a node are the rows ``start..end`` of a code matrix that is permuted in place. All kernels take
many nodes at once, and each touches only the rows of the nodes it is given, so that callers may run them on
threads over separate nodes. ``scratch`` is an all-zero buffer of at least the largest domain, returned all zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel

# Above this many codes per record, sorting a node's codes is cheaper than counting over their range.
SPARSE = 8


class CodedRecords(NamedTuple):
    """The records, permuted in place."""

    rows: npt.NDArray[np.int32]  # (records, attributes): codes
    values: npt.NDArray[np.int32]  # (records, sensitive attributes): codes
    numbers: npt.NDArray[np.int32]  # (records): which record it is


class Nodes(NamedTuple):
    """Nodes with the attribute along which each is to be cut, and the smallest and largest code of it in the node."""

    starts: npt.NDArray[np.int64]  # (nodes)
    ends: npt.NDArray[np.int64]  # (nodes)
    attribute: npt.NDArray[np.int64]  # (nodes)
    lo: npt.NDArray[np.int32]  # (nodes)
    hi: npt.NDArray[np.int32]  # (nodes)


class Boundaries(NamedTuple):
    """``depth[offset[a] + code]`` is the depth of the taxonomy boundary behind a code of attribute a.

    It is 0 everywhere for attributes without taxonomy; ``lower`` is the next code whose boundary is less deep.
    """

    depth: npt.NDArray[np.int32]  # (codes of all attributes)
    lower: npt.NDArray[np.int32]  # (codes of all attributes)
    offset: npt.NDArray[np.int64]  # (attributes)


class Cuts(NamedTuple):
    """Where nodes are cut: codes up to ``cut`` go left, ``left`` records of them."""

    cut: npt.NDArray[np.int32]  # (nodes)
    left: npt.NDArray[np.int64]  # (nodes); 0 where there is no cut


@kernel
def spans(rows, starts, ends, lo, hi):
    """Smallest and largest code of each attribute in each node."""
    for p in range(starts.shape[0]):
        for a in range(rows.shape[1]):
            low = high = rows[starts[p], a]
            for i in range(starts[p] + 1, ends[p]):
                code = rows[i, a]
                low = min(low, code)
                high = max(high, code)
            lo[p, a] = low
            hi[p, a] = high


@kernel
def propose(rows, nodes, boundaries, least, scratch, out):
    """Find the best cut of each node along its attribute.

    Cuts that leave fewer than ``least`` records on a side are not considered. Of the others, those at the highest
    taxonomy boundary win, then the most balanced, then the first.
    """
    starts, ends, attribute, lo, hi = nodes
    boundary, lower, offset = boundaries
    cut, left = out
    for p in range(starts.shape[0]):
        start, end, a = starts[p], ends[p], attribute[p]
        size = end - start
        low, high = lo[p], hi[p]
        best_depth, best_off, best_cut, best_left = 2147483647, 2 * size + 1, -1, 0
        if high - low < SPARSE * size + 64:
            for i in range(start, end):
                scratch[rows[i, a]] += 1
            below, depth = 0, 2147483647
            last = -1
            for code in range(low, high + 1):
                count = scratch[code]
                scratch[code] = 0
                if count > 0:
                    if last >= 0 and below >= least and size - below >= least:
                        off = abs(2 * below - size)
                        if depth < best_depth or (depth == best_depth and off < best_off):
                            best_depth, best_off, best_cut, best_left = depth, off, last, below
                    below += count
                    last = code
                    depth = 2147483647
                depth = min(depth, boundary[offset[a] + code])
        else:
            codes = np.empty(size, np.int32)
            for i in range(start, end):
                codes[i - start] = rows[i, a]
            codes.sort()
            for below in range(least, size - least + 1):
                if below > 0 and codes[below] != codes[below - 1]:
                    # The least depth between the two codes, by jumps to the next smaller one: at most one a level.
                    code = codes[below - 1]
                    while lower[offset[a] + code] < codes[below]:
                        code = lower[offset[a] + code]
                    depth = boundary[offset[a] + code]
                    off = abs(2 * below - size)
                    if depth < best_depth or (depth == best_depth and off < best_off):
                        best_depth, best_off, best_cut, best_left = depth, off, codes[below - 1], below
        cut[p] = best_cut
        left[p] = best_left


@kernel
def medians(rows, nodes, scratch, out):
    """Find the relaxed cut: the code in the middle, whose records are split so that the halves are equal."""
    starts, ends, attribute, lo, hi = nodes
    cut, left = out
    for p in range(starts.shape[0]):
        start, end, a = starts[p], ends[p], attribute[p]
        size = end - start
        half = size // 2
        left[p] = half
        if hi[p] - lo[p] < SPARSE * size + 64:
            for i in range(start, end):
                scratch[rows[i, a]] += 1
            below = 0
            for code in range(lo[p], hi[p] + 1):
                if below < half <= below + scratch[code]:
                    cut[p] = code
                below += scratch[code]
                scratch[code] = 0
        else:
            codes = np.empty(size, np.int32)
            for i in range(start, end):
                codes[i - start] = rows[i, a]
            codes.sort()
            cut[p] = codes[half - 1]


@kernel
def halve(records, starts, ends, attribute, cut):
    """Permute each node so that codes up to ``cut`` come first. Two pointers: only misplaced pairs are moved."""
    rows = records.rows
    for p in range(starts.shape[0]):
        a, pivot = attribute[p], cut[p]
        i, j = starts[p], ends[p] - 1
        while True:
            while i <= j and rows[i, a] <= pivot:
                i += 1
            while i <= j and rows[j, a] > pivot:
                j -= 1
            if i >= j:
                break
            _swap(records, i, j)
            i += 1
            j -= 1


@kernel
def partition(records, starts, ends, attribute, cut):
    """Permute each node so that codes below ``cut`` come first, then the equal ones, then the rest."""
    rows = records.rows
    for p in range(starts.shape[0]):
        a, pivot = attribute[p], cut[p]
        low, i, high = starts[p], starts[p], ends[p] - 1
        while i <= high:
            code = rows[i, a]
            if code < pivot:
                if i != low:
                    _swap(records, i, low)
                low += 1
                i += 1
            elif code > pivot:
                _swap(records, i, high)
                high -= 1
            else:
                i += 1


@kernel
def _swap(records, i, j):
    rows, values, index = records
    for a in range(rows.shape[1]):
        rows[i, a], rows[j, a] = rows[j, a], rows[i, a]
    for s in range(values.shape[1]):
        values[i, s], values[j, s] = values[j, s], values[i, s]
    index[i], index[j] = index[j], index[i]


@kernel
def modes(rows, starts, ends, lo, hi, scratch, out):
    """Return how many records of each node carry the most frequent code of each attribute."""
    for p in range(starts.shape[0]):
        start, end = starts[p], ends[p]
        for a in range(rows.shape[1]):
            best = 0
            if hi[p, a] - lo[p, a] < SPARSE * (end - start) + 64:
                for i in range(start, end):
                    scratch[rows[i, a]] += 1
                for code in range(lo[p, a], hi[p, a] + 1):
                    best = max(best, scratch[code])
                    scratch[code] = 0
            else:
                codes = np.sort(rows[start:end, a])
                run = 0
                for i in range(codes.shape[0]):
                    run = run + 1 if i > 0 and codes[i] == codes[i - 1] else 1
                    best = max(best, run)
            out[p, a] = best
