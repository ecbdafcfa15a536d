"""The judge of a release in parts whose table lies in pieces: shard by shard, and what adds up added up.

Rows are brought to the records they publish: every piece of the table must find each of its records once (nothing is
counted that could make up for something else), each inside its box and with its own values. Then rows are brought
together by their box, and the groups are judged where all their rows are. The publisher says which row is whose, and
nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.engines.shards import COUNTED, with_columns_only
from reveil.releases.files import read_table
from reveil.releases.folders import check_folder, part_name
from reveil.releases.parsing import assemble
from reveil.releases.parts import numbers_path
from reveil.releases.release import Release, release_of
from reveil.tables.formats import find_format
from reveil.tables.pieces import read_piece
from reveil.tables.schema import Role
from reveil.tables.snapshot import Snapshot, canonical_text
from reveil.verification.cells import line_of
from reveil.verification.counting import (
    PublishedGroups,
    counterfeits_in,
)
from reveil.verification.groups_in_shards import BUCKET, buckets_of, check_groups
from reveil.verification.promised import Promised
from reveil.verification.raw_rows import check_raw
from reveil.verification.rows import check_rows
from reveil.verification.surface import check_order, check_parts, check_sets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.engines.shards import Engine, Shards
    from reveil.releases.manifest import Manifest
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.verification.arrays import AnyInts, Bools, Ints

PART_LIST = pl.Schema({"part": pl.Int32})
NUMBER, PIECE = "number", "piece"


def verify_in_shards(
    engine: Engine, folder: Path, manifest: Manifest, pieces: TablePieces, example: Snapshot, asked: Promised
) -> Release:
    """Raise :class:`VerificationError` unless the parts in a folder are a sound publication of a table in pieces.

    ``example`` has the columns of the table, as they were read. Returns the release without its rows.
    """
    check_folder(folder, manifest)
    told = Promised.told(manifest.promise.guarantee())
    first = read_table(folder / part_name(0)).clear()
    release = release_of(assemble(first, [], manifest), manifest)
    check_counts(release, pieces, example)
    parts = manifest.parts or ()
    listed = engine.scatter((pl.DataFrame({"part": [n]}, schema=PART_LIST) for n in range(len(parts))), PART_LIST)
    rows = PartColumns.of(first, pieces.schema)
    starts = tuple(pieces.table["number"].to_list())
    before = tuple(accumulate((part.rows for part in parts), initial=0))
    read = listed.map(ReadPart(str(folder), str(engine.scratch), starts, before, rows), rows.read)
    work = CheckRecords(pieces, manifest, rows, buckets_of(pieces.rows, engine))
    checked = read.each(PIECE, work, rows.checked)
    if int(with_columns_only(checked, [BUCKET]).count(_rows_of)[COUNTED].sum()) != pieces.rows:
        raise VerificationError("a record of the snapshot is not published")
    check_members(read, pieces, engine, rows)
    check_parts(placements_of(engine, len(parts)))
    check_groups(checked, release, pieces, example, told, asked)
    return replace(release, source=folder)


def placements_of(engine: Engine, parts: int) -> Iterator[AnyInts]:
    """Return whose the rows of each part are, as the publisher notes it: one part after the other."""
    return (pl.read_ipc(numbers_path(engine.scratch, part)).to_series().to_numpy() for part in range(parts))


def check_counts(release: Release, pieces: TablePieces, example: Snapshot) -> None:
    """Check the columns, and that all records are published and nothing else."""
    manifest, schema = release.manifest, example.schema
    published = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    if release.columns != tuple(name for name in example.frame.columns if schema[name].role in published):
        raise VerificationError("the published columns are not those of the schema")
    if manifest.rows != pieces.rows or sum(part.rows for part in manifest.parts or ()) != pieces.rows:
        raise VerificationError(f"the snapshot has {pieces.rows:,} records, and the parts have not as many rows")
    if manifest.counterfeits.total or counterfeits_in(manifest.counterfeits) or manifest.dirty or manifest.withheld:
        raise VerificationError("the manifest counts rows that are no records of the snapshot")


@dataclass(frozen=True)
class PartColumns:
    """The columns of parts and what they are called on their way."""

    names: tuple[str, ...]
    types: tuple[pl.DataType, ...]
    sensitive: tuple[str, ...]

    @classmethod
    def of(cls, table: pl.DataFrame, schema: Schema) -> PartColumns:
        """Return the columns of a part."""
        return cls(tuple(table.columns), tuple(table.dtypes), schema.sensitive)

    @property
    def read(self) -> pl.Schema:
        """The columns of rows as they were read."""
        types = {f"c{at}": dtype for at, dtype in enumerate(self.types)}
        return pl.Schema({NUMBER: pl.Int64(), PIECE: pl.Int32(), "place": pl.Float64(), **types})

    @property
    def checked(self) -> pl.Schema:
        """The columns of rows that were compared with their records: the marks of their boxes, and their values."""
        values = {f"s{at}": self.types[self.names.index(name)] for at, name in enumerate(self.sensitive)}
        marks = {"high": pl.Int64(), "low": pl.Int64(), "bucket": pl.Int32(), "place": pl.Float64()}
        return pl.Schema({**marks, **values})

    def table(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows as they stand in a part."""
        return rows.select(pl.col(f"c{at}").alias(name) for at, name in enumerate(self.names))

    def marked(self, release: Release, place: pl.Series, buckets: int) -> pl.DataFrame:
        """Return the rows of some part of a release by the marks of their boxes, with their values."""
        high, low = (box_marks(release, seed)[release.classes] for seed in (3, 4))
        values = {f"s{at}": release.values[name] for at, name in enumerate(self.sensitive)}
        found = {"high": high, "low": low, "bucket": (high % buckets).astype(np.int32)}
        return pl.DataFrame({**found, "place": place, **values}, schema=self.checked)

    def part(self, folder: Path, part: int) -> pl.DataFrame:
        """Read a part; one with other columns, or with more than its table, is refused."""
        path = folder / part_name(part)
        rows = read_table(path)
        if find_format(path).says_more(path):
            raise VerificationError("this file carries more than its table", file=path)
        if dict(rows.schema) != dict(zip(self.names, self.types, strict=True)):
            raise VerificationError("this part is not what was written", file=path)
        return rows


