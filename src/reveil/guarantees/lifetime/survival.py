"""What was told about pairs of a person and a value, and what one more release adds.

Theorem (Wong et al., lemma 4 and 5). Let every group be a set of persons with a multi-set of values, let every way to
give the values of each group of each release to its persons be equally likely, and independent from release to
release. Then a person o had the value s in one release or more with 1 - S(o, s), where S is the product, over the
releases with o, of 1 - n_s/n of o's group. A group without s leaves S as it was. So one number per pair is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged

if TYPE_CHECKING:
    import polars as pl


FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pairs:
    """Pairs of a record and a value, ascending by both: the survival, and in how many releases the two were linked."""

    record: CodeArray = field(repr=False)
    value: CodeArray = field(repr=False)
    survival: FloatArray = field(repr=False)
    links: IntArray = field(repr=False)

    @classmethod
    def nothing(cls) -> Pairs:
        """Nobody was linked with anything."""
        codes = np.zeros(0, np.int32)
        return cls(codes, codes, np.zeros(0), np.zeros(0, np.int64))

    @classmethod
    def of(cls, rows: pl.DataFrame) -> Pairs:
        """Take the pairs from the rows of a ledger, ascending by record and value."""
        return cls(
            rows["record"].to_numpy().astype(np.int32),
            rows["value"].to_numpy().astype(np.int32),
            rows["survival"].to_numpy().astype(np.float64),
            rows["links"].to_numpy().astype(np.int64),
        )

    def __len__(self) -> int:
        return len(self.record)

    def select(self, chosen: BoolArray) -> Pairs:
        """Keep some of the pairs."""
        return Pairs(self.record[chosen], self.value[chosen], self.survival[chosen], self.links[chosen])


def linked(groups: CodeArray, values: CodeArray, extra: IntArray | None = None) -> Pairs:
    """Return what a release alone tells: every member of a group is linked with every bounded value in it.

    ``groups`` is the group of each record, -1 for who is not published; ``values`` the value, -1 where it is not
    bounded or not told. ``extra``: further rows of each group that carry no value (absent persons of a list). The
    survival is that of this release, the links are 1.
    """
    record = np.flatnonzero(groups >= 0)
    group, told = groups[record].astype(np.int64), values[record]
    n_groups = int(group.max(initial=-1)) + 1
    sizes = np.bincount(group, minlength=n_groups)
    members = Ragged.grouped(group, n_groups, record)
    # How often each value is in each group.
    room = int(told.max(initial=-1)) + 1
    if not room:
        return Pairs.nothing()
    keys, counts = np.unique(group[told >= 0] * room + told[told >= 0], return_counts=True)
    group, value = keys // room, (keys % room).astype(np.int32)
    rows = sizes if extra is None else sizes + extra
    survival = 1 - counts / rows[group]
    # Every member with every value of the group.
    many = sizes[group]
    who = members.take(group).items.astype(np.int32)
    what = np.repeat(value, many)
    order = np.argsort(who.astype(np.int64) * room + what, kind="stable")
    return Pairs(who[order], what[order], np.repeat(survival, many)[order], np.ones(len(order), np.int64))


def updated(before: Pairs, now: Pairs) -> Pairs:
    """Return the pairs of a release with all that was told of them: those that it leaves alone are not among them."""
    room = int(max(before.value.max(initial=-1), now.value.max(initial=-1))) + 1
    known = before.record.astype(np.int64) * room + before.value
    wanted = now.record.astype(np.int64) * room + now.value
    place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    found = known[place] == wanted if len(known) else np.zeros(len(wanted), np.bool_)
    survival, links = now.survival.copy(), now.links.copy()
    survival[found] *= before.survival[place[found]]
    links[found] += before.links[place[found]]
    return Pairs(now.record, now.value, survival, links)
