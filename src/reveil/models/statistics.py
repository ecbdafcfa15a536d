"""Partitions and group statistics: the narrow waist.

Groupers produce a :class:`Partition`; models judge :class:`GroupStats`; everything above reads these two.
Statistics of the same groups, taken from different parts of the records, are added with ``merge``: with
:meth:`GroupStats.empty` they form a commutative monoid, so that one vectorised call to a model serves a cut of
Mondrian, a sweep over an index, a partial result from elsewhere and the final check alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged, offsets_of
from reveil.core.kernels import segments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_SORTED_AT_ONCE = 2**62  # group and count fit one sortable number below this
DENSE_AT_MOST = 8  # cells of a dense table per record up to which counting in it is faster than sorting


@dataclass(frozen=True)
class Histogram:
    """Counts of the values of one sensitive attribute in many groups, sparse.

    Group g has the values ``values[g]``, ascending codes; ``counts``, beside ``values.items``, is how many records of
    the group have each, at least one. ``domain`` is the number of codes there are.
    """

    values: Ragged[np.int32]
    counts: IntArray
    domain: int

    @classmethod
    def of(
        cls, groups: npt.NDArray[np.integer], codes: npt.NDArray[np.integer], n_groups: int, domain: int
    ) -> Histogram:
        """Count records given the group and the value code of each."""
        if not (_within(codes, domain) and _within(groups, n_groups)):
            raise ValueError("a group or a value code is out of range")
        return cls._of_keys(groups.astype(np.int64) * domain + codes, None, n_groups, domain)

    @classmethod
    def of_counts(
        cls,
        groups: npt.NDArray[np.integer],
        codes: npt.NDArray[np.integer],
        counts: npt.NDArray[np.integer],
        n_groups: int,
        domain: int,
    ) -> Histogram:
        """Add up counts, given the group and the value code of each."""
        if not (_within(codes, domain) and _within(groups, n_groups)):
            raise ValueError("a group or a value code is out of range")
        return cls._of_keys(groups.astype(np.int64) * domain + codes, counts.astype(np.int64), n_groups, domain)

    @classmethod
    def _of_keys(cls, keys: IntArray, counts: IntArray | None, n_groups: int, domain: int) -> Histogram:
        """Add up counts (None: one each) by key = group * domain + code."""
        if n_groups * domain <= DENSE_AT_MOST * len(keys):
            cells = n_groups * domain
            dense = np.bincount(keys, minlength=cells) if counts is None else _sums(keys, counts, cells)
            distinct = np.flatnonzero(dense)
            summed = dense[distinct]
        elif counts is None:
            distinct, summed = np.unique(keys, return_counts=True)
        else:
            order = np.argsort(keys, kind="stable")
            ascending = keys[order]
            starts = np.flatnonzero(np.diff(ascending, prepend=-1))
            distinct, summed = ascending[starts], np.add.reduceat(counts[order], starts) if len(keys) else counts
        codes = (distinct % max(domain, 1)).astype(np.int32)
        offsets = np.searchsorted(distinct, np.arange(n_groups + 1) * domain).astype(np.int64)
        return cls(Ragged(offsets, codes), summed.astype(np.int64), domain)

    @classmethod
    def of_segments(
        cls, codes: CodeArray, starts: IntArray, ends: IntArray, domain: int, scratch: CodeArray | None = None
    ) -> Histogram:
        """Count records that lie group by group. ``scratch``: an all-zero buffer to use, of at least ``domain``."""
        room = np.zeros(domain, np.int32) if scratch is None else scratch
        offsets, seen, counts = segments.histogram(codes, starts, ends, room)
        return cls(Ragged(offsets, seen), counts, domain)

    @classmethod
    def empty(cls, n_groups: int, domain: int) -> Histogram:
        """No records in any group."""
        return cls(Ragged(np.zeros(n_groups + 1, np.int64), np.zeros(0, np.int32)), np.zeros(0, np.int64), domain)

    @property
    def n_groups(self) -> int:
        """How many groups are described."""
        return len(self.values)

    @property
    def codes(self) -> CodeArray:
        """The value of each stored count."""
        return self.values.items

    @cached_property
    def distinct(self) -> IntArray:
        """Number of different values per group."""
        return self.values.lengths

    @cached_property
    def groups(self) -> IntArray:
        """The group of each stored count."""
        return self.values.owners()

    @cached_property
    def totals(self) -> IntArray:
        """Number of records per group."""
        return self.reduce(np.add, self.counts).astype(np.int64, copy=False)

    def reduce(self, ufunc: np.ufunc, values: npt.NDArray[np.generic], empty: float = 0) -> npt.NDArray[np.generic]:
        """Reduce one number per stored count to one per group; groups without records get ``empty``."""
        return self.values.reduce(ufunc, values, empty)

    @cached_property
    def largest(self) -> IntArray:
        """The count of the most frequent value per group."""
        return self.reduce(np.maximum, self.counts).astype(np.int64, copy=False)

    def beyond(self, most: int) -> IntArray:
        """Return for each group the number of records that do not have one of so many most frequent values."""
        removed = min(most, int(self.distinct.max(initial=0)))
        if removed == 0:
            return self.totals
        if removed == 1:
            return self.totals - self.largest
        top = int(self.counts.max()) + 1
        if self.n_groups * top < _SORTED_AT_ONCE:
            falling = top - np.sort(self.groups * top + (top - self.counts)) % top
        else:
            falling = self.counts[np.lexsort((-self.counts, self.groups))]
        before = offsets_of(falling)
        first = self.values.starts
        taken: IntArray = before[first + np.minimum(self.distinct, removed)] - before[first]
        return self.totals - taken

    def less(self, other: Histogram) -> Histogram:
        """Take away the counts of some of the records, in the same groups."""
        if (self.n_groups, self.domain) != (other.n_groups, other.domain):
            raise ValueError("only histograms of the same groups and the same values can be subtracted")
        keys = self.groups * self.domain + self.codes
        gone = other.groups * other.domain + other.codes
        place = np.searchsorted(keys, gone)
        if len(gone) and (len(keys) == 0 or (keys[np.minimum(place, len(keys) - 1)] != gone).any()):
            raise ValueError("more is taken away than there is")
        counts = self.counts.copy()
        counts[place] -= other.counts
        if (counts < 0).any():
            raise ValueError("more is taken away than there is")
        left = counts > 0
        return Histogram(self.values.select(left), counts[left], self.domain)

    def merge(self, other: Histogram) -> Histogram:
        """Add the counts of the same groups taken from other records."""
        if (self.n_groups, self.domain) != (other.n_groups, other.domain):
            raise ValueError("only histograms of the same groups and the same values can be merged")
        keys = np.concatenate([self.groups * self.domain + self.codes, other.groups * other.domain + other.codes])
        return self._of_keys(keys, np.concatenate([self.counts, other.counts]), self.n_groups, self.domain)

    def coarsen(self, into: npt.NDArray[np.integer], n_groups: int) -> Histogram:
        """Put group g into group ``into[g]``."""
        keys = into[self.groups].astype(np.int64) * self.domain + self.codes
        return self._of_keys(keys, self.counts, n_groups, self.domain)

    def select(self, chosen: BoolArray) -> Histogram:
        """Keep only the chosen groups."""
        kept = chosen[self.groups]
        values = Ragged.of_lengths(self.distinct[chosen], self.codes[kept])
        return Histogram(values, self.counts[kept], self.domain)

    def masked(self, chosen: BoolArray) -> Histogram:
        """Empty the groups that are not chosen."""
        kept = chosen[self.groups]
        return Histogram(self.values.select(kept), self.counts[kept], self.domain)

    def total(self) -> IntArray:
        """Dense counts over all groups together."""
        return _sums(self.codes, self.counts, self.domain)


@dataclass(frozen=True)
class Reference:
    """The whole published table's values of one sensitive attribute, and how they relate to each other.

    ``counts`` is dense over the codes. ``ordered``: the code order means something (numbers, dates, a declared
    order). ``levels[j, code]`` is the taxonomy node over a code at depth j, root first, leaves last, if the
    attribute has a taxonomy.
    """

    counts: IntArray
    ordered: bool
    levels: CodeArray | None = None


@dataclass(frozen=True)
class Boxes:
    """For many groups: per quasi attribute the smallest and largest code of a non-null value, and whether null occurs.

    Arrays are (attributes, groups). A group without non-null values has ``lo > hi``.
    """

    lo: CodeArray
    hi: CodeArray
    null: BoolArray

    @classmethod
    def of_segments(cls, rows: CodeArray, starts: IntArray, ends: IntArray, null_codes: Sequence[int]) -> Boxes:
        """Return the boxes of rows that lie group by group."""
        shape = (rows.shape[1], len(starts))
        lo, hi, null = np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape, np.bool_)
        segments.boxes(rows, starts, ends, np.array(null_codes, np.int32), lo, hi, null)
        return cls(lo, hi, null)

    def merge(self, other: Boxes) -> Boxes:
        """Return the smallest boxes that hold both."""
        return Boxes(np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi), self.null | other.null)


@dataclass(frozen=True)
class GroupStats:
    """Sizes and sensitive histograms of many groups, and the whole table to compare them with.

    ``table`` maps each sensitive attribute to its :class:`Reference`; models that compare a group with the table
    (t-closeness) read it.
    """

    sizes: IntArray
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    table: Mapping[str, Reference] = field(default_factory=dict)
    boxes: Boxes | None = None

    @property
    def n_groups(self) -> int:
        """How many groups are described."""
        return len(self.sizes)

    @classmethod
    def empty(
        cls, n_groups: int, domains: Mapping[str, int], table: Mapping[str, Reference] | None = None
    ) -> GroupStats:
        """Return the identity of ``merge``: the same groups, without records."""
        histograms = {name: Histogram.empty(n_groups, domain) for name, domain in domains.items()}
        return cls(np.zeros(n_groups, np.int64), histograms, table or {})

    def merge(self, other: GroupStats) -> GroupStats:
        """Add statistics of the same groups taken from other records (commutative, associative)."""
        if self.n_groups != other.n_groups or self.histograms.keys() != other.histograms.keys():
            raise ValueError("only statistics of the same groups and the same attributes can be merged")
        if self.boxes is not None and other.boxes is not None:
            boxes: Boxes | None = self.boxes.merge(other.boxes)
        else:
            # Without records there is nothing to hold; with records, boxes that nobody computed are unknown.
            boxes = self.boxes if not other.sizes.any() else other.boxes if not self.sizes.any() else None
        histograms = {name: histogram.merge(other.histograms[name]) for name, histogram in self.histograms.items()}
        return GroupStats(self.sizes + other.sizes, histograms, self.table or other.table, boxes)

    def coarsen(self, into: npt.NDArray[np.integer], n_groups: int) -> GroupStats:
        """Put group g into group ``into[g]``; boxes are not carried over."""
        histograms = {name: histogram.coarsen(into, n_groups) for name, histogram in self.histograms.items()}
        return GroupStats(_sums(into, self.sizes, n_groups), histograms, self.table)

    def whole(self) -> GroupStats:
        """Return the statistics of all groups together as one group."""
        return self.coarsen(np.zeros(self.n_groups, np.int64), 1)


@dataclass(frozen=True)
class GroupRegions:
    """For each group the region of space that encloses it: codes ``lo..hi`` of each attribute, and a level.

    ``lo`` and ``hi`` are (groups, attributes); null is the last code of an attribute. Two regions are nested or
    disjoint, the inner of two has the higher level, and a record is in the group of the innermost region that holds it.
    """

    lo: CodeArray
    hi: CodeArray
    level: CodeArray


@dataclass(frozen=True)
class Partition:
    """Every record's group. ``order`` lists the records group by group, group g at ``offsets[g]:offsets[g+1]``.

    Suppressed records are in no group: ``order`` does not list them, and there are ``n`` records in all. ``rows`` are
    the quasi codes of the records in this order, where the grouper has them anyway. ``regions`` are what encloses the
    groups, where the grouper divides space into nested regions.
    """

    order: CodeArray
    offsets: IntArray
    n: int
    rows: CodeArray | None = None
    regions: GroupRegions | None = None

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.offsets) - 1

    @property
    def members(self) -> Ragged[np.int32]:
        """The records of each group."""
        return Ragged(self.offsets, self.order)

    @property
    def sizes(self) -> IntArray:
        """Records per group."""
        return np.diff(self.offsets)

    @cached_property
    def labels(self) -> CodeArray:
        """The group of each record, -1 for suppressed ones."""
        labels = np.full(self.n, -1, np.int32)
        labels[self.order] = np.repeat(np.arange(self.n_groups, dtype=np.int32), self.sizes)
        return labels


def _within(codes: npt.NDArray[np.integer], end: int) -> bool:
    return not len(codes) or bool(codes.min() >= 0 and codes.max() < end)


def _sums(into: npt.NDArray[np.integer], counts: IntArray, minlength: int = 0) -> IntArray:
    """Exact integer sums by index (``bincount`` with weights would go through floating point)."""
    out = np.zeros(max(minlength, int(into.max()) + 1 if len(into) else 0), np.int64)
    np.add.at(out, into, counts)
    return out
