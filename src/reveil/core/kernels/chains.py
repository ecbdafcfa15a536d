"""Sets of possible values, as bits, narrowed along people's lives and by the groups that may hold them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel

FEW = 8  # candidates that an appearance may have to be compared with those of the same person's other appearances


class LiveCandidates(NamedTuple):
    """Appearance i may be in the groups ``groups[offsets[i]:offsets[i + 1]]``, as far as they are ``alive``.

    Appearances that are ``loose`` may be in no group.
    """

    offsets: npt.NDArray[np.int64]  # (appearances + 1)
    groups: npt.NDArray[np.int32]  # (candidates)
    sets: npt.NDArray[np.uint64]  # (groups, words): the values of each group as bits
    loose: npt.NDArray[np.bool_]  # (appearances)
    alive: npt.NDArray[np.bool_]  # (candidates); changed


class Marks(NamedTuple):
    """What has happened to each appearance; marks are added."""

    dirty: npt.NDArray[np.bool_]  # (appearances): something has changed
    broken: npt.NDArray[np.bool_]  # (appearances): nothing would be left


class ReleaseCandidates(NamedTuple):
    """The appearances of one release: who, and in which of its groups they may be."""

    offsets: npt.NDArray[np.int64]  # (appearances + 1)
    groups: npt.NDArray[np.int32]  # (candidates), numbered within the release
    first: int  # the number of its first group among all
    person: npt.NDArray[np.int32]  # (appearances)
    release: int


class GroupSets(NamedTuple):
    """The sets of values of all groups: as bits, how many values each has, and a number for equal sets."""

    bits: npt.NDArray[np.uint64]  # (groups, words)
    distinct: npt.NDArray[np.int64]  # (groups)
    signature: npt.NDArray[np.int32]  # (groups)


class SignaturesLeft(NamedTuple):
    """What each appearance has left: how many groups, the fewest values of one, one group, whether all have one set."""

    many: npt.NDArray[np.int64]  # (appearances)
    least: npt.NDArray[np.int64]  # (appearances)
    group: npt.NDArray[np.int64]  # (appearances)
    agreed: npt.NDArray[np.bool_]  # (appearances)


@kernel
def admit(candidates, masks, marks):
    """Drop the groups of each appearance that share no value with its mask, and from the mask what no other group has.

    Appearances that are ``loose`` may be in no group: their masks stay. An appearance that nothing would be left of is
    ``broken`` and stays as it is. Whatever changes is ``dirty``. ``masks`` is (appearances, words). Returns how many
    appearances
    changed.
    """
    offsets, groups, sets = candidates.offsets, candidates.groups, candidates.sets
    loose, alive = candidates.loose, candidates.alive
    dirty, broken = marks.dirty, marks.broken
    words = masks.shape[1]
    union = np.zeros(words, np.uint64)
    moved = 0
    for i in range(masks.shape[0]):
        if offsets[i] == offsets[i + 1]:
            continue
        union[:] = 0
        kept, dropped = 0, 0
        for e in range(offsets[i], offsets[i + 1]):
            if not alive[e]:
                continue
            meets = False
            for w in range(words):
                if sets[groups[e], w] & masks[i, w]:
                    meets = True
            if meets:
                kept += 1
                for w in range(words):
                    union[w] |= sets[groups[e], w]
            else:
                dropped += 1
        if kept == 0 and not loose[i]:
            broken[i] = True
            continue
        changed = dropped > 0
        if dropped > 0:
            for e in range(offsets[i], offsets[i + 1]):
                if alive[e]:
                    meets = False
                    for w in range(words):
                        if sets[groups[e], w] & masks[i, w]:
                            meets = True
                    alive[e] = meets
        if not loose[i]:
            for w in range(words):
                if masks[i, w] & ~union[w]:
                    masks[i, w] &= union[w]
                    changed = True
        if changed:
            dirty[i] = True
            moved += 1
    return moved


@kernel
def chain(before, changed, masks, marks):
    """Narrow masks along each life, forwards and backwards: equal where nothing changed, different where it did.

    ``before`` is the appearance of the same person before each one (-1: none), always a smaller number; ``changed`` is
    0 where the value is known to be the same as there, 1 where it is known to be another, -1 where nothing is known. A
    pair that excludes each other is ``broken`` and stays as it is. Returns how many appearances changed.
    """
    dirty, broken = marks.dirty, marks.broken
    n, words = masks.shape
    moved = 0
    for turn in range(2):
        for k in range(n):
            i = k if turn == 0 else n - 1 - k
            j = before[i]
            if j < 0 or changed[i] < 0:
                continue
            if changed[i] == 0:
                common = False
                for w in range(words):
                    if masks[i, w] & masks[j, w]:
                        common = True
                if not common:
                    broken[i] = True
                    broken[j] = True
                    continue
                for one, other in ((i, j), (j, i)):
                    narrower = False
                    for w in range(words):
                        if masks[one, w] & ~masks[other, w]:
                            masks[one, w] &= masks[other, w]
                            narrower = True
                    if narrower:
                        dirty[one] = True
                        moved += 1
                continue
            for one, other in ((i, j), (j, i)):
                if _bits(masks, one) != 1:
                    continue
                meets = False
                for w in range(words):
                    if masks[one, w] & masks[other, w]:
                        meets = True
                if not meets:
                    continue
                if _bits(masks, other) == 1:
                    broken[i] = True
                    broken[j] = True
                    continue
                for w in range(words):
                    masks[other, w] &= ~masks[one, w]
                dirty[other] = True
                moved += 1
    return moved


@kernel
def _bits(masks, i):
    """Count up to two bits of a mask."""
    count = 0
    for w in range(masks.shape[1]):
        word = masks[i, w]
        while word and count < 2:
            word &= word - np.uint64(1)
            count += 1
    return count


@kernel
def agree(persons, person_appearances, candidates, before, kept, everywhere, marks):
    """Drop the groups of an appearance whose values do not go with any that the person may have at another time.

    ``person_appearances[persons[p]:persons[p + 1]]`` are the appearances of person p. ``everywhere``: any two sets of a
    person are equal or share nothing. Otherwise the sets of an appearance and the one before it are equal where
    ``kept``. Only appearances with few candidates are held against the others. Returns how many appearances changed.
    """
    offsets, groups, sets = candidates.offsets, candidates.groups, candidates.sets
    loose, alive = candidates.loose, candidates.alive
    dirty, broken = marks.dirty, marks.broken
    moved = 0
    for p in range(persons.shape[0] - 1):
        for a in range(persons[p], persons[p + 1]):
            j = person_appearances[a]
            few = 0
            for f in range(offsets[j], offsets[j + 1]):
                few += alive[f]
            if loose[j] or few == 0 or few > FEW:
                continue
            for b in range(persons[p], persons[p + 1]):
                i = person_appearances[b]
                linked = (before[i] == j and kept[i]) or (before[j] == i and kept[j])
                if i == j or not (everywhere or linked):
                    continue
                left, dropped = 0, 0
                for turn in range(2):
                    # First look whether anything would be left, then drop.
                    if turn == 1 and (dropped == 0 or (left == 0 and not loose[i])):
                        break
                    for e in range(offsets[i], offsets[i + 1]):
                        if not alive[e]:
                            continue
                        good = False
                        for f in range(offsets[j], offsets[j + 1]):
                            if alive[f] and go_together(sets, groups[e], groups[f], everywhere):
                                good = True
                                break
                        if turn == 1:
                            alive[e] = good
                        elif good:
                            left += 1
                        else:
                            dropped += 1
                if dropped > 0:
                    if left == 0 and not loose[i]:
                        broken[i] = True
                    else:
                        dirty[i] = True
                        moved += 1
    return moved


@kernel
def go_together(sets, one, other, apart):
    """Return whether two sets are equal or, where that is allowed, share nothing."""
    equal, disjoint = True, True
    for w in range(sets.shape[1]):
        if sets[one, w] != sets[other, w]:
            equal = False
        if sets[one, w] & sets[other, w]:
            disjoint = False
    return equal or (apart and disjoint)


@kernel
def signatures_left(placed, told, group_sets, out):
    """Look which signatures each appearance of a release may have beside those that the person is known to have had.

    ``told[p, t]`` is a group with the signature of person p in release t, -1 where it is not known; any two signatures
    of a person are equal or share nothing. Writes what is left for each appearance into ``out``.
    """
    offsets, groups, person = placed.offsets, placed.groups, placed.person
    first, release = placed.first, placed.release
    sets, distinct, signature = group_sets.bits, group_sets.distinct, group_sets.signature
    many, least, group, agreed = out.many, out.least, out.group, out.agreed
    for i in range(person.shape[0]):
        p = person[i]
        many[i], least[i], group[i], agreed[i] = 0, 0, -1, True
        for e in range(offsets[i], offsets[i + 1]):
            g = groups[e] + first
            good = True
            for t in range(told.shape[1]):
                if t != release and told[p, t] >= 0 and not go_together(sets, g, told[p, t], True):
                    good = False
                    break
            if not good:
                continue
            if many[i] == 0 or distinct[g] < least[i]:
                least[i] = distinct[g]
            if many[i] == 0:
                group[i] = g
            elif signature[g] != signature[group[i]]:
                agreed[i] = False
            many[i] += 1
        if many[i] == 0:
            agreed[i] = False
