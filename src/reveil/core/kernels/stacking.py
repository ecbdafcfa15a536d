"""Kernels of Stack & Deal: records dealt into groups so that every group gets its share of every value.

The records of a node are the places ``start..end`` of all records, which are permuted in place. A node stands for a
number of groups. It is cut in two along one attribute, and each side gets some of the groups and of every value what
these groups may have, the records nearest to the cut changing sides where that is needed. Kernels touch only the places
of their node, so that callers may run them on threads over separate nodes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel

SPARSE = 8  # above this many codes per record, sorting by comparison is cheaper than counting over the range
FEW = 24  # so many records are sorted by insertion
CLOSE = 4  # nodes of so few groups are cut for the narrowest boxes, larger ones for the narrowest to be expected
TRIES = 8  # at most so many attributes are tried at a node, those with the largest spread


class StackedRecords(NamedTuple):
    """The records, permuted in place; ``first`` is marked where a group starts."""

    columns: npt.NDArray[np.int32]  # (attributes, records): codes
    values: npt.NDArray[np.int32]  # (records)
    numbers: npt.NDArray[np.int32]  # (records): which record it is
    first: npt.NDArray[np.bool_]  # (records)


class Quotas(NamedTuple):
    """What each group may have: of value v ``least[v]`` or one more, of the values up to v ``below[v]`` or one more.

    For the last value ``below`` is the size of a group.
    """

    least: npt.NDArray[np.int64]  # (values)
    below: npt.NDArray[np.int64]  # (values)


class CodeLayout(NamedTuple):
    """The attributes side by side: the codes of attribute a begin at ``offset[a]``."""

    positions: npt.NDArray[np.float64]  # (codes of all attributes)
    boundary: npt.NDArray[np.int32]  # (codes of all attributes): how deep the taxonomy boundary behind a code is
    lower: npt.NDArray[np.int32]  # (codes of all attributes): the next code whose boundary is less deep
    offset: npt.NDArray[np.int64]  # (attributes)
    taxonomic: npt.NDArray[np.bool_]  # (attributes): whether it has a taxonomy
    steps: npt.NDArray[np.float64]  # (attributes): what one more value adds to the width of a set; 0: no set


class _Range(NamedTuple):
    """A node along one attribute: its places, and its smallest and largest code."""

    start: int
    end: int
    lo: int
    hi: int


class _Sorted(NamedTuple):
    """The codes and values of a node's records in the order of the codes."""

    codes: npt.NDArray[np.int32]  # (records of the largest node)
    values: npt.NDArray[np.int32]  # (records of the largest node)
    tally: npt.NDArray[np.int64]  # (codes + 2); all zero between sorts


class _Tally(NamedTuple):
    """Counting the values of a node, while it is cut."""

    counts: npt.NDArray[np.int64]  # (values): how many records the node has; all zero before and after
    need: npt.NDArray[np.int64]  # (values): how many have to come to the left; negative: to leave it. All zero before
    seen: npt.NDArray[np.int64]  # (values): those that the node has
    low: npt.NDArray[np.int64]  # (values), (values): what the left side may have up to each value seen
    high: npt.NDArray[np.int64]


class _Sides(NamedTuple):
    """The first ``size`` records of a node in the order of the codes, and which of them are on the right side."""

    codes: npt.NDArray[np.int32]
    size: int
    right: npt.NDArray[np.bool_]


@kernel
def _sort(codes, values, node, order, sorted_):
    """Write the places of a node by code, equal codes by place, and their codes and values."""
    start, end, lo, hi = node
    by_code, by_value, count = sorted_
    size = end - start
    if size <= FEW:
        for i in range(size):
            code = codes[start + i]
            j = i - 1
            while j >= 0 and by_code[j] > code:
                by_code[j + 1] = by_code[j]
                order[j + 1] = order[j]
                j -= 1
            by_code[j + 1] = code
            order[j + 1] = start + i
    elif hi - lo < SPARSE * size + 64:
        for i in range(start, end):
            count[codes[i] - lo + 1] += 1
        for c in range(1, hi - lo + 1):
            count[c] += count[c - 1]
        for i in range(start, end):
            place = count[codes[i] - lo]
            count[codes[i] - lo] += 1
            order[place] = i
            by_code[place] = codes[i]
        for c in range(hi - lo + 2):
            count[c] = 0
    else:
        keys = np.empty(size, np.int64)
        for i in range(size):
            keys[i] = (np.int64(codes[start + i]) << 32) | i
        keys.sort()
        for i in range(size):
            order[i] = start + (keys[i] & 0xFFFFFFFF)
            by_code[i] = keys[i] >> 32
    for i in range(size):
        by_value[i] = values[order[i]]


