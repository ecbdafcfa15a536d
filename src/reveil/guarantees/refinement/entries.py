"""What the vault has to remember of a release that cut cells into pieces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.guarantees.refinement.ledgers import CELLS, COUNTS, PACE, SIZES, TABLES, TOLD_VALUES
from reveil.models.statistics import Histogram
from reveil.tables.snapshot import canonical_text
from reveil.vault.protocol import Entries

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.guarantees.refinement.absent import Absent
    from reveil.guarantees.refinement.past import CellVersions, Past, ToldValues
    from reveil.guarantees.refinement.reading import ColumnCoding, Reading
    from reveil.vault.protocol import Book


@dataclass(frozen=True)
class Assignment:
    """Who is published in which group: the records of a snapshot, some of the absent, and counterfeits.

    ``group`` is the group of each record, -1 for those held back, ``beside`` the group of each of the absent, and
    ``stand_ins`` how many counterfeits stand in for members of its cell in each group. A group is inside one cell, or
    has nobody who was published before.
    """

    group: CodeArray = field(repr=False)
    beside: CodeArray = field(repr=False)
    stand_ins: IntArray = field(repr=False)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.stand_ins)


@dataclass(frozen=True)
class Pieces:
    """The groups as pieces of cells. ``cell`` is the place of a group's cell, -1 if it is of people who are new.

    ``kept``: the group is all of its cell, which keeps its number; other groups become cells with ``number``.
    """

    cell: CodeArray = field(repr=False)
    sizes: IntArray = field(repr=False)
    kept: BoolArray = field(repr=False)
    number: CodeArray = field(repr=False)
    next_cell: int

    @classmethod
    def of(cls, reading: Reading, cut: Assignment, absent: Absent) -> Pieces:
        """Find the cell of each group, and the number that it has from now on."""
        past = reading.past
        cell = np.full(cut.n_groups, -1, np.int32)
        there, there_too = cut.group >= 0, cut.beside >= 0
        cell[cut.group[there]] = past.cell[there]
        cell[cut.beside[there_too]] = absent.cell[there_too]
        everybody = np.concatenate([cut.group[there], cut.beside[there_too]])
        sizes = np.bincount(everybody, minlength=cut.n_groups).astype(np.int64) + cut.stand_ins
        whole = np.append(past.sizes, -1)[cell]
        kept = (cell >= 0) & (sizes == whole)
        number = np.append(past.numbers, -1)[cell].astype(np.int32)
        fresh = np.flatnonzero(~kept)
        number[fresh] = reading.next_cell + np.arange(len(fresh), dtype=np.int32)
        return cls(cell, sizes, kept, number, reading.next_cell + len(fresh))


def entries_of(reading: Reading, cut: Assignment, absent: Absent) -> tuple[Entries, ...]:
    """Return what changes: whose cell, the sizes and histograms of cells, and which values were told first."""
    past, release = reading.past, reading.past.release
    pieces = Pieces.of(reading, cut, absent)
    # Cells of which a piece was published, but not all in one: the rest keeps the number.
    torn = np.zeros(past.n_cells, np.bool_)
    torn[pieces.cell[(pieces.cell >= 0) & ~pieces.kept]] = True
    moved = np.flatnonzero((cut.group >= 0) & ~np.append(pieces.kept, True)[cut.group])
    beside = np.flatnonzero((cut.beside >= 0) & ~np.append(pieces.kept, True)[cut.beside])
    cells = pl.DataFrame(
        {
            "record": np.concatenate([moved, np.full(len(beside), -1)]).astype(np.int32),
            "person": np.concatenate([np.full(len(moved), -1), absent.person[beside]]).astype(np.int32),
            "cell": np.concatenate([pieces.number[cut.group[moved]], pieces.number[cut.beside[beside]]]),
        }
    )
    taken = np.bincount(pieces.cell[pieces.cell >= 0], pieces.sizes[pieces.cell >= 0], past.n_cells).astype(np.int64)
    left_over = past.sizes - taken
    left, used_up = torn & (left_over > 0), torn & (left_over == 0)
    sizes = pl.DataFrame(
        {
            "cell": np.concatenate([pieces.number[~pieces.kept], past.numbers[left]]).astype(np.int32),
            "size": np.concatenate([pieces.sizes[~pieces.kept], left_over[left]]).astype(np.int32),
        }
    )
    found = [
        Entries(CELLS, cells),
        Entries(SIZES, sizes, pl.DataFrame({"cell": past.numbers[used_up]})),
        Entries(
            PACE,
            pl.DataFrame(
                {
                    "release": [release],
                    "asked": reading.asked[-1:],
                    "stayed": reading.stayed[-1:],
                    "next_cell": [pieces.next_cell],
                }
            ),
        ),
    ]
    if not reading.codings:
        return tuple(found)
    published = cut.group >= 0
    counts, told = [], []
    for versions, coding, theirs in zip(past.versions, reading.codings, absent.told, strict=True):
        shown = _Shown.of(versions, cut, absent, theirs)
        if coding.attribute.name in reading.tables:  # each release is judged beside a table of its own
            shown = replace(shown, new=np.ones_like(shown.new))
        counts.append(_counts(versions, coding, past, pieces, cut, shown, torn))
        told.append(_told_rows(coding, published & ((past.cell < 0) | versions.changed), release))
    gone = reading.counts.filter(np.isin(reading.counts["cell"].to_numpy(), past.numbers[torn]))
    found.append(Entries(COUNTS, pl.concat(counts), gone.select(COUNTS.keys)))
    found.append(Entries(TOLD_VALUES, pl.concat(told)))
    return tuple(found)


@dataclass(frozen=True)
class _Shown:
    """Which value each published unit of an old cell has in each version of it, and in which group the unit is."""

    group: IntArray
    version: IntArray
    value: CodeArray
    new: BoolArray  # whether the unit has this value since this version

    @classmethod
    def of(cls, versions: CellVersions, cut: Assignment, absent: Absent, told: ToldValues) -> _Shown:
        """Put the records and the absent who are published beside each other."""
        unit, version, value = versions.of_units(absent.cell, told)
        group = np.concatenate([cut.group[versions.record], cut.beside[unit]]).astype(np.int64)
        today = versions.release[versions.version] == versions.today
        mine = np.where(
            today,
            versions.changed[versions.record],
            versions.told.begins(versions.record, versions.release[versions.version]),
        )
        theirs = told.begins(unit, versions.release[version])
        here = group >= 0
        return cls(
            group[here],
            np.concatenate([versions.version, version])[here],
            np.concatenate([versions.value, value])[here],
            np.concatenate([mine, theirs])[here],
        )


def _counts(
    versions: CellVersions,
    coding: ColumnCoding,
    past: Past,
    pieces: Pieces,
    cut: Assignment,
    shown: _Shown,
    torn: BoolArray,
) -> pl.DataFrame:
    """Return the histograms of new cells in all their versions, of what is left of old ones, and of changed ones."""
    # A group needs the version in which its people were told first, and those in which one of them changed.
    room = len(versions.cell) + 1
    key = shown.group * room + shown.version
    tells = np.isin(key, np.unique(key[shown.new])) & ~pieces.kept[shown.group]
    new = _rows(coding, pieces.number[shown.group[tells]], versions.release[shown.version[tells]], shown.value[tells])
    fresh = np.flatnonzero((cut.group >= 0) & (past.cell < 0))
    today = np.full(len(fresh), versions.today)
    born = _rows(coding, pieces.number[cut.group[fresh]], today, versions.attribute.codes[fresh])
    # A cell that stays whole has a new version where somebody changed: all of it, as of today.
    changed = np.zeros(past.n_cells + 1, np.bool_)
    moved = shown.new & (versions.release[shown.version] == versions.today)
    kept = pieces.kept[shown.group[moved]]
    changed[pieces.cell[shown.group[moved][kept]]] = True
    grown = _histogram_rows(
        coding, past, versions, versions.counts, changed[versions.cell] & (versions.release == versions.today)
    )
    # What is left of a torn cell, in every version so far.
    before = torn[versions.cell] & (versions.release != versions.today)
    there = before[shown.version]
    gone = Histogram.of(shown.version[there], shown.value[there], len(versions.cell), versions.attribute.domain)
    left = _histogram_rows(coding, past, versions, versions.counts.masked(before).less(gone), before)
    return pl.concat([new, born, grown, left])


def _rows(coding: ColumnCoding, cell: CodeArray, release: IntArray, value: CodeArray) -> pl.DataFrame:
    """Count units by cell, release and value."""
    rows = pl.DataFrame({"cell": cell, "release": release, "value": coding.stable[value]}).cast(pl.Int32)
    return _numbered(coding, rows.group_by("cell", "release", "value").agg(number=pl.len().cast(pl.Int32)))


def _histogram_rows(
    coding: ColumnCoding, past: Past, versions: CellVersions, histogram: Histogram, at: BoolArray
) -> pl.DataFrame:
    """Return the counts of some versions as rows."""
    chosen = at[histogram.groups]
    version = histogram.groups[chosen]
    rows = pl.DataFrame(
        {
            "cell": past.numbers[versions.cell[version]],
            "release": versions.release[version],
            "value": coding.stable[histogram.codes[chosen]],
            "number": histogram.counts[chosen],
        }
    ).cast(pl.Int32)
    return _numbered(coding, rows)


def _numbered(coding: ColumnCoding, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select("cell", pl.lit(coding.number, pl.Int32).alias("attribute"), "release", "value", "number")


def _told_rows(coding: ColumnCoding, first: BoolArray, release: int) -> pl.DataFrame:
    """Return whose value is told for the first time, or is another than before."""
    record = np.flatnonzero(first).astype(np.int32)
    return pl.DataFrame(
        {
            "record": record,
            "attribute": np.full(len(record), coding.number, np.int32),
            "release": np.full(len(record), release, np.int32),
            "value": coding.stable[coding.attribute.codes[record]],
        }
    )


def table_entries(codings: ColumnCoding, published: pl.Series, book: Book, release: int) -> Entries:
    """Return the whole table of a release in one attribute, counterfeits included."""
    known = book.values(codings.attribute.name).select(text="value", value="code")
    told = canonical_text(published).alias("text").to_frame().group_by("text").agg(number=pl.len().cast(pl.Int32))
    rows = told.join(known, on="text", how="left", nulls_equal=True)
    attribute, at = pl.lit(codings.number, pl.Int32).alias("attribute"), pl.lit(release, pl.Int32).alias("release")
    return Entries(TABLES, rows.select(attribute, at, "value", "number"))
