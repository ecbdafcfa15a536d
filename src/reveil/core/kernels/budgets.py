"""Groups for budgets: records along a curve, each value with a limit, some pairs of a record and a value with more.

What is allowed, and what ``points`` and ``labels`` are, is said in :mod:`reveil.core.kernels.budget_items`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel
from reveil.core.kernels.budget_items import ValueTally, accepts, count_in, count_out, extend, widening_by

VALUES = 128  # so many values are asked for their nearest item


class Sizes(NamedTuple):
    """How large groups are, and what they hold."""

    most: npt.NDArray[np.int64]  # (sizes): how often a value may be in a group of so many items
    hold: npt.NDArray[np.int64]  # (values): how many rows with each value a group of ``least`` items holds
    least: int
    limit: int


@kernel
def _follow(links, place):
    while links[place] != place:
        links[place] = links[links[place]]
        place = links[place]
    return place


@kernel
def _beside(pool, starts, later, earlier, value, seed):
    """Return the free items of a value next to a place on the curve, behind it and before it; -1: none."""
    start, end = starts[value], starts[value + 1]
    here = start + np.searchsorted(pool[start:end], seed)
    right, left = _follow(later, here), _follow(earlier, here) - 1
    return (pool[right] if right < end else -1), (pool[left] if left >= start else -1)


@kernel
def grow(items, points, seeds, sizes, neighbours):
    """Form groups from the seeds on; return the label of each item, -1 for those left over, and how many groups.

    A group begins with a seed that is free. It first takes the nearest items of each value that would otherwise become
    too frequent among the rest: a group of ``least`` items holds ``hold`` of each. Then it takes, one after the other,
    the item that stretches its box least of those that may be in a group of ``least`` items: among the ``neighbours``
    free items around the seed, or if none of these can, among the nearest ones of each value, frequent values first and
    at most ``VALUES`` of them. Where none can, the group has to have one item more, up to ``limit``.
    """
    values, domain = items.values, items.domain
    most, hold, least, limit = sizes
    total = values.shape[0]
    labels = np.full(total, -1, np.int32)
    after, before = np.arange(total + 1), np.arange(total + 1)
    tally = ValueTally(np.zeros(domain, np.int64), np.zeros(domain))
    count = tally.counts
    # Items by value, along the curve; value -1 comes first.
    left = np.zeros(domain + 1, np.int64)
    for i in range(total):
        left[values[i] + 1] += 1
    pool_starts = np.zeros(domain + 2, np.int64)
    pool_starts[1:] = np.cumsum(left)
    pool, place_of, fill = np.empty(total, np.int64), np.empty(total, np.int64), pool_starts.copy()
    for i in range(total):
        place_of[i] = fill[values[i] + 1]
        pool[place_of[i]] = i
        fill[values[i] + 1] += 1
    later, earlier = np.arange(total + 1), np.arange(total + 1)
    by_count = np.argsort(-left, kind="mergesort")
    heavy = np.empty(domain, np.int64)
    heavies, fresh = 0, -1
    free = total
    members, around = np.empty(limit + 1, np.int64), np.empty(neighbours, np.int64)
    low, high = np.empty(points.shape[1]), np.empty(points.shape[1])
    groups = 0
    for seed in seeds:
        if labels[seed] != -1:
            continue
        target = least
        while target <= limit and not accepts(seed, target, items, most, tally):
            target += 1
        if target > limit:
            continue
        if fresh < 0 or 16 * free <= 15 * fresh:
            # Values with half of what all the groups to come can hold: the others cannot get there soon.
            heavies, fresh = 0, free
            for value in range(domain):
                if left[value + 1] * 2 * least >= free * hold[value]:
                    heavy[heavies] = value
                    heavies += 1
        members[0], size = seed, 1
        labels[seed] = -2
        after[seed], before[seed + 1] = seed + 1, seed
        later[place_of[seed]], earlier[place_of[seed] + 1] = place_of[seed] + 1, place_of[seed]
        count_in(seed, items, tally)
        low[:], high[:] = points[seed], points[seed]
        gathered, asked = -1, 0  # how many items are gathered around the seed, and how many heavy values were asked
        right, behind = 0, 0
        while size < target:
            best, cost = -1, np.inf
            while asked < heavies and best < 0:
                value = heavy[asked]
                if left[value + 1] - count[value] > (free - target) // least * hold[value]:
                    # All the groups to come could not hold this value: it must be in this one.
                    for item in _beside(pool, pool_starts, later, earlier, value + 1, seed):
                        if item >= 0 and accepts(item, target, items, most, tally):
                            growth = widening_by(points, item, low, high)
                            if growth < cost:
                                best, cost = item, growth
                if best < 0:
                    asked += 1
            if best < 0:
                if gathered < 0:
                    gathered = 0
                    right, behind = _follow(after, seed), _follow(before, seed) - 1
                    while gathered < neighbours and (right < total or behind >= 0):
                        if right < total:
                            around[gathered] = right
                            gathered += 1
                            right = _follow(after, right + 1)
                        if behind >= 0 and gathered < neighbours:
                            around[gathered] = behind
                            gathered += 1
                            behind = _follow(before, behind) - 1
                for c in range(gathered):
                    item = around[c]
                    if labels[item] == -1:
                        growth = widening_by(points, item, low, high)
                        if growth < cost and accepts(item, target, items, most, tally):
                            best, cost = item, growth
            if best < 0 and (right < total or behind >= 0):
                tried = 0
                for key in by_count:
                    if left[key] == 0 or (key > 0 and count[key - 1] + 1 > most[target]):
                        continue
                    for item in _beside(pool, pool_starts, later, earlier, key, seed):
                        if item >= 0:
                            growth = widening_by(points, item, low, high)
                            if growth < cost and accepts(item, target, items, most, tally):
                                best, cost = item, growth
                    tried += 1
                    if tried == VALUES:
                        break
            if best >= 0:
                members[size] = best
                size += 1
                labels[best] = -2
                after[best], before[best + 1] = best + 1, best
                later[place_of[best]], earlier[place_of[best] + 1] = place_of[best] + 1, place_of[best]
                count_in(best, items, tally)
                extend(points, best, low, high)
            elif target < limit:
                target += 1
            else:
                break
        done = size == target
        for m in range(size):
            item = members[m]
            count_out(item, items, tally)
            labels[item] = groups if done else -3
            left[values[item] + 1] -= 1
        free -= size
        if done:
            groups += 1
    labels[labels == -3] = -1
    return labels, groups
