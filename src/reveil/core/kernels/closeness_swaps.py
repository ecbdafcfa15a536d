"""Kernels that bring groups closer to the table: what a group's distances exceed, swaps, and clusters with swaps.

``values`` are those of the records, (records, attributes). A ``tally`` counts the values of a group, and ``shares`` is
what part of the table has each value, both (values of all attributes). Floating point is good enough: the model judges
in the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel


class Target(NamedTuple):
    """What groups should come close to. The values of attribute a are at ``first[a]`` up to before ``first[a + 1]``."""

    table: npt.NDArray[np.int64]  # (values of all attributes): how many records of the table have each
    first: npt.NDArray[np.int64]  # (attributes + 1)
    row: npt.NDArray[np.bool_]  # (attributes): whether the values lie in a row; otherwise all are equally far
    limits: npt.NDArray[np.float64]  # (attributes): the t of each


@kernel
def totals(table, first):
    """How many records of the table each attribute counts, and what share of them has each value."""
    whole, expected = np.zeros(first.shape[0] - 1, np.int64), np.empty(table.shape[0])
    for a in range(whole.shape[0]):
        for v in range(first[a], first[a + 1]):
            whole[a] += table[v]
        for v in range(first[a], first[a + 1]):
            expected[v] = table[v] / whole[a]
    return whole, expected


@kernel
def excess(tally, size, expected, target):
    """How much the distances of a group exceed the limits, added up over the attributes."""
    first, row, limits = target.first, target.row, target.limits
    over = 0.0
    for a in range(row.shape[0]):
        start, end = first[a], first[a + 1]
        moved, ahead = 0.0, 0.0
        for v in range(start, end):
            off = tally[v] / size - expected[v]
            ahead = ahead + off if row[a] else off
            moved += abs(ahead)
        distance = moved / max(end - start - 1, 1) if row[a] else moved / 2
        # A distance at the limit must not count as above it because of rounding.
        over += max(0.0, distance - limits[a] - 1e-12)
    return over


@kernel
def gradient(tally, size, whole, target, out):
    """How much the sum of a group's distances grows, to first order, with each value that comes."""
    table, first, row = target.table, target.first, target.row
    for a in range(row.shape[0]):
        start, end = first[a], first[a + 1]
        step = 1.0 / max(end - start - 1, 1) if row[a] else 0.5
        carried, ahead = 0.0, np.int64(0)
        # From the last value down: over each border at or above a value that comes, one more has to be carried.
        # ``ahead`` is by how much the group has more than its share below the border.
        for v in range(end - 1, start - 1, -1):
            more = tally[v] * whole[a] - table[v] * size
            if row[a]:
                out[v] = carried
                ahead -= more
                if ahead > 0:
                    carried += step
                elif ahead < 0:
                    carried -= step
            else:
                out[v] = step if more > 0 else -step if more < 0 else 0.0


@kernel
def count(values, members, start, end, first, tally):
    """Count the values of the members of a group."""
    tally[:] = 0
    for p in range(start, end):
        for a in range(values.shape[1]):
            tally[first[a] + values[members[p], a]] += 1


@kernel
def gradient_between(values, record, first, one, other):
    """The difference of two gradients at the values of a record."""
    out = 0.0
    for a in range(values.shape[1]):
        v = first[a] + values[record, a]
        out += one[v] - other[v]
    return out


@kernel
def replace(values, leaves, comes, first, tally):
    """Let one record of a group be replaced by another."""
    for a in range(values.shape[1]):
        tally[first[a] + values[leaves, a]] -= 1
        tally[first[a] + values[comes, a]] += 1


