"""Runs, cells and what is left of a group: the integer reasoning that the attacks over several releases share.

A *run* is a person over the releases in which their value is known to be the same. A *cell* is the persons whose runs
were in the same groups of the same releases. Of a set of persons inside a group, counting gives bounds on how many of
them have each value: at most the rows of that value that others need not have, at least the rows that nobody else
can have. Where both bounds meet, the share is exact, because persons who were in the same groups are interchangeable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.evidence import Evidence
    from reveil.adversary.view import View

FloatArray = npt.NDArray[np.float64]

COMPARED = 3  # releases that lie no further apart are always compared
ROWS = 15_000_000  # persons of all pairs of releases that are compared, beside those
LOOKS = 1_000_000_000  # the same, where a pair costs no more than a look at each person

UNSURE, ABSENT = -1, -2  # in a release with an unknown group; not in a release


@dataclass(frozen=True)
class Runs:
    """The runs of all persons. ``of_view[t]`` is the run of each person present in view t.

    ``where[t]`` is the group of each run in view t, UNSURE where it is not known, ABSENT where the run is not there.
    """

    person: CodeArray = field(repr=False)
    of_view: tuple[CodeArray, ...] = field(repr=False)
    where: tuple[CodeArray, ...] = field(repr=False)

    @cached_property
    def seen(self) -> CodeArray:
        """In how many views the group of each run is known."""
        seen = np.zeros(len(self.person), np.int32)
        for groups in self.where:
            seen += groups >= 0
        return seen


def runs_of(evidence: Evidence) -> Runs:
    """Cut every person's attendance into runs of the same value."""
    current = np.full(len(evidence.persons), -1, np.int32)
    of_view, owners, used = [], [], 0
    for view, changed in zip(evidence.views, evidence.changed, strict=True):
        fresh = view.present[changed != 0]
        current[fresh] = np.arange(used, used + len(fresh), dtype=np.int32)
        used += len(fresh)
        owners.append(fresh)
        of_view.append(current[view.present])
    where = []
    for view, runs in zip(evidence.views, of_view, strict=True):
        groups = np.full(used, ABSENT, np.int32)
        # -1 is UNSURE. Of a group with a suppressed value, nothing is known of anybody by what is not in it.
        groups[runs] = np.where(np.append(view.veiled, False)[view.sure], UNSURE, view.sure)
        where.append(groups)
    return Runs(np.concatenate(owners) if owners else current[:0], tuple(of_view), tuple(where))


def count_of(view: View, groups: npt.NDArray[np.integer], codes: npt.NDArray[np.integer], domain: int) -> IntArray:
    """Return how many rows of each group have the value beside it."""
    place, found = places_of(view, groups, codes, domain)
    return np.where(found, view.counts[place] if len(view.counts) else 0, 0).astype(np.int64)


def places_of(
    view: View, groups: npt.NDArray[np.integer], codes: npt.NDArray[np.integer], domain: int
) -> tuple[IntArray, BoolArray]:
    """Return where the counts of these groups and values stand, and whether they do."""
    owners = view.values.owners()
    keys = owners * domain + view.codes
    wanted = groups.astype(np.int64) * domain + codes
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    found: BoolArray = keys[place] == wanted if len(keys) else np.zeros(len(wanted), np.bool_)
    return place, found


