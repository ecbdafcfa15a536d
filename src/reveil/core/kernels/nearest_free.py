"""The nearest free record of a value: pools of records by value along a curve, from which each is taken once.

A pool lists records by (value, place on the curve): those of value v at ``starts[v]:starts[v+1]``. ``after`` and
``before`` lead to the next free place at or behind, and at or in front of, a place, by union-find: taking a record
costs almost nothing, however many are gone. Place p is stored at p in ``after`` and at p + 1 in ``before``.
"""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel

LOOK = 48  # so many holes on either side are tried for a record that does not fit all of them
PARTNERS = 8  # so many other movers of one value are tried as partners
REFRESH = 32  # after so many groups the frequencies are sorted anew


@kernel
def _follow(links, place):
    while links[place] != place:
        links[place] = links[links[place]]
        place = links[place]
    return place


@kernel
def _use(after, before, place):
    after[place] = place + 1
    before[place + 1] = place


@kernel
def _away(points, one, other):
    total = 0.0
    for a in range(points.shape[1]):
        total += abs(points[one, a] - points[other, a])
    return total


@kernel
def _nearest(pool, ranks, starts, after, before, value, near, points):
    """Return the place of the free record of a value that is nearest to a record, looking both ways; -1: none."""
    start, end = starts[value], starts[value + 1]
    if start == end:
        return -1
    wanted = ranks[near]
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if ranks[pool[middle]] < wanted:
            low = middle + 1
        else:
            high = middle
    right = _follow(after, low)
    left = _follow(before, low) - 1
    has_right, has_left = right < end, left >= start
    if has_right and has_left:
        return right if _away(points, pool[right], near) < _away(points, pool[left], near) else left
    return right if has_right else left if has_left else -1


@kernel
def fill(pool, ranks, starts, after, before, quota, values, near, points):
    """Take for each hole the nearest free record of its value, as long as the value's quota lasts; -1: none.

    Hole h wants a record of ``values[h]`` near the record ``near[h]``.
    """
    taken = np.full(values.shape[0], -1, np.int32)
    for h in range(values.shape[0]):
        value = values[h]
        if quota[value] <= 0:
            continue
        place = _nearest(pool, ranks, starts, after, before, value, near[h], points)
        if place >= 0:
            taken[h] = pool[place]
            quota[value] -= 1
            _use(after, before, place)
    return taken


@kernel
def _meet(one, one_start, one_end, other, other_start, other_end):
    """Return whether two ascending lists have a common member."""
    i, j = one_start, other_start
    while i < one_end and j < other_end:
        if one[i] == other[j]:
            return True
        if one[i] < other[j]:
            i += 1
        else:
            j += 1
    return False


@kernel
def fit(movers, told, told_starts, holes, hole_starts, hole_ranks, hole_sets, sets, set_starts, ranks, values):
    """Put movers into holes of their value whose signature shares nothing with what they were told; -1: none.

    Mover i is the record ``movers[i]`` with the values ``told[told_starts[i]:told_starts[i+1]]`` behind it. The holes
    of value v are ``holes[hole_starts[v]:hole_starts[v+1]]`` along the curve; at most ``LOOK`` to each side are tried.
    """
    found = np.full(movers.shape[0], -1, np.int64)
    free = np.ones(holes.shape[0], np.bool_)
    for i in range(movers.shape[0]):
        value = values[movers[i]]
        start, end = hole_starts[value], hole_starts[value + 1]
        place = start + np.searchsorted(hole_ranks[start:end], ranks[movers[i]])
        for away in range(LOOK):
            for h in (place + away, place - away - 1):
                if found[i] < 0 and start <= h < end and free[h]:
                    s = hole_sets[h]
                    if not _meet(told, told_starts[i], told_starts[i + 1], sets, set_starts[s], set_starts[s + 1]):
                        found[i] = holes[h]
                        free[h] = False
            if found[i] >= 0:
                break
    return found


