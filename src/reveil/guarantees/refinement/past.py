"""What was told of the cells that a snapshot touches, and what each of their pieces would show.

A person's *cell* are the persons who were in the same class, or absent, in every release so far. A release cuts a cell
into pieces: those of its persons who are published in one class, and those who are not published. Everything here is
about many cells at once: numbers per cell, and histograms per *version* of a cell.

A version is a release in which the value of somebody in the cell changed (the first one among them), and beside these
the release that is being made. So the histograms of all versions are those of all releases: in between nothing
changed. In the version of today, who is absent has the value that was told last.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, offsets_of_sorted, spans
from reveil.models.statistics import Histogram

if TYPE_CHECKING:
    import polars as pl

    from reveil.models.encoding import SensitiveAttribute


@dataclass(frozen=True)
class ToldValues:
    """The values that units (persons, by any number) were published with: a row for the first, and for each change."""

    unit: IntArray = field(repr=False)
    release: IntArray = field(repr=False)
    value: CodeArray = field(repr=False)

    @classmethod
    def of(cls, rows: pl.DataFrame, unit: str) -> ToldValues:
        """Take rows with a unit, ``release`` and ``value``."""
        sorted_rows = rows.sort(unit, "release")
        return cls(
            sorted_rows[unit].to_numpy().astype(np.int64),
            sorted_rows["release"].to_numpy().astype(np.int64),
            sorted_rows["value"].to_numpy().astype(np.int32),
        )

    @cached_property
    def span(self) -> int:
        """More than any release that is mentioned."""
        return int(self.release.max(initial=0)) + 1

    def at(self, unit: IntArray, release: IntArray) -> CodeArray:
        """Return the value that a unit had in a release, -1 where nothing was told by then."""
        keys = self.unit * self.span + self.release
        place = np.searchsorted(keys, unit * self.span + np.minimum(release, self.span - 1), side="right") - 1
        known = (place >= 0) & (self.unit[place] == unit) if len(keys) else np.zeros(len(unit), np.bool_)
        return np.where(known, self.value[place] if len(keys) else -1, -1).astype(np.int32)

    def begins(self, unit: npt.NDArray[np.integer], release: IntArray) -> BoolArray:
        """Return whether a unit was told a value in this very release that it was not told before."""
        if not len(self.unit):
            return np.zeros(len(unit), np.bool_)
        keys, wanted = self.unit * self.span + self.release, unit * self.span + np.minimum(release, self.span)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.asarray((keys[place] == wanted) & (release < self.span), np.bool_)


@dataclass(frozen=True)
class CellVersions:
    """What the versions of the touched cells say of one sensitive attribute.

    ``attribute`` has the value of each record today, and how values relate. Version v is of the cell ``cell[v]`` and
    has the release ``release[v]``; versions come cell by cell in the order of releases, that of today last. ``counts``
    is the histogram of all members of the cell. ``record``, ``version`` and ``value`` say which value each record of a
    cell has in each version.
    """

    today: int
    attribute: SensitiveAttribute
    told: ToldValues
    cell: CodeArray = field(repr=False)
    release: IntArray = field(repr=False)
    counts: Histogram = field(repr=False)
    record: CodeArray = field(repr=False)
    version: CodeArray = field(repr=False)
    value: CodeArray = field(repr=False)
    changed: BoolArray = field(repr=False)  # of each record: whether its value is another than was told last

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.attribute.name

    @cached_property
    def offsets(self) -> IntArray:
        """Where the versions of each cell begin, and at last where they end."""
        return offsets_of_sorted(self.cell, int(self.cell.max(initial=-1)) + 1)

    def of_units(self, cell: CodeArray, told: ToldValues) -> tuple[IntArray, IntArray, CodeArray]:
        """Return the value of each of some absent units, given by the place of their cells, in each version.

        That is a place among the units, a version and a value. Today they have what was told last.
        """
        unit, version = expanded(np.arange(len(cell)), cell, self.offsets)
        return unit, version, told.at(unit, self.release[version])

    def frozen(self, chosen: BoolArray) -> CellVersions:
        """Return the same with some of the records as they were told last, whatever they are today."""
        moved = np.flatnonzero(chosen & self.changed)
        if not len(moved):
            return self
        last = self.told.at(moved, np.full(len(moved), self.today, np.int64))
        codes, changed, value = self.attribute.codes.copy(), self.changed.copy(), self.value.copy()
        cell_of = np.full(len(codes), -1, np.int32)
        cell_of[self.record] = self.cell[self.version]
        at = self.offsets[cell_of[moved] + 1] - 1  # today's version is the last one of a cell
        now = Histogram.of(at, codes[moved], len(self.cell), self.attribute.domain)
        then = Histogram.of(at, last, len(self.cell), self.attribute.domain)
        codes[moved], changed[moved] = last, False
        today = self.release[self.version] == self.today
        value[today] = codes[self.record[today]]
        return replace(
            self,
            attribute=replace(self.attribute, codes=codes),
            counts=self.counts.less(now).merge(then),
            value=value,
            changed=changed,
        )

    def histogram(self, chosen: BoolArray) -> Histogram:
        """Return, version by version, what those of the chosen records have who are in the cell."""
        wanted = chosen[self.record]
        return Histogram.of(self.version[wanted], self.value[wanted], len(self.cell), self.attribute.domain)


@dataclass(frozen=True)
class Past:
    """The touched cells. ``cell`` is the place of each record's cell among them, -1 for who was never published.

    ``sealed`` is the state of each cell: 0 where it may be cut.
    """

    release: int
    cell: CodeArray = field(repr=False)
    numbers: CodeArray = field(repr=False)
    sizes: IntArray = field(repr=False)
    versions: tuple[CellVersions, ...]
    sealed: CodeArray = field(repr=False)

    @property
    def n_cells(self) -> int:
        """How many cells are touched."""
        return len(self.numbers)

    def count(self, chosen: BoolArray) -> IntArray:
        """Return how many of the chosen records are in each cell."""
        cells = self.cell[chosen & (self.cell >= 0)]
        return np.bincount(cells, minlength=self.n_cells).astype(np.int64)

    @cached_property
    def changed(self) -> BoolArray:
        """Whose value, in any attribute, is another than was told last."""
        changed = np.zeros(len(self.cell), np.bool_)
        for versions in self.versions:
            changed |= versions.changed
        return changed


def expanded(units: IntArray, cell: CodeArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return every unit beside every version of its cell."""
    many = offsets[cell + 1] - offsets[cell]
    version = spans(offsets[cell], many)
    return np.repeat(units, many), version