@dataclass(frozen=True)
class ReadPart:
    """Work: the rows of the parts that a shard lists, each with the record that it publishes and where that is."""

    folder: str
    private: str
    starts: tuple[int, ...]
    before: tuple[int, ...]  # rows in the parts before each, and in all of them
    columns: PartColumns

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        found = [self.columns.read.to_frame()]
        for part in table["part"].to_list():
            folder = Path(self.folder)
            rows = self.columns.part(folder, part)
            numbers = pl.read_ipc(numbers_path(Path(self.private), part)).to_series().to_numpy()
            if len(numbers) != rows.height:
                raise VerificationError("this part is not what was written", file=folder / part_name(part))
            check_order(numbers)
            piece = np.searchsorted(np.array(self.starts), numbers, side="right") - 1
            selected = {f"c{at}": rows[name] for at, name in enumerate(self.columns.names)}
            place = (self.before[part] + np.arange(rows.height) + 0.5) / max(self.before[-1], 1)
            found.append(pl.DataFrame({NUMBER: numbers, PIECE: piece.astype(np.int32), "place": place, **selected}))
        return pl.concat(found)


@dataclass(frozen=True)
class CheckRecords:
    """Work: the rows of a piece against its records, read again from the table."""

    pieces: TablePieces
    manifest: Manifest
    columns: PartColumns
    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Check the rows of one piece, all of which are here."""
        if not table.height:
            return self.columns.checked.to_frame()
        n = int(table[PIECE][0])
        piece = self.pieces.table.row(n, named=True)
        rows = table.sort(NUMBER)
        if not np.array_equal(rows[NUMBER], np.arange(piece["number"], piece["number"] + piece["rows"])):
            raise VerificationError("a record of the snapshot is published twice, or not at all")
        snapshot = read_piece(piece, self.pieces.schema)
        release = release_of(assemble(self.columns.table(rows), [], self.manifest), self.manifest)
        compare_rows(release, snapshot, np.arange(rows.height))
        return self.columns.marked(release, rows["place"], self.buckets)


def compare_rows(release: Release, snapshot: Snapshot, records: Ints, excused: Bools | None = None) -> None:
    """Refuse rows that are not what some records of a snapshot became; ``records`` are their places in it.

    ``excused`` rows may show another sensitive value, by the rule of the series.
    """
    lines = [
        line_of(snapshot.frame[name], snapshot.schema[name], release.cells[name], beyond=True)
        for name in snapshot.schema.quasi
    ]
    check_sets(release, snapshot.schema)
    check_raw(release, snapshot)
    none = PublishedGroups(np.zeros(0, np.int64), release.classes, np.zeros(0, np.int64), np.zeros(0, np.int64))
    check_rows(release, snapshot, lines, records, none, excused=excused)


def box_marks(release: Release, seed: int) -> Ints:
    """Return a number for each class, by the texts of its cells."""
    cells = {
        name: column_cells.text.hash(seed=seed).to_numpy()[column_cells.index]
        for name, column_cells in release.cells.items()
    }
    if not cells:
        return np.zeros(int(release.classes.max(initial=0)) + 1, np.int64)
    return pl.DataFrame(cells).hash_rows(seed=seed).to_numpy().view(np.int64)


def _rows_of(table: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame({COUNTED: [table.height]}, schema={COUNTED: pl.Int64})


# Sets may have values that somebody has, and no others


@dataclass(frozen=True)
class CountMembers:
    """Work: which texts are members of the sets of some columns."""

    columns: PartColumns
    asked: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        found = [_TEXTS.to_frame()]
        for at, name in enumerate(self.asked):
            cells = table[f"c{self.columns.names.index(name)}"].unique()
            found.append(_texts(at, cells.explode()))
        return pl.concat(found)


@dataclass(frozen=True)
class CountTexts:
    """Work: which texts records have in some columns."""

    schema: Schema
    asked: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard of a list of pieces."""
        found = [_TEXTS.to_frame()]
        for piece in table.iter_rows(named=True):
            frame = read_piece(piece, self.schema).frame
            found += [_texts(at, canonical_text(frame[name])) for at, name in enumerate(self.asked)]
        return pl.concat(found)