@dataclass(frozen=True)
class Bounds:
    """For sets of persons: the values they may have, and how many of the set have each at least and at most.

    Set i has ``size[i]`` persons and the values ``values[i]``, codes; ``lo`` and ``hi`` lie beside ``values.items``.
    """

    size: IntArray
    values: Ragged[np.int32]
    lo: IntArray
    hi: IntArray

    @classmethod
    def of(cls, sets: IntArray, codes: CodeArray, lo: IntArray, hi: IntArray, size: IntArray) -> Bounds:
        """Make the bounds of entries (sorted by set) as tight as the other values make them; drop impossible values."""
        hi = np.minimum(hi, size[sets])
        kept = hi > 0
        sets, codes, lo, hi = sets[kept], codes[kept], np.maximum(lo[kept], 0), hi[kept]
        most = np.bincount(sets, hi, len(size)).astype(np.int64)
        least = np.bincount(sets, np.minimum(lo, hi), len(size)).astype(np.int64)
        lo, hi = (
            np.maximum(lo, size[sets] - (most[sets] - hi)),
            np.minimum(hi, size[sets] - (least[sets] - np.minimum(lo, hi))),
        )
        return cls(size, Ragged.of_sorted_owners(sets, len(size), codes), lo, hi)

    def best(self) -> tuple[BoolArray, CodeArray, FloatArray, FloatArray, BoolArray]:
        """Return, for each set, whether anything is said, the value most to be believed, and how strongly.

        That is an estimate, what is proven of it, and whether the two are the same. Sets whose bounds contradict each
        other (the tables do not belong together) say nothing.
        """
        sets = self.values.owners()
        wrong = np.zeros(len(self.size), np.bool_)
        wrong[sets[self.lo > self.hi]] = True
        total = np.bincount(sets, self.hi, len(self.size))
        share = np.clip(self.hi / np.maximum(total[sets], 1), self.lo / self.size[sets], self.hi / self.size[sets])
        order = np.lexsort((self.values.items, -share, -self.lo, sets))
        said = (self.values.lengths > 0) & ~wrong & (total >= self.size) & (self.size > 0)
        first = order[self.values.starts[said]]
        value, belief = np.zeros(len(said), np.int32), np.zeros(len(said))
        proven, exact = np.zeros(len(said)), np.zeros(len(said), np.bool_)
        value[said], belief[said] = self.values.items[first], share[first]
        proven[said] = self.lo[first] / self.size[said]
        exact[said] = self.lo[first] == self.hi[first]
        return said, value, belief, proven, exact


def cell_bounds(evidence: Evidence, runs: Runs, least: int = 2) -> tuple[IntArray, IntArray, Bounds]:
    """Bound the values of the cells of runs that were in known groups of at least so many views.

    Return the runs, the cell of each, and the bounds of the cells.
    """
    chosen = np.flatnonzero(runs.seen >= least)
    cells = np.zeros(len(chosen), np.int64)
    for view, groups in zip(evidence.views, runs.where, strict=True):
        key = cells * (view.n_groups + 1) + np.maximum(groups[chosen], -1) + 1
        _, cells = np.unique(key, return_inverse=True)
    _, first, size = np.unique(cells, return_index=True, return_counts=True)
    size = size.astype(np.int64)
    domain = max(len(evidence.values), 1)
    started = np.zeros(len(first), np.bool_)
    sets, codes = np.zeros(0, np.int64), np.zeros(0, np.int32)
    lo, hi = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for view, groups in zip(evidence.views, runs.where, strict=True):
        group = groups[chosen[first]]
        there = group >= 0
        known = there[sets]
        here = count_of(view, group[sets[known]], codes[known], domain)
        others = (view.sizes[group[sets[known]]] - size[sets[known]]) if known.any() else here[:0]
        hi[known] = np.minimum(hi[known], here)
        lo[known] = np.maximum(lo[known], here - others)
        kept = hi > 0
        sets, codes, lo, hi = sets[kept], codes[kept], lo[kept], hi[kept]
        new = np.flatnonzero(there & ~started)
        row, place = view.values.places(group[new])
        rows = view.counts[place]
        sets, codes = np.concatenate([sets, new[row]]), np.concatenate([codes, view.codes[place]])
        lo = np.concatenate([lo, rows - (view.sizes[group[new]] - size[new])[row]])
        hi = np.concatenate([hi, rows])
        started |= there
    order = np.lexsort((codes, sets))
    return chosen, cells, Bounds.of(sets[order], codes[order], lo[order], hi[order], size)


@dataclass(frozen=True)
class Pair:
    """Two releases side by side: of each group of ``view``, who is in which group of ``other`` with the same value.

    ``stays`` are the pairs (group, other group) and how many persons share them. The *rest* of a group are its known
    persons who are not in the other release with that value; ``remainder`` is how many they are, ``others`` how many of
    its records may be anybody's. ``apart``: whether all of the rest are absent from the other release, with
    whatever value.
    """

    view: View
    other: View
    group: IntArray
    into: IntArray
    stays: IntArray
    remainder: IntArray
    others: IntArray
    apart: BoolArray
    persons: IntArray  # places in view.present of the rest

    def bounds(self, domain: int) -> Bounds:
        """Bound the values of the rest of each group by what those who stay can have."""
        view, other = self.view, self.other
        row, place = other.values.places(self.into)
        at, found = places_of(view, self.group[row], other.codes[place], domain)
        row, place, at = row[found], place[found], at[found]
        # Those who stay have the values of both groups, each at most as often as both have it.
        many, ours, theirs = self.stays[row], view.counts[at], other.counts[place]
        hi = np.minimum(np.minimum(ours, theirs), many)
        total = np.bincount(row, hi, len(self.stays)).astype(np.int64)[row]
        others = np.minimum(view.sizes[self.group[row]] - ours, other.sizes[self.into[row]] - theirs)
        lo = np.maximum(many - np.minimum(others, total - hi), 0)
        most, least = np.zeros(len(view.counts), np.int64), np.zeros(len(view.counts), np.int64)
        np.add.at(most, at, hi)
        np.add.at(least, at, lo)
        sets = view.values.owners()
        sure = view.counts - (view.fakes + self.others)[sets] - most
        return Bounds.of(sets, view.codes, sure, view.counts - least, self.remainder)


