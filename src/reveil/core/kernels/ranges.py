"""A k-d tree over integer points, and the points inside many boxes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel

LEAF = 16


class Tree(NamedTuple):
    """A k-d tree. Node n has the points ``start[n]:end[n]`` of the tree's order, and lies in ``lo[n]..hi[n]``.

    Its children are ``child[n]`` and the next; it is a leaf where that is 0. Node 0 is the root.
    """

    points: npt.NDArray[np.int32]  # (points, attributes), in the order of the tree
    order: npt.NDArray[np.int64]  # (points): which point each is
    start: npt.NDArray[np.int64]  # (nodes)
    end: npt.NDArray[np.int64]  # (nodes)
    child: npt.NDArray[np.int64]  # (nodes)
    lo: npt.NDArray[np.int32]  # (nodes, attributes)
    hi: npt.NDArray[np.int32]  # (nodes, attributes)


@kernel
def build(points):
    """Build a balanced tree over points (points, attributes): a node is cut at the median of its widest attribute.

    Widths are shares of the attribute's own: boxes are as wide in an attribute of few codes as in one of many, so cuts
    along the one with the most codes alone would leave a box in most of the nodes.
    """
    n, width = points.shape
    order = np.arange(n)
    room = max(4 * (n // LEAF + 1), 4)
    start = np.zeros(room, np.int64)
    end = np.zeros(room, np.int64)
    child = np.zeros(room, np.int64)
    lo = np.zeros((room, width), np.int32)
    hi = np.zeros((room, width), np.int32)
    end[0] = n
    used, node = 1, 0
    while node < used:
        s, e = start[node], end[node]
        widest, spread = 0, -1.0
        for a in range(width):
            low, high = points[order[s], a], points[order[s], a]
            for i in range(s + 1, e):
                code = points[order[i], a]
                low, high = min(low, code), max(high, code)
            lo[node, a], hi[node, a] = low, high
            share = (high - low) / max(hi[0, a] - lo[0, a], 1)
            if share > spread:
                widest, spread = a, share
        if e - s > LEAF and spread > 0:
            select(points, order, s, e, s + (e - s) // 2, widest)
            middle = s + (e - s) // 2
            child[node] = used
            start[used], end[used] = s, middle
            start[used + 1], end[used + 1] = middle, e
            used += 2
        node += 1
    # The points of a leaf lie side by side: looking them up one by one is what a search would spend its time on.
    return Tree(points[order], order, start[:used], end[:used], child[:used], lo[:used], hi[:used])


@kernel
def select(points, order, s, e, k, a):
    """Permute ``order[s:e]`` so that the k-th by attribute a is in its place, smaller ones before, larger behind."""
    low, high = s, e - 1
    while low < high:
        pivot = points[order[(low + high) // 2], a]
        i, j = low, high
        while i <= j:
            while points[order[i], a] < pivot:
                i += 1
            while points[order[j], a] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return


@kernel
def compare(node_lo, node_hi, lo, hi):
    """Return whether a node and a box are apart, and whether the node is within the box."""
    within = True
    for a in range(lo.shape[0]):
        if node_hi[a] < lo[a] or node_lo[a] > hi[a]:
            return True, False
        if node_lo[a] < lo[a] or node_hi[a] > hi[a]:
            within = False
    return False, within


@kernel
def holds(lo, hi, point):
    """Return whether a box holds a point."""
    inside = True
    for a in range(lo.shape[0]):
        inside &= lo[a] <= point[a] <= hi[a]
    return inside


@kernel
def search(tree, lo, hi, start, ends, out):
    """List the points of a tree inside boxes lo..hi, (boxes, attributes), from box ``start`` on, while there is room.

    Those of box b end at ``ends[b + 1]`` of ``out``. Return the first box that is not listed.
    """
    stack = np.empty(128, np.int64)
    found = 0
    for b in range(start, lo.shape[0]):
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            apart, within = compare(tree.lo[node], tree.hi[node], lo[b], hi[b])
            if apart:
                continue
            if not within and tree.child[node] > 0:
                stack[top] = tree.child[node]
                stack[top + 1] = tree.child[node] + 1
                top += 2
                continue
            for i in range(tree.start[node], tree.end[node]):
                if within or holds(lo[b], hi[b], tree.points[i]):
                    if found == out.shape[0]:
                        return b
                    out[found] = tree.order[i]
                    found += 1
        ends[b + 1] = found
    return lo.shape[0]