_TEXTS = pl.Schema({"column": pl.Int32, "text": pl.String, COUNTED: pl.Int64})


def _texts(at: int, texts: pl.Series) -> pl.DataFrame:
    distinct = texts.drop_nulls().unique().cast(pl.String)
    return pl.DataFrame({"column": [at] * len(distinct), "text": distinct, COUNTED: [1] * len(distinct)}, schema=_TEXTS)


def listed_columns(schema: Schema, columns: PartColumns) -> tuple[str, ...]:
    """Return the columns whose cells list values that were not declared."""
    return tuple(
        name
        for name in schema.quasi
        if schema[name].labels is None and columns.types[columns.names.index(name)] == pl.List(pl.String)
    )


def check_members(
    rows: Shards, pieces: TablePieces, engine: Engine, columns: PartColumns, beyond: pl.DataFrame | None = None
) -> None:
    """Refuse sets with values that nobody has; declared values are checked piece by piece.

    ``beyond`` (``column``, a place among the listed columns, and ``text``) are values of people who are not in the
    table and are published all the same.
    """
    schema = pieces.schema
    asked = listed_columns(schema, columns)
    if not asked:
        return
    told = rows.count(CountMembers(columns, asked))
    known = pieces.shards(engine).count(CountTexts(schema, asked)).select("column", "text")
    if beyond is not None:
        known = pl.concat([known, beyond.select("column", "text").cast(dict(known.schema))])  # type: ignore[arg-type]
    strange = told.join(known, on=["column", "text"], how="anti")
    if strange.height:
        name = asked[int(strange["column"][0])]
        raise VerificationError(f"column {name!r} has values that the snapshot does not", column=name)
