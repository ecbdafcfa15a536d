"""From what was told and what is there now to groups with signatures: balance, assign, split.

The phases of thesis 000, chapter 4.5, in another order: old buckets are split before they are filled up, so that a
new record fills the hole that is nearest to it and not just some hole of the nearest bucket; in the end every bucket
is split once more with all that it holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged, offsets_of
from reveil.core.kernels import nearest_free, split, tries
from reveil.core.threads import budget, each
from reveil.guarantees.signatures.frequencies import fewest_counterfeits, known_steps, padding, quota
from reveil.guarantees.signatures.pool import FreeRecords, starts_of
from reveil.guarantees.signatures.sets import Sets

if TYPE_CHECKING:
    from reveil.core.randomness import Dice
    from reveil.guarantees.signatures.planning import Plan
    from reveil.guarantees.signatures.searching import Search
    from reveil.guarantees.signatures.situation import Situation
    from reveil.guarantees.signatures.space import CodePoints, FloatArray, KeyArray, Space

SPLIT_ROWS = 500_000  # records of buckets that are split together
GROUPS_OF_SIGNATURE = 10  # on average; a plan for a first release with fewer is not followed


@dataclass(frozen=True)
class Groups:
    """Published rows, group by group: the group, the value and the record of each, -1 for a counterfeit.

    The signature of group g is ``sets[signature[g]]``. ``fewest`` is the number of counterfeits that no other grouping
    could go below.
    """

    group: CodeArray
    value: CodeArray
    record: CodeArray
    sets: Sets
    signature: IntArray
    fewest: int = 0

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.signature)

    @property
    def counterfeits(self) -> int:
        """How many rows are counterfeits."""
        return int((self.record < 0).sum())

    def join(self, other: Groups) -> Groups:
        """Return the groups of both."""
        return Groups(
            np.concatenate([self.group, other.group + np.int32(self.size)]),
            np.concatenate([self.value, other.value]),
            np.concatenate([self.record, other.record]),
            self.sets.join(other.sets),
            np.concatenate([self.signature, other.signature + len(self.sets)]),
            self.fewest + other.fewest,
        )


@dataclass(frozen=True)
class Buckets:
    """Records by bucket and value: those of the k-th member of all the buckets' sets are ``records[k]``."""

    sets: Sets
    records: Ragged[np.int32]

    @property
    def lengths(self) -> IntArray:
        """How many records each value of each bucket has."""
        return self.records.lengths

    @property
    def sizes(self) -> IntArray:
        """How many groups each bucket has: as many as its most frequent value has records."""
        return self.sets.lists.reduce(np.maximum, self.lengths)

    @property
    def holes(self) -> IntArray:
        """How many records each value of each bucket lacks."""
        return np.repeat(self.sizes, self.sets.sizes) - self.lengths

    def split(self, points: FloatArray | CodePoints, *, swap: bool) -> Groups:
        """Split into groups with a record or a hole for each value of the signature; each bucket by itself."""
        sizes, slots = self.sizes, self.sets.sizes
        offsets = offsets_of(sizes * slots)
        cells = np.full(int(offsets[-1]), -1, np.int32)
        lists = self.records.offsets

        def work(part: slice) -> None:
            """Split some buckets; they share nothing with others but the array in which their groups lie."""
            slots_of = self.sets.offsets[part.start : part.stop + 1]
            first, last = lists[slots_of[0]], lists[slots_of[-1]]
            records = self.records.items[first:last]
            here, order = points[records], np.arange(len(records), dtype=np.int32)
            starts = lists[slots_of[0] : slots_of[-1] + 1] - first
            there, inside = offsets[part.start : part.stop + 1] - offsets[part.start], slots_of - slots_of[0]
            found = np.full(int(there[-1]), -1, np.int32)
            split.split(order, starts, inside, sizes[part], here, found, there[:-1])
            if swap:
                split.swap(found, there[:-1], inside, sizes[part], here)
            cells[offsets[part.start] : offsets[part.stop]] = np.append(records, np.int32(-1))[found]

        each(work, _runs_of(lists[self.sets.offsets]), len(self.records.items))
        return self._groups(cells)

    def nest(self, keys: KeyArray) -> Groups:
        """Split into groups along the regions of a BANG file, inner ones first.

        A region is a prefix of keys. Inside one, complete groups depend on the records of this signature in it alone:
        where nobody comes, goes or moves, everybody keeps the group they had.
        """
        sizes, slots = self.sizes, self.sets.sizes
        offsets = offsets_of(sizes * slots)
        cells = np.full(int(offsets[-1]), -1, np.int32)
        member = self.records.owners()
        bucket = self.sets.of_member[member]
        columns = [keys[self.records.items, w] for w in reversed(range(keys.shape[1]))]
        order = np.lexsort([*columns, bucket])
        shared = np.empty(len(order), np.int64)
        tries.shared_bits(np.ascontiguousarray(keys[self.records.items[order]]), shared)
        slot = (member - self.sets.offsets[bucket])[order]
        starts = self.records.offsets[self.sets.offsets]
        tries.nest(self.records.items[order], slot, shared, starts, slots, cells, offsets[:-1])
        return self._groups(cells)

    def _groups(self, cells: CodeArray) -> Groups:
        signature = np.repeat(np.arange(len(self.sets)), self.sizes)
        rows = self.sets.take(signature)
        return Groups(rows.of_member.astype(np.int32), rows.members, cells, self.sets, signature)


