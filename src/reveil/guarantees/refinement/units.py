"""Some cells with all of their people, or some of those who are new: a release of its own as far as anybody can tell.

Groups lie inside cells, so that no decision about one cell touches another. What the cells of a bucket become is
decided by the code of memory, with a book of the bucket; and so is how people who are new are grouped, part by part of
the first cuts (:mod:`reveil.grouping.top_cuts`). What has to be known of everybody is :class:`Common`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from reveil.grouping.groupers._cutting import Cell
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.grouping.suppression import certainty_penalty
from reveil.guarantees.refinement.bucket_book import (
    BUCKET,
    CELL,
    HOME,
    NUMBER,
    PERSON,
    SEAT,
    TIE,
    BucketBook,
    KeptColumns,
    plain_value,
    quasi_code,
    value_code,
)
from reveil.guarantees.refinement.entries import entries_of
from reveil.guarantees.refinement.ledgers import CELLS, COUNTS, PACE, SIZES, TOLD_VALUES
from reveil.guarantees.refinement.making import Extending
from reveil.guarantees.refinement.plan import AllOfRelease, decide, steps_told
from reveil.guarantees.refinement.reading import read
from reveil.guarantees.static.in_shards import cell_column
from reveil.models.statistics import GroupStats, Histogram
from reveil.releases.table import PublishedTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import IntArray, Integers
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.mondrian import Mondrian
    from reveil.guarantees.refinement.making import MadeRelease
    from reveil.guarantees.refinement.plan import Rules, Steps
    from reveil.guarantees.static.in_shards import Shape
    from reveil.models.base import Model
    from reveil.models.encoding import Domains
    from reveil.tables.snapshot import Snapshot
    from reveil.vault.protocol import Entries

UNIT, LOCAL, NOW, SAID, NUMBERED = "unit", "local", "now", "said", "numbered"
FIRST_NEW = 1 << 30  # new cells of a unit have numbers from here on, until those of all units are known
COUNTED_BY_UNIT = pl.Schema({"what": pl.Int32, "column": pl.Int32, "code": pl.Int32, "n": pl.Int64})
DIRTY, STEP = 0, 1  # what is counted


def told_flag(s: int) -> str:
    """Return the name of the column that says whose value in a sensitive column is told for the first time."""
    return f"k{s}"


class CellPages(Protocol):
    """What the vault remembers of the cells of each bucket. It can be pickled."""

    def read(self, name: str, bucket: int) -> pl.DataFrame:
        """Return the rows of a ledger that are about the cells of a bucket."""


class Noting(Protocol):
    """Takes what is to be remembered of the cells of a unit. It can be pickled, and may be told the same twice."""

    def note(self, unit: int, entries: Entries) -> None:
        """Note what changes in a ledger of cells."""


@dataclass(frozen=True)
class Common:
    """What every unit has to know: how the release is made, and its columns. Buckets come before other units."""

    rules: Rules
    method: Mondrian
    words: KeptColumns
    example: Snapshot  # the columns, without records
    release: int
    records: int  # in the table
    decision: Dice
    assembly: Dice
    cells: CellPages
    buckets: int

    @property
    def model(self) -> Model:
        """What every cell satisfies."""
        return self.rules.model


@dataclass(frozen=True)
class Unit:
    """The people of a unit with what was told of them, and what becomes of them."""

    people: pl.DataFrame = field(repr=False)
    book: BucketBook
    extending: Extending

    @classmethod
    def of(cls, common: Common, table: pl.DataFrame, number: int) -> Unit:
        """Decide about the people of a unit, all of whom are here."""
        there = pl.col(NUMBER) >= 0
        present = table.filter(there).sort(NUMBER)
        touched = present.filter(pl.col(CELL) >= 0).select(CELL).unique()
        absent = table.filter(~there).join(touched, on=CELL, how="semi").sort(PERSON)
        people = pl.concat([present, absent])
        words, schema = common.words, common.example.schema
        stable = {name: present[quasi_code(a)].to_numpy() for a, name in enumerate(words.quasi)}
        stable |= {name: present[value_code(s)].to_numpy() for s, name in enumerate(words.sensitive)}
        columns = {name: words.values[name].gather(codes).alias(name) for name, codes in stable.items()}
        columns |= {name: present[plain_value(p)].alias(name) for p, name in enumerate(words.plain)}
        snapshot = replace(common.example, frame=pl.DataFrame([columns[n] for n in common.example.frame.columns]))
        pages = number if number < common.buckets else -1
        sizes, counts = (_pages(common.cells, ledger.name, ledger.columns, pages) for ledger in (SIZES, COUNTS))
        book = BucketBook(words, people, sizes, counts, FIRST_NEW)
        kinds = {name: (schema[name], common.example.frame.schema[name]) for name in words.sensitive}
        everybody = np.ones(present.height, np.bool_)
        before = read(book, stable, kinds, common.model, common.release, everybody)
        held, waiting = np.zeros(before.past.n_cells, np.bool_), np.zeros(present.height, np.bool_)
        decided = decide(before, common.rules, book, schema.quasi, common.decision, held, waiting)
        return cls(people, book, Extending(snapshot, before, decided, book, stable))

    @property
    def asked(self) -> int:
        """How many records there are."""
        return self.extending.snapshot.frame.height


def _pages(cells: CellPages, name: str, columns: tuple[str, ...], bucket: int) -> pl.DataFrame:
    none = pl.DataFrame(schema=dict.fromkeys(columns, pl.Int32))
    return none if bucket < 0 else cells.read(name, bucket).select(columns)


@dataclass(frozen=True)
class CountDecided:
    """Work: what the decisions about the cells of a bucket bring into the table: values of dirty records, and steps."""

    common: Common

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Decide about the cells of a bucket, all of whose people are here."""
        if not table.height:
            return COUNTED_BY_UNIT.to_frame()
        common = self.common
        unit = Unit.of(common, table, int(table[BUCKET][0])).extending
        found: list[tuple[int, int, int, int]] = []
        for a, name in enumerate(common.words.quasi):
            codes, many = np.unique(unit.extras.quasi[name], return_counts=True)
            found += [(DIRTY, a, code, n) for code, n in zip(codes.tolist(), many.tolist(), strict=True)]
        found += [(STEP, *step, 1) for step in sorted(steps_told(unit.reading, unit.decided, common.rules))]
        return pl.DataFrame(found, schema=COUNTED_BY_UNIT, orient="row")


