"""People in releases, laid out in a row: what the deep attacks reason about.

An *appearance* is a person in a release. Appearances are numbered release by release, so that the appearance before one
in the same life always has a smaller number; groups are numbered over all releases. Sets of values are rows of bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged, offsets_of
from reveil.releases.limits import signatures
from reveil.releases.parsing import classes_of

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.view import View
    from reveil.releases.manifest import Manifest

BitArray = npt.NDArray[np.uint64]
Rule = Literal["apart", "kept", "none"]

MOST_CANDIDATES = (
    20_000_000  # candidates of all appearances together; beyond that, whoever has the most of them is left out
)


@dataclass(frozen=True, repr=False)
class Appearances:
    """All the appearances and groups of a series.

    Appearance i is ``person[i]`` in release ``release[i]``, may be in the groups ``candidates[i]``, comes
    after appearance ``before[i]`` of the same person (-1: none), with the same value as there (``changed`` 0), with
    another one (1) or with nobody knows which (-1). Group g has ``room[g]`` records and the values ``values[g]``,
    ascending codes; ``counts``, beside ``values.items``, is how many rows of the group have each. The appearances of
    release t begin at ``appearance_starts[t]``, its groups at ``group_starts[t]``.

    ``unplaced[t]`` is how many persons of release t are in no group, beside those whom no group admits. ``open[t]``:
    others than the persons listed, or listed elsewhere, may be in its groups, so that these need not be full.
    """

    person: CodeArray
    release: CodeArray
    before: IntArray
    changed: npt.NDArray[np.int8]
    candidates: Ragged[np.int32]
    room: IntArray
    values: Ragged[np.int32]
    counts: IntArray
    appearance_starts: IntArray
    group_starts: IntArray
    unplaced: IntArray
    open: BoolArray
    domain: int
    rule: Rule = field(default="none")

    @property
    def n(self) -> int:
        """How many appearances there are."""
        return len(self.person)

    @property
    def n_groups(self) -> int:
        """How many groups there are, over all releases."""
        return len(self.room)

    @cached_property
    def sets(self) -> BitArray:
        """The values of each group as bits."""
        sets = np.zeros((self.n_groups, (self.domain + 1) // 64 + 1), np.uint64)
        codes = self.values.items
        np.bitwise_or.at(sets, (self.values.owners(), codes // 64), np.uint64(1) << (codes % 64).astype(np.uint64))
        return sets

    @cached_property
    def everything(self) -> BitArray:
        """The set of all values, and two bits beyond them for values that nobody told.

        Who is in no group may have any value at all. Two bits, because it is never one certain value, and two persons,
        or one at two times, may have different ones of them.
        """
        bits = np.zeros((self.domain + 1) // 64 + 1, np.uint64)
        values = np.arange(self.domain + 2, dtype=np.uint64)
        np.bitwise_or.at(bits, values // np.uint64(64), np.uint64(1) << values % np.uint64(64))
        return bits

    @cached_property
    def signature(self) -> CodeArray:
        """A number for each group; groups with the same set of values have the same."""
        return numbered(self.sets)

    @cached_property
    def distinct(self) -> IntArray:
        """How many different values each group has."""
        return self.values.lengths

    @cached_property
    def rows(self) -> IntArray:
        """How many rows each group has, counterfeits among them."""
        return self.values.reduce(np.add, self.counts)

    @cached_property
    def balanced(self) -> BoolArray:
        """Groups that have all their values equally often."""
        most, fewest = (self.values.reduce(ufunc, self.counts) for ufunc in (np.maximum, np.minimum))
        return np.asarray(most == fewest, np.bool_)

    @cached_property
    def by_person(self) -> Ragged[np.int64]:
        """The appearances of each person who has any, in the order of time."""
        order = np.argsort(self.person, kind="stable").astype(np.int64)
        starts = np.flatnonzero(np.diff(self.person[order], prepend=-1))
        return Ragged(np.append(starts, self.n).astype(np.int64), order)

    @cached_property
    def kept(self) -> BoolArray:
        """Appearances whose signature is that of the appearance before: who stayed, and has the same value."""
        stayed: BoolArray = (self.before >= 0) & (self.changed == 0)
        stayed[stayed] = self.release[stayed] == self.release[self.before[stayed]] + 1
        return stayed


def appearances_of(evidence: Evidence, *, one_table: bool = False, candidates: bool = True) -> Appearances:
    """Lay out what the adversary knows. ``one_table``: all the releases are of one table, in which nothing changes.

    Without ``candidates`` nobody has any: they take by far the most room, and not everybody needs them in one place.
    """
    views = evidence.views
    sizes = np.array([len(view.present) for view in views], np.int64)
    appearance_starts = offsets_of(sizes)
    group_starts = offsets_of([view.n_groups for view in views])
    person = np.concatenate([view.present for view in views]).astype(np.int32)
    release = np.repeat(np.arange(len(views), dtype=np.int32), sizes)
    before = _before(person)
    changed = np.where(before >= 0, 0, -1).astype(np.int8) if one_table else np.concatenate(evidence.changed)
    # A release that does not tell the sensitive column says nothing about values: nobody is placed in it.
    # A suppressed value may be any: what a release with some leaves possible is not chained.
    told = [candidates and len(view.codes) > 0 and not view.veiled.any() for view in views]
    many = [view.candidates.lengths * tells for view, tells in zip(views, told, strict=True)]
    groups = [
        view.candidates.items + start for view, start, tells in zip(views, group_starts, told, strict=False) if tells
    ]
    numbers = [_numbers(view) for view in views]
    appearances = Appearances(
        person,
        release,
        before,
        changed,
        Ragged.of_lengths(np.concatenate(many), np.concatenate([*groups, np.zeros(0, np.int32)]).astype(np.int32)),
        np.concatenate(
            [view.real if placed else view.sizes for view, (placed, _, _) in zip(views, numbers, strict=True)]
        ),
        Ragged.concatenate([view.values for view in views]),
        np.concatenate([view.counts for view in views]).astype(np.int64),
        appearance_starts.astype(np.int64),
        group_starts,
        np.array([unplaced for _, unplaced, _ in numbers], np.int64),
        np.array([is_open for _, _, is_open in numbers], np.bool_),
        len(evidence.values),
    )
    appearances = _at_most(appearances, MOST_CANDIDATES)
    return appearances if one_table else _with_rule(appearances, evidence)


def numbered(bits: BitArray) -> CodeArray:
    """Number the different rows of bits."""
    columns: list[npt.NDArray[np.integer]] = [
        np.unique(bits[:, w], return_inverse=True)[1] for w in range(bits.shape[1])
    ]
    return classes_of(columns, len(bits))[0]


def _numbers(view: View) -> tuple[bool, int, bool]:
    """Return whether the counterfeits are placed, how many persons are unplaced, and whether others may be there."""
    if view.part_of is not None:
        return view.part_of.spare
    nowhere = int(((view.candidates.lengths == 0) & ~view.crowded).sum())
    everything = int(view.sizes.sum()), int(view.fakes.sum())
    return spare_places(view.release.manifest, *everything, len(view.present), nowhere, crowded=view.crowded.any())


def spare_places(
    manifest: Manifest, rows: int, placed_fakes: int, persons: int, nowhere: int, *, crowded: bool | np.bool_
) -> tuple[bool, int, bool]:
    """Return the same from what was counted in a release: rows, counterfeits in groups, persons, those in no group."""
    fakes = manifest.counterfeits.total
    placed = fakes == placed_fakes
    spare = persons - (rows - fakes)
    is_open = bool(crowded) or not placed or spare < 0
    left_out = (manifest.suppressed or 0) + manifest.withheld
    return placed, max(spare - nowhere, 0) if spare >= 0 else left_out, is_open


def _at_most(appearances: Appearances, most: int) -> Appearances:
    """Forget the candidates of those who have the most of them: they may be anywhere, and learn the least from them."""
    if len(appearances.candidates.items) <= most:
        return appearances
    many = appearances.candidates.lengths
    # A number of candidates is kept if everybody with so many or fewer has no more than that together.
    together = np.cumsum(np.bincount(many, many))
    kept = many <= np.searchsorted(together, most, side="right") - 1
    is_open = appearances.open.copy()
    is_open[appearances.release[~kept]] = True
    return replace(
        appearances,
        candidates=appearances.candidates.select(np.repeat(kept, many)),
        open=is_open,
    )


def _before(person: CodeArray) -> IntArray:
    """Return the appearance before each one in the same life."""
    order = np.argsort(person, kind="stable")
    same = person[order][1:] == person[order][:-1]
    before = np.full(len(person), -1, np.int64)
    before[order[1:][same]] = order[:-1][same]
    return before


def _with_rule(appearances: Appearances, evidence: Evidence) -> Appearances:
    """Add the rule that the manifests declare for the signatures of a person."""
    rule: Rule = "none"
    last = [view for view in evidence.views if view.promise.is_known]
    stated = signatures(last[-1].promise) if last else None
    if stated == "apart":
        rule = "apart"
    elif stated == "kept":
        # It speaks of tables in which nobody returns and no value changes; otherwise of those who stay as they are.
        follows = appearances.before >= 0
        gap = appearances.release[follows] > appearances.release[appearances.before[follows]] + 1
        # Who does not know whether values changed cannot take it that none did.
        if evidence.known in ("events", "ids"):
            rule = "kept" if gap.any() or (appearances.changed == 1).any() else "apart"
    return replace(appearances, rule=rule)