@kernel
def gather(
    movers, told, told_starts, mover_starts, pool, ranks, starts, after, before, left, values, points, domain, m
):
    """Form groups of m different values around movers, with other movers and fresh records as partners.

    Movers are listed by value, those of value v at ``mover_starts[v]:mover_starts[v+1]``; fresh records are in the
    pool, ``left[v]`` of them free. A group's signature shares nothing with what any of its movers was told. Frequent
    values are taken first; where no record fits, the place is a counterfeit of a value of ``domain`` that nobody in the
    group was told, in the order given. Returns the records (-1: counterfeit) and the values of the groups.
    """
    records = np.full((movers.shape[0], m), -1, np.int32)
    chosen = np.full((movers.shape[0], m), -1, np.int32)
    placed = np.zeros(movers.shape[0], np.bool_)
    waiting = np.empty(left.shape[0], np.int64)
    for v in range(left.shape[0]):
        waiting[v] = mover_starts[v + 1] - mover_starts[v]
    stamp = np.full(left.shape[0], -1, np.int64)  # values that a group must not have: told to one of its movers
    inside = np.full(left.shape[0], -1, np.int64)
    known = np.zeros(left.shape[0], np.bool_)
    for d in range(domain.shape[0]):
        known[domain[d]] = True
    frequent = np.argsort(-(left + waiting))
    groups = 0
    for i in range(movers.shape[0]):
        if placed[i]:
            continue
        if groups % REFRESH == REFRESH - 1:
            frequent = np.argsort(-(left + waiting))
        open_values = domain.shape[0]
        for t in range(told_starts[i], told_starts[i + 1]):
            if stamp[told[t]] != groups:
                stamp[told[t]] = groups
                open_values -= known[told[t]]
        value = values[movers[i]]
        records[groups, 0], chosen[groups, 0] = movers[i], value
        inside[value] = groups
        placed[i] = True
        waiting[value] -= 1
        size = 1
        for f in range(frequent.shape[0]):
            if size == m:
                break
            u = frequent[f]
            if inside[u] == groups or stamp[u] == groups or left[u] + waiting[u] <= 0:
                continue
            partner = -1
            if waiting[u] > 0:
                tried = 0
                for p in range(mover_starts[u], mover_starts[u + 1]):
                    if placed[p]:
                        continue
                    if tried == PARTNERS:
                        break
                    tried += 1
                    fits, fewer = True, 0
                    for t in range(told_starts[p], told_starts[p + 1]):
                        fits &= inside[told[t]] != groups
                        fewer += known[told[t]] and stamp[told[t]] != groups
                    if fits and open_values - fewer >= m:
                        partner = p
                        break
            if partner >= 0:
                for t in range(told_starts[partner], told_starts[partner + 1]):
                    if stamp[told[t]] != groups:
                        stamp[told[t]] = groups
                        open_values -= known[told[t]]
                records[groups, size] = movers[partner]
                placed[partner] = True
                waiting[u] -= 1
            elif left[u] > 0:
                place = _nearest(pool, ranks, starts, after, before, u, movers[i], points)
                records[groups, size] = pool[place]
                _use(after, before, place)
                left[u] -= 1
            else:
                continue
            chosen[groups, size] = u
            inside[u] = groups
            size += 1
        for d in range(domain.shape[0]):
            if size == m:
                break
            u = domain[(d + groups) % domain.shape[0]]
            if inside[u] != groups and stamp[u] != groups:
                chosen[groups, size] = u
                inside[u] = groups
                size += 1
        groups += 1
    return records[:groups], chosen[:groups]


@kernel
def draw(pool, ranks, starts, after, before, left, step_values, step_starts, amounts, points):
    """Draw the records of each step: up to ``amounts[j]`` of each of its values, near to each other.

    The value with the fewest records left goes first, along the curve; each of its records draws the nearest of
    every other value. Returns the records by (step, value) and where each list starts.
    """
    total = 0
    for j in range(amounts.shape[0]):
        total += amounts[j] * (step_starts[j + 1] - step_starts[j])
    drawn = np.empty(total, np.int32)
    ends = np.empty(step_values.shape[0] + 1, np.int64)
    ends[0] = 0
    size = 0
    for j in range(amounts.shape[0]):
        begin, end = step_starts[j], step_starts[j + 1]
        rarest = begin
        for s in range(begin, end):
            if left[step_values[s]] > 0 and (
                left[step_values[rarest]] == 0 or left[step_values[s]] < left[step_values[rarest]]
            ):
                rarest = s
        lead = np.empty(amounts[j], np.int32)
        value = step_values[rarest]
        leaders = min(amounts[j], left[value])
        place = starts[value]
        for i in range(leaders):
            place = _follow(after, place)
            lead[i] = pool[place]
            _use(after, before, place)
        left[value] -= leaders
        for s in range(begin, end):
            value = step_values[s]
            if s == rarest:
                for i in range(leaders):
                    drawn[size] = lead[i]
                    size += 1
            else:
                wanted = min(amounts[j], left[value])
                for i in range(wanted):
                    # More records than leaders are possible only where the others are counterfeits.
                    near = lead[i % leaders] if leaders > 0 else pool[starts[value]]
                    place = _nearest(pool, ranks, starts, after, before, value, near, points)
                    drawn[size] = pool[place]
                    size += 1
                    _use(after, before, place)
                left[value] -= wanted
            ends[s + 1] = size
    return drawn[:size], ends