def containing(evidence: Evidence, runs: Runs, number: int, with_: int) -> BoolArray:
    """Return the groups of one release with more people than a whole group of another that lies inside them.

    A few looks at each person: cheap enough for any two of many releases.
    """
    view, other = evidence.views[number], evidence.views[with_]
    place = runs.where[with_][runs.of_view[number][view.known]]
    stays = view.known[place >= 0]
    group, into = view.sure[stays], place[place >= 0]
    some = np.full(other.n_groups, -1, np.int32)
    some[into] = group  # of whichever comes last: where all agree it does not matter
    whole = np.bincount(into, minlength=other.n_groups) == other.sizes
    whole[into[some[into] != group]] = False
    found = np.zeros(view.n_groups, np.bool_)
    whole &= some >= 0
    found[some[whole][other.sizes[whole] < view.sizes[some[whole]]]] = True
    return found


def pair_of(evidence: Evidence, runs: Runs, number: int, with_: int, only: BoolArray | None = None) -> Pair:
    """Set one release beside another, or ``only`` some of its groups."""
    view, other = evidence.views[number], evidence.views[with_]
    group, place = view.sure, runs.where[with_][runs.of_view[number]]
    inside = (group >= 0) & ~np.append(view.veiled, False)[group]  # a suppressed value may be anybody's
    if only is not None:
        inside &= only[group]
    stays = inside & (place >= 0)
    key, many = np.unique(group[stays].astype(np.int64) * max(other.n_groups, 1) + place[stays], return_counts=True)
    rest = np.flatnonzero(inside & (place == ABSENT))
    n_rest = np.bincount(group[rest], minlength=view.n_groups).astype(np.int64)
    n_stay = np.bincount(group[stays], minlength=view.n_groups).astype(np.int64)
    there = np.zeros(len(evidence.persons), np.bool_)
    there[other.present] = True
    apart = np.ones(view.n_groups, np.bool_)
    apart[group[rest[there[view.present[rest]]]]] = False
    return Pair(
        view,
        other,
        key // max(other.n_groups, 1),
        key % max(other.n_groups, 1),
        many.astype(np.int64),
        n_rest,
        view.real - n_rest - n_stay,
        apart,
        rest,
    )


def pairs_of(present: Sequence[int], near: int = COMPARED, rows: int = ROWS) -> list[tuple[int, int]]:
    """Return the releases to be set beside each other, both ways; ``present`` are the persons of each.

    Those ``near`` in time and the first with the last always; then those at distances that double, then any two, as
    long as the persons of all pairs are no more than ``rows``: the cost stays linear in persons for any number of
    releases. Up to 12 releases of 100,000 persons, and 30 of 10,000, that is every two. With ``rows`` = LOOKS it is up
    to 99 of 100,000.
    """
    many = len(present)
    last = many - 1
    doubling = {near + 1 << step for step in range(many.bit_length())}

    def far(pair: tuple[int, int]) -> tuple[int, int]:
        away = abs(pair[0] - pair[1])
        if away <= near or away == last:
            return 0, 0
        return (1 if away in doubling else 2), away

    pairs = sorted(((s, t) for s in range(many) for t in range(many) if s != t), key=far)
    cost = np.cumsum([present[number] for number, _ in pairs])
    needed = sum(1 for pair in pairs if far(pair) == (0, 0))
    return pairs[: max(needed, int(np.searchsorted(cost, rows, side="right")))]


def compared(many: int, pairs: list[tuple[int, int]]) -> dict[str, int]:
    """Return for a summary how many of all ordered pairs of ``many`` releases were set beside each other."""
    return {"pairs": len(pairs), "pairs_in_all": many * (many - 1)}
