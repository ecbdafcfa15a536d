"""The nearest free record of a value: pools of records by value along a curve, from which each is taken once.

Records have a place on the curve, ``ranks``, and a value, ``values``, both (all records).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel

HOLES_TRIED = 48  # so many holes on either side are tried for a record that does not fit all of them
PARTNERS = 8  # so many other movers of one value are tried as partners
REFRESH = 32  # after so many groups the frequencies are sorted anew


class Pool(NamedTuple):
    """Records by (value, place on the curve): those of value v at ``starts[v]:starts[v + 1]``.

    ``after`` and ``before`` lead to the next free place at or behind, and at or in front of, a place, by union-find:
    taking a record costs almost nothing, however many are gone. Place p is stored at p in ``after`` and at p + 1 in
    ``before``.
    """

    records: npt.NDArray[np.int32]  # (records of the pool)
    starts: npt.NDArray[np.int64]  # (values + 1)
    after: npt.NDArray[np.int64]  # (records of the pool + 1); changed
    before: npt.NDArray[np.int64]  # (records of the pool + 1); changed
    ranks: npt.NDArray[np.int64]  # (all records)
    points: npt.NDArray[np.float64]  # (all records, attributes)


class Movers(NamedTuple):
    """Records that need another signature: what mover i was told is ``told[told_starts[i]:told_starts[i + 1]]``."""

    records: npt.NDArray[np.int32]  # (movers)
    told: npt.NDArray[np.int32]  # (values told), ascending for each mover
    told_starts: npt.NDArray[np.int64]  # (movers + 1)


class Holes(NamedTuple):
    """Places for a record, by (value, place on the curve): those of value v at ``starts[v]:starts[v + 1]``.

    Set s of ``sets`` has the members ``members[offsets[s]:offsets[s + 1]]``.
    """

    names: npt.NDArray[np.int64]  # (holes): what a hole is called
    starts: npt.NDArray[np.int64]  # (values + 1)
    ranks: npt.NDArray[np.int64]  # (holes): where the group lies on the curve
    sets: npt.NDArray[np.int64]  # (holes): the signature of the group
    members: npt.NDArray[np.int32]  # (members of all sets), ascending for each set
    offsets: npt.NDArray[np.int64]  # (sets + 1)


@kernel
def _follow(links, place):
    while links[place] != place:
        links[place] = links[links[place]]
        place = links[place]
    return place


@kernel
def _use(pool, place):
    pool.after[place] = place + 1
    pool.before[place + 1] = place


@kernel
def _away(points, one, other):
    total = 0.0
    for a in range(points.shape[1]):
        total += abs(points[one, a] - points[other, a])
    return total


@kernel
def _nearest(pool, value, target):
    """Return the place of the free record of a value that is nearest to a record, looking both ways; -1: none."""
    records, ranks, points = pool.records, pool.ranks, pool.points
    start, end = pool.starts[value], pool.starts[value + 1]
    if start == end:
        return -1
    wanted = ranks[target]
    low, high = start, end
    while low < high:
        middle = (low + high) // 2
        if ranks[records[middle]] < wanted:
            low = middle + 1
        else:
            high = middle
    right = _follow(pool.after, low)
    left = _follow(pool.before, low) - 1
    has_right, has_left = right < end, left >= start
    if has_right and has_left:
        return right if _away(points, records[right], target) < _away(points, records[left], target) else left
    return right if has_right else left if has_left else -1


@kernel
def fill_holes(pool, quota, wanted, target):
    """Take for each hole the nearest free record of its value, as long as the value's quota lasts; -1: none.

    Hole h wants a record of the value ``wanted[h]`` near the record ``near[h]``. ``quota`` is (values), and used up.
    """
    taken = np.full(wanted.shape[0], -1, np.int32)
    for h in range(wanted.shape[0]):
        value = wanted[h]
        if quota[value] <= 0:
            continue
        place = _nearest(pool, value, target[h])
        if place >= 0:
            taken[h] = pool.records[place]
            quota[value] -= 1
            _use(pool, place)
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
def fit_movers(movers, holes, ranks, values):
    """Put movers into holes of their value whose signature shares nothing with what they were told; -1: none.

    At most ``HOLES_TRIED`` holes to each side along the curve are tried.
    """
    records, told, told_starts = movers
    found = np.full(records.shape[0], -1, np.int64)
    free = np.ones(holes.names.shape[0], np.bool_)
    for i in range(records.shape[0]):
        value = values[records[i]]
        start, end = holes.starts[value], holes.starts[value + 1]
        place = start + np.searchsorted(holes.ranks[start:end], ranks[records[i]])
        for away in range(HOLES_TRIED):
            for h in (place + away, place - away - 1):
                if found[i] < 0 and start <= h < end and free[h]:
                    s = holes.sets[h]
                    first, last = holes.offsets[s], holes.offsets[s + 1]
                    if not _meet(told, told_starts[i], told_starts[i + 1], holes.members, first, last):
                        found[i] = holes.names[h]
                        free[h] = False
            if found[i] >= 0:
                break
    return found


@kernel
def gather_groups(given, mover_starts, pool, left, values, domain, m):
    """Form groups of m different values around movers, with other movers and fresh records as partners.

    Movers are ``given`` by value, those of value v at ``mover_starts[v]:mover_starts[v+1]``; fresh records are in the
    pool, ``left[v]`` of them free. A group's signature shares nothing with what any of its movers was told. Frequent
    values are taken first; where no record fits, the place is a counterfeit of a value of ``domain`` that nobody in the
    group was told, in the order given. Returns the records (-1: counterfeit) and the values of the groups.
    """
    movers, told, told_starts = given
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
                place = _nearest(pool, u, movers[i])
                records[groups, size] = pool.records[place]
                _use(pool, place)
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
def draw_steps(pool, left, step_values, step_starts, amounts):
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
        place = pool.starts[value]
        for i in range(leaders):
            place = _follow(pool.after, place)
            lead[i] = pool.records[place]
            _use(pool, place)
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
                    target = lead[i % leaders] if leaders > 0 else pool.records[pool.starts[value]]
                    place = _nearest(pool, value, target)
                    drawn[size] = pool.records[place]
                    size += 1
                    _use(pool, place)
                left[value] -= wanted
            ends[s + 1] = size
    return drawn[:size], ends
