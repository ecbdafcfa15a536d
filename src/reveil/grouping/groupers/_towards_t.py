"""What the groupers towards t-closeness share: which distances are asked for, the final say, and merging."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import BoolArray, CodeArray, IntArray, offsets_of
from reveil.core.errors import ConfigError
from reveil.core.kernels import closeness_swaps
from reveil.grouping.fragments import Fragments, StepDistances, fragment
from reveil.grouping.groupers.base import Grouper, part_by_part
from reveil.grouping.groupers.stack_deal import proportional
from reveil.models.base import exact_number
from reveil.models.statistics import GroupStats, Histogram, Partition
from reveil.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reveil.core.randomness import Dice
    from reveil.grouping.groupers._halving import Ground
    from reveil.models.base import Model
    from reveil.models.encoding import Codes, SensitiveAttribute
    from reveil.models.statistics import Reference

_REACH = 8  # groups on each side with which a group may swap records
_ROUNDS = 32  # swaps for one group in one pass
_PASSES = 8  # over the groups that still fail
_SAMPLE = 128  # failing groups that show whether swapping helps
_PART = 2048  # records among which neighbours are sought
_TRIES = 128  # records outside a cluster that may be swapped into it
_BINS = 512  # values of an attribute that swaps tell apart
FINE = 64  # of so many groups, one more or less makes no difference
_SPOILT = 50  # one group of so many may be lost to merging
_PATIENCE = 8  # rounds of merging before the reach doubles


@dataclass(frozen=True)
class DistanceLimit:
    """One distance that a model bounds: an attribute's, by a scale, up to a limit."""

    attribute: SensitiveAttribute
    scale: StepDistances
    limit: Fraction


def _bins(axis: DistanceLimit) -> int:
    return min(len(axis.scale.present), _BINS)


