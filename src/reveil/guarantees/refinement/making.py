"""One release of cells: who is published in which group, and the rows that come of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import InfeasibleError
from reveil.guarantees.draft import GivenColumn, Rows
from reveil.guarantees.refinement.entries import Assignment
from reveil.guarantees.refinement.extras import Extras, decoded, extended, extras_of
from reveil.guarantees.refinement.plan import AllOfRelease, Decided, Rules, decide, grouped
from reveil.models.encoding import Codes, encode
from reveil.models.statistics import GroupStats, Histogram, Partition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.refinement.reading import Reading
    from reveil.tables.snapshot import Snapshot
    from reveil.vault.protocol import Book


@dataclass(frozen=True)
class MadeRelease:
    """Everything that was decided about a release.

    ``snapshot`` and ``codes`` have the records asked for, then the dirty ones, then rows that only widen boxes.
    ``cut`` says who is in which group of ``partition``, and ``reading`` what was told, with the values of today as
    they are published: frozen ones as they were told last.
    """

    asked: int
    reading: Reading
    snapshot: Snapshot
    codes: Codes
    partition: Partition
    cut: Assignment
    extras: Extras
    decided: Decided

    @property
    def remembered(self) -> Assignment:
        """The cut that the vault has to know: people who are lost are a cell, too."""
        if not self.decided.lost.any():
            return self.cut
        group = np.where(self.decided.lost, self.cut.n_groups, self.cut.group).astype(np.int32)
        return replace(self.cut, group=group, stand_ins=np.append(self.cut.stand_ins, 0))

    @property
    def publishable(self) -> int:
        """How many records of the snapshot can be published: those asked for, and the dirty ones."""
        return self.asked + self.extras.dirty

    def rows(self, book: Book, names: tuple[str, ...], rng: Dice) -> Rows:
        """Return the rows with the values of the named columns: those of records, then counterfeits."""
        labels = self.partition.labels[: self.publishable]
        real = np.flatnonzero(labels >= 0).astype(np.int32)
        fakes = np.repeat(np.arange(self.cut.n_groups, dtype=np.int32), self.cut.stand_ins)
        record = np.concatenate([real, np.full(len(fakes), -1, np.int32)])
        values = self.snapshot.frame.select(names).select(pl.all().gather(real))
        if len(fakes):
            values = pl.concat([values, self._stand_ins(book, names, fakes, rng)])
        every = np.arange(len(record), dtype=np.int32)
        return Rows(
            record,
            np.concatenate([real, self.partition.order[self.partition.offsets[fakes]]]),  # a group has one box
            np.concatenate([labels[real], fakes]),
            {name: GivenColumn(values[name], every) for name in names},
        )

    def _stand_ins(self, book: Book, names: tuple[str, ...], fakes: CodeArray, rng: Dice) -> pl.DataFrame:
        """Return the values of counterfeits: those that the absent of the cell were told with, in any order.

        So the group shows what the cell has shown before, and nobody learns anything new.
        """
        reading, past = self.reading, self.reading.past
        labels = self.partition.labels[: self.asked]
        real = np.flatnonzero(labels >= 0)
        cell_of = np.full(self.cut.n_groups, -1, np.int32)
        cell_of[labels[real]] = past.cell[real]
        codings = {coding.attribute.name: (coding, at) for at, coding in enumerate(reading.codings)}
        columns = []
        for name in names:
            dtype = self.snapshot.frame.schema[name]
            coding, at = codings[name]
            versions = past.versions[at]
            today = versions.offsets[1:] - 1
            beside = np.flatnonzero(self.decided.beside)
            cell = self.decided.absent.cell[beside]
            helped = Histogram.of(
                today[cell], self.decided.absent.last(at)[beside], len(versions.cell), versions.attribute.domain
            )
            left = versions.counts.less(versions.histogram(~reading.rests)).less(helped)
            take = np.zeros(len(versions.cell), np.bool_)
            take[today[cell_of[np.unique(fakes)]]] = True
            shown = take[left.groups]
            owner = np.repeat(versions.cell[left.groups[shown]], left.counts[shown])
            value = np.repeat(left.codes[shown], left.counts[shown])
            mixed = rng.child("counterfeits", name).order_by(owner)
            # Both sides cell by cell: as many values as counterfeits.
            codes = np.empty(len(fakes), np.int32)
            codes[np.argsort(cell_of[fakes], kind="stable")] = value[mixed]
            columns.append(decoded(book, name, coding.stable[codes], dtype))
        return pl.DataFrame(columns)


def make(
    snapshot: Snapshot,
    before: Reading,
    rules: Rules,
    book: Book,
    method: Grouper,
    rng: Dice,
    stable_codes: Mapping[str, CodeArray],
    codes: Codes | None,
) -> MadeRelease:
    """Decide about every cell and group those who are published.

    A model that compares groups with the table is asked again at the end, because who is held back changes the table:
    whoever is in a group that fails is held back as well, until nothing changes. It ends, because holding everybody
    back is always possible.
    """
    held = np.zeros(before.past.n_cells, np.bool_)
    waiting = np.zeros(snapshot.frame.height, np.bool_)
    while True:
        decided = decide(before, rules, book, snapshot.schema.quasi, rng, held, waiting)
        if not decided.published(before.past, ~before.rests).any():
            raise nobody_published()
        extended_by = Extending(snapshot, before, decided, book, stable_codes)
        whole = extended_by.whole
        coded = encode(whole) if whole is not snapshot or codes is None else codes
        made = extended_by.cut(coded, rules, method, rng.child("groups"))
        if not made.reading.tables:
            return made
        bad = _failing(made, rules)
        if not bad.any():
            return made
        failed = np.append(bad, False)[made.cut.group]
        cells = before.past.cell[failed]
        held[cells[cells >= 0]] = True
        waiting |= failed & (before.past.cell < 0)
        rng = rng.child("again")


def nobody_published() -> InfeasibleError:
    """Return the refusal of a release without rows."""
    return InfeasibleError(
        "nobody can be published: every set of people that would be told apart is too small or too uniform",
        hint="Ask for less (k, l, t), for more people at once, or allow dirty records.",
    )


@dataclass(frozen=True)
class Extending:
    """From a decision to its release: the values that are published, with the extra rows, and the groups.

    ``before`` is what was told, ``stable_codes`` are those of the snapshot.
    """

    snapshot: Snapshot
    before: Reading
    decided: Decided
    book: Book
    stable_codes: Mapping[str, CodeArray]

    @cached_property
    def reading(self) -> Reading:
        """What was told, with the values of today as they are published."""
        return self.before.frozen(self.decided.frozen)

    @cached_property
    def extras(self) -> Extras:
        """The rows that nobody asked for."""
        return extras_of(self.decided, self.reading, self.book, self.snapshot.schema.quasi, self.stable_codes)

    @cached_property
    def whole(self) -> Snapshot:
        """The snapshot as it is published, and the extra rows behind it."""
        return extended(self.snapshot, self.extras, self.decided, self.reading, self.before, self.book)

    def cut(
        self, coded: Codes, rules: Rules, method: Grouper, rng: Dice, among: AllOfRelease | None = None
    ) -> MadeRelease:
        """Group everybody who is published; ``coded`` is all of the extended snapshot."""
        reading, decided, extras = self.reading, self.decided, self.extras
        partition = grouped(reading, decided, rules, coded, extras.cell, method, rng, among)
        return _cut(self.snapshot.frame.height, self.whole, coded, partition, extras, decided, reading)


def _cut(
    asked: int,
    snapshot: Snapshot,
    codes: Codes,
    partition: Partition,
    extras: Extras,
    decided: Decided,
    reading: Reading,
) -> MadeRelease:
    labels = partition.labels
    beside = np.full(decided.absent.size, -1, np.int32)
    beside[decided.beside] = labels[asked : asked + extras.dirty]
    stand_ins = np.zeros(partition.n_groups, np.int64)
    cell = np.full(partition.n_groups, -1, np.int64)
    there = labels[:asked] >= 0
    cell[labels[:asked][there]] = reading.past.cell[there]
    whole = np.flatnonzero(np.append(decided.stand_ins, 0)[cell] > 0)  # a cell with counterfeits is one group
    stand_ins[whole] = decided.stand_ins[cell[whole]]
    cut = Assignment(labels[:asked], beside, stand_ins)
    return MadeRelease(asked, reading, snapshot, codes, partition, cut, extras, decided)


def _failing(made: MadeRelease, rules: Rules) -> BoolArray:
    """Return the groups that do not satisfy the model beside the table as it is published."""
    codes, partition = made.codes, made.partition
    real = partition.order[partition.order < made.publishable]
    groups = partition.labels[real]
    histograms = {a.name: Histogram.of(groups, a.codes[real], partition.n_groups, a.domain) for a in codes.sensitive}
    sizes = np.bincount(groups, minlength=partition.n_groups).astype(np.int64)
    return ~rules.model.verdict(GroupStats(sizes, histograms, codes.references(real)))


def without_shapes(made: MadeRelease) -> tuple[Snapshot, Codes]:
    """Return what verification may see: the records asked for and the dirty ones."""
    frame = made.snapshot.frame
    if frame.height == made.publishable:
        return made.snapshot, made.codes
    return replace(made.snapshot, frame=frame.head(made.publishable)), made.codes.take(np.arange(made.publishable))
