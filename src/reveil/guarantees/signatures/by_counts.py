"""How many go where, decided by counts: for releases whose people are not in one memory.

What decides is what decides in memory (frequencies of values, how many keep what), and so is the code: holes are filled
as :func:`~reveil.guarantees.signatures.frequencies.quota` says, and who is left is assigned by frequency. Only who is
near to whom is not looked at here: the places are dealt afterwards along a curve (:mod:`.dealing`), and boxes are made
narrow when each bucket is split.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import IntArray, Ragged
from reveil.guarantees.signatures.frequencies import fewest_counterfeits, known_steps, padding, quota
from reveil.guarantees.signatures.planning import MOST_SETS, MOST_VALUES
from reveil.guarantees.signatures.program import FloatArray, ValueDemand, solved
from reveil.guarantees.signatures.sets import Sets

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray


_SMALL = 1e-7


@dataclass(frozen=True)
class CountedDemand:
    """Who has to be placed, in numbers.

    ``keep`` (members of ``sets``) counts who keeps each value of each signature, ``fresh`` (values) those who were told
    nothing. Movers come in classes: ``moving`` is their value, ``told`` what they were told, ``movers`` their number.
    """

    sets: Sets
    keep: IntArray = field(repr=False)
    fresh: IntArray = field(repr=False)
    moving: CodeArray = field(repr=False)
    told: Sets
    movers: IntArray = field(repr=False)
    domain: CodeArray = field(repr=False)


@dataclass(frozen=True)
class Decision:
    """How many go to which of ``sets``.

    ``newcomers`` (members of ``sets``) are new records of each value of each set; of the mover class ``pairs[i, 0]``
    ``moved[i]`` go to the set ``pairs[i, 1]``. ``fewest``: see :class:`~reveil.guarantees.signatures.machine.Groups`.
    """

    sets: Sets
    newcomers: IntArray = field(repr=False)
    pairs: IntArray = field(repr=False)
    moved: IntArray = field(repr=False)
    fewest: int


def decided(demand: CountedDemand, m: int, planned: Decision | None = None) -> Decision:
    """Place everybody: movers and newcomers into holes, movers left over beside newcomers, these by frequency.

    Those of whom a plan says where they go are there before (see :func:`planned_counts`).
    """
    return _Placing(demand, m, planned).done()


def planned_counts(demand: CountedDemand, apart: FloatArray, values: CodeArray, m: int, rounds: int) -> Decision | None:
    """Return what the linear program says of newcomers and movers, in whole people; None where there is no plan.

    ``apart`` is how far the records of each two of the ``values`` lie apart. What is lost by rounding down is placed
    by :func:`decided`.
    """
    active = (
        np.flatnonzero(demand.sets.lists.reduce(np.add, demand.keep)) if len(demand.sets) else np.zeros(0, np.int64)
    )
    if not m <= len(values) <= MOST_VALUES or len(active) > MOST_SETS:
        return None
    width = len(demand.fresh)
    places = np.full(width, -1, np.int64)
    places[values] = np.arange(len(values))
    sets = demand.sets.take(active)
    keep = np.zeros(0, np.int64)
    if len(active):
        keep = np.concatenate([demand.keep[demand.sets.offsets[s] : demand.sets.offsets[s + 1]] for s in active])
    order = np.lexsort((places[sets.members], sets.of_member))
    barred = np.zeros((len(demand.movers), len(values)), np.bool_)
    inside = places[demand.told.members]
    barred[demand.told.of_member[inside >= 0], inside[inside >= 0]] = True
    found = solved(
        ValueDemand(
            Ragged(sets.offsets, places[sets.members][order].astype(np.int64)),
            keep[order],
            demand.fresh[values].astype(np.int64),
            places[demand.moving],
            demand.movers,
            barred,
        ),
        apart,
        m,
        rounds,
    )
    if found is None:
        return None
    offered = Sets.of([values[row].tolist() for row in found.sets])
    # The members of a set ascend by code, the places of values may not.
    member = offered.places(found.sets.owners(), values[found.sets.items])
    newcomers = np.zeros(len(offered.members), np.int64)
    newcomers[member] = np.floor(found.newcomers + _SMALL).astype(np.int64)
    pairs = found.pairs.reshape(-1, 2).astype(np.int64)
    return Decision(offered, newcomers, pairs, np.floor(found.moved + _SMALL).astype(np.int64), 0)


class _Placing:
    """The counts that are left while people are placed."""

    def __init__(self, demand: CountedDemand, m: int, planned: Decision | None = None) -> None:
        self.demand, self.m = demand, m
        self.sets = demand.sets
        self.left = demand.fresh.astype(np.int64)
        self.width = len(self.left)
        self.movers = demand.movers.astype(np.int64)
        self.newcomers = np.zeros(len(self.sets.members), np.int64)
        self.made: list[tuple[CodeArray, IntArray]] = []  # sets that are new, and their newcomers
        self.pairs: list[tuple[int, int, int]] = []  # class, set (new ones behind the known), people
        kept = demand.keep.astype(np.int64)
        deficit = self._lacking(kept)
        moving = np.bincount(demand.moving, weights=demand.movers, minlength=self.width).astype(np.int64)
        self.fewest = fewest_counterfeits(deficit, self.left + moving, m)
        if planned is not None:
            kept = self._follow(planned, kept)
        self.sizes = self.sets.lists.reduce(np.maximum, kept) if len(self.sets) else np.zeros(0, np.int64)
        self.holes = np.repeat(self.sizes, self.sets.sizes) - kept
        self.weights = self.sets.lists.reduce(np.add, kept) if len(self.sets) else np.zeros(0, np.int64)

    def done(self) -> Decision:
        """Place everybody."""
        over = [self._into_holes(c) for c in range(len(self.movers))]
        self._fill()
        for c in sorted(range(len(over)), key=lambda c: (-over[c], c)):
            self._beside_newcomers(c, over[c])
        self._by_frequency()
        return self._decision(self.fewest)

    def _lacking(self, kept: IntArray) -> IntArray:
        """Return how many records of each value the known sets lack."""
        if not len(self.sets):
            return np.zeros(self.width, np.int64)
        sizes = self.sets.lists.reduce(np.maximum, kept)
        holes = np.repeat(sizes, self.sets.sizes) - kept
        return np.bincount(self.sets.members, weights=holes, minlength=self.width).astype(np.int64)

    def _follow(self, planned: Decision, kept: IntArray) -> IntArray:
        """Place those whom a plan speaks of, as far as there are so many; return how many are in each place then."""
        every, place = self.sets.join(planned.sets).distinct()
        place = place[len(self.sets) :]
        kept = np.append(kept, np.zeros(len(every.members) - len(kept), np.int64))  # the known sets come first
        self.sets, self.newcomers = every, np.zeros(len(every.members), np.int64)
        rows = every.places(place[planned.sets.of_member], planned.sets.members)
        for row, value, many in zip(rows, planned.sets.members, planned.newcomers, strict=True):
            given = min(int(many), int(self.left[value]))
            self.newcomers[row] += given
            self.left[value] -= given
        there = kept + self.newcomers
        for (c, s), many in zip(planned.pairs, planned.moved, strict=True):
            given = min(int(many), int(self.movers[c]))
            if given and self._apart(int(c))[place[s]]:
                self.movers[c] -= given
                self.pairs.append((int(c), int(place[s]), given))
                there[every.places(place[s : s + 1], self.demand.moving[c : c + 1])] += given
        return there

    def _apart(self, c: int) -> BoolArray:
        """Return which known sets have the value of a class of movers, and share nothing with what they were told."""
        told = np.zeros(self.width, np.bool_)
        told[self.demand.told.lists[c]] = True
        shared = np.bincount(self.sets.of_member[told[self.sets.members]], minlength=len(self.sets)) > 0
        has = np.zeros(len(self.sets), np.bool_)
        has[self.sets.of_member[self.sets.members == self.demand.moving[c]]] = True
        return has & ~shared

    def _into_holes(self, c: int) -> int:
        """Put movers into holes, the largest first; return how many are left."""
        left, value = int(self.movers[c]), self.demand.moving[c]
        apart = self._apart(c)
        rows = np.flatnonzero((self.sets.members == value) & (self.holes > 0))
        rows = rows[apart[self.sets.of_member[rows]]]
        for row in rows[np.argsort(-self.holes[rows], kind="stable")]:
            if not left:
                break
            many = min(left, int(self.holes[row]))
            self.holes[row] -= many
            left -= many
            self.pairs.append((c, int(self.sets.of_member[row]), many))
        return left

    def _fill(self) -> None:
        """Fill holes with newcomers, as many as the quota allows: of each value everywhere the same share."""
        lacking = np.bincount(self.sets.members, weights=self.holes, minlength=self.width).astype(np.int64)
        allowed = quota(lacking, self.left.copy(), self.m)
        for value in np.flatnonzero(allowed):
            rows = np.flatnonzero((self.sets.members == value) & (self.holes > 0))
            given = shared_out(int(allowed[value]), self.holes[rows])
            self.newcomers[rows] += given
            self.holes[rows] -= given
            self.left[value] -= given.sum()

    def _beside_newcomers(self, c: int, left: int) -> None:
        """Let movers form groups with newcomers: with a signature that is there if one does, else with a new one."""
        demand, value = self.demand, int(self.demand.moving[c])
        apart = self._apart(c) & (self.weights > 0) & (self.sets.sizes >= self.m) & (self.sets.sizes < 2 * self.m)
        while left:
            most, chosen = self._best_known(apart, value)
            if most > 0:
                many = min(left, most)
                rows = np.arange(self.sets.offsets[chosen], self.sets.offsets[chosen + 1])
                rows = rows[self.sets.members[rows] != value]
                self.newcomers[rows] += many
                self.left[self.sets.members[rows]] -= many
                self.pairs.append((c, chosen, many))
                left -= many
                continue
            barred = np.append(demand.told.lists[c], value)
            others = np.setdiff1d(demand.domain, barred)
            others = others[np.argsort(-self.left[others], kind="stable")][: self.m - 1]
            least = int(self.left[others].min())
            many = min(left, least) if least > 0 else left
            given = np.minimum(self.left[others], many)
            self.left[others] -= given
            members = np.append(others, value)
            order = np.argsort(members)
            self.pairs.append((c, len(self.sets) + len(self.made), many))
            self.made.append((members[order].astype(np.int32), np.append(given, 0)[order]))
            left -= many

    def _best_known(self, apart: BoolArray, value: int) -> tuple[int, int]:
        """Return with which known set most movers of a value find newcomers of all its other values, and how many."""
        if not apart.any():
            return 0, -1
        there = np.where(self.sets.members == value, np.iinfo(np.int64).max, self.left[self.sets.members])
        least = np.where(apart, self.sets.lists.reduce(np.minimum, there), 0)
        chosen = int(np.argmax(least))
        return int(least[chosen]), chosen

    def _by_frequency(self) -> None:
        """Assign the newcomers that are left, known signatures first; what is lacking are counterfeits."""
        if not self.left.any():
            return
        counts = self.left + padding(self.left, self.demand.domain, self.m)
        plan = known_steps(counts, self.m, self.sets, self.weights)
        owner = np.repeat(np.arange(len(plan)), [len(step.values) for step in plan])
        value = np.concatenate([step.values for step in plan])
        asked = np.concatenate([np.full(len(step.values), step.amount, np.int64) for step in plan])
        given = np.zeros_like(asked)
        for v in np.flatnonzero(self.left):
            rows = np.flatnonzero(value == v)
            given[rows] = shared_out(int(self.left[v]), asked[rows])
        for j, step in enumerate(plan):
            self.made.append((step.values, given[owner == j]))

    def _decision(self, fewest: int) -> Decision:
        """Put everything together; equal sets are one."""
        new = Sets(Ragged.of_rows([members for members, _ in self.made], np.int32))
        every = self.sets.join(new)
        counts = np.concatenate([self.newcomers, *(given for _, given in self.made)])
        sets, place = every.distinct()
        into = sets.places(place[every.of_member], every.members)
        newcomers = np.bincount(into, weights=counts, minlength=len(sets.members)).astype(np.int64)
        listed = np.array(self.pairs, np.int64).reshape(-1, 3)
        pairs, inside = np.unique(np.stack([listed[:, 0], place[listed[:, 1]]], axis=1), axis=0, return_inverse=True)
        moved = np.bincount(inside.reshape(-1), weights=listed[:, 2], minlength=len(pairs)).astype(np.int64)
        return Decision(sets, newcomers, pairs, moved, fewest)


def shared_out(amount: int, asked: IntArray) -> IntArray:
    """Give out an amount so that everybody gets about the same share of what they ask, and nobody more than that."""
    total = int(asked.sum())
    if amount > total:
        raise ValueError("there is more to give than is asked for")
    ends = np.cumsum(asked.astype(object)) * amount // max(total, 1)  # whole numbers beyond 64 bits
    return np.diff(np.concatenate([[0], ends])).astype(np.int64)