def said_of(
    attribute: SensitiveAttribute,
    cell: CodeArray,
    told: ToldValues,
    counts: pl.DataFrame,
    release: int,
    n_cells: int,
) -> CellVersions:
    """Put together what was said of one attribute.

    ``counts`` has the columns ``cell`` (a place), ``release``, ``value`` and ``count``: the histograms of all versions
    so far. ``told`` speaks of records.
    """
    rows = counts.sort("cell", "release", "value")
    owner, at = rows["cell"].to_numpy().astype(np.int64), rows["release"].to_numpy().astype(np.int64)
    # The versions so far, and behind those of each cell the one of today.
    first = np.flatnonzero((np.diff(owner, prepend=-1) != 0) | (np.diff(at, prepend=-1) != 0))
    cells = np.concatenate([owner[first], np.arange(n_cells)])
    releases = np.concatenate([at[first], np.full(n_cells, release)])
    order = np.lexsort((releases, cells))
    cells, releases = cells[order].astype(np.int32), releases[order]
    offsets = offsets_of_sorted(cells, n_cells)
    inside = np.flatnonzero(cell >= 0)
    record, version = expanded(inside, cell[inside], offsets)
    now = releases[version] == release
    value = np.where(now, attribute.codes[record], told.at(record, releases[version])).astype(np.int32)
    last = np.full(len(cell), -1, np.int32)
    last[inside] = told.at(inside, np.full(len(inside), release, np.int64))
    changed = (last >= 0) & (last != attribute.codes)
    # Today's histogram: that of the last version, without what the present were told, and with what they have.
    domain = attribute.domain
    spread = np.searchsorted(cells.astype(np.int64) * (release + 1) + releases, owner * (release + 1) + at)
    before = Histogram.of_counts(spread, rows["value"].to_numpy(), rows["count"].to_numpy(), len(cells), domain)
    latest = np.isin(spread, offsets[1:] - 2)
    today = offsets[1:] - 1
    carried = Histogram.of_counts(
        today[owner[latest]], rows["value"].to_numpy()[latest], rows["count"].to_numpy()[latest], len(cells), domain
    )
    told_last = Histogram.of(today[cell[inside]], last[inside], len(cells), domain)
    have = Histogram.of(today[cell[inside]], attribute.codes[inside], len(cells), domain)
    counts_of = before.merge(carried.less(told_last)).merge(have)
    return CellVersions(
        release,
        attribute,
        told,
        cells,
        releases.astype(np.int64),
        counts_of,
        record.astype(np.int32),
        version.astype(np.int32),
        value,
        changed,
    )
