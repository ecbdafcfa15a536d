"""Split a bucket into groups with at most one record per value: cuts at medians, every value's list cut alike."""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel
from reveil.core.kernels.ranges import select

DEPTH = 64  # a bucket of 2**63 groups would need one more


@kernel
def split(order, value_starts, buckets, sizes, points, cells, offsets):
    """Split each bucket; ``cells`` gets the record of each (group, value), -1 where there is none.

    The values of bucket b are ``buckets[b]..buckets[b+1]``; value s lists its records in
    ``order[value_starts[s]:value_starts[s+1]]``, which is permuted in place. Bucket b has as many groups as its longest
    list, ``sizes[b]``, and group j has its cells from ``offsets[b] + j * values`` on.

    A node of g groups is cut along the attribute in which its records lie furthest apart, at the middle of all its
    records: g // 2 groups to the left, the others to the right. A list that is shorter than g has holes, and each of
    its records goes to its own side of the cut as long as there is room. Which of equal records goes where depends on
    their order in the list. Nothing depends on which value is which.
    """
    widest = 0
    for b in range(buckets.shape[0] - 1):
        widest = max(widest, buckets[b + 1] - buckets[b])
    lo = np.empty((DEPTH, widest), np.int64)
    hi = np.empty((DEPTH, widest), np.int64)
    count = np.empty(DEPTH, np.int64)
    keys = np.empty(order.shape[0], points.dtype)
    first = np.empty(DEPTH, np.int64)
    for b in range(buckets.shape[0] - 1):
        values = buckets[b + 1] - buckets[b]
        for s in range(values):
            lo[0, s] = value_starts[buckets[b] + s]
            hi[0, s] = value_starts[buckets[b] + s + 1]
        count[0], first[0] = sizes[b], 0
        top = 0
        while top >= 0:
            groups = count[top]
            if groups == 0:
                top -= 1
                continue
            if groups == 1:
                at = offsets[b] + first[top] * values
                for s in range(values):
                    cells[at + s] = order[lo[top, s]] if hi[top, s] > lo[top, s] else -1
                top -= 1
                continue
            left = groups // 2
            right = groups - left
            total = 0
            for s in range(values):
                total += hi[top, s] - lo[top, s]
            a = _widest(order, lo[top], hi[top], values, points)
            at = 0
            for s in range(values):
                for i in range(lo[top, s], hi[top, s]):
                    keys[at] = points[order[i], a]
                    at += 1
            middle = min(max((total * left + groups // 2) // groups, 1), total - 1)
            cut = _smallest(keys, total, middle - 1)
            # The left half replaces the node, the right half goes on top: it is taken first, and the places agree.
            for s in range(values):
                start, end = lo[top, s], hi[top, s]
                mine = end - start
                below, upto = 0, 0
                for i in range(start, end):
                    x = points[order[i], a]
                    below += x < cut
                    upto += x <= cut
                here = min(max((2 * mine * left + groups) // (2 * groups), below), upto)
                here = min(max(here, mine - right), left)
                select(points, order, start, end, start + here, a)
                lo[top + 1, s], hi[top + 1, s] = start + here, end
                hi[top, s] = start + here
            count[top + 1], first[top + 1] = right, first[top] + left
            count[top] = left
            top += 1


@kernel
def _widest(order, lo, hi, values, points):
    """Return the attribute in which the records of a node lie furthest apart."""
    best, wide = 0, -1.0
    for a in range(points.shape[1]):
        low, high = np.inf, -np.inf
        for s in range(values):
            for i in range(lo[s], hi[s]):
                x = points[order[i], a]
                low = min(low, x)
                high = max(high, x)
        if high - low > wide:
            best, wide = a, high - low
    return best


@kernel
def _smallest(keys, size, place):
    """Return the number that would stand at a place if the first ``size`` keys were sorted; they are reordered.

    (NumPy's partition copies them, and makes the whole split a fifth slower.)
    """
    low, high = 0, size - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return keys[place]


@kernel
def swap(cells, offsets, buckets, sizes, points):
    """Swap the records of one value between neighbouring groups of a bucket where that makes the boxes smaller.

    One pass over all pairs of neighbours. A hole may be swapped with a record, but no group is left without one.
    """
    width = points.shape[1]
    for b in range(buckets.shape[0] - 1):
        values = buckets[b + 1] - buckets[b]
        for j in range(sizes[b] - 1):
            one, other = offsets[b] + j * values, offsets[b] + (j + 1) * values
            before = _extent(cells, one, values, points, width) + _extent(cells, other, values, points, width)
            for s in range(values):
                if cells[one + s] == cells[other + s]:
                    continue
                cells[one + s], cells[other + s] = cells[other + s], cells[one + s]
                mine = _extent(cells, one, values, points, width)
                theirs = _extent(cells, other, values, points, width)
                if mine >= 0 and theirs >= 0 and mine + theirs < before - 1e-9:
                    before = mine + theirs
                else:
                    cells[one + s], cells[other + s] = cells[other + s], cells[one + s]


@kernel
def _extent(cells, at, values, points, width):
    """Return the sum of the sides of a group's box; -1 without records."""
    total = 0.0
    for a in range(width):
        low, high = np.inf, -np.inf
        for s in range(values):
            record = cells[at + s]
            if record >= 0:
                x = points[record, a]
                low = min(low, x)
                high = max(high, x)
        if high < low:
            return -1.0
        total += high - low
    return total
