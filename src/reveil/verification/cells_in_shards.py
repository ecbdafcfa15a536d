"""The judge of a release under refinement whose people are not in one memory: people by bucket, then cell by cell.

Rows are brought to the people they are about: those who are in the table, and those who are not and whose last record
the vault keeps. There they are compared, and get the cell that the judge recorded, with what was told of their person.
Then they are brought to their cells, all rows of a group among them, and the rule is that of memory, with a record of
these cells. In the end what is new of people is brought back to them.

A group that has people of several cells is refused: nobody who works in shards forms it.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.core.json_values import thawed
from reveil.core.levels import worst
from reveil.engines.shards import COUNTED
from reveil.releases.files import read_table
from reveil.releases.folders import check_folder, part_name
from reveil.releases.parsing import assemble
from reveil.releases.release import Release, release_of
from reveil.releases.table import GROUP
from reveil.tables.schema import Role
from reveil.tables.snapshot import canonical_text
from reveil.verification.arrays import halves, number_of_name, renumbered, whole
from reveil.verification.counting import GroupCounts, PublishedGroups, Tally, ValueRelations
from reveil.verification.groups_in_shards import check_dealt
from reveil.verification.in_shards import (
    NUMBER,
    PART_LIST,
    PIECE,
    PartColumns,
    ReadPart,
    box_marks,
    check_members,
    compare_rows,
    listed_columns,
    placements_of,
)
from reveil.verification.judges.refinement import Refinement
from reveil.verification.promised import Promised, same_levels, together
from reveil.verification.record import Entry, MemoryRecord
from reveil.verification.refinement.cells import CELL, COUNTS, NEW, NEXT, SIZES, VALUE
from reveil.verification.shape import check_description, check_domains
from reveil.verification.shown import Shown
from reveil.verification.surface import check_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.engines.shards import Engine, Shards
    from reveil.releases.manifest import Manifest
    from reveil.tables.pieces import TablePieces
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import Codes, Ints
    from reveil.verification.record import Kept

FIRST_NEW = 1 << 30  # new cells of a bucket have numbers from here on, until those of all buckets are known
BUCKET, ROW, NOW, SAID = "bucket", "row", "now", "said"
_PAIRS = pl.Schema({"cell": pl.Int64, "cell_told": pl.Int64, COUNTED: pl.Int64})
_TEXTS = pl.Schema({"column": pl.Int32, "text": pl.String, COUNTED: pl.Int64})
_DONE = pl.Schema({PIECE: pl.Int32})


def mark_column(s: int) -> str:
    """Return the name of the column of the marks of a sensitive column."""
    return f"m{s}"


def first_told(s: int) -> str:
    """Return the name of the column that says whose value is told for the first time, or is another than before."""
    return f"f{s}"


class PeopleInBuckets(Protocol):
    """The people of a series, bucket by bucket; it can be pickled.

    Whoever is in the table is known by the number of their record, anybody else by one behind these.
    """

    def snapshot(self, bucket: int) -> Snapshot:
        """Return the records of a bucket."""

    def bucket_of(self, persons: Ints) -> Ints:
        """Return the bucket of each of some people who are not in the table, -1 of nobody."""

    def strangers(self, bucket: int, persons: Ints) -> pl.DataFrame:
        """Return the quasi values of the last records of some people of a bucket who are not in the table."""

    def recorded(self, kept: Kept, bucket: int) -> pl.DataFrame:
        """Return what the judge recorded of the people of a bucket."""

    def cells_told(self, bucket: int) -> pl.DataFrame:
        """Return in which ``cell`` the vault's books say that people (``who``) of a bucket are."""


class CellsInBuckets(Protocol):
    """What the judge recorded of the cells of each bucket. It can be pickled."""

    def read(self, name: str, bucket: int) -> pl.DataFrame:
        """Return the rows of a table that are about the cells of a bucket."""


class NotingCells(Protocol):
    """Takes what is to be recorded of the cells of a bucket. It can be pickled, and may be told the same twice."""

    def record(self, bucket: int, entry: Entry) -> None:
        """Note what changes in a table."""


