"""Records that change places between neighbouring groups where published cells become narrower by it.

A group is published once for each of its records, so it costs its size times the width of its box, over all attributes.
A record moves to another group, or two change places, where both groups together cost less afterwards. GroupLists never
fall below the least size. Sensitive values are read only where a rule is given: :data:`ALIKE` lets two records change
places if they have the same value, so that no histogram changes; :data:`SHARE` and :data:`DISTINCT` keep the share of
the most frequent value, or the number of different values, within a bound.

What a group would cost without one record is known from its two least and two greatest codes, and from which codes
are in it once and which more often (as bits of a word; where there are more codes than bits the members are asked).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel
from reveil.core.kernels.gains import LISTED, TREE, tree_width

FREE, ALIKE, SHARE, DISTINCT = 0, 1, 2, 3
MOST_COMPARED = 64  # members of a group up to which its records are tried one by one
MASK_WORDS = 4
BITS, MASK, IN_WORD, TURN = 64 * MASK_WORDS, MASK_WORDS - 1, 63, 6  # a code is a bit of one of a few words
_LEAST_GAIN = 1e-9
_FAR = 2147483647


class GroupLists(NamedTuple):
    """GroupLists of records: ``members[g, :sizes[g]]`` are the places of the records of group g."""

    members: npt.NDArray[np.int32]  # (groups, most members)
    sizes: npt.NDArray[np.int64]  # (groups)
    neighbours: npt.NDArray[np.int64]  # (groups, neighbours): with whom to exchange; a group itself stands for nobody


class ValueRule(NamedTuple):
    """What of the values must stay: which rule, its bound, and one value for each record."""

    kind: int
    bound: float
    least: int  # records that every group keeps
    values: npt.NDArray[np.int32]  # (records), or empty where nothing is read


class _State(NamedTuple):
    """What is known of each group and attribute."""

    ends: npt.NDArray[np.int32]  # (groups, attributes, 4): least, second least, greatest, second greatest code
    bits: npt.NDArray[np.uint64]  # (groups, attributes, 2, words): codes that are there, and twice
    many: npt.NDArray[np.int64]  # (groups, attributes, 2): different codes, and missing values
    slack: npt.NDArray[np.float64]  # (groups, most members): by how much a group is narrower without each member


@kernel
def improve(rows, groups, attributes, rule, sweeps):
    """Exchange records until a sweep over all groups finds nothing, at most so many; return how often it was done.

    Only records that stretch their group are tried: another one that changes places gains nothing by itself.
    """
    members, sizes, neighbours = groups
    count, columns = members.shape[0], rows.shape[1]
    state = _State(
        np.zeros((count, columns, 4), np.int32),
        np.zeros((count, columns, 2, MASK_WORDS), np.uint64),
        np.zeros((count, columns, 2), np.int64),
        np.zeros(members.shape),
    )
    width, loose = np.zeros(count), np.zeros(count)
    for g in range(count):
        width[g], loose[g] = _taken_in(rows, members, sizes, g, attributes, state)
    touched = np.zeros(count, np.int64)  # the last sweep that changed a group
    done = 0
    for sweep in range(1, sweeps + 1):
        before = done
        for g in range(count):
            stir = touched[g] >= sweep - 1
            for t in range(neighbours.shape[1]):
                stir = stir or touched[neighbours[g, t]] >= sweep - 1
            if stir:
                done += _from_group(rows, groups, attributes, rule, state, width, loose, g, touched, sweep)
        if done == before:
            break
    return done


@kernel
def _from_group(rows, groups, attributes, rule, state, width, loose, g, touched, sweep):
    """Try to exchange each record of a group that makes it wider; return how many were."""
    members, sizes, neighbours = groups
    kinds, nulls, offsets, positions, steps, level_offsets, levels, nodes, widths = attributes
    ends, bits, many, slack = state
    kind, bound, least, values = rule
    done, j, left = 0, 0, 2 * sizes[g]
    while j < sizes[g]:
        r = members[g, j]
        if slack[g, j] <= _LEAST_GAIN:
            j += 1
            continue
        without = width[g] - slack[g, j]
        best, other, partner = -_LEAST_GAIN, -1, -1
        for t in range(neighbours.shape[1]):
            h = neighbours[g, t]
            # What two groups did not find that are as they were they do not find now.
            if h == g or max(touched[g], touched[h]) < sweep - 1:
                continue
            cost = sizes[g] * width[g] + sizes[h] * width[h]
            moves = sizes[g] > least and sizes[h] < members.shape[1] and kind != ALIKE
            room = (best + cost - (sizes[g] - 1) * without) / (sizes[h] + 1) if moves else 0.0
            # Whoever leaves the other group in exchange makes it narrower by at most what it is loose.
            farthest = width[h] + loose[h] + (best + sizes[g] * (width[g] - without)) / sizes[h]
            wide = _width_if(
                rows, members, sizes[h], h, -1, r, max(room, farthest), kinds, nulls, offsets, positions, steps,
                level_offsets, levels, nodes, widths, ends, bits, many,
            )  # fmt: skip
            if moves and wide < room and _may_move(members, sizes, g, h, j, kind, bound, values):
                best, other, partner = (sizes[g] - 1) * without + (sizes[h] + 1) * wide - cost, h, -1
            if wide >= farthest or sizes[h] > MOST_COMPARED:
                continue
            enough = wide + (sizes[g] * without - cost - best) / sizes[h]
            for q in range(sizes[h]):
                if slack[h, q] <= enough:
                    continue
                s = members[h, q]
                if kind == ALIKE and values[r] != values[s]:
                    continue
                room = (best + cost) / sizes[g]
                here = _width_if(
                    rows, members, sizes[g], g, r, s, room, kinds, nulls, offsets, positions, steps, level_offsets,
                    levels, nodes, widths, ends, bits, many,
                )  # fmt: skip
                if here >= room:
                    continue
                room = (best + cost - sizes[g] * here) / sizes[h]
                there = _width_if(
                    rows, members, sizes[h], h, s, r, room, kinds, nulls, offsets, positions, steps, level_offsets,
                    levels, nodes, widths, ends, bits, many,
                )  # fmt: skip
                gain = sizes[g] * here + sizes[h] * there - cost
                if there < room and gain < best and _may_swap(members, sizes, g, h, j, q, kind, bound, values):
                    best, other, partner = gain, h, q
        if other < 0 or left == 0:
            j += 1
            continue
        if partner >= 0:
            members[g, j], members[other, partner] = members[other, partner], r
        else:
            members[other, sizes[other]] = r
            sizes[other] += 1
            sizes[g] -= 1
            members[g, j] = members[g, sizes[g]]
        width[g], loose[g] = _taken_in(rows, members, sizes, g, attributes, state)
        width[other], loose[other] = _taken_in(rows, members, sizes, other, attributes, state)
        touched[g] = touched[other] = sweep
        done += 1
        left -= 1
    return done


@kernel
def _taken_in(rows, members, sizes, g, attributes, state):
    """Note what a group has; return how wide its box is, and by how much at most it is narrower without one record."""
    kinds, nulls, offsets, positions, steps, level_offsets, levels, nodes, widths = attributes
    ends, bits, many, slack = state
    one = np.uint64(1)
    for a in range(rows.shape[1]):
        least, second, greatest, last = _FAR, _FAR, -1, -1
        bits[g, a] = np.uint64(0)
        missing, different = 0, 0
        for m in range(sizes[g]):
            code = rows[members[g, m], a]
            if code == nulls[a]:
                missing += 1
            elif kinds[a] == LISTED:
                word, bit = (code >> TURN) & MASK, one << np.uint64(code & IN_WORD)
                there = bits[g, a, 0, word]
                new = not (there & bit)
                if not new and nulls[a] > BITS:
                    new = _times(rows, members, m, g, a, code) == 0
                different += new
                bits[g, a, 1, word] |= there & bit
                bits[g, a, 0, word] = there | bit
            else:
                if code < least:
                    least, second = code, least
                elif code < second:
                    second = code
                if code > greatest:
                    greatest, last = code, greatest
                elif code > last:
                    last = code
        ends[g, a, 0], ends[g, a, 1], ends[g, a, 2], ends[g, a, 3] = least, second, greatest, last
        many[g, a, 0], many[g, a, 1] = different, missing
    width = _width_if(
        rows, members, sizes[g], g, -1, -1, np.inf, kinds, nulls, offsets, positions, steps, level_offsets, levels,
        nodes, widths, ends, bits, many,
    )  # fmt: skip
    loose = 0.0
    for m in range(sizes[g]):
        without = _width_if(
            rows, members, sizes[g], g, members[g, m], -1, np.inf, kinds, nulls, offsets, positions, steps,
            level_offsets, levels, nodes, widths, ends, bits, many,
        )  # fmt: skip
        slack[g, m] = width - without
        loose = max(loose, width - without)
    return width, loose


@kernel
def _width_if(
    rows, members, size, g, out, into, limit, kinds, nulls, offsets, positions, steps, level_offsets, levels, nodes,
    widths, ends, bits, many,
):  # fmt: skip
    """Return how wide a group is if ``out`` left it and ``into`` came (-1: nobody), or any number from ``limit`` on."""
    total, one = 0.0, np.uint64(1)
    for a in range(rows.shape[1]):
        nothing = nulls[a]
        gone, come = np.int32(-1), np.int32(-1)
        if out >= 0:
            gone = rows[out, a]
        if into >= 0:
            come = rows[into, a]
        missing = many[g, a, 1] - (gone == nothing) + (come == nothing)
        values = True
        if kinds[a] == LISTED:
            different = many[g, a, 0]
            if gone != come:
                if gone >= 0 and gone != nothing:
                    leaves = not (bits[g, a, 1, (gone >> TURN) & MASK] & (one << np.uint64(gone & IN_WORD)))
                    if not leaves and nothing > BITS:
                        leaves = _times(rows, members, size, g, a, gone) == 1
                    different -= leaves
                if come >= 0 and come != nothing:
                    new = not (bits[g, a, 0, (come >> TURN) & MASK] & (one << np.uint64(come & IN_WORD)))
                    if not new and nothing > BITS:
                        new = _times(rows, members, size, g, a, come) == 0
                    different += new
            values = different > 0
            if values:
                total += steps[a, 0] * (different - 1)
        else:
            low, high = ends[g, a, 0], ends[g, a, 2]
            if gone >= 0 and gone != nothing:
                if gone == low:
                    low = ends[g, a, 1]
                if gone == high:
                    high = ends[g, a, 3]
            if come >= 0 and come != nothing:
                low, high = min(low, come), max(high, come)
            values = low <= high
            if low < high:
                if kinds[a] == TREE:
                    line = level_offsets[a] + (levels[a] - 1) * nothing
                    total += tree_width(low, high, nothing, line, nodes, widths)
                else:
                    total += positions[offsets[a] + high] - positions[offsets[a] + low]
        if missing > 0 and values:
            total += steps[a, 1]
        if total >= limit:
            return total
    return total


@kernel
def _times(rows, members, size, g, a, code):
    """Return how many of the first members of a group have a code."""
    times = 0
    for m in range(size):
        times += rows[members[g, m], a] == code
    return times


@kernel
def _may_swap(members, sizes, g, h, j, q, kind, bound, values):
    """Return whether the rule holds for both groups once two records have changed places."""
    if kind == FREE or values[members[g, j]] == values[members[h, q]]:
        return True
    one, other = values[members[g, j]], values[members[h, q]]
    return _holds(members, sizes, g, j, other, kind, bound, values) and _holds(
        members, sizes, h, q, one, kind, bound, values
    )


@kernel
def _may_move(members, sizes, g, h, j, kind, bound, values):
    """Return whether the rule holds for both groups once a record has moved from one to the other."""
    if kind == FREE:
        return True
    moved = values[members[g, j]]
    return _holds(members, sizes, g, j, -1, kind, bound, values) and _holds(
        members, sizes, h, -1, moved, kind, bound, values
    )


@kernel
def _holds(members, sizes, g, gone, come, kind, bound, values):
    """Return whether a group keeps the rule without its member ``gone`` and with one more value ``come``."""
    size = sizes[g] - (gone >= 0) + (come >= 0)
    different, largest = 0, 0
    for m in range(-1, sizes[g]):
        if m == gone and m >= 0:
            continue
        value = come if m < 0 else values[members[g, m]]
        if value < 0:
            continue
        times, first = 0, True
        if come >= 0:
            times, first = times + (come == value), m < 0 or come != value
        for i in range(sizes[g]):
            if i != gone and values[members[g, i]] == value:
                times += 1
                first = first and i >= m
        different += first
        largest = max(largest, times)
    if kind == SHARE:
        return largest * bound <= size
    return different >= bound
