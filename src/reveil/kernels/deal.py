"""The dealing of Anatomy: which values make up each group."""

from __future__ import annotations

import heapq

import numpy as np

from reveil.kernels import kernel


@kernel
def rounds(counts, least):
    """Take one record of each of the ``least`` most frequent values, again and again, while so many values are left.

    Returns the values of each group, (groups, least), and how many records of each value are left over. Equally
    frequent values are taken in the order of their codes.
    """
    left = counts.copy()
    heap = [(-np.int64(counts[value]), np.int64(value)) for value in range(counts.shape[0]) if counts[value] > 0]
    heapq.heapify(heap)
    groups = np.empty((counts.sum() // least, least), np.int32)
    made = 0
    taken = np.empty(least, np.int64)
    while len(heap) >= least:
        for i in range(least):
            taken[i] = heapq.heappop(heap)[1]
        for i in range(least):
            value = taken[i]
            groups[made, i] = value
            left[value] -= 1
            if left[value] > 0:
                heapq.heappush(heap, (-left[value], value))
        made += 1
    return groups[:made], left