@kernel
def place_cut(by_code, size, groups, boundary, lower, taxonomic):
    """Return how many records lie before the cut, and how many groups go there.

    A cut is a change of codes with more than half a group on either side: at the highest taxonomy boundary
    (``boundary`` is the depth behind each code, ``lower`` the next code whose boundary is less deep), then the most
    balanced, then the first. Groups go to the sides in proportion. Without such a change the records are halved.
    """
    half = size // groups // 2
    best, best_depth, best_off = -1, 2147483647, 2 * size + 1
    for j in range(half + 1, size - half):
        if by_code[j - 1] != by_code[j]:
            depth = 0
            if taxonomic:
                code = by_code[j - 1]
                while lower[code] < by_code[j]:
                    code = lower[code]
                depth = boundary[code]
            off = abs(2 * j - size)
            if depth < best_depth or (depth == best_depth and off < best_off):
                best, best_depth, best_off = j, depth, off
    if best < 0:
        return size * (groups // 2) // groups, groups // 2
    return best, min(max((2 * groups * best + size) // (2 * size), 1), groups - 1)


@kernel
def _bounds(count, left, right, fewest, most):
    """Return how many of ``count`` records the left groups may have if every group may have ``fewest`` to ``most``."""
    return max(left * fewest, count - right * most), min(left * most, count - right * fewest)


@kernel
def needs(by_value, size, at, left, right, due, tally):
    """Find how many records of each value have to come to the left side; negative: to leave it. Return how many values.

    ``at`` records lie before the cut, and ``left`` and ``right`` groups go to the sides. Value by value, the left side
    gets what lies there, or what comes nearest to it and leaves the later values their shares.
    """
    least, below = due
    counts, need, seen, low, high = tally
    m = 0
    for j in range(size):
        v = by_value[j]
        if counts[v] == 0:
            seen[m] = v
            m += 1
        counts[v] += 1
        if j < at:
            need[v] -= 1  # what lies there; what should lie there is added below
    seen[:m].sort()
    # What the left side may have up to each value so that the later ones can still be given their shares. Values that
    # the node lacks count too: up to them there is as much as up to the one before.
    together, fewest = size, below[below.shape[0] - 1]
    for t in range(m - 1, -1, -1):
        v = seen[t]
        low[t], high[t] = _bounds(together, left, right, fewest, below[v] + 1)
        if t < m - 1:
            after = seen[t + 1]
            few, many = _bounds(counts[after], left, right, least[after], least[after] + 1)
            low[t], high[t] = max(low[t], low[t + 1] - many), min(high[t], high[t + 1] - few)
        together -= counts[v]
        if t > 0:
            fewest = below[v - 1]
    given = 0
    for t in range(m):
        v = seen[t]
        few, many = _bounds(counts[v], left, right, least[v], least[v] + 1)
        share = min(max(-need[v], few, low[t] - given), many, high[t] - given)
        need[v] += share
        given += share
        counts[v] = 0
    return m


@kernel
def change_sides(by_value, size, at, m, tally, right):
    """Let the records nearest to the cut change sides until no need is left; return how many are on the left.

    ``right`` says of each record in the order of the codes whether it is on the right side.
    """
    seen, need = tally.seen, tally.need
    pulled, pushed = 0, 0
    for t in range(m):
        if need[seen[t]] > 0:
            pulled += need[seen[t]]
        else:
            pushed -= need[seen[t]]
    count = at + pulled - pushed
    for j in range(size):
        right[j] = j >= at
    j = at
    while pulled > 0:
        if need[by_value[j]] > 0:
            need[by_value[j]] -= 1
            right[j] = False
            pulled -= 1
        j += 1
    j = at - 1
    while pushed > 0:
        if need[by_value[j]] < 0:
            need[by_value[j]] += 1
            right[j] = True
            pushed -= 1
        j -= 1
    return count


@kernel
def _width(sides, side, count, draws, positions, step):
    """Return how wide a cell of ``draws`` records from one side of a cut is to be expected (side 2: from both).

    A value with the share p is among s records with the chance 1 - (1 - p)**s; between two neighbouring values, with
    the share F up to the first, lies a part of the range of s records with the chance 1 - F**s - (1 - F)**s.
    """
    by_code, size, right = sides
    width, below, run, last = 0.0, 0, 0, -1
    for j in range(size + 1):
        if j < size and side != 2 and right[j] != (side == 1):
            continue
        if j == size or by_code[j] != last:
            if last >= 0:
                below += run
                if step > 0:
                    width += step * (1.0 - (1.0 - run / count) ** draws)
                elif j < size:
                    share = below / count
                    width += (positions[by_code[j]] - positions[last]) * (1.0 - share**draws - (1.0 - share) ** draws)
            if j < size:
                last, run = by_code[j], 0
        run += 1
    return width


@kernel
def _apart(sides, count, draws, positions, step):
    """Return how much narrower the cells of an attribute are to be expected after a cut, over all records."""
    size = sides.size
    before = size * _width(sides, 2, size, draws, positions, step)
    left = count * _width(sides, 0, count, draws, positions, step)
    return before - left - (size - count) * _width(sides, 1, size - count, draws, positions, step)


@kernel
def _narrow(columns, order, sides, count, attributes, mark):
    """Return how narrow the boxes of the two sides are: minus their widths, each as often as it has records.

    ``mark`` has a number for each side and code, none above ``mark[0, -1]``.
    """
    size, right = sides.size, sides.right
    positions, offset, steps = attributes.positions, attributes.offset, attributes.steps
    mark[0, -1] += 1
    stamp = mark[0, -1]
    total = 0.0
    for a in range(columns.shape[0]):
        first, last, distinct = np.full(2, 2147483647), np.full(2, -1), np.zeros(2, np.int64)
        for j in range(size):
            side = 1 if right[j] else 0
            code = columns[a, order[j]]
            if steps[a] > 0:
                if mark[side, offset[a] + code] != stamp:
                    mark[side, offset[a] + code] = stamp
                    distinct[side] += 1
            else:
                first[side] = min(first[side], code)
                last[side] = max(last[side], code)
        for side in range(2):
            if steps[a] > 0:
                width = (distinct[side] - 1) * steps[a]
            else:
                width = positions[offset[a] + last[side]] - positions[offset[a] + first[side]]
            total -= (size - count if side == 1 else count) * width
    return total


@kernel
def deal(records, start, end, groups, due, attributes, once):
    """Cut a node, once or to the end; return where its right side starts and the groups before it (for ``once``).

    At each node the attributes with the largest spread are tried, and the cut is made after which cells of that
    attribute are to be expected the narrowest, near the leaves the one that leaves the narrowest boxes.
    """
    columns, values, numbers, first = records
    positions, boundary, lower, offset, taxonomic, steps = attributes
    d, room_for = columns.shape[0], end - start
    widest = 0
    for a in range(d):
        stop = offset[a + 1] if a + 1 < d else positions.shape[0]
        widest = max(widest, stop - offset[a])
    count = np.zeros(min(widest, SPARSE * room_for + 64) + 2, np.int64)
    order, best_order = np.empty(room_for, np.int64), np.empty(room_for, np.int64)
    right, best_right = np.empty(room_for, np.bool_), np.empty(room_for, np.bool_)
    by_code, by_value = np.empty(room_for, np.int32), np.empty(room_for, np.int32)
    sorted_ = _Sorted(by_code, by_value, count)
    spare = np.empty(room_for, np.int32)
    domain = due.least.shape[0]
    tally = _Tally(
        np.zeros(domain, np.int64),
        np.zeros(domain, np.int64),
        np.empty(domain, np.int64),
        np.empty(domain, np.int64),
        np.empty(domain, np.int64),
    )
    lo, hi, spread = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d)
    mark = np.zeros((2, positions.shape[0] + 1), np.int64)
    nodes = [(start, end, groups)]
    middle, before = start, 0
    while len(nodes) > 0:
        s, e, g = nodes.pop()
        if g == 1:
            first[s] = True
            continue
        size = e - s
        for a in range(d):
            low_code = high_code = columns[a, s]
            total, squares = 0.0, 0.0
            for i in range(s, e):
                code = columns[a, i]
                low_code, high_code = min(low_code, code), max(high_code, code)
                x = positions[offset[a] + code]
                total += x
                squares += x * x
            lo[a], hi[a] = low_code, high_code
            spread[a] = squares - total * total / size
        best_score, best_count, best_groups = -np.inf, 0, 0
        for _ in range(min(TRIES, d)):
            a = int(np.argmax(spread))
            if spread[a] == -np.inf:
                break
            spread[a] = -np.inf
            if lo[a] == hi[a] and best_count > 0:
                continue  # nothing to cut; where no attribute has anything, any cut will do
            _sort(columns[a], values, _Range(s, e, lo[a], hi[a]), order, sorted_)
            at, left = place_cut(by_code, size, g, boundary[offset[a] :], lower[offset[a] :], taxonomic[a])
            m = needs(by_value, size, at, left, g - left, due, tally)
            on_left = change_sides(by_value, size, at, m, tally, right)
            sides = _Sides(by_code, size, right)
            if g <= CLOSE:
                score = _narrow(columns, order, sides, on_left, attributes, mark)
            else:
                score = _apart(sides, on_left, size / g, positions[offset[a] :], steps[a])
            if score > best_score:
                best_score, best_count, best_groups = score, on_left, left
                order, best_order = best_order, order
                right, best_right = best_right, right
        for a in range(d + 2):
            line = columns[a] if a < d else values if a == d else numbers
            x, y = 0, best_count
            for j in range(size):
                if best_right[j]:
                    spare[y] = line[best_order[j]]
                    y += 1
                else:
                    spare[x] = line[best_order[j]]
                    x += 1
            for j in range(size):
                line[s + j] = spare[j]
        middle, before = s + best_count, best_groups
        if once:
            break
        nodes.append((s, middle, before))
        nodes.append((middle, e, g - before))
    return middle, before