@kernel
def repair(values, members, offsets, failing, target, reach, rounds):
    """Swap members of failing groups with members of groups up to ``reach`` away while that lowers what is exceeded.

    Per swap, of the pair of records that to first order helps most; it is made if the two groups together exceed
    less. A group is left when it exceeds nothing, when no neighbour helps, or after so many rounds.
    """
    first, width = target.first, target.table.shape[0]
    mine, theirs = np.zeros(width, np.int64), np.zeros(width, np.int64)
    my_slope, their_slope = np.zeros(width), np.zeros(width)
    groups = offsets.shape[0] - 1
    whole, expected = totals(target.table, first)
    for number in range(failing.shape[0]):
        g = failing[number]
        start, end = offsets[g], offsets[g + 1]
        count(values, members, start, end, first, mine)
        over = excess(mine, end - start, expected, target)
        helped = True
        for _ in range(rounds):
            if over <= 0 or not helped:
                break
            helped = False
            gradient(mine, end - start, whole, target, my_slope)
            for away in range(1, reach + 1):
                for h in (g - away, g + away):
                    if h < 0 or h >= groups or helped:
                        continue
                    begin, stop = offsets[h], offsets[h + 1]
                    count(values, members, begin, stop, first, theirs)
                    gradient(theirs, stop - begin, whole, target, their_slope)
                    out, most = start, -np.inf
                    for p in range(start, end):
                        weight = gradient_between(values, members[p], first, my_slope, their_slope)
                        if weight > most:
                            out, most = p, weight
                    back, least = begin, np.inf
                    for p in range(begin, stop):
                        weight = gradient_between(values, members[p], first, my_slope, their_slope)
                        if weight < least:
                            back, least = p, weight
                    if least >= most:
                        continue
                    before = over + excess(theirs, stop - begin, expected, target)
                    replace(values, members[out], members[back], first, mine)
                    replace(values, members[back], members[out], first, theirs)
                    mine_over = excess(mine, end - start, expected, target)
                    if mine_over + excess(theirs, stop - begin, expected, target) < before - 1e-12:
                        members[out], members[back] = members[back], members[out]
                        over = mine_over
                        helped = True
                    else:
                        replace(values, members[back], members[out], first, mine)


@kernel
def clusters(points, values, starts, ends, least, target, tries):
    """Cut each segment of records into clusters of ``least`` near records that exceed the limits little.

    The record farthest from the mean takes its nearest ones; while the cluster exceeds a limit, the next nearest
    records outside, up to ``tries``, are swapped in for the member whose leaving helps most, if that lowers what is
    exceeded. Then the same around the record farthest from the first, and so on; fewer than twice ``least`` records
    are the last cluster of their segment. Returns the cluster of each record, numbered over all segments.
    """
    labels = np.empty(points.shape[0], np.int64)
    first, width = target.first, target.table.shape[0]
    tally, slope, nothing = np.zeros(width, np.int64), np.zeros(width), np.zeros(width)
    whole, expected = totals(target.table, first)
    cluster = np.empty(least, np.int64)
    number = 0
    for s in range(starts.shape[0]):
        alive = np.arange(starts[s], ends[s])
        seed = np.zeros(points.shape[1])
        from_mean = True
        while alive.shape[0] >= 2 * least:
            if from_mean:
                seed[:] = 0.0
                for record in alive:
                    seed += points[record]
                seed /= alive.shape[0]
            far, most = alive[0], -1.0
            for record in alive:
                away = np.sum((points[record] - seed) ** 2)
                if away > most:
                    far, most = record, away
            seed[:] = points[far]
            from_mean = not from_mean
            distance = np.empty(alive.shape[0])
            for p in range(alive.shape[0]):
                distance[p] = np.sum((points[alive[p]] - seed) ** 2)
            by_distance = alive[np.argsort(distance, kind="mergesort")]
            cluster[:] = by_distance[:least]
            count(values, cluster, 0, least, first, tally)
            over = excess(tally, least, expected, target)
            if over > 0:
                gradient(tally, least, whole, target, slope)
            for candidate in by_distance[least : least + tries]:
                if over <= 0:
                    break
                out, heaviest = 0, -np.inf
                for p in range(least):
                    weight = gradient_between(values, cluster[p], first, slope, nothing)
                    if weight > heaviest:
                        out, heaviest = p, weight
                if gradient_between(values, candidate, first, slope, nothing) >= heaviest:
                    continue
                replace(values, cluster[out], candidate, first, tally)
                now = excess(tally, least, expected, target)
                if now < over - 1e-12:
                    over = now
                    cluster[out] = candidate
                    gradient(tally, least, whole, target, slope)
                else:
                    replace(values, candidate, cluster[out], first, tally)
            for record in alive:
                labels[record] = -1
            for p in range(least):
                labels[cluster[p]] = number
            number += 1
            alive = alive[labels[alive] < 0]
        for record in alive:
            labels[record] = number
        number += 1
    return labels