def form_groups(now: Situation, space: Space, m: int, rng: Dice, search: Search | None = None) -> Groups:
    """Form the groups of a release in the counted grade: near records together, few counterfeits.

    Records with a usable signature keep it, and where there is a plan, others go where it says. The holes of these
    buckets are filled with movers and new records; movers left over form groups with signatures that share nothing with
    what they were told; new records left over are assigned by frequency.
    """
    if search is None:
        return _split_again(_placed(now, space, m, rng, None), space)
    planned = search.plan(now, space, m)
    groups = _placed(now, space, m, rng, planned)
    if not now.has_past.any() and groups.size < GROUPS_OF_SIGNATURE * len(np.unique(groups.signature)):
        # Whoever leaves a signature of few groups leaves a hole that hardly anybody who comes can fill.
        groups = _placed(now, space, m, rng.child("without a plan"), None)
    if space.keys is not None:
        return _split_again(groups, space)
    return search.exchanged(_together(groups, space), now)


def _placed(now: Situation, space: Space, m: int, rng: Dice, planned: Plan | None) -> Groups:
    """Give everybody a group; where nothing is planned, by frequencies and nearness alone."""
    width = now.width
    # A plan deals everybody anew: who stays is only counted then, and the dice are left for the plan.
    old = _buckets(now.sets, np.where(now.resting, -1, now.usable), now, rng if planned is None else None)
    movers, fresh = rng.child("movers").permutation(now.movers), now.fresh
    deficit = np.bincount(old.sets.members, weights=old.holes, minlength=width).astype(np.int64)
    supply = np.bincount(now.values[np.concatenate([movers, fresh])], minlength=width).astype(np.int64)
    fewest = fewest_counterfeits(deficit, supply, m)
    known, weights = now.sets, now.weights
    if planned is not None:
        known, of_record = planned.sets, planned.of_record
        old = _buckets(known, of_record, now, rng)
        weights = np.bincount(of_record[of_record >= 0], minlength=len(known)).astype(np.int64)
        movers, fresh = movers[of_record[movers] < 0], fresh[of_record[fresh] < 0]
    groups = old.split(space.points, swap=False)
    record, left_over = _fit_movers(groups, movers, now, space)
    pool = FreeRecords(fresh, now.values, space, width)
    holes = rng.child("holes").permutation(np.flatnonzero(record < 0))
    lacking = np.bincount(groups.value[holes], minlength=width).astype(np.int64)
    allowed = quota(lacking, pool.left.copy(), m)
    record[holes] = pool.fill(groups.value[holes], _anchors(groups)[groups.group[holes]], allowed)
    groups = replace(groups, record=record, fewest=fewest)
    if len(left_over):
        groups = groups.join(_mover_groups(left_over, now, pool, m, rng))
    if pool.left.any():
        counts = pool.left + padding(pool.left, now.domain, m)
        drawn = Buckets(*pool.draw(known_steps(counts, m, known, weights)))
        groups = groups.join(drawn.split(space.points, swap=False))
    return groups


def _split_again(groups: Groups, space: Space) -> Groups:
    """Split all the records of each signature anew, now that everybody has one: old and new ones together."""
    again = _rebucketed(groups)
    anew = again.split(space.points, swap=True) if space.keys is None else again.nest(space.keys)
    return replace(anew, fewest=groups.fewest)


def _together(groups: Groups, space: Space) -> Groups:
    """Split anew without a look at what is published: where exchanging begins."""
    return replace(_rebucketed(groups).split(space.points, swap=False), fewest=groups.fewest)


def _rebucketed(groups: Groups) -> Buckets:
    real = groups.record >= 0
    sets, place = groups.sets.distinct()
    bucket = place[groups.signature[groups.group[real]]]
    return bucketed(sets, bucket, groups.value[real], groups.record[real])


