"""Groups for budgets: records along a curve, each value with a limit, some pairs of a record and a value with more.

Items are records in the order of the curve. ``values[i]`` is what is bounded, -1 for nothing. Item i has pairs at
``starts[i]:starts[i+1]``: with the value ``pair_values`` its group needs ``pair_needs`` rows for each row with it. A
group of n items is *allowed* if each of its values is in it at most ``most[n]`` times, and at most n divided by the
need of any of its items. ``points`` are positions, in which a group should be small.
"""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel

TRIES = 8  # so many groups that could take an item are compared
MERGED = 64  # so many groups are merged at most
VALUES = 128  # so many values are asked for their nearest item
CUTS = 32  # so many places to split a group are tried


@kernel
def _follow(links, place):
    while links[place] != place:
        links[place] = links[links[place]]
        place = links[place]
    return place


@kernel
def _accepts(item, size, values, starts, pair_values, pair_needs, most, count, need):
    """Return whether an item may be in a group that will have so many members."""
    value = values[item]
    if value >= 0 and (count[value] + 1 > most[size] or (count[value] + 1) * need[value] > size):
        return False
    for k in range(starts[item], starts[item + 1]):
        own = count[pair_values[k]] + (pair_values[k] == value)
        if own > 0 and own * pair_needs[k] > size:
            return False
    return True


@kernel
def _count_in(item, values, starts, pair_values, pair_needs, count, need):
    if values[item] >= 0:
        count[values[item]] += 1
    for k in range(starts[item], starts[item + 1]):
        need[pair_values[k]] = max(need[pair_values[k]], pair_needs[k])


@kernel
def _count_out(item, values, starts, pair_values, count, need):
    """Forget an item, and everything of the others that has to do with its values: to begin a new group."""
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
def _stretch(points, item, low, high):
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
def grow(values, starts, pair_values, pair_needs, points, seeds, most, hold, least, limit, domain, near):
    """Form groups from the seeds on; return the label of each item, -1 for those left over, and how many groups.

    A group begins with a seed that is free. It first takes the nearest items of each value that would otherwise become
    too frequent among the rest: a group of ``least`` items holds ``hold`` of each. Then it takes, one after the other,
    the item that stretches its box least of those that may be in a group of ``least`` items: among the ``near`` free
    items around the seed, or if none of these can, among the nearest ones of each value, frequent values first and at
    most ``VALUES`` of them. Where none can, the group has to have one item more, up to ``limit``.
    """
    total = values.shape[0]
    labels = np.full(total, -1, np.int32)
    after, before = np.arange(total + 1), np.arange(total + 1)
    count, need = np.zeros(domain, np.int64), np.zeros(domain)
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
    members, around = np.empty(limit + 1, np.int64), np.empty(near, np.int64)
    low, high = np.empty(points.shape[1]), np.empty(points.shape[1])
    groups = 0
    for seed in seeds:
        if labels[seed] != -1:
            continue
        target = least
        while target <= limit and not _accepts(
            seed, target, values, starts, pair_values, pair_needs, most, count, need
        ):
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
        _count_in(seed, values, starts, pair_values, pair_needs, count, need)
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
                        if item >= 0 and _accepts(
                            item, target, values, starts, pair_values, pair_needs, most, count, need
                        ):
                            own = _growth(points, item, low, high)
                            if own < cost:
                                best, cost = item, own
                if best < 0:
                    asked += 1
            if best < 0:
                if gathered < 0:
                    gathered = 0
                    right, behind = _follow(after, seed), _follow(before, seed) - 1
                    while gathered < near and (right < total or behind >= 0):
                        if right < total:
                            around[gathered] = right
                            gathered += 1
                            right = _follow(after, right + 1)
                        if behind >= 0 and gathered < near:
                            around[gathered] = behind
                            gathered += 1
                            behind = _follow(before, behind) - 1
                for c in range(gathered):
                    item = around[c]
                    if labels[item] == -1:
                        own = _growth(points, item, low, high)
                        if own < cost and _accepts(
                            item, target, values, starts, pair_values, pair_needs, most, count, need
                        ):
                            best, cost = item, own
            if best < 0 and (right < total or behind >= 0):
                tried = 0
                for key in by_count:
                    if left[key] == 0 or (key > 0 and count[key - 1] + 1 > most[target]):
                        continue
                    for item in _beside(pool, pool_starts, later, earlier, key, seed):
                        if item >= 0:
                            own = _growth(points, item, low, high)
                            if own < cost and _accepts(
                                item, target, values, starts, pair_values, pair_needs, most, count, need
                            ):
                                best, cost = item, own
                    tried += 1
                    if tried == VALUES:
                        break
            if best >= 0:
                members[size] = best
                size += 1
                labels[best] = -2
                after[best], before[best + 1] = best + 1, best
                later[place_of[best]], earlier[place_of[best] + 1] = place_of[best] + 1, place_of[best]
                _count_in(best, values, starts, pair_values, pair_needs, count, need)
                _stretch(points, best, low, high)
            elif target < limit:
                target += 1
            else:
                break
        done = size == target
        for m in range(size):
            item = members[m]
            _count_out(item, values, starts, pair_values, count, need)
            labels[item] = groups if done else -3
            left[values[item] + 1] -= 1
        free -= size
        if done:
            groups += 1
    labels[labels == -3] = -1
    return labels, groups


