"""The dealing of Anatomy: records into groups of different values."""

from __future__ import annotations

import heapq

import numpy as np

from reveil.core.kernels import kernel


@kernel
def deal(values, starts, ends, least, domain):
    """Give each record of each segment a group, numbered from 0 over all segments; -1 where there is none.

    Within a segment: take one record of each of the ``least`` most frequent values, the first ones in order (equally
    frequent values by their codes), while so many values are left. Each record left over joins the group of the
    nearest record, along the segment, whose group lacks its value.
    """
    labels = np.full(values.shape[0], -1, np.int32)
    behind = np.empty(values.shape[0], np.int64)  # the next record with the same value
    first = np.full(domain, -1, np.int64)
    count = np.zeros(domain, np.int64)
    mark = np.full(values.shape[0] // least + 1, -1, np.int64)  # groups that have the value in question
    taken = np.empty(least, np.int64)
    groups = 0
    for s in range(starts.shape[0]):
        start, end = starts[s], ends[s]
        for i in range(end - 1, start - 1, -1):
            behind[i] = first[values[i]]
            first[values[i]] = i
            count[values[i]] += 1
        heap = [(-count[values[i]], np.int64(values[i])) for i in range(start, end) if first[values[i]] == i]
        heapq.heapify(heap)
        while len(heap) >= least:
            for t in range(least):
                taken[t] = heapq.heappop(heap)[1]
            for t in range(least):
                value = taken[t]
                labels[first[value]] = groups
                first[value] = behind[first[value]]
                count[value] -= 1
                if count[value] > 0:
                    heapq.heappush(heap, (-count[value], value))
            groups += 1
        heap.sort()
        for _, value in heap:
            for i in range(start, end):
                if values[i] == value and labels[i] >= 0:
                    mark[labels[i]] = first[value]
            stamp = first[value]
            while first[value] >= 0:
                i = first[value]
                found = -1
                for away in range(1, end - start):
                    for j in (i - away, i + away):
                        if found < 0 and start <= j < end and labels[j] >= 0 and mark[labels[j]] != stamp:
                            found = labels[j]
                    if found >= 0:
                        break
                if found >= 0:
                    labels[i] = found
                    mark[found] = stamp
                first[value] = behind[i]
                if found < 0:
                    break  # every group has the value: so it is for the others
            first[value] = -1
            count[value] = 0
    return labels, groups