def _buckets(sets: Sets, of_record: IntArray, now: Situation, rng: Dice | None) -> Buckets:
    """Put every record that has a set (-1: none) into its bucket; equal ones in an order drawn by dice, if any."""
    placed = np.flatnonzero(of_record >= 0).astype(np.int32)
    if rng is not None:
        placed = placed[rng.child("keepers").order_by(of_record[placed], numbers=placed)]
    return bucketed(sets, of_record[placed], now.values[placed], placed)


def bucketed(sets: Sets, bucket: npt.NDArray[np.integer], values: CodeArray, records: CodeArray) -> Buckets:
    """Sort records into the buckets of given sets; sets without records are left out, equal places keep their order."""
    used, of_record = np.unique(bucket, return_inverse=True)
    used_sets = sets.take(used)
    place = used_sets.places(of_record, values)
    # Small numbers are sorted digit by digit, which takes a third of the time.
    order = np.argsort(place.astype(np.uint16) if len(used_sets.members) < 1 << 16 else place, kind="stable")
    lengths = np.bincount(place, minlength=len(used_sets.members))
    return Buckets(used_sets, Ragged.of_lengths(lengths, records[order].astype(np.int32)))


def _anchors(groups: Groups) -> CodeArray:
    """Return one record of each group, for others to be near to."""
    real = np.flatnonzero(groups.record >= 0)
    anchors = np.full(groups.size, -1, np.int32)
    anchors[groups.group[real[::-1]]] = groups.record[real[::-1]]
    return anchors


def _fit_movers(groups: Groups, movers: CodeArray, now: Situation, space: Space) -> tuple[CodeArray, CodeArray]:
    """Put movers into holes that they may fill; return the records of the rows, and the movers left over."""
    record = groups.record.copy()
    holes = np.flatnonzero(record < 0)
    if not len(movers) or not len(holes):
        return record, movers
    ranks = space.ranks[_anchors(groups)[groups.group[holes]]]
    order = np.lexsort((ranks, groups.value[holes]))
    holes, ranks = holes[order], ranks[order]
    starts = starts_of(groups.value[holes], now.width)
    told = now.told_values(movers)
    found = nearest_free.fit_movers(
        nearest_free.Movers(movers, told.members, told.offsets),
        nearest_free.Holes(
            holes,
            starts,
            ranks,
            groups.signature[groups.group[holes]],
            groups.sets.members,
            groups.sets.offsets,
        ),
        space.ranks,
        now.values,
    )
    placed = found >= 0
    record[found[placed]] = movers[placed]
    return record, movers[~placed]


def _mover_groups(movers: CodeArray, now: Situation, pool: FreeRecords, m: int, rng: Dice) -> Groups:
    """Form groups of m values around movers, who may share a signature with nobody's past."""
    movers = movers[np.argsort(now.values[movers], kind="stable")]
    told = now.told_values(movers)
    starts = starts_of(now.values[movers], now.width)
    records, values = pool.gather(movers, told, starts, rng.child("values of movers").permutation(now.domain), m)
    signatures = Sets.of_rows(values)
    inside = np.argsort(values, axis=1, kind="stable")
    return Groups(
        signatures.of_member.astype(np.int32),
        signatures.members,
        np.take_along_axis(records, inside, axis=1).reshape(-1),
        signatures,
        np.arange(len(signatures)),
    )


def _runs_of(ends: IntArray) -> list[slice]:
    """Cut buckets, which end at these places of a list, into runs of about equally many records.

    There is one for each core, and as many more as keep the points of a run few, where buckets are not larger.
    """
    runs = max(budget(), -(-int(ends[-1]) // SPLIT_ROWS))
    cuts = np.searchsorted(ends, np.arange(1, runs) * int(ends[-1]) // runs)
    bounds = np.unique([0, *cuts, len(ends) - 1])
    return [slice(int(a), int(b)) for a, b in pairwise(bounds)]


def lone_groups(now: Situation, records: CodeArray) -> Groups:
    """Give each of some records a group of its own with the signature that its person keeps."""
    sets = now.sets.take(now.usable[records])
    group = sets.of_member.astype(np.int32)
    single = np.where(sets.members == now.values[records][group], records[group], -1).astype(np.int32)
    return Groups(group, sets.members, single, sets, np.arange(len(sets)), int((single < 0).sum()))


def published(groups: Groups, size: int) -> BoolArray:
    """Return which of so many records are in a group."""
    there = np.zeros(size, np.bool_)
    there[groups.record[groups.record >= 0]] = True
    return there
