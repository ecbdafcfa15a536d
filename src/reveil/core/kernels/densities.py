"""What many weighted boxes put on the points that lie in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel


class BoxTree(NamedTuple):
    """A tree over weighted boxes: node n has the boxes ``start[n]:end[n]``, and the children ``child[n]`` and the next.

    It is a leaf where ``child`` is 0. Ends of boxes are those of :func:`hulls`: lower ones, then upper ones; they reach
    over gaps, and up to the null code where null is admitted.
    """

    start: npt.NDArray[np.int64]  # (nodes)
    end: npt.NDArray[np.int64]  # (nodes)
    child: npt.NDArray[np.int64]  # (nodes)
    hulls: npt.NDArray[np.int32]  # (nodes, 2 * attributes)
    boxes: npt.NDArray[np.int32]  # (boxes, 2 * attributes), in the order of the tree
    weights: npt.NDArray[np.float64]  # (boxes)


class ExactCells(NamedTuple):
    """What the ends of a box do not tell, of the attributes that need it.

    ``hi[j, b]`` is the highest code that is not null, ``null[j, b]`` whether null is admitted, and a cell
    ``cells[j, b] >= 0`` holds exactly the codes ``members[offsets[cell]:offsets[cell + 1]]``, ascending.
    """

    attributes: npt.NDArray[np.int64]  # (attributes looked at)
    hi: npt.NDArray[np.int32]  # (attributes looked at, boxes)
    null: npt.NDArray[np.bool_]  # (attributes looked at, boxes)
    cells: npt.NDArray[np.int64]  # (attributes looked at, boxes)
    offsets: npt.NDArray[np.int64]  # (cells + 1)
    members: npt.NDArray[np.int32]  # (members of all cells)


@kernel
def hulls(start, end, boxes):
    """Return the hull of boxes ``start[n]:end[n]`` for each node n; a box is its lower ends, then its upper ends."""
    width = boxes.shape[1] // 2
    out = np.empty((start.shape[0], 2 * width), np.int32)
    for n in range(start.shape[0]):
        for a in range(width):
            low, high = boxes[start[n], a], boxes[start[n], width + a]
            for b in range(start[n] + 1, end[n]):
                low, high = min(low, boxes[b, a]), max(high, boxes[b, width + a])
            out[n, a], out[n, width + a] = low, high
    return out


@kernel
def weights_on(points, tree, exact, out):
    """Put into ``out[p]`` the sum of the weights of all boxes that hold point p; ``points`` is (points, attributes)."""
    start, end, child, nodes, boxes, weights = tree
    loose, hi, null, cells, offsets, members = exact
    width = points.shape[1]
    stack = np.empty(128, np.int64)
    for p in range(points.shape[0]):
        total = 0.0
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            apart = False
            for a in range(width):
                if points[p, a] < nodes[node, a] or points[p, a] > nodes[node, width + a]:
                    apart = True
                    break
            if apart:
                continue
            if child[node] > 0:
                stack[top] = child[node]
                stack[top + 1] = child[node] + 1
                top += 2
                continue
            for b in range(start[node], end[node]):
                inside = True
                for a in range(width):
                    if points[p, a] < boxes[b, a] or points[p, a] > boxes[b, width + a]:
                        inside = False
                        break
                if not inside:
                    continue
                for j in range(loose.shape[0]):
                    code = points[p, loose[j]]
                    if code > hi[j, b]:
                        # Inside the hull and above the highest value: null, or a value between the two.
                        inside = null[j, b] and code == boxes[b, width + loose[j]]
                    elif cells[j, b] >= 0:
                        first, last = offsets[cells[j, b]], offsets[cells[j, b] + 1]
                        behind = last
                        while first < last:
                            middle = (first + last) // 2
                            if members[middle] < code:
                                first = middle + 1
                            else:
                                last = middle
                        inside = first < behind and members[first] == code
                    if not inside:
                        break
                if inside:
                    total += weights[b]
        out[p] = total
