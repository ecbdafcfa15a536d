"""A table in Parquet files, read piece by piece: what shards are made of.

A piece is some rows of one file that follow each other; all records have a number, in the order of the files. What a
cell means is settled cell by cell, as for a table that is read at once, with two exceptions that need all of it: in
which way texts that look alike are spelled, and whether a person has two records. Both are asked before.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import DataError
from reveil.engines.shards import COUNTED
from reveil.tables.alike import spelling_of_each
from reveil.tables.formats import check_path
from reveil.tables.formats.folder import checked_parts
from reveil.tables.formats.parquet_file import ParquetFile
from reveil.tables.formats.place import Place
from reveil.tables.schema import EXACT, Role
from reveil.tables.snapshot import Snapshot, canonical_text
from reveil.tables.snapshot.table import with_types_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.engines.shards import Engine, Shards
    from reveil.tables.schema import Schema

PIECE = pl.Schema({"path": pl.String, "first": pl.Int64, "rows": pl.Int64, "number": pl.Int64})
_SPELLED = pl.Schema({"column": pl.Int32, "text": pl.String, COUNTED: pl.Int64})
_PERSON = pl.Schema({"high": pl.Int64, "low": pl.Int64, "part": pl.Int32})
_REPEATED = pl.Schema({"persons": pl.Int64})
_PARTS = 256  # at most, into which persons are dealt
_PART_ROWS = 65_536


@dataclass(frozen=True)
class TablePieces:
    """The pieces of a table, and how they are read."""

    table: pl.DataFrame = field(repr=False)
    schema: Schema

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self.table["rows"].sum())

    def read(self, n: int) -> Snapshot:
        """Read one piece."""
        return read_piece(self.table.row(n, named=True), self.schema)

    def shards(self, engine: Engine) -> Shards:
        """Lay the list of pieces out; work reads them."""
        return engine.scatter((self.table[n : n + 1] for n in range(self.table.height)), PIECE)

    def with_schema(self, schema: Schema) -> TablePieces:
        """Return the pieces as another schema reads them."""
        return replace(self, schema=schema)


def rows_in(source: object) -> int | None:
    """Return how many rows a table has that can be read in pieces; None for any other."""
    files = _files(source)
    return None if files is None else sum(map(ParquetFile().rows, files))


def pieces_of(source: str | Path, schema: Schema, piece_rows: int) -> TablePieces:
    """Divide a table into pieces; its columns are checked before any data is read."""
    files = _files(source) or []
    form, number = ParquetFile(), 0
    found: list[tuple[str, int, int, int]] = []
    if files:
        schema.check_columns(list(form.schema(files[0])), file=str(files[0]))
    for path in files:
        rows = form.rows(path)
        many = max(1, -(-rows // piece_rows))
        ends = [rows * n // many for n in range(many + 1)]
        for first, end in pairwise(ends):
            if end > first:
                found.append((str(path.resolve()), first, end - first, number + first))
        number += rows
    if not found:
        raise DataError("this table has no rows", file=str(source), hint="A release needs at least one record.")
    return TablePieces(pl.DataFrame(found, schema=PIECE, orient="row"), schema)


def _files(source: object) -> list[Path] | None:
    if not isinstance(source, str | os.PathLike):
        return None
    path = Path(source)
    check_path(path)
    if path.is_dir():
        return checked_parts(path)
    return [path] if path.suffix.lower() == ".parquet" else None


def read_piece(piece: dict[str, object], schema: Schema) -> Snapshot:
    """Read a piece as the schema settles it; errors name the row of the file."""
    path, first = Path(str(piece["path"])), int(str(piece["first"]))
    frame = ParquetFile().piece(path, first, int(str(piece["rows"])))
    place = Place(str(path), parts=((-first, str(path)),))
    return with_types_of(frame, schema, place, from_text=False, origin=path.name)


def each_piece(
    table: pl.DataFrame, schema: Schema
) -> Iterator[tuple[Snapshot, np.ndarray[tuple[int], np.dtype[np.int64]]]]:
    """Read the pieces that a shard lists, each with the numbers of its records."""
    for piece in table.iter_rows(named=True):
        yield read_piece(piece, schema), np.arange(piece["number"], piece["number"] + piece["rows"])


def reason_against_pieces(schema: Schema) -> str | None:
    """Say why a table cannot be read piece by piece, or None if it can."""
    if schema.input.visits is not None:
        return "rows of visits become records person by person, which needs all of them"
    return None


# Texts that look alike


@dataclass(frozen=True)
class CountSpellings:
    """Work: how often each text occurs in the columns that compare texts by how they look."""

    schema: Schema  # in which these columns compare exactly
    columns: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        found = [_SPELLED.to_frame()]
        for snapshot, _ in each_piece(table, self.schema):
            for at, name in enumerate(self.columns):
                if snapshot.frame.schema[name] != pl.String:
                    continue
                texts = snapshot.frame[name].drop_nulls().alias("text").to_frame()
                spellings = texts.group_by("text").agg(pl.len().cast(pl.Int64).alias(COUNTED))
                found.append(spellings.with_columns(pl.lit(at, pl.Int32).alias("column")).select(_SPELLED.names()))
        return pl.concat(found)


def in_one_spelling(pieces: TablePieces, shards: Shards, most: int) -> TablePieces:
    """Return the pieces with a schema that knows how each text of the table is spelled."""
    schema = pieces.schema
    folding = tuple(
        each.name for each in schema.columns if each.folds and each.role not in (Role.PERSON, Role.IDENTIFIER)
    )
    if not folding:
        return pieces
    exact = schema.with_columns(
        [replace(each, compare=EXACT) if each.name in folding else each for each in schema.columns]
    )
    counted = shards.count(CountSpellings(exact, folding), most)
    known = {}
    for at, name in enumerate(folding):
        column, column_counts = schema[name], counted.filter(pl.col("column") == at)
        missing = (*schema.null_values, *column.null_values)
        records = column_counts.select("text", pl.col(COUNTED).alias("records"))
        told = (*(column.labels or ()), *column.spellings)
        spelled = spelling_of_each(column_counts["text"], lambda records=records: records, told, missing)["spelling"]  # type: ignore[misc]
        known[name] = tuple(spelled.drop_nulls().unique().sort())
    columns = [
        replace(each, spellings=(*each.spellings, *known[each.name])) if each.name in known else each
        for each in schema.columns
    ]
    return pieces.with_schema(schema.with_columns(columns))


# Persons


@dataclass(frozen=True)
class DigestPersons:
    """Work: two numbers for each person, in which two persons do not agree."""

    schema: Schema
    parts: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Digest a shard."""
        found = [_PERSON.to_frame()]
        for snapshot, _ in each_piece(table, self.schema):
            texts = canonical_text(snapshot.frame[str(self.schema.person)])
            high, low = (texts.hash(seed=seed).reinterpret(signed=True) for seed in (1, 2))
            part = (high % self.parts).cast(pl.Int32)
            found.append(pl.DataFrame({"high": high, "low": low, "part": part}, schema=_PERSON))
        return pl.concat(found)


def repeated(table: pl.DataFrame) -> pl.DataFrame:
    """Work: how many records are of a person who has another one."""
    return pl.DataFrame({"persons": [table.height - table.n_unique(["high", "low"])]}, schema=_REPEATED)


def check_persons_apart(pieces: TablePieces, shards: Shards) -> None:
    """Refuse a table in which a person has two records."""
    if pieces.schema.person is None:
        return
    parts = min(1 + pieces.rows // _PART_ROWS, _PARTS)
    more = shards.map(DigestPersons(pieces.schema, parts), _PERSON).each("part", repeated, _REPEATED).collect()
    if many := int(more["persons"].sum()):
        raise doubled(pieces.schema, many, str(pieces.table["path"][0]))


def doubled(schema: Schema, many: int, file: str) -> DataError:
    """Return the refusal of a table in which persons have several records."""
    return DataError(
        f"column {schema.person!r} names {many:,} records of persons who have another one",
        file=file,
        column=schema.person,
        hint="A table has one record for each person: keep one, or put them together before.",
    )
