"""Cycles in which two permutations differ, and the placing of records one after the other."""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel


@kernel
def cycles(one, other):
    """Number the cycles of the union of two permutations, from 0 in the order of their first places.

    From a place h go to the place that ``other`` sends to where ``one`` sends h, and on until h comes again.
    Return the number of every place's cycle, and how many there are.
    """
    n = one.shape[0]
    back = np.empty(n, np.int32)
    for h in range(n):
        back[other[h]] = h
    labels = np.full(n, -1, np.int32)
    many = 0
    for h in range(n):
        if labels[h] >= 0:
            continue
        at = h
        while labels[at] < 0:
            labels[at] = many
            at = back[one[at]]
        many += 1
    return labels, many


@kernel
def nearest_first(order, starts, values, wanted, points, l):
    """Fill the places of each bucket one by one with the record that widens the boxes of the last ones least.

    ``order`` has the records, bucket by bucket; place h takes one with the value ``wanted[h]``. A candidate costs the
    sum, over j = 1 .. l - 1, of the widths of the box around it and the j records before it.
    """
    out = np.empty(order.shape[0], np.int32)
    used = np.zeros(values.shape[0], np.bool_)
    dimensions = points.shape[1]
    lo, hi = np.empty(dimensions), np.empty(dimensions)
    for b in range(starts.shape[0] - 1):
        start, end = starts[b], starts[b + 1]
        for h in range(start, end):
            best, least = -1, np.inf
            for place in range(start, end):
                record = order[place]
                if used[record] or values[record] != wanted[h]:
                    continue
                cost = 0.0
                for d in range(dimensions):
                    lo[d] = points[record, d]
                    hi[d] = points[record, d]
                for j in range(1, min(h - start, l - 1) + 1):
                    before = out[h - j]
                    for d in range(dimensions):
                        lo[d] = min(lo[d], points[before, d])
                        hi[d] = max(hi[d], points[before, d])
                        cost += hi[d] - lo[d]
                if cost < least:
                    best, least = record, cost
            out[h] = best
            used[best] = True
    return out
