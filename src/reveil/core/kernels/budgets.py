"""Groups for budgets: records along a curve, each value with a limit, some pairs of a record and a value with more.

A group of n items is *allowed* if each of its values is in it at most ``most[n]`` times, and at most n divided by the
need of any of its items. ``points`` are positions, (items, attributes), in which a group should be small; ``labels`` is
the group of each item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel

TRIES = 8  # so many groups that could take an item are compared
MERGED = 64  # so many groups are merged at most
VALUES = 128  # so many values are asked for their nearest item
CUTS = 32  # so many places to split a group are tried


class Items(NamedTuple):
    """Records in the order of the curve. ``values[i]`` is what is bounded of item i, -1 for nothing.

    Item i has pairs at ``starts[i]:starts[i + 1]``: with the value of the pair, its group needs so many rows for each
    row with it.
    """

    values: npt.NDArray[np.int32]  # (items)
    starts: npt.NDArray[np.int64]  # (items + 1)
    pair_values: npt.NDArray[np.int32]  # (pairs)
    pair_needs: npt.NDArray[np.float64]  # (pairs)
    domain: int  # how many values there are


class Sizes(NamedTuple):
    """How large groups are, and what they hold."""

    most: npt.NDArray[np.int64]  # (sizes): how often a value may be in a group of so many items
    hold: npt.NDArray[np.int64]  # (values): how many rows with each value a group of ``least`` items holds
    least: int
    limit: int


class ValueTally(NamedTuple):
    """What the members of a group have and need, by value; all zero between groups."""

    counts: npt.NDArray[np.int64]  # (values)
    needs: npt.NDArray[np.float64]  # (values)


class MemberLists(NamedTuple):
    """The items of each group as a linked list: first ``head[g]``, and ``behind[i]`` behind item i."""

    head: npt.NDArray[np.int64]  # (groups); -1: none
    behind: npt.NDArray[np.int64]  # (items); -1: none
    sizes: npt.NDArray[np.int64]  # (groups)


@kernel
def _follow(links, place):
    while links[place] != place:
        links[place] = links[links[place]]
        place = links[place]
    return place


@kernel
def _accepts(item, size, items, most, tally):
    """Return whether an item may be in a group that will have so many members."""
    values, starts, pair_values, pair_needs, _ = items
    count, need = tally
    value = values[item]
    if value >= 0 and (count[value] + 1 > most[size] or (count[value] + 1) * need[value] > size):
        return False
    for k in range(starts[item], starts[item + 1]):
        times = count[pair_values[k]] + (pair_values[k] == value)
        if times > 0 and times * pair_needs[k] > size:
            return False
    return True


@kernel
def _count_in(item, items, tally):
    values, starts, pair_values, pair_needs, _ = items
    count, need = tally
    if values[item] >= 0:
        count[values[item]] += 1
    for k in range(starts[item], starts[item + 1]):
        need[pair_values[k]] = max(need[pair_values[k]], pair_needs[k])


@kernel
def _count_out(item, items, tally):
    """Forget an item, and everything of the others that has to do with its values: to begin a new group."""
    values, starts, pair_values, _, _ = items
    count, need = tally
    if values[item] >= 0:
        count[values[item]] = 0
    for k in range(starts[item], starts[item + 1]):
        need[pair_values[k]] = 0.0


@kernel
def _growth(points, item, low, high):
    total = 0.0
    for a in range(points.shape[1]):
        total += max(high[a], points[item, a]) - min(low[a], points[item, a]) - (high[a] - low[a])
    return total


@kernel
def _extend(points, item, low, high):
    for a in range(points.shape[1]):
        low[a], high[a] = min(low[a], points[item, a]), max(high[a], points[item, a])


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
        while target <= limit and not _accepts(seed, target, items, most, tally):
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
        _count_in(seed, items, tally)
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
                        if item >= 0 and _accepts(item, target, items, most, tally):
                            growth = _growth(points, item, low, high)
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
                        growth = _growth(points, item, low, high)
                        if growth < cost and _accepts(item, target, items, most, tally):
                            best, cost = item, growth
            if best < 0 and (right < total or behind >= 0):
                tried = 0
                for key in by_count:
                    if left[key] == 0 or (key > 0 and count[key - 1] + 1 > most[target]):
                        continue
                    for item in _beside(pool, pool_starts, later, earlier, key, seed):
                        if item >= 0:
                            growth = _growth(points, item, low, high)
                            if growth < cost and _accepts(item, target, items, most, tally):
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
                _count_in(best, items, tally)
                _extend(points, best, low, high)
            elif target < limit:
                target += 1
            else:
                break
        done = size == target
        for m in range(size):
            item = members[m]
            _count_out(item, items, tally)
            labels[item] = groups if done else -3
            left[values[item] + 1] -= 1
        free -= size
        if done:
            groups += 1
    labels[labels == -3] = -1
    return labels, groups


@kernel
def place(items, points, labels, groups, todo, most, reach):
    """Put items into the groups of others nearby that stay allowed; else merge groups nearby until that is allowed.

    Changes ``labels``; what cannot be placed keeps its -1. Of the groups within ``reach`` items along the curve, the
    first ``TRIES`` that could take an item are compared, and the one whose box is stretched least takes it. Merged
    groups have the label of the first of them; labels may then be unused.
    """
    total = items.values.shape[0]
    members = MemberLists(np.full(groups, -1, np.int64), np.full(total, -1, np.int64), np.zeros(groups, np.int64))
    head, behind, sizes = members
    tried = np.full(groups, -1, np.int64)
    for i in range(total - 1, -1, -1):
        if labels[i] >= 0:
            behind[i] = head[labels[i]]
            head[labels[i]] = i
            sizes[labels[i]] += 1
    tally = ValueTally(np.zeros(items.domain, np.int64), np.zeros(items.domain))
    low, high = np.empty(points.shape[1]), np.empty(points.shape[1])
    for item in todo:
        best, cost, found = -1, np.inf, 0
        for step in range(2, 2 * reach + 2):
            j = item + step // 2 if step % 2 == 0 else item - step // 2
            if j < 0 or j >= total or labels[j] < 0 or tried[labels[j]] == item:
                continue
            g = labels[j]
            tried[g] = item
            if sizes[g] + 1 >= most.shape[0]:
                continue
            low[:], high[:] = points[j], points[j]
            m = head[g]
            while m >= 0:
                _count_in(m, items, tally)
                _extend(points, m, low, high)
                m = behind[m]
            good = _accepts(item, sizes[g] + 1, items, most, tally)
            m = head[g]
            while m >= 0:
                _count_out(m, items, tally)
                m = behind[m]
            if good:
                found += 1
                growth = _growth(points, item, low, high)
                if growth < cost:
                    best, cost = g, growth
                if found == TRIES:
                    break
        if best < 0:
            best = _merge(item, items, labels, members, most, tally, reach)
        if best >= 0:
            labels[item] = best
            behind[item] = head[best]
            head[best] = item
            sizes[best] += 1


@kernel
def _merge(item, items, labels, members, most, tally, reach):
    """Merge the groups around an item until they are allowed together with it; return the label, -1 if they never are.

    Merged members carry the label already when this returns; the item itself does not.
    """
    values = items.values
    head, behind, sizes = members
    count, need = tally
    total = values.shape[0]
    chosen = np.empty(MERGED, np.int64)
    many, size, done = 0, 1, False
    _count_in(item, items, tally)
    for step in range(2, 2 * reach + 2):
        j = item + step // 2 if step % 2 == 0 else item - step // 2
        if j < 0 or j >= total or labels[j] < 0:
            continue
        g, known = labels[j], False
        for c in range(many):
            known = known or chosen[c] == g
        if known:
            continue
        if many == MERGED or size + sizes[g] >= most.shape[0]:
            break
        chosen[many] = g
        many += 1
        size += sizes[g]
        m = head[g]
        while m >= 0:
            _count_in(m, items, tally)
            m = behind[m]
        good = values[item] < 0 or (
            count[values[item]] <= most[size] and count[values[item]] * need[values[item]] <= size
        )
        for c in range(many):
            m = head[chosen[c]]
            while m >= 0 and good:
                v = values[m]
                good = v < 0 or (count[v] <= most[size] and count[v] * need[v] <= size)
                m = behind[m]
        if good:
            done = True
            break
    _count_out(item, items, tally)
    for c in range(many):
        m = head[chosen[c]]
        while m >= 0:
            _count_out(m, items, tally)
            m = behind[m]
    if not done:
        return -1
    first = chosen[0]
    for c in range(1, many):
        g = chosen[c]
        m = head[g]
        while m >= 0:
            labels[m] = first
            last = m
            m = behind[m]
        behind[last] = head[first]
        head[first] = head[g]
        head[g] = -1
        sizes[first] += sizes[g]
        sizes[g] = 0
    return first


@kernel
def _fits(chosen, items, most, tally):
    """Return whether some items are allowed as a group."""
    values, (count, need) = items.values, tally
    size = chosen.shape[0]
    for item in chosen:
        _count_in(item, items, tally)
    good = True
    for item in chosen:
        v = values[item]
        good = good and (v < 0 or (count[v] <= most[size] and count[v] * need[v] <= size))
    for item in chosen:
        _count_out(item, items, tally)
    return good


@kernel
def split(items, points, labels, groups, most, least):
    """Split groups of at least twice ``least`` items across their widest side, while both parts are allowed.

    The ``CUTS`` places nearest to the middle are tried. Changes ``labels``; returns how many there are now.
    """
    total = labels.shape[0]
    order = np.argsort(labels, kind="mergesort")
    begin = np.searchsorted(labels[order], 0)
    tally = ValueTally(np.zeros(items.domain, np.int64), np.zeros(items.domain))
    stack = [(np.int64(0), np.int64(0))]
    stack.pop()
    while begin < total:
        end = begin + 1
        while end < total and labels[order[end]] == labels[order[begin]]:
            end += 1
        stack.append((np.int64(begin), np.int64(end)))
        while stack:
            first, last = stack.pop()
            size = last - first
            if size < 2 * least or size >= most.shape[0]:
                continue
            side, widest = 0, -1.0
            for a in range(points.shape[1]):
                places = points[order[first:last], a]
                if places.max() - places.min() > widest:
                    side, widest = a, places.max() - places.min()
            order[first:last] = order[first:last][np.argsort(points[order[first:last], side], kind="mergesort")]
            for step in range(CUTS):
                cut = first + size // 2 + ((step + 1) // 2 if step % 2 else -(step // 2))
                if cut - first < least or last - cut < least:
                    break
                one, other = order[first:cut], order[cut:last]
                if _fits(one, items, most, tally) and _fits(other, items, most, tally):
                    labels[other] = groups
                    groups += 1
                    stack.append((first, cut))
                    stack.append((cut, last))
                    break
        begin = end
    return groups


@kernel
def allowed(order, begins, ends, items, most):
    """Return which of some groups are allowed; group g has the items ``order[begins[g]:ends[g]]``."""
    good = np.empty(begins.shape[0], np.bool_)
    tally = ValueTally(np.zeros(items.domain, np.int64), np.zeros(items.domain))
    for g in range(begins.shape[0]):
        good[g] = _fits(order[begins[g] : ends[g]], items, most, tally)
    return good