class Task:
    """Records to be grouped, the model, and the table that it compares groups with."""

    def __init__(self, codes: Codes, model: Model, table: Mapping[str, Reference] | None = None) -> None:
        self.codes, self.model = codes, model
        self.table = {**codes.references(), **(table or {})}

    @cached_property
    def axes(self) -> tuple[DistanceLimit, ...]:
        """All the distances asked for; of several limits for the same one the lowest."""
        found: dict[tuple[str, str | None], DistanceLimit] = {}
        for part in [part for part in self.model.parts if isinstance(part, TCloseness)]:
            for attribute in self.codes.sensitive:
                limit, key = exact_number("t", part.t), (attribute.name, part.distance)
                if part.concerns(attribute.name) and (key not in found or limit < found[key].limit):
                    found[key] = DistanceLimit(
                        attribute, StepDistances.of(self.table[attribute.name], part.distance), limit
                    )
        return tuple(found.values())

    def check_asked(self, method: TowardsT) -> None:
        """Refuse where no distance is asked for, or more than the one that the method can work towards."""
        reason = method.reason_against_distances(len(self.axes))
        if reason is not None:
            raise ConfigError(
                f"the method {method.name!r} {reason}",
                hint="Name one sensitive column (t = { disease = 0.2 }), or use 'fragmentation' or 'mondrian'.",
            )

    @cached_property
    def places(self) -> CodeArray:
        """The place of each record's value on each axis."""
        columns = [axis.scale.places[axis.attribute.codes] for axis in self.axes]
        return np.stack(columns, axis=1).astype(np.int32) if columns else np.empty((self.codes.n, 0), np.int32)

    @cached_property
    def coarse(self) -> CodeArray:
        """The places as the kernels that swap see them: of more than 512 values neighbours count as one.

        Their work grows with the number of values, and they need no more than a direction.
        """
        bins = np.array([_bins(axis) for axis in self.axes], np.int64)
        values = np.array([max(len(axis.scale.present), 1) for axis in self.axes], np.int64)
        return (self.places.astype(np.int64) * bins // values).astype(np.int32)

    def _target(self, share: float = 1.0) -> closeness_swaps.Target:
        """The axes side by side, as the kernels want them, with so large a share of each limit.

        A tree counts as equal distances, which are no shorter.
        """
        first = offsets_of([_bins(axis) for axis in self.axes])
        table = np.zeros(int(first[-1]), np.int64)
        for axis, start in zip(self.axes, first[:-1], strict=True):
            present = axis.scale.present
            np.add.at(table, start + np.arange(len(present)) * _bins(axis) // len(present), present)
        row = np.array([len(axis.scale.nodes) == 0 for axis in self.axes], np.bool_)
        limits = np.array([share * float(axis.limit) for axis in self.axes])
        return closeness_swaps.Target(table, first, row, limits)

    def fragments(self, loose: int = 1) -> Fragments:
        """Fragment the values until the bounds are within so many times the limits; one fragment without limits."""
        limits = [min(loose * axis.limit, Fraction(1)) for axis in self.axes]
        return fragment(self.places, [axis.scale for axis in self.axes], limits)

    def statistics(self, partition: Partition) -> GroupStats:
        """Count the values of the groups."""
        starts, ends = partition.offsets[:-1], partition.offsets[1:]
        read = self.codes.sensitive if self.model.tags.reads_values else ()
        histograms = {a.name: Histogram.of_segments(a.codes[partition.order], starts, ends, a.domain) for a in read}
        return GroupStats(partition.sizes, histograms, self.table)

    def valid(self, partition: Partition) -> BoolArray:
        """Return which groups satisfy the model: the only judge there is."""
        return self.model.verdict(self.statistics(partition))

    def _valid_again(self, partition: Partition, before: Partition, verdict: BoolArray) -> BoolArray:
        """Judge after swaps: only groups that have other members than before, whose verdict was this one."""
        swapped = partition.members.reduce(np.logical_or, partition.order != before.order)
        changed = partition.members.take(np.flatnonzero(swapped))
        again = verdict.copy()
        again[swapped] = self.valid(Partition(changed.items, changed.offsets, partition.n))
        return again

    def whole(self) -> Partition:
        """Return all records as one group, which is valid: so it was promised."""
        n = self.codes.n
        return Partition(np.arange(n, dtype=np.int32), np.array([0, n], np.int64), n)

    def repaired(self, partition: Partition) -> tuple[Partition, BoolArray]:
        """Swap records of failing groups with neighbours; return the groups, and which of them are valid now.

        A sample of the failing groups goes first: where swaps help fewer than half of it, the rest is not tried.
        """
        valid = self.valid(partition)
        failing = np.flatnonzero(~valid)
        for _ in range(_PASSES if self.axes else 0):
            if not len(failing):
                break
            for some in (failing[:: len(failing) // _SAMPLE], failing) if len(failing) >= 2 * _SAMPLE else (failing,):
                members = partition.order.copy()
                closeness_swaps.repair(self.coarse, members, partition.offsets, some, self._target(), _REACH, _ROUNDS)
                before, partition = partition, Partition(members, partition.offsets, partition.n)
                valid = self._valid_again(partition, before, valid)
                if 2 * np.count_nonzero(valid[some]) < len(some):
                    return partition, valid
            # A swap may leave the other group a little above its limit: then that one is next.
            failing = np.flatnonzero(~valid)
        return partition, valid

    def clustered(self, ground: Ground, size: int, share: float) -> Partition:
        """Cluster so many near records at a time, so that clusters stay within this share of each t where they can.

        They are sought inside parts of the table with near records and the table's values, as far as these can be had
        together, so that no work grows with the square of the table. Nobody has judged the clusters yet.
        """
        n, target = self.codes.n, self._target(share)
        parts = max(n // max(_PART, 4 * size), 1)
        dealt = proportional(self.codes, self.fragments().labels, parts)
        order, starts, ends = dealt.order.astype(np.int64), dealt.offsets[:-1], dealt.offsets[1:]
        points = np.ascontiguousarray(ground.points.T[order])
        labels = np.empty(n, np.int64)
        labels[order] = closeness_swaps.clusters(
            points, self.coarse[order], starts, ends, size, target, _TRIES + 4 * size
        )
        return along(labels, ground)

    def smallest_size(self) -> int:
        """Return the size from which on values picked at even steps are within every t; at least the model's least."""
        target = self._target()
        shares = closeness_swaps.totals(target.table, target.first)[1]
        ranked = [np.sort(self.coarse[:, a]) for a in range(len(self.axes))]

        def reached(size: int) -> bool:
            at = (2 * np.arange(size) + 1) * self.codes.n // (2 * size)
            tally = np.zeros(len(target.table), np.int64)
            for a, places in enumerate(ranked):
                np.add.at(tally, target.first[a] + places[at], 1)
            return bool(closeness_swaps.excess(tally, size, shares, target) <= 0)

        low = high = min(max(self.model.minimum_size, 1), self.codes.n)
        while high < self.codes.n and not reached(high):
            low, high = high, min(2 * high, self.codes.n)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    def mended(self, partition: Partition, ground: Ground) -> Partition | None:
        """Swap, then merge the few groups that still fail; None where that would cost more than a few."""
        swapped, valid = self.repaired(partition)
        if valid.all():
            return swapped
        few = (partition.n_groups - 1) // _SPOILT
        if np.count_nonzero(~valid) > few:
            return None
        found = self.merged(swapped, ground)
        return found if found.n_groups >= partition.n_groups - few else None

    def merged(self, partition: Partition, ground: Ground) -> Partition:
        """Merge groups that are not valid with neighbours until all are valid; it lists near groups side by side.

        Groups are taken two and two along the curve, in every other round beginning with the second; a pair in which
        one is not valid becomes one group. After some rounds four and four, and so on: so it ends soon, at the latest
        with everybody in one group.
        """
        rounds = 0
        while True:
            valid = self.valid(partition)
            if valid.all() or partition.n_groups == 1:
                return partition
            width = 1 + rounds // _PATIENCE
            bucket = (np.arange(partition.n_groups) + (rounds % 2) * (1 << (width - 1))) >> width
            bad = np.bincount(bucket, weights=~valid) > 0
            # Groups of a bad bucket share a number; the others keep one of their own.
            number = np.where(bad[bucket], bucket, len(bad) + np.arange(len(bucket)))
            partition = along(np.unique(number, return_inverse=True)[1][partition.labels], ground)
            rounds += 1


class TowardsT(Grouper):
    """A grouper that looks at values to bring groups near the table; every group that it returns has been judged."""

    def reads_values(self, model: Model) -> bool:  # noqa: ARG002
        """Say that values decide who is grouped with whom."""
        return True

    @property
    def most_distances(self) -> int | None:
        """How many distances the method can work towards; None: any number, or none."""
        return None

    def reason_against_distances(self, asked: int) -> str | None:
        """Say why so many distances are too few or too many."""
        if self.most_distances is None or 1 <= asked <= self.most_distances:
            return None
        return f"works towards a t, and {asked or 'none'} {'is' if asked < 2 else 'are'} asked for"

    def lacks(self, model: Model) -> str | None:
        """Say that no t is asked for, or more than the method can work towards, as far as the model alone tells."""
        asked = {(part.attribute, part.distance) for part in model.parts if isinstance(part, TCloseness)}
        return self.reason_against_distances(len(asked))

    @abstractmethod
    def propose(self, task: Task, rng: Dice) -> Partition:
        """Return groups that are all valid; everybody together is."""

    def group(self, codes: Codes, model: Model, rng: Dice) -> Partition:
        """Group the records."""
        return self.propose(Task(codes, model), rng)

    def refine(
        self,
        codes: Codes,
        model: Model,
        rng: Dice,
        start: Partition,
        *,
        table: Mapping[str, Reference] | None = None,
        blind: bool = False,
    ) -> Partition:
        """Group each part by itself; all are compared with the same table, that of the records in all the parts."""
        if blind:
            raise ConfigError(
                f"the method {self.name!r} looks at who has which value", hint="blind = true needs 'mondrian'."
            )
        compared = {**codes.references(start.order), **(table or {})}
        return part_by_part(
            start,
            lambda records, at: self.propose(Task(codes.take(records), model, compared), rng.child("part", at)),
        )


def most_groups(
    most: int, make: Callable[[int], Partition | None], otherwise: Partition, *, first: int | None = None
) -> Partition:
    """Search for the largest number of groups that can be made, up to ``most``, by bisection.

    ``otherwise`` is returned where no more groups than it has can be made. More groups are harder to make, but not
    strictly so: a number that fails may lie below one that would do. It ends within one part of 64. ``first`` is the
    number to begin with, ``most`` if none is given.
    """
    best, low, high = otherwise, otherwise.n_groups, most + 1
    tried = most if first is None else first
    while high - low > max(low // FINE, 1):
        made = make(tried)
        if made is None:
            high = tried
        else:
            best, low = made, tried
        tried = (low + high) // 2
    return best


def along(labels: IntArray, ground: Ground) -> Partition:
    """Return the partition with these groups, numbered from 0 without a gap, in their order along the curve."""
    sizes = np.bincount(labels)
    place = np.argsort(np.bincount(labels, weights=ground.place) / sizes, kind="stable")
    rank = np.empty(len(sizes), np.int64)
    rank[place] = np.arange(len(sizes))
    order = np.argsort(rank[labels], kind="stable").astype(np.int32)
    return Partition(order, offsets_of(sizes[place]), len(labels))
