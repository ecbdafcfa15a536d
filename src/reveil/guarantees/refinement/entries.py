"""What the vault has to remember of a release that cut cells into pieces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.guarantees.refinement.ledgers import CELLS, COUNTS, PACE, SIZES, TABLES, TOLD
from reveil.models.statistics import Histogram
from reveil.tables.snapshot import canonical_text
from reveil.vault.protocol import Entries

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.guarantees.refinement.absent import Absent
    from reveil.guarantees.refinement.past import Past, Said, Told
    from reveil.guarantees.refinement.reading import Reading, Words
    from reveil.vault.protocol import Book


@dataclass(frozen=True)
class Cut:
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
    def of(cls, reading: Reading, cut: Cut, absent: Absent) -> Pieces:
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


def entries_of(reading: Reading, cut: Cut, absent: Absent) -> tuple[Entries, ...]:
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
    rest = past.sizes - taken
    left, used_up = torn & (rest > 0), torn & (rest == 0)
    sizes = pl.DataFrame(
        {
            "cell": np.concatenate([pieces.number[~pieces.kept], past.numbers[left]]).astype(np.int32),
            "size": np.concatenate([pieces.sizes[~pieces.kept], rest[left]]).astype(np.int32),
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
    if not reading.words:
        return tuple(found)
    published = cut.group >= 0
    counts, told = [], []
    for said, word, theirs in zip(past.said, reading.words, absent.told, strict=True):
        shown = _Shown.of(said, cut, absent, theirs)
        if word.attribute.name in reading.tables:  # each release is judged beside a table of its own
            shown = replace(shown, new=np.ones_like(shown.new))
        counts.append(_counts(said, word, past, pieces, cut, shown, torn))
        told.append(_told(word, published & ((past.cell < 0) | said.changed), release))
    gone = reading.counts.filter(np.isin(reading.counts["cell"].to_numpy(), past.numbers[torn]))
    found.append(Entries(COUNTS, pl.concat(counts), gone.select(COUNTS.keys)))
    found.append(Entries(TOLD, pl.concat(told)))
    return tuple(found)


@dataclass(frozen=True)
class _Shown:
    """Which value each published unit of an old cell has in each version of it, and in which group the unit is."""

    group: IntArray
    version: IntArray
    value: CodeArray
    new: BoolArray  # whether the unit has this value since this version

    @classmethod
    def of(cls, said: Said, cut: Cut, absent: Absent, told: Told) -> _Shown:
        """Put the records and the absent who are published beside each other."""
        unit, version, value = said.of_units(absent.cell, told)
        group = np.concatenate([cut.group[said.record], cut.beside[unit]]).astype(np.int64)
        today = said.release[said.version] == said.today
        mine = np.where(today, said.changed[said.record], said.told.begins(said.record, said.release[said.version]))
        theirs = told.begins(unit, said.release[version])
        here = group >= 0
        return cls(
            group[here],
            np.concatenate([said.version, version])[here],
            np.concatenate([said.value, value])[here],
            np.concatenate([mine, theirs])[here],
        )


def _counts(
    said: Said, word: Words, past: Past, pieces: Pieces, cut: Cut, shown: _Shown, torn: BoolArray
) -> pl.DataFrame:
    """Return the histograms of new cells in all their versions, of what is left of old ones, and of changed ones."""
    # A group needs the version in which its people were told first, and those in which one of them changed.
    room = len(said.cell) + 1
    key = shown.group * room + shown.version
    tells = np.isin(key, np.unique(key[shown.new])) & ~pieces.kept[shown.group]
    new = _rows(word, pieces.number[shown.group[tells]], said.release[shown.version[tells]], shown.value[tells])
    fresh = np.flatnonzero((cut.group >= 0) & (past.cell < 0))
    today = np.full(len(fresh), said.today)
    born = _rows(word, pieces.number[cut.group[fresh]], today, said.attribute.codes[fresh])
    # A cell that stays whole has a new version where somebody changed: all of it, as of today.
    changed = np.zeros(past.n_cells + 1, np.bool_)
    moved = shown.new & (said.release[shown.version] == said.today)
    kept = pieces.kept[shown.group[moved]]
    changed[pieces.cell[shown.group[moved][kept]]] = True
    grown = _histogram_rows(word, past, said, said.counts, changed[said.cell] & (said.release == said.today))
    # What is left of a torn cell, in every version so far.
    before = torn[said.cell] & (said.release != said.today)
    own = before[shown.version]
    gone = Histogram.of(shown.version[own], shown.value[own], len(said.cell), said.attribute.domain)
    left = _histogram_rows(word, past, said, said.counts.masked(before).less(gone), before)
    return pl.concat([new, born, grown, left])


def _rows(word: Words, cell: CodeArray, release: IntArray, value: CodeArray) -> pl.DataFrame:
    """Count units by cell, release and value."""
    rows = pl.DataFrame({"cell": cell, "release": release, "value": word.lasting[value]}).cast(pl.Int32)
    return _numbered(word, rows.group_by("cell", "release", "value").agg(number=pl.len().cast(pl.Int32)))


def _histogram_rows(word: Words, past: Past, said: Said, histogram: Histogram, at: BoolArray) -> pl.DataFrame:
    """Return the counts of some versions as rows."""
    own = at[histogram.groups]
    version = histogram.groups[own]
    rows = pl.DataFrame(
        {
            "cell": past.numbers[said.cell[version]],
            "release": said.release[version],
            "value": word.lasting[histogram.codes[own]],
            "number": histogram.counts[own],
        }
    ).cast(pl.Int32)
    return _numbered(word, rows)


def _numbered(word: Words, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select("cell", pl.lit(word.number, pl.Int32).alias("attribute"), "release", "value", "number")


def _told(word: Words, first: BoolArray, release: int) -> pl.DataFrame:
    """Return whose value is told for the first time, or is another than before."""
    record = np.flatnonzero(first).astype(np.int32)
    return pl.DataFrame(
        {
            "record": record,
            "attribute": np.full(len(record), word.number, np.int32),
            "release": np.full(len(record), release, np.int32),
            "value": word.lasting[word.attribute.codes[record]],
        }
    )


def table_entries(words: Words, published: pl.Series, book: Book, release: int) -> Entries:
    """Return the whole table of a release in one attribute, counterfeits included."""
    known = book.values(words.attribute.name).select(text="value", value="code")
    told = canonical_text(published).alias("text").to_frame().group_by("text").agg(number=pl.len().cast(pl.Int32))
    rows = told.join(known, on="text", how="left", nulls_equal=True)
    attribute, at = pl.lit(words.number, pl.Int32).alias("attribute"), pl.lit(release, pl.Int32).alias("release")
    return Entries(TABLES, rows.select(attribute, at, "value", "number"))
