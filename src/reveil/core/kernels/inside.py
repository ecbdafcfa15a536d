"""Is any point of a k-d tree inside a box? Asked of many boxes, and answered by the first point found."""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel
from reveil.core.kernels.ranges import compare, holds


@kernel
def any_inside(tree, lo, hi, out):
    """Set ``out[b]`` where a point lies inside the box lo[b]..hi[b]; (boxes, attributes)."""
    stack = np.empty(128, np.int64)
    for b in range(lo.shape[0]):
        found = False
        stack[0] = 0
        top = 1
        while top > 0 and not found:
            top -= 1
            node = stack[top]
            apart, within = compare(tree.lo[node], tree.hi[node], lo[b], hi[b])
            if apart:
                continue
            if within:
                found = True
                break
            if tree.child[node] > 0:
                stack[top] = tree.child[node]
                stack[top + 1] = tree.child[node] + 1
                top += 2
                continue
            for i in range(tree.start[node], tree.end[node]):
                if holds(lo[b], hi[b], tree.points[i]):
                    found = True
                    break
        out[b] = found
