"""How strongly one release alone lets a value be believed, for groups and for persons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from reveil.adversary.attacks.base import Findings, mask_of
from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.view import View

FloatArray = npt.NDArray[np.float64]

AT_ONCE = 1 << 22  # pairs of persons and groups that are looked at together


@dataclass(frozen=True)
class GroupBeliefs:
    """The belief that each group gives a member in each of its values, in the order of the view's ``codes``."""

    each: FloatArray
    best: FloatArray
    value: CodeArray


def group_beliefs(view: View) -> GroupBeliefs:
    """Return the share of the worlds of each group in which a member has each of its values.

    Without counterfeits this is the share of the rows. With some, a world says who has what and not which row is
    nobody's, so that rows of one value make no second world: the share follows from counting such worlds.
    """
    sizes = np.repeat(view.sizes, view.values.lengths)
    each: FloatArray = view.counts / np.maximum(sizes, 1)
    largest = np.zeros(view.n_groups, np.int64)
    np.maximum.at(largest, view.values.owners(), view.counts)
    # Where all values differ, every one is as good as another.
    odd = np.flatnonzero((view.fakes > 0) & (largest > 1) & (view.real > 0))
    known: dict[tuple[int, ...], FloatArray] = {}
    for group in odd:
        start, end = view.values.offsets[group], view.values.offsets[group + 1]
        shape = (int(view.real[group]), *view.counts[start:end].tolist())
        if shape not in known:
            known[shape] = _counted(shape[0], shape[1:])
        each[start:end] = known[shape]
    best, value = likeliest(view.values, each)
    return GroupBeliefs(each, best, value)


def world_shares(sets: IntArray, rows: IntArray, members: IntArray, fakes: IntArray) -> FloatArray:
    """Return the share of worlds in which a member of a set has each value, as :func:`group_beliefs` does.

    ``rows`` are those of each value of a set (sets lie together, from 0); the others are numbers of its set.
    """
    many = int(sets.max(initial=-1)) + 1
    whole, largest = np.bincount(sets, rows, many), np.zeros(many, np.int64)
    np.maximum.at(largest, sets, rows)
    each: FloatArray = rows / np.maximum(whole[sets], 1)
    starts = np.append(np.flatnonzero(np.diff(sets, prepend=-1)), len(sets))
    known: dict[tuple[int, ...], FloatArray] = {}
    for number in np.unique(sets[(fakes > 0) & (largest[sets] > 1)]):
        start, end = starts[number], starts[number + 1]
        shape = (int(members[start]), *rows[start:end].tolist())
        if shape not in known:
            known[shape] = _counted(shape[0], shape[1:])
        each[start:end] = known[shape]
    return each


def likeliest(codes: Ragged[np.int32], numbers: FloatArray) -> tuple[FloatArray, CodeArray]:
    """Return the largest number of each row and its code, the first of equal ones; empty rows have 0 and -1."""
    best, value = codes.reduce(np.maximum, numbers), np.full(len(codes), -1, np.int32)
    rows = codes.owners()
    top = np.flatnonzero(numbers >= best[rows])[::-1]
    value[rows[top]] = codes.items[top]
    return best, value


def _counted(members: int, rows: tuple[int, ...]) -> FloatArray:
    """Return the share of the ways to give members different-or-equal values, at most as often as there are rows."""
    ways = _ways(rows, members)
    return np.array([_ways((*rows[:i], n - 1, *rows[i + 1 :]), members - 1) / ways for i, n in enumerate(rows)])


def _ways(rows: tuple[int, ...], members: int) -> int:
    """Count the sequences of so many values in which each value occurs at most as often as it has rows."""
    from math import comb

    ways = [1] + [0] * members
    for most in rows:
        ways = [sum(comb(n, times) * ways[n - times] for times in range(min(most, n) + 1)) for n in range(members + 1)]
    return ways[members]


def believed(evidence: Evidence, view: View, each: FloatArray | None, best: FloatArray, value: CodeArray) -> Findings:
    """Turn numbers about groups into findings about the persons who are, or may be, in them.

    Exact where the persons of the group are known; a lower limit where more persons fit it than it has records, and
    fit no other; for persons with several candidate groups an estimate, the average over these by their rows, or
    nothing where ``each`` is not given.
    """
    single, several = view.only >= 0, view.candidates.lengths > 1
    group = view.only[single]
    there = np.ones(len(group))
    if not view.all_published:
        there = np.minimum(view.real[group] / np.maximum(view.fits[group], 1), 1.0)
    # What a suppressed value is, nobody knows: the rows of a value that are told are the fewest there are.
    exact = view.known_members[group] & ~view.veiled[group]
    belief = best[group] * there
    sure = (best[group] >= 1) & (view.sure[single] >= 0)
    parts = [
        (view.present[single], belief, value[group], exact | sure, np.where(view.closed[group], belief, np.nan)),
    ]
    if each is not None and several.any():
        parts.append(_averaged(view, np.flatnonzero(several), each, len(evidence.values)))
    person, belief, codes, exact, lower = (np.concatenate([part[i] for part in parts]) for i in range(5))
    good = codes >= 0
    mask = np.full(int(good.sum()), mask_of(evidence, view.number), np.int64)
    at = np.full(len(mask), view.number, np.int32)
    return Findings(
        person[good].astype(np.int32), belief[good], codes[good].astype(np.int32), exact[good].astype(np.bool_), mask,
        {}, np.where(exact, np.nan, lower)[good], at,
    )  # fmt: skip


def _averaged(
    view: View, persons: IntArray, each: FloatArray, domain: int
) -> tuple[CodeArray, FloatArray, CodeArray, BoolArray, FloatArray]:
    """Average over the candidate groups of some persons; certain, and then exact, where they all have one value."""
    rows = np.repeat(view.sizes, view.values.lengths)
    # Whole numbers where there are no counterfeits: sums of them do not depend on the order.
    told = csr_array((np.round(each * rows, 9), view.codes, view.values.offsets), shape=(view.n_groups, max(domain, 1)))
    belief, value = np.zeros(len(persons)), np.full(len(persons), -1, np.int32)
    ends = np.cumsum(view.candidates.lengths[persons])
    start = 0
    while start < len(persons):
        before = ends[start - 1] if start else 0
        end = max(int(np.searchsorted(ends, before + AT_ONCE, side="right")), start + 1)
        taken = view.candidates.take(persons[start:end])
        total = taken.reduce(np.add, view.sizes[taken.items])
        members = csr_array((np.ones(len(taken.items)), taken.items, taken.offsets), shape=(end - start, view.n_groups))
        mixed = (members @ told).tocsr()
        mixed.sort_indices()  # of equal values the first is taken, in whatever order the groups came
        best, value[start:end] = likeliest(
            Ragged(mixed.indptr.astype(np.int64), mixed.indices.astype(np.int32)), mixed.data
        )
        belief[start:end] = best / np.maximum(total, 1)
        single = (np.diff(mixed.indptr) == 1) & ~taken.reduce(np.logical_or, view.veiled[taken.items])
        belief[start:end][single] = 1.0
        start = end
    certain = (belief >= 1) & view.all_published
    return view.present[persons], belief, value, certain, np.full(len(persons), np.nan)