@dataclass(frozen=True)
class CutUnit:
    """Work: the published rows of a unit, and a row about nobody that says what is to be added up.

    ``occurring`` is how many values each quasi column has in all the release.
    """

    common: Common
    shape: Shape
    domains: Domains
    occurring: tuple[int, ...]
    steps: Steps
    noting: Noting
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Group the people of a unit, all of whom are here."""
        if not table.height:
            return self.returns.to_frame()
        number, common = int(table[UNIT][0]), self.common
        unit = Unit.of(common, table, number)
        extending = unit.extending
        coded = self.domains.code(extending.whole)
        ties = np.zeros(coded.n, np.uint64)
        ties[: unit.asked] = unit.people[TIE].to_numpy()[: unit.asked]
        among = AllOfRelease(Cell(ties, self.occurring), self.steps)
        made = extending.cut(coded, common.rules, common.method, common.decision.child("groups"), among)
        entries = {entry.ledger.name: entry for entry in entries_of(made.reading, made.cut, extending.decided.absent)}
        for ledger in (SIZES, COUNTS):
            if ledger.name in entries:
                self.noting.note(number, entries[ledger.name])
        rows = self._rows(unit, made, entries, number)
        said = self._totals(made)
        said |= {UNIT: number, "records": unit.asked, "fresh": int(entries[PACE.name].rows["next_cell"][0]) - FIRST_NEW}
        about_all = pl.DataFrame({NUMBER: [-1], UNIT: [number], SAID: [json.dumps(said)]})
        return pl.concat([rows, about_all.cast({UNIT: pl.Int32})], how="diagonal").select(self.returns.names())

    def _totals(self, made: MadeRelease) -> dict[str, JSON]:
        """Return what is to be added up over all units."""
        asked = int((made.cut.group >= 0).sum())
        width = made.codes.n * sum(domain.weight for domain in self.domains.quasi)
        said: dict[str, JSON] = {"groups": made.cut.n_groups, "asked": asked, "dirty": made.extras.dirty}
        said |= {"stale": int(made.decided.frozen.sum()), "width": width, "levels": None}
        if made.cut.n_groups:
            said["width"] = certainty_penalty(made.codes, made.partition, self.occurring)
            partition, model = made.partition, self.common.model
            reads = made.codes.sensitive if model.tags.reads_values else ()
            groups = partition.labels[partition.order]
            stats = GroupStats(
                partition.sizes,
                {a.name: Histogram.of(groups, a.codes[partition.order], partition.n_groups, a.domain) for a in reads},
                {a.name: a.reference(partition.order) for a in reads},
            )
            said["levels"] = [part.achieved(stats) for part in model.parts]
        return said

    def _rows(self, unit: Unit, made: MadeRelease, entries: Mapping[str, Entries], number: int) -> pl.DataFrame:
        common, words, asked = self.common, self.common.words, unit.asked
        rows = made.rows(unit.book, self.shape.values, common.assembly)
        if not len(rows.record):
            return self.returns.to_frame()
        recoded = BoxRecoder().recode(made.codes, made.partition)
        values = pl.DataFrame([given.source.gather(given.index).alias(name) for name, given in rows.values.items()])
        typed = PublishedTable(self.shape.published, recoded.cells, recoded.classes[rows.box], values).typed
        dirty = made.decided.absent.person[made.decided.beside]
        record = rows.record
        person: IntArray = np.append(np.full(asked, -1, np.int64), dirty).astype(np.int64)[record]
        real = np.append(unit.people[NUMBER].to_numpy()[:asked], common.records + dirty.astype(np.int64))[record]
        columns: dict[str, object] = {
            NUMBER: real,
            SEAT: np.append(unit.people[SEAT].to_numpy()[:asked], self._seats(number, len(dirty)))[record],
            HOME: np.append(unit.people[HOME].to_numpy()[:asked], _homes(unit.people, dirty))[record],
            UNIT: np.full(len(record), number, np.int32),
            LOCAL: rows.group,
            NOW: _new_cells(entries[CELLS.name].rows, record, person, asked),
        }
        told = entries[TOLD_VALUES.name].rows if TOLD_VALUES.name in entries else None
        for s, name in enumerate(words.sensitive):
            first = np.zeros(made.publishable, np.bool_)
            if told is not None:
                first[told.filter(pl.col("attribute") == words.numbers[name])["record"].to_numpy()] = True
            columns[told_flag(s)] = first[record]
        columns |= {cell_column(c): typed[name] for c, name in enumerate(self.shape.published)}
        found = pl.DataFrame(columns).with_columns(pl.lit(None, pl.String).alias(SAID))
        return found.select(self.returns.names()).cast(dict(self.returns))  # type: ignore[arg-type]

    def _seats(self, number: int, rows: int) -> IntArray:
        """Return the dice by which the rows of dirty records lie."""
        dice = self.common.assembly.child("dirty seats", number).bits(rows) >> np.uint64(1)
        return dice.astype(np.int64)


def _homes(people: pl.DataFrame, dirty: Integers) -> IntArray:
    absent = people.filter(pl.col(NUMBER) < 0)
    found: IntArray = absent[HOME].to_numpy()[np.searchsorted(absent[PERSON].to_numpy(), dirty)]
    return found


def _new_cells(rows: pl.DataFrame, record: Integers, person: Integers, asked: int) -> IntArray:
    """Return the new cell of each row, -1 where its person stays in theirs."""
    found = np.full(len(record), -1, np.int64)
    mine = rows.filter(pl.col("record") >= 0)
    of_record = np.full(asked + 1, -1, np.int64)
    of_record[mine["record"].to_numpy()] = mine["cell"].to_numpy()
    here = record < asked
    found[here] = of_record[record[here]]
    theirs = rows.filter(pl.col("record") < 0).sort("person")
    if theirs.height:
        place = np.minimum(np.searchsorted(theirs["person"].to_numpy(), person), theirs.height - 1)
        met = ~here & (theirs["person"].to_numpy()[place] == person)
        found[met] = theirs["cell"].to_numpy()[place[met]]
    return found


def published_schema(shape: Shape, typed: pl.DataFrame, sensitive: int) -> pl.Schema:
    """Return the columns of published rows on their way."""
    types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), SEAT: pl.Int64(), HOME: pl.Int32(), UNIT: pl.Int32()}
    types |= {LOCAL: pl.Int32(), NOW: pl.Int32(), SAID: pl.String()}
    types |= {told_flag(s): pl.Boolean() for s in range(sensitive)}
    return pl.Schema(types | {cell_column(c): typed.schema[name] for c, name in enumerate(shape.published)})
