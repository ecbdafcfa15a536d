"""How many boxes hold each point of a k-d tree, and what the points of each box weigh, without listing a pair."""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel
from reveil.core.kernels.ranges import compare, holds


@kernel
def tally(tree, lo, hi, amounts, weights, hits, sums):
    """Add the ``amounts`` of boxes lo..hi to ``hits`` of the points inside, and their ``weights`` to ``sums`` of boxes.

    What a box holds entirely is added to the node, once, and handed down to the points at the end.
    """
    many = tree.order.shape[0]
    before = np.zeros(many + 1, np.int64)
    for i in range(many):
        before[i + 1] = before[i] + weights[tree.order[i]]
    whole = np.zeros(tree.child.shape[0], np.int64)
    stack = np.empty(128, np.int64)
    for b in range(lo.shape[0]):
        total = 0
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            apart, within = compare(tree.lo[node], tree.hi[node], lo[b], hi[b])
            if apart:
                continue
            if within:
                whole[node] += amounts[b]
                total += before[tree.end[node]] - before[tree.start[node]]
            elif tree.child[node] > 0:
                stack[top] = tree.child[node]
                stack[top + 1] = tree.child[node] + 1
                top += 2
            else:
                for i in range(tree.start[node], tree.end[node]):
                    if holds(lo[b], hi[b], tree.points[i]):
                        hits[tree.order[i]] += amounts[b]
                        total += before[i + 1] - before[i]
        sums[b] += total
    for node in range(tree.child.shape[0]):
        child = tree.child[node]
        if child > 0:
            whole[child] += whole[node]
            whole[child + 1] += whole[node]
        elif whole[node] > 0:
            for i in range(tree.start[node], tree.end[node]):
                hits[tree.order[i]] += whole[node]


@kernel
def items_around(tree, lo, hi, offsets, items, place, out):
    """Write the items of each box lo..hi for every point inside: those of point p from ``place[p]`` on.

    The items of box b are ``items[offsets[b]:offsets[b + 1]]``; ``place`` moves on with what is written.
    """
    stack = np.empty(128, np.int64)
    for b in range(lo.shape[0]):
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
                    point = tree.order[i]
                    for item in range(offsets[b], offsets[b + 1]):
                        out[place[point]] = items[item]
                        place[point] += 1