@kernel
def place(values, starts, pair_values, pair_needs, points, labels, groups, todo, most, domain, reach):
    """Put items into the groups of others nearby that stay allowed; else merge groups nearby until that is allowed.

    Changes ``labels``; what cannot be placed keeps its -1. Of the groups within ``reach`` items along the curve, the
    first ``TRIES`` that could take an item are compared, and the one whose box is stretched least takes it. Merged
    groups have the label of the first of them; labels may then be unused.
    """
    total = values.shape[0]
    head, behind = np.full(groups, -1, np.int64), np.full(total, -1, np.int64)
    sizes, tried = np.zeros(groups, np.int64), np.full(groups, -1, np.int64)
    for i in range(total - 1, -1, -1):
        if labels[i] >= 0:
            behind[i] = head[labels[i]]
            head[labels[i]] = i
            sizes[labels[i]] += 1
    count, need = np.zeros(domain, np.int64), np.zeros(domain)
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
                _count_in(m, values, starts, pair_values, pair_needs, count, need)
                _stretch(points, m, low, high)
                m = behind[m]
            good = _accepts(item, sizes[g] + 1, values, starts, pair_values, pair_needs, most, count, need)
            m = head[g]
            while m >= 0:
                _count_out(m, values, starts, pair_values, count, need)
                m = behind[m]
            if good:
                found += 1
                own = _growth(points, item, low, high)
                if own < cost:
                    best, cost = g, own
                if found == TRIES:
                    break
        if best < 0:
            best = _merge(
                item, values, starts, pair_values, pair_needs, labels, head, behind, sizes, most, count, need, reach
            )
        if best >= 0:
            labels[item] = best
            behind[item] = head[best]
            head[best] = item
            sizes[best] += 1


@kernel
def _merge(item, values, starts, pair_values, pair_needs, labels, head, behind, sizes, most, count, need, reach):
    """Merge the groups around an item until they are allowed together with it; return the label, -1 if they never are.

    Merged members carry the label already when this returns; the item itself does not.
    """
    total = values.shape[0]
    chosen = np.empty(MERGED, np.int64)
    many, size, done = 0, 1, False
    _count_in(item, values, starts, pair_values, pair_needs, count, need)
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
            _count_in(m, values, starts, pair_values, pair_needs, count, need)
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
    _count_out(item, values, starts, pair_values, count, need)
    for c in range(many):
        m = head[chosen[c]]
        while m >= 0:
            _count_out(m, values, starts, pair_values, count, need)
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
def _fits(items, values, starts, pair_values, pair_needs, most, count, need):
    """Return whether some items are allowed as a group."""
    size = items.shape[0]
    for item in items:
        _count_in(item, values, starts, pair_values, pair_needs, count, need)
    good = True
    for item in items:
        v = values[item]
        good = good and (v < 0 or (count[v] <= most[size] and count[v] * need[v] <= size))
    for item in items:
        _count_out(item, values, starts, pair_values, count, need)
    return good


@kernel
def split(values, starts, pair_values, pair_needs, points, labels, groups, most, least, domain):
    """Split groups of at least twice ``least`` items across their widest side, while both parts are allowed.

    The ``CUTS`` places nearest to the middle are tried. Changes ``labels``; returns how many there are now.
    """
    total = values.shape[0]
    order = np.argsort(labels, kind="mergesort")
    begin = np.searchsorted(labels[order], 0)
    count, need = np.zeros(domain, np.int64), np.zeros(domain)
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
                own = points[order[first:last], a]
                if own.max() - own.min() > widest:
                    side, widest = a, own.max() - own.min()
            order[first:last] = order[first:last][np.argsort(points[order[first:last], side], kind="mergesort")]
            for step in range(CUTS):
                cut = first + size // 2 + ((step + 1) // 2 if step % 2 else -(step // 2))
                if cut - first < least or last - cut < least:
                    break
                one, other = order[first:cut], order[cut:last]
                if _fits(one, values, starts, pair_values, pair_needs, most, count, need) and _fits(
                    other, values, starts, pair_values, pair_needs, most, count, need
                ):
                    labels[other] = groups
                    groups += 1
                    stack.append((first, cut))
                    stack.append((cut, last))
                    break
        begin = end
    return groups


@kernel
def allowed(items, begins, ends, values, starts, pair_values, pair_needs, most, domain):
    """Return which of some groups are allowed; group g has the items ``items[begins[g]:ends[g]]``."""
    good = np.empty(begins.shape[0], np.bool_)
    count, need = np.zeros(domain, np.int64), np.zeros(domain)
    for g in range(begins.shape[0]):
        own = items[begins[g] : ends[g]]
        good[g] = _fits(own, values, starts, pair_values, pair_needs, most, count, need)
    return good
