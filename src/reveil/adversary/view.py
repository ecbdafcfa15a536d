"""One release as an adversary sees it: its groups and their values, and who may be in which of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import sums_of
from reveil.models.statistics import Histogram

if TYPE_CHECKING:
    import polars as pl

    from reveil.adversary.background import PeopleTables
    from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged
    from reveil.models.limits import Limit
    from reveil.releases.promise import Promise
    from reveil.releases.release import Release

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WholeRelease:
    """What is counted over a whole release, where a view shows some of its people only, and the groups of these.

    ``alone`` is how many may be in each group of the view and in no other. ``spare`` is whether its counterfeits are
    placed, how many persons are unplaced, and whether others may be in its groups; ``shares`` is the share of the
    table's rows that has each value.
    """

    alone: IntArray = field(repr=False)
    spare: tuple[bool, int, bool]
    shares: FloatArray = field(repr=False)


@dataclass(frozen=True)
class View:
    """One release as the adversary sees it.

    ``number`` is its place in the series, from 0. Groups are numbered from 0: group g has ``sizes[g]`` rows, of which
    ``fakes[g]`` are counterfeits, and the values ``values[g]``, ascending codes; ``counts``, beside ``values.items``,
    is how many rows of the group have each. ``present`` are the persons known to be in the table (with
    known="nothing": who could be); the i-th of them may be in the groups ``candidates[i]``. Nobody listed: the person
    was not published, or fits more groups than are kept (``crowded``). ``fits`` is how many of those
    present may be in each group. ``truth`` is the value code of each, -1 where it is not known.

    ``row_groups`` and ``row_codes`` are those of the published rows; a release in two tables has no value in a row.
    ``row_ids``: with placements, the record in each row, null where nobody says. ``value_codes`` are the values as the
    release tells them, row by row of the table that has them, -1 for a suppressed one.
    """

    number: int
    release: Release = field(repr=False)
    sizes: IntArray
    fakes: IntArray
    values: Ragged[np.int32] = field(repr=False)
    counts: IntArray = field(repr=False)
    present: CodeArray = field(repr=False)
    candidates: Ragged[np.int32] = field(repr=False)
    fits: IntArray = field(repr=False)
    crowded: BoolArray = field(repr=False)
    truth: CodeArray | None = field(repr=False)
    row_groups: CodeArray = field(repr=False)
    row_codes: CodeArray | None = field(repr=False)
    row_ids: pl.Series | None
    promise: Promise
    all_published: bool
    limits: tuple[Limit, ...] = ()  # what is promised of this release by itself
    told: pl.Series | None = field(default=None, repr=False)  # the sensitive column of its snapshot
    value_codes: CodeArray = field(repr=False, default_factory=lambda: np.zeros(0, np.int32))
    people: PeopleTables | None = field(default=None, repr=False)  # the tables of people that were given
    part_of: WholeRelease | None = field(default=None, repr=False)  # None: everybody and all groups are here

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @property
    def codes(self) -> CodeArray:
        """The value of each count."""
        return self.values.items

    @property
    def real(self) -> IntArray:
        """Rows per group that are records."""
        real: IntArray = self.sizes - self.fakes
        return real

    def histogram(self, domain: int) -> Histogram:
        """Return the values of the groups as statistics."""
        return Histogram(self.values, self.counts, domain)

    @cached_property
    def veiled(self) -> BoolArray:
        """Groups with a suppressed value, which may be any."""
        told = np.bincount(self.values.owners(), self.counts, self.n_groups)
        tells = told.sum() > 0 if self.part_of is None else self.part_of.shares.sum() > 0
        return np.asarray((told < self.sizes) & tells, np.bool_)

    def table_shares(self, domain: int) -> FloatArray:
        """Return the share of the table's rows that has each value."""
        if self.part_of is not None:
            return self.part_of.shares
        return sums_of(self.codes, self.counts, domain) / max(int(self.counts.sum()), 1)

    @cached_property
    def only(self) -> CodeArray:
        """The one group in which each person may be, -1 where there are several or none."""
        single = self.candidates.lengths == 1
        only = np.full(len(self.present), -1, np.int32)
        only[single] = self.candidates.items[self.candidates.starts[single]]
        return only

    @cached_property
    def closed(self) -> BoolArray:
        """Groups whose persons can be in no other group."""
        lone = np.bincount(self.only[self.only >= 0], minlength=self.n_groups)
        if self.part_of is not None:
            lone = self.part_of.alone
        closed: BoolArray = (lone == self.fits) & (self.fits >= self.real)
        return closed

    @cached_property
    def known_members(self) -> BoolArray:
        """Groups of which it is known exactly who is in them: as many persons as records, and in no other group."""
        known_members: BoolArray = self.closed & (self.fits == self.real)
        return known_members

    @cached_property
    def sure(self) -> CodeArray:
        """The group in which each person certainly is, -1 where that is not known."""
        if self.all_published:
            return self.only
        full = np.append(self.fits == self.real, False)
        return np.where(full[self.only], self.only, np.int32(-1)).astype(np.int32)

    @cached_property
    def known(self) -> IntArray:
        """The places in ``present`` of those whose group is certain."""
        return np.flatnonzero(self.sure >= 0)
