"""What the judge reads in shards: parts of a release, pieces of its table, and the numbers that values have in all.

What a number of a line means (:mod:`reveil.verification.cells`) has to be the same in all cells of space: the different
values of each column are found before, and stand beside the records whenever these are numbered.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import VerificationError
from reveil.engines.shards import TooLargeError
from reveil.releases.release import Release, release_of_part
from reveil.tables.pieces import read_piece
from reveil.tables.schema import Role
from reveil.verification.cells import line_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.engines.shards import Engine, Shards
    from reveil.releases.manifest import Manifest
    from reveil.tables.pieces import TablePieces
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.cells import QuasiColumn
    from reveil.verification.in_shards import PartColumns

SOURCE = pl.Schema({"part": pl.Int32, "piece": pl.Int32})  # a part of the release, or a piece of the table; else -1
_DISTINCT = pl.Schema({"column": pl.Int32, "values": pl.Binary})
_BYTES_OF_A_VALUE = 256


@dataclass(frozen=True)
class Sources:
    """Where rows and records are read from."""

    folder: str
    part_rows: tuple[int, ...]
    manifest: Manifest
    columns: PartColumns
    pieces: TablePieces
    example: Snapshot  # the columns of the table, without records

    def parts(self, engine: Engine) -> Shards:
        """Lay the list of parts out."""
        return engine.scatter((_source(part=n) for n in range(len(self.part_rows))), SOURCE)

    def everything(self, engine: Engine) -> Shards:
        """Lay the lists of parts and of pieces out."""
        pieces = [_source(piece=n) for n in range(self.pieces.table.height)]
        return engine.scatter([*pieces, *(_source(part=n) for n in range(len(self.part_rows)))], SOURCE)

    def rows(self, part: int) -> pl.DataFrame:
        """Read the rows of a part."""
        rows = self.columns.part(Path(self.folder), part)
        if rows.height != self.part_rows[part]:
            raise VerificationError("a part has not as many rows as its manifest says")
        return rows

    @property
    def nobody(self) -> pl.DataFrame:
        """The columns of a part, without rows."""
        return pl.DataFrame(schema=dict(zip(self.columns.names, self.columns.types, strict=True)))

    def release(self, rows: pl.DataFrame) -> Release:
        """Return some rows as a release."""
        return release_of_part(rows, self.manifest, Path(self.folder))

    def records(self, piece: int) -> Snapshot:
        """Read the records of a piece."""
        return read_piece(self.pieces.table.row(piece, named=True), self.pieces.schema)

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are published as they are."""
        schema = self.pieces.schema
        return tuple(name for name in self.columns.names if schema[name].role is not Role.QUASI)

    @property
    def asked(self) -> tuple[str, ...]:
        """The columns in which records and rows are compared: quasi ones first."""
        return (*self.pieces.schema.quasi, *self.values)


def _source(part: int = -1, piece: int = -1) -> pl.DataFrame:
    return pl.DataFrame([(part, piece)], schema=SOURCE, orient="row")


@dataclass(frozen=True)
class DistinctValues:
    """Work: the different values of quasi columns, of those in which values are not declared."""

    pieces: TablePieces

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Look at a shard."""
        found = []
        for piece in table.iter_rows(named=True):
            frame = read_piece(piece, self.pieces.schema).frame
            for at, name in enumerate(self.pieces.schema.quasi):
                if self.pieces.schema[name].labels is None:
                    bytes_ = io.BytesIO()
                    frame.select(pl.col(name).unique().drop_nulls()).write_ipc(bytes_)
                    found.append((at, bytes_.getvalue()))
        return pl.DataFrame(found, schema=_DISTINCT, orient="row")


def known_values(pieces: TablePieces, example: Snapshot, engine: Engine, held: int) -> dict[str, pl.Series]:
    """Return the different values of each quasi column; more than one memory is to hold are refused."""
    names = pieces.schema.quasi
    known = {name: example.frame[name].clear() for name in names}
    for table in pieces.shards(engine).map(DistinctValues(pieces), _DISTINCT).tables():
        for at, values in table.iter_rows():
            more = pl.read_ipc(io.BytesIO(values)).to_series()
            known[names[at]] = pl.concat([known[names[at]], more.cast(known[names[at]].dtype)]).unique()
        largest = max(known, key=lambda name: len(known[name]))
        if sum(map(len, known.values())) * _BYTES_OF_A_VALUE > held:
            raise TooLargeError(
                f"column {largest!r} has {len(known[largest]):,} different values or more: they would not fit the "
                "memory that [engine] allows",
                column=largest,
                hint="Allow more memory.",
            )
    return {name: values.sort() for name, values in known.items()}


def lines_of(
    release: Release, frame: pl.DataFrame, known: Mapping[str, pl.Series], sources: Sources
) -> list[QuasiColumn]:
    """Number some records as if the whole table were here, and find what the cells of some rows admit."""
    schema = sources.pieces.schema
    lines = []
    for name in schema.quasi:
        line = line_of(pl.concat([frame[name], known[name]]), schema[name], release.cells[name])
        lines.append(replace(line, codes=line.codes[: frame.height]))
    return lines