@dataclass(frozen=True)
class CellsSoFar:
    """What is known of the releases before: of people and of cells by bucket, of sizes all together.

    ``sizes`` are those of the judge, ``sizes_told`` those of the vault's books. ``starts`` are the numbers of the first
    records of buckets, ``cell_buckets`` is how many buckets of cells there are.
    """

    people: PeopleInBuckets
    cells: CellsInBuckets
    sizes: pl.DataFrame = field(repr=False)
    sizes_told: pl.DataFrame = field(repr=False)
    starts: tuple[int, ...]
    rows: int
    cell_buckets: int
    number: int  # of the release that is judged

    def numbers(self, bucket: int) -> tuple[int, int]:
        """Return the number of the first record of a bucket, and that behind its last one."""
        ends = (*self.starts[1:], self.rows)
        return self.starts[bucket], ends[bucket]

    def local(self, bucket: int, who: Ints) -> Ints:
        """Return the numbers of people as they are beside the records of a bucket alone."""
        first, end = self.numbers(bucket)
        found: Ints = np.where(who < self.rows, who - first, end - first + who - self.rows)
        return found


def judge_cells(
    engine: Engine,
    folder: Path,
    manifest: Manifest,
    example: Snapshot,
    asked: Promised,
    before: CellsSoFar,
    buckets: Shards,
    listed: TablePieces,
    shown: Path,
    noting: NotingCells,
) -> tuple[Release, Ints]:
    """Refuse a release in a folder that is not sound by itself, or cuts a cell into pieces that are not.

    ``buckets`` is the list of buckets of people, and ``shown`` the folder for what is to be recorded of these (see
    :func:`shown_path`); what is to be recorded of cells is ``noting``'s. Returns the release without its rows, and how
    many new cells the buckets of cells have.
    """
    check_folder(folder, manifest)
    told = Promised.told(manifest.promise.guarantee())
    first = read_table(folder / part_name(0)).clear()
    release = release_of(assemble(first, [], manifest), manifest)
    check_shape_of_cells(release, example, before.rows)
    if before.number > 1:
        _compare(buckets.count(CountPairs(before.people)), before)
    parts = manifest.parts or ()
    numbers = engine.scatter((pl.DataFrame({"part": [n]}, schema=PART_LIST) for n in range(len(parts))), PART_LIST)
    columns = PartColumns.of(first, example.schema)
    counted = tuple(accumulate((part.rows for part in parts), initial=0))
    reading = ReadPeople(ReadPart(str(folder), str(engine.scratch), before.starts, counted, columns), before)
    read = numbers.map(reading, reading.returns)
    groups = 2 * -(-manifest.rows // engine.shard_rows)
    checking = CheckPeople(before, manifest, columns, groups)
    checked = read.each(PIECE, checking, checking.returns)
    beyond = None
    if manifest.dirty and (names := listed_columns(example.schema, columns)):
        beyond = read.count(CountStrangers(before, names))
    check_members(read, listed, engine, columns, beyond)
    check_parts(placements_of(engine, len(parts)))
    judging = JudgeCells(before, release, told, asked, noting)
    marked = checked.each(BUCKET, judging, judging.returns)
    checked.drop()
    said = [json.loads(text) for text in marked.map(_summaries, pl.Schema({SAID: pl.String})).collect()[SAID]]
    _check_counted(manifest, said, before.rows)
    achieved = together([worst(level) for level in zip(*(one["levels"] for one in said), strict=True)])
    none = np.zeros(0, np.int64)
    check_description(release, example, PublishedGroups(np.arange(manifest.groups), none.astype(np.int32), none, none))
    check_domains(release, example.schema)
    told.judge.check_manifest(manifest, told, asked, example.schema, before.rows)
    if not same_levels(achieved, {key: thawed(level) for key, level in manifest.achieved.items()}):
        raise VerificationError("the manifest claims another level than the table", hint=f"The table has {achieved}.")
    marked.map(_people, judging.returns).each(PIECE, WriteShown(str(shown)), _DONE).collect()
    marked.drop()
    fresh = np.zeros(before.cell_buckets + groups, np.int64)
    for one in said:
        fresh[one[BUCKET]] = one["fresh"]
    return replace(release, source=folder), fresh


def shown_path(folder: Path, bucket: int) -> Path:
    """Return where lies which row is about whom, their new cell if any, and the values that are new."""
    return folder / f"shown-{bucket:05d}.arrow"


def _people(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col(SAID).is_null())


def _summaries(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col(SAID).is_not_null()).select(SAID)


def check_shape_of_cells(release: Release, example: Snapshot, records: int) -> None:
    """Check the columns, and that rows without dirty records and people held back are all the records."""
    manifest, schema = release.manifest, example.schema
    published = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    if release.columns != tuple(name for name in example.frame.columns if schema[name].role in published):
        raise VerificationError("the published columns are not those of the schema")
    if release.groups is None:
        raise VerificationError(f"a release under refinement has a column {GROUP!r}")
    if min(manifest.withheld, manifest.dirty) < 0 or manifest.counterfeits.total or manifest.suppressed:
        raise VerificationError("the manifest counts rows that are no records of anybody")
    rows = sum(part.rows for part in manifest.parts or ())
    if manifest.rows != rows or rows - manifest.dirty + manifest.withheld != records:
        raise VerificationError(f"the snapshot has {records:,} records, and the parts have not as many rows")


def _check_counted(manifest: Manifest, said: list[Mapping[str, JSON]], records: int) -> None:
    """Check what adds up over all cells: every record once, and the rows that the manifest counts."""

    def total(key: str) -> float:
        return sum(float(str(one[key])) for one in said)

    if total("dirty") != manifest.dirty:
        raise VerificationError("the manifest counts other dirty records than there are")
    if total("rows") - manifest.dirty + manifest.withheld != records:
        raise VerificationError("a record of the snapshot is not published")
    if total("groups") != manifest.groups:
        raise VerificationError("the groups are not those that the manifest counts, or have people of several cells")
    Refinement.check_stale(manifest, int(total("late")))
    check_dealt(total("apart"), manifest.groups)


# The vault's books


@dataclass(frozen=True)
class CountPairs:
    """Work: which cells of the judge and of the vault's books the people of some buckets are in."""

    people: PeopleInBuckets

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count the buckets that a shard lists."""
        found = [_PAIRS.to_frame()]
        for bucket in table[BUCKET].to_list():
            recorded, told = self.people.recorded(CELL, bucket), self.people.cells_told(bucket)
            both = recorded.join(told.rename({"cell": "cell_told"}), on="who", how="left")
            pairs = both.group_by("cell", pl.col("cell_told").fill_null(NEW)).agg(pl.len().alias(COUNTED))
            found.append(pairs.cast(dict(_PAIRS)))  # type: ignore[arg-type]
        return pl.concat(found)


def _compare(pairs: pl.DataFrame, before: CellsSoFar) -> None:
    """Refuse books that say something else of cells than the judge recorded, as the judge in memory does."""
    record = MemoryRecord()
    who = np.arange(pairs.height)
    known = pairs["cell_told"].to_numpy() != NEW
    record.kept = {CELL.name: CELL.frame(who=who, cell=pairs["cell"]), SIZES.name: before.sizes}
    theirs = CELL.frame(who=who[known], cell=pairs["cell_told"].to_numpy()[known])
    Refinement.compare(record, (Entry(CELL, theirs), Entry(SIZES, before.sizes_told)))


# People


@dataclass(frozen=True)
class ReadPeople:
    """Work: the rows of parts, each with its place in the release and the bucket of whom it is about."""

    reading: ReadPart
    before: CellsSoFar

    @property
    def returns(self) -> pl.Schema:
        """The columns of rows as they were read."""
        return pl.Schema({**self.reading.columns.read, ROW: pl.Int64()})

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        found = [self.returns.to_frame()]
        for n in range(table.height):
            rows = self.reading(table[n : n + 1])
            first = self.reading.before[int(table["part"][n])]
            numbers = rows[NUMBER].to_numpy()
            if (numbers < 0).any():
                raise VerificationError("a row is about nobody")
            piece, beyond = rows[PIECE].to_numpy().copy(), numbers >= self.before.rows
            piece[beyond] = self.before.people.bucket_of(numbers[beyond] - self.before.rows)
            if (piece < 0).any():
                raise VerificationError("the placement names somebody whom nobody knows")
            row = pl.Series(ROW, np.arange(first, first + rows.height, dtype=np.int64))
            found.append(rows.with_columns(row, pl.Series(PIECE, piece, pl.Int32)))
        return pl.concat(found)


@dataclass(frozen=True)
class CountStrangers:
    """Work: which texts people who are not in the table have in some columns."""

    before: CellsSoFar
    names: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard of rows."""
        found = [_TEXTS.to_frame()]
        strange = table.filter(pl.col(NUMBER) >= self.before.rows)
        for (bucket,), rows in strange.partition_by(PIECE, as_dict=True).items():
            last = self.before.people.strangers(int(bucket), rows[NUMBER].to_numpy() - self.before.rows)
            for at, name in enumerate(self.names):
                texts = canonical_text(last[name]).drop_nulls().unique().cast(pl.String)
                columns = {"column": [at] * len(texts), "text": texts, COUNTED: [1] * len(texts)}
                found.append(pl.DataFrame(columns, schema=_TEXTS))
        return pl.concat(found)


@dataclass(frozen=True)
class CheckPeople:
    """Work: the rows of a bucket against the people they are about; ``buckets`` take groups of people who are new."""

    before: CellsSoFar
    manifest: Manifest
    columns: PartColumns
    buckets: int

    @property
    def returns(self) -> pl.Schema:
        """The columns of rows that were compared, with what was told of their people."""
        types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), PIECE: pl.Int32(), ROW: pl.Int64(), "group": pl.Int32()}
        types |= {"place": pl.Float64(), "high": pl.Int64(), "low": pl.Int64(), BUCKET: pl.Int32()}
        types |= {"cell": pl.Int64(), "dirty": pl.Boolean(), "late": pl.Boolean()}
        for s in range(len(self.columns.sensitive)):
            types |= {mark_column(s): pl.Int64(), f"r{s}": pl.List(pl.Int64), f"t{s}": pl.List(pl.Int64)}
        return pl.Schema(types)

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Check the rows of one bucket, all of which are here."""
        if not table.height:
            return self.returns.to_frame()
        bucket, rows, before = int(table[PIECE][0]), table.sort(NUMBER, ROW), self.before
        release = release_of(assemble(self.columns.table(rows), [], self.manifest), self.manifest)
        if release.groups is None:
            raise VerificationError(f"this table has no column {GROUP!r}")
        numbers = rows[NUMBER].to_numpy()
        if (np.diff(numbers) == 0).any():
            raise VerificationError("a record is published twice")
        first, end = before.numbers(bucket)
        here = numbers < before.rows
        if here.any() and (numbers[0] < first or numbers[here][-1] >= end):
            raise VerificationError("the placement names a record that the snapshot does not have")
        snapshot = before.people.snapshot(bucket)
        who = before.local(bucket, numbers)
        record = MemoryRecord()
        value = before.people.recorded(VALUE, bucket)
        value = value.with_columns(who=pl.Series(before.local(bucket, value["who"].to_numpy()), dtype=pl.Int64))
        record.kept = {VALUE.name: value}
        shown = Shown(release, before.number, who, dirty=~here, snapshot=snapshot)
        same, late = Refinement.told_last(shown, record)
        truth = self._with_strangers(snapshot, release, bucket, numbers, here)
        places = np.where(here, who, snapshot.frame.height + np.cumsum(~here) - 1)
        compare_rows(release, truth, places, same if same.any() else None)
        return self._told(shown, rows, value, bucket, late)

    def _with_strangers(
        self, snapshot: Snapshot, release: Release, bucket: int, numbers: Ints, here: np.ndarray
    ) -> Snapshot:
        """Return the records, and behind them the last ones of people who are not in the table.

        Their sensitive values are taken as published: the rule compares them with what was recorded.
        """
        if here.all():
            return snapshot
        last = self.before.people.strangers(bucket, numbers[~here] - self.before.rows)
        frame, schema = snapshot.frame, snapshot.schema
        columns = []
        for name in frame.columns:
            dtype = frame.schema[name]
            if name in schema.quasi:
                columns.append(last[name].cast(dtype))
            elif name in schema.sensitive:
                columns.append(release.values[name].filter(pl.Series(~here)).cast(dtype).alias(name))
            else:
                columns.append(pl.Series(name, [None] * last.height, dtype))
        return replace(snapshot, frame=pl.concat([frame, pl.DataFrame(columns)]))

    def _told(
        self, shown: Shown, rows: pl.DataFrame, value: pl.DataFrame, bucket: int, late: np.ndarray
    ) -> pl.DataFrame:
        """Return the rows with their boxes, and what was told of their people."""
        release = shown.release
        cells = self.before.people.recorded(CELL, bucket)
        cells = cells.with_columns(who=pl.Series(self.before.local(bucket, cells["who"].to_numpy()), dtype=pl.Int64))
        people = pl.DataFrame({"who": shown.who})
        cell = people.join(cells, on="who", how="left", maintain_order="left")["cell"].fill_null(NEW).to_numpy()
        group = release.groups if release.groups is not None else release.classes
        high, low = (box_marks(release, seed)[release.classes] for seed in (3, 4))
        units = self.before.cell_buckets
        where = np.where(cell == NEW, units + group % self.buckets, cell % max(units, 1))
        found: dict[str, object] = {name: rows[name] for name in (NUMBER, PIECE, ROW, "place")}
        found |= {"group": group, "high": high, "low": low, BUCKET: where, "cell": cell, "late": late}
        found["dirty"] = shown.dirty
        for s, name in enumerate(self.columns.sensitive):
            mine = value.filter(pl.col("attribute") == number_of_name(name)).sort("who", "release")
            marks = pl.Series(whole(mine["high"].to_numpy(), mine["low"].to_numpy()), dtype=pl.Int64)
            lists = mine.select("who", "release", mark=marks).group_by("who", maintain_order=True)
            both = people.join(lists.agg("release", "mark"), on="who", how="left", maintain_order="left")
            found |= {mark_column(s): shown.row_marks(name), f"r{s}": both["release"], f"t{s}": both["mark"]}
        return pl.DataFrame(found).select(self.returns.names()).cast(dict(self.returns))  # type: ignore[arg-type]


# Cells


@dataclass(frozen=True, kw_only=True)
class ShownRows(Shown):
    """Rows without their release: the groups and the marks of values are all that the rule looks at."""

    in_groups: PublishedGroups
    value_marks: Mapping[str, Ints] = field(repr=False)

    @cached_property
    def groups(self) -> PublishedGroups:
        """The groups of the rows."""
        return self.in_groups

    def marks(self, name: str) -> Ints:
        """Return the mark of each published value of a column."""
        return self.value_marks[name]

    def row_marks(self, name: str) -> Ints:
        """Return the mark of the value of each row, all of which are about somebody."""
        return self.value_marks[name]


@dataclass(frozen=True)
class JudgeCells:
    """Work: the rows of the cells of a bucket, and the groups that they are in.

    Returns every row with what is new of its person, and a row about nobody that says what is to be added up.
    """

    before: CellsSoFar
    release: Release  # without rows
    told: Promised
    asked: Promised
    noting: NotingCells

    @property
    def names(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return self.release.manifest.sensitive

    @property
    def returns(self) -> pl.Schema:
        """The columns of rows that were judged."""
        types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), PIECE: pl.Int32(), ROW: pl.Int64(), "group": pl.Int32()}
        types |= {BUCKET: pl.Int32(), NOW: pl.Int64(), SAID: pl.String()}
        for s in range(len(self.names)):
            types |= {mark_column(s): pl.Int64(), first_told(s): pl.Boolean()}
        return pl.Schema(types)

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Judge the cells of a bucket, all of whose rows are here."""
        if not table.height:
            return self.returns.to_frame()
        rows, bucket = table.sort(NUMBER), int(table[BUCKET][0])
        numbers, group = renumbered(rows["group"].to_numpy())
        many = len(numbers)
        sizes = np.bincount(group, minlength=many).astype(np.int64)
        if rows.select(pl.struct("group", "high", "low").n_unique()).item() != many:
            raise VerificationError("a group has different cells in its rows")
        if rows.select(pl.struct("group", "cell").n_unique()).item() != many:
            raise VerificationError("a group has people of several cells")
        levels = self._judged(rows, group, numbers, sizes)
        update = self._ruled(rows, group, numbers, sizes, bucket)
        fresh = 0
        for entry in update:
            if entry.kept in (SIZES, COUNTS):
                self.noting.record(bucket, entry)
            elif entry.kept == NEXT:
                fresh = int(entry.rows["next_cell"][0]) - FIRST_NEW
        apart = np.bincount(group, weights=rows["place"].to_numpy() - 0.5, minlength=many) ** 2 / sizes
        said = {
            BUCKET: bucket,
            "groups": many,
            "rows": rows.height,
            "dirty": int(rows["dirty"].sum()),
            "late": int(rows["late"].sum()),
            "apart": float(apart.sum()),
            "levels": levels,
            "fresh": fresh,
        }
        new = self._with_new(rows, update)
        about_all = pl.DataFrame({NUMBER: [-1], PIECE: [-1], SAID: [json.dumps(said)]}).cast({PIECE: pl.Int32})
        return pl.concat([new, about_all], how="diagonal").select(self.returns.names())

    def _judged(self, rows: pl.DataFrame, group: Codes, numbers: Ints, sizes: Ints) -> list[Mapping[str, JSON]]:
        """Refuse a group that does not keep the promise; return the levels of all of them."""
        tallies = {}
        for s, name in enumerate(self.names):
            marks, code = np.unique(rows[mark_column(s)].to_numpy(), return_inverse=True)
            tallies[name] = Tally.of(group, code.astype(np.int32), len(numbers), ValueRelations(len(marks)))
        counts = GroupCounts(sizes, tallies)
        for promise in (self.asked, self.told):
            for demand in promise.demands:
                good = demand.holds(counts)
                if not good.all():
                    raise VerificationError(
                        f"the group {int(numbers[~good][0])} does not satisfy {demand!r}",
                        hint=f"{int((~good).sum()):,} of {len(numbers):,} groups fail.",
                    )
        return [demand.achieved(counts) for demand in self.told.demands]

    def _ruled(self, rows: pl.DataFrame, group: Codes, numbers: Ints, sizes: Ints, bucket: int) -> tuple[Entry, ...]:
        """Refuse pieces of cells that do not keep the promise in some release; return what is to be recorded."""
        record = MemoryRecord()
        known = rows.filter(pl.col("cell") != NEW)
        values = [VALUE.none()]
        for s, name in enumerate(self.names):
            told = known.select(NUMBER, release=f"r{s}", mark=f"t{s}").filter(pl.col("release").list.len() > 0)
            told = told.explode("release", "mark")
            high, low = halves(told["mark"].to_numpy())
            column = np.full(told.height, number_of_name(name))
            values.append(VALUE.frame(who=told[NUMBER], attribute=column, release=told["release"], high=high, low=low))
        record.kept = {
            CELL.name: CELL.frame(who=known[NUMBER], cell=known["cell"]),
            VALUE.name: pl.concat(values),
            NEXT.name: NEXT.frame(release=[self.before.number - 1], next_cell=[FIRST_NEW]),
        }
        if bucket < self.before.cell_buckets:
            for kept in (SIZES, COUNTS):
                read = self.before.cells.read(kept.name, bucket).select(kept.schema.keys())
                record.kept[kept.name] = read.cast(kept.schema)  # type: ignore[arg-type]
        shown = ShownRows(
            release=self.release,
            number=self.before.number,
            who=rows[NUMBER].to_numpy(),
            dirty=rows["dirty"].to_numpy(),
            in_groups=PublishedGroups(numbers, group, sizes, np.zeros(len(numbers), np.int64)),
            value_marks={name: rows[mark_column(s)].to_numpy() for s, name in enumerate(self.names)},
        )
        return Refinement.rule(shown, self.asked, record)

    def _with_new(self, rows: pl.DataFrame, update: tuple[Entry, ...]) -> pl.DataFrame:
        """Return the rows with the new cell of their person, -1 where it stays, and which values are new."""
        of = {entry.kept.name: entry.rows for entry in update}
        moved = of[CELL.name].select(pl.col("who").alias(NUMBER), pl.col("cell").alias(NOW))
        found = rows.join(moved, on=NUMBER, how="left", maintain_order="left").with_columns(pl.col(NOW).fill_null(-1))
        for s, name in enumerate(self.names):
            new = of[VALUE.name].filter(pl.col("attribute") == number_of_name(name))["who"]
            found = found.with_columns(pl.col(NUMBER).is_in(new.implode()).alias(first_told(s)))
        return found.with_columns(pl.lit(None, pl.String).alias(SAID)).select(self.returns.names())


@dataclass(frozen=True)
class WriteShown:
    """Work: what is new of the people of a bucket, as a file."""

    folder: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Write the rows of a bucket, all of which are here."""
        if not table.height:
            return _DONE.to_frame()
        bucket = int(table[PIECE][0])
        draft = Path(self.folder) / f".{secrets.token_hex(8)}"
        table.drop(SAID, PIECE).sort(NUMBER).write_ipc(draft)
        draft.replace(shown_path(Path(self.folder), bucket))
        return pl.DataFrame({PIECE: [bucket]}, schema=_DONE)
