"""Who is there now, with which value, and which signatures they were told before."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged
from reveil.guarantees.signatures.sets import Sets


@dataclass(frozen=True)
class Situation:
    """The records of a snapshot and what their persons were told.

    ``values`` are codes that last (a value has the same code in every release); ``sets`` are the signatures that occur
    and ``blocks`` lists pairs (record, set): the signatures that the person was in. ``domain`` are the codes that a
    counterfeit may have. ``resting`` persons are not published.
    """

    values: CodeArray
    sets: Sets
    block_records: CodeArray = field(repr=False)
    block_sets: CodeArray = field(repr=False)
    domain: CodeArray = field(repr=False)
    resting: BoolArray = field(repr=False)

    @property
    def size(self) -> int:
        """How many records there are."""
        return len(self.values)

    @cached_property
    def width(self) -> int:
        """One more than the largest code."""
        largest = (int(codes.max(initial=-1)) for codes in (self.values, self.sets.members, self.domain))
        return max(largest) + 1

    @cached_property
    def usable(self) -> IntArray:
        """The signature of each record's person that has the record's value, -1 where there is none."""
        usable = np.full(self.size, -1, np.int64)
        fits = self.sets.places(self.block_sets, self.values[self.block_records]) >= 0
        usable[self.block_records[fits]] = self.block_sets[fits]
        return usable

    @cached_property
    def weights(self) -> IntArray:
        """How many records keep each signature."""
        return np.bincount(self.usable[self.keepers], minlength=len(self.sets)).astype(np.int64)

    @cached_property
    def has_past(self) -> BoolArray:
        """Whether the person was told anything before."""
        past = np.zeros(self.size, np.bool_)
        past[self.block_records] = True
        return past

    @property
    def keepers(self) -> CodeArray:
        """Records that keep a signature."""
        return np.flatnonzero((self.usable >= 0) & ~self.resting).astype(np.int32)

    @property
    def movers(self) -> CodeArray:
        """Records with a value outside all the signatures of their person."""
        return np.flatnonzero((self.usable < 0) & self.has_past & ~self.resting).astype(np.int32)

    @property
    def fresh(self) -> CodeArray:
        """Records of persons who were told nothing."""
        return np.flatnonzero(~self.has_past & ~self.resting).astype(np.int32)

    def told_values(self, records: npt.NDArray[np.integer]) -> Sets:
        """Return the union of all the signatures of the persons of some records."""
        place = np.full(self.size, -1, np.int64)
        place[records] = np.arange(len(records))
        wanted = place[self.block_records] >= 0
        block_sets = self.sets.take(self.block_sets[wanted])
        pairs = np.unique(
            place[self.block_records[wanted]][block_sets.of_member] * self.width + block_sets.members
            if len(block_sets.members)
            else np.zeros(0, np.int64)
        )
        told = (pairs % self.width).astype(np.int32)
        return Sets(Ragged.of_sorted_owners(pairs // self.width, len(records), told))


def exhausted(
    size: int, sets: Sets, block_records: CodeArray, block_sets: CodeArray, domain: CodeArray, m: int
) -> BoolArray:
    """Return whose values outside everything they were told are fewer than m, or who was told a set of fewer than m.

    They rest, whatever their value is now: who is held back is decided by what was told alone.
    """
    possible = np.isin(sets.members, domain)
    sizes = np.bincount(sets.of_member[possible], minlength=len(sets))
    told = np.bincount(block_records, weights=sizes[block_sets], minlength=size)
    known = len(domain) - told < m
    known[~np.isin(np.arange(size), block_records)] = False
    known[block_records[sets.sizes[block_sets] < m]] = True
    return known
