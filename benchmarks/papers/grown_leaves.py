"""The leaves of an R+-tree that grows record by record, as the older experiments grew it.

Leaves part the space without overlap. A leaf that has twice its least number of records is split: all pairs of its
records are compared, and between the two that are furthest apart the leaf is cut where both sides keep their least
number and are as even as equal values allow. Directory pages change how fast a leaf is found and not which records it
holds, so a binary tree of the cuts stands for them.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@numba.njit(nogil=True)
def _split(points: Floats, members: Ints, least: int) -> tuple[int, float]:
    """Return the column and the value below which one side lies; column -1 where all records are equal."""
    n, columns = len(members), points.shape[1]
    furthest, first, second = -1.0, 0, 0
    for i in range(n):
        for j in range(i):
            apart = 0.0
            for a in range(columns):
                gap = points[members[i], a] - points[members[j], a]
                apart += gap * gap
            if apart > furthest:
                furthest, first, second = apart, i, j
    gaps = np.abs(points[members[first]] - points[members[second]])
    for a in np.argsort(-gaps, kind="mergesort"):
        ordered = np.sort(points[members, a])
        best, cut = n, 0
        for place in range(least, n - least + 1):
            if ordered[place - 1] < ordered[place] and abs(2 * place - n) < best:
                best, cut = abs(2 * place - n), place
        if cut:
            return a, (ordered[cut - 1] + ordered[cut]) / 2
    return -1, 0.0


@numba.njit(nogil=True)
def _grow(points: Floats, sequence: Ints, least: int) -> tuple[Ints, Ints]:
    """Insert the records in this sequence; return them leaf by leaf, as the tree has these, and where leaves start."""
    n = len(points)
    column, value = np.full(n + 1, -1, np.int64), np.zeros(n + 1)
    below, above = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    # The records of a leaf are a chain: its latest record, and before each record the one that came before it.
    latest, size, before = np.full(n + 1, -1, np.int64), np.zeros(n + 1, np.int64), np.full(n, -1, np.int64)
    nodes = 1
    for record in sequence:
        node = 0
        while column[node] >= 0:
            node = below[node] if points[record, column[node]] < value[node] else above[node]
        before[record], latest[node] = latest[node], record
        size[node] += 1
        # Equal records cannot be parted; a leaf of them is looked at again when it has grown by as many.
        if size[node] >= 2 * least and size[node] % least == 0:
            members, one = np.empty(size[node], np.int64), latest[node]
            for i in range(size[node]):
                members[i], one = one, before[one]
            cut, at = _split(points, members, least)
            if cut >= 0:
                column[node], value[node] = cut, at
                below[node], above[node] = nodes, nodes + 1
                for member in members[::-1]:
                    side = nodes if points[member, cut] < at else nodes + 1
                    before[member], latest[side] = latest[side], member
                    size[side] += 1
                nodes += 2
    order, starts = np.empty(n, np.int64), [0]
    stack, filled = [0], 0
    while stack:
        node = stack.pop()
        if column[node] >= 0:
            stack.append(above[node])
            stack.append(below[node])
            continue
        one = latest[node]
        while one >= 0:
            order[filled], one = one, before[one]
            filled += 1
        starts.append(filled)
    return order, np.array(starts)


def grown(points: Floats, least: int, seed: int = 0) -> tuple[Ints, Ints]:
    """Return the records leaf by leaf, and where the leaves start and end; they come in an order that dice choose."""
    sequence = np.random.default_rng(seed).permutation(len(points))
    order, starts = _grow(points, sequence, least)
    return order, starts
