"""Groups for budgets, afterwards: items that were left over find a place, and large groups are split.

What is allowed, and what ``points`` and ``labels`` are, is said in :mod:`reveil.core.kernels.budget_items`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel
from reveil.core.kernels.budget_items import ValueTally, accepts, count_in, count_out, extend, widening_by

TRIES = 8  # so many groups that could take an item are compared
MERGED = 64  # so many groups are merged at most
CUTS = 32  # so many places to split a group are tried


class MemberLists(NamedTuple):
    """The items of each group as a linked list: first ``head[g]``, and ``behind[i]`` behind item i."""

    head: npt.NDArray[np.int64]  # (groups); -1: none
    behind: npt.NDArray[np.int64]  # (items); -1: none
    sizes: npt.NDArray[np.int64]  # (groups)


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
                count_in(m, items, tally)
                extend(points, m, low, high)
                m = behind[m]
            good = accepts(item, sizes[g] + 1, items, most, tally)
            m = head[g]
            while m >= 0:
                count_out(m, items, tally)
                m = behind[m]
            if good:
                found += 1
                growth = widening_by(points, item, low, high)
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
    count_in(item, items, tally)
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
            count_in(m, items, tally)
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
    count_out(item, items, tally)
    for c in range(many):
        m = head[chosen[c]]
        while m >= 0:
            count_out(m, items, tally)
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
        count_in(item, items, tally)
    good = True
    for item in chosen:
        v = values[item]
        good = good and (v < 0 or (count[v] <= most[size] and count[v] * need[v] <= size))
    for item in chosen:
        count_out(item, items, tally)
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
