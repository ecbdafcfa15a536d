"""A table in the order of its pseudonyms, in buckets that each fit one worker's memory.

As in memory, the order of the file says nothing then, and a record is known by its place in this order. A bucket has
the pseudonyms of a range, so that whatever a vault knows of its people can be laid beside it, and nobody needs all
people at once. Buckets are files in the private folder of the engine.

The key of a vault stays in this process: pseudonyms are made here, piece by piece, and workers are given these.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reveil.core.errors import DataError
from reveil.engines.scratch import written
from reveil.engines.shards import with_column
from reveil.series.column_types import in_known_types
from reveil.series.persons import PADDED, TEXT, WHOLE, identities, kind_of, only_persons
from reveil.series.stable_codes import digest_of_columns
from reveil.tables.formats.parquet_file import ParquetFile
from reveil.tables.formats.place import Place
from reveil.tables.pieces import PIECE, doubled, read_piece
from reveil.tables.schema import Role
from reveil.tables.snapshot.table import with_types_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy.typing as npt

    from reveil.core.arrays import IntArray
    from reveil.engines.shards import Engine, Shards
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot
    from reveil.vault import Key

    Listed = Mapping[str, Any]  # a row of a list of buckets, or of pieces

BUCKET, HIGH, LOW = "bucket", "high", "low"
ORDERED = pl.Schema({BUCKET: pl.Int32, "path": pl.String, "rows": pl.Int64, "number": pl.Int64})
_LAID = pl.Schema({BUCKET: pl.Int32, "rows": pl.Int64, "repeated": pl.Int64})
_NAMED = with_column(PIECE, "pseudonyms", pl.String())
_SIZE = 0.8  # of the rows of a shard, in a bucket on average: dice do not deal evenly


def bucket_of(high: npt.NDArray[np.int64], buckets: int) -> npt.NDArray[np.int32]:
    """Return the bucket of each pseudonym; buckets are in the order of pseudonyms."""
    place = (high >> np.int64(32)) + (1 << 31)  # the first 32 bits, from 0 up
    return ((place * buckets) >> 32).astype(np.int32)


@dataclass(frozen=True)
class OrderedTable:
    """The records of a table in the order of their pseudonyms; ``table`` lists the buckets, and what is in each.

    A bucket's file has ``high``, ``low`` and the columns ``names`` as ``x0``, ``x1`` ...; the number of a record is
    that of the first in its bucket and its place there.
    """

    table: pl.DataFrame = field(repr=False)
    example: Snapshot = field(repr=False)  # the columns, without rows
    kind: str  # what identities are; see :mod:`reveil.series.persons`

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are kept."""
        return tuple(self.example.frame.columns)

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        return self.example.schema

    @property
    def rows(self) -> int:
        """How many records there are."""
        return int(self.table["rows"].sum())

    @property
    def buckets(self) -> int:
        """How many buckets there are."""
        return self.table.height

    @property
    def starts(self) -> tuple[int, ...]:
        """The number of the first record of each bucket."""
        return tuple(self.table["number"].to_list())

    def shards(self, engine: Engine) -> Shards:
        """Lay the list of buckets out; work reads them."""
        return engine.scatter((self.table[n : n + 1] for n in range(self.buckets)), ORDERED)

    def read(self, bucket: Listed) -> tuple[Snapshot, IntArray, IntArray]:
        """Return the records of a bucket, and their pseudonyms."""
        return read_bucket(bucket, self.example)

    def digest(self, names: list[str]) -> str:
        """Return the digest that the same table has in memory."""
        paths = [Path(path) for path in self.table["path"]]

        def column(name: str) -> Iterator[pl.Series]:
            at = name if name in (HIGH, LOW) else f"x{self.names.index(name)}"
            return (pl.read_ipc(path, columns=[at]).to_series() for path in paths)

        columns = {name: partial(column, name) for name in names}
        return digest_of_columns(self.rows, columns, column(HIGH), column(LOW))


def read_bucket(bucket: Listed, example: Snapshot) -> tuple[Snapshot, IntArray, IntArray]:
    """Return the records of a bucket, and their pseudonyms."""
    found = pl.read_ipc(bucket["path"])
    frame = found.select(pl.col(f"x{at}").alias(name) for at, name in enumerate(example.frame.columns))
    return replace(example, frame=frame), found[HIGH].to_numpy(), found[LOW].to_numpy()


def in_pseudonym_order(
    engine: Engine,
    pieces: TablePieces,
    key: Key,
    kind: str | None,
    known_types: Mapping[str, str],
    folder: Path,
) -> OrderedTable:
    """Bring a table into the order of its pseudonyms; a person with two records is refused.

    ``kind`` is what identities were in the first release, ``known_types`` are those of its columns.
    """
    first = in_known_types(pieces.read(0), known_types)
    schema = pieces.schema
    names = [n for n in first.frame.columns if schema[n].role in (Role.QUASI, Role.SENSITIVE, Role.PLAIN)]
    example = replace(first, frame=first.frame.select(names).clear(), raw=None)
    named, kinds = _pseudonyms(pieces, key, kind, folder)
    buckets = max(1, int(np.ceil(pieces.rows / (_SIZE * engine.shard_rows))))
    work = BringToBuckets(example, tuple(sorted(known_types.items())), buckets)
    rows = engine.scatter((named[n : n + 1] for n in range(named.height)), _NAMED).map(work, work.returns)
    laid = rows.each(BUCKET, LayDown(str(folder)), _LAID).collect().sort(BUCKET)
    for path in named["pseudonyms"]:
        Path(path).unlink(missing_ok=True)
    if many := int(laid["repeated"].sum()):
        raise doubled(schema, many, str(pieces.table["path"][0]))
    empty = work.returns.to_frame().drop(BUCKET)
    rows_in = dict(laid.select(BUCKET, "rows").iter_rows())
    for n in set(range(buckets)) - rows_in.keys():
        written(empty, _path(folder, n))
    sizes = np.array([rows_in.get(n, 0) for n in range(buckets)], np.int64)
    table = pl.DataFrame(
        {
            BUCKET: np.arange(buckets, dtype=np.int32),
            "path": [str(_path(folder, n)) for n in range(buckets)],
            "rows": sizes,
            "number": np.cumsum(sizes) - sizes,
        },
        schema=ORDERED,
    )
    return OrderedTable(table, example, kind or _kind_of_all(kinds))


def _path(folder: Path, bucket: int) -> Path:
    return folder / f"ordered-{bucket:05d}.arrow"


def _pseudonyms(pieces: TablePieces, key: Key, kind: str | None, folder: Path) -> tuple[pl.DataFrame, list[str]]:
    """Write the pseudonyms of each piece to a file; return the list of pieces with them, and what identities are."""
    person, paths, kinds = str(pieces.schema.person), [], []
    alone = only_persons(pieces.schema)
    for n, piece in enumerate(pieces.table.iter_rows(named=True)):
        frame = ParquetFile().piece(Path(piece["path"]), piece["first"], piece["rows"], [person])
        persons = read_persons(frame, alone, piece)
        texts = identities(persons, kind, file=piece["path"])
        kinds.append(kind_of(texts))
        high, low = key.pseudonyms(texts)
        paths.append(str(written(pl.DataFrame({HIGH: high, LOW: low}), folder / f"pseudonyms-{n:05d}.arrow")))
    return pieces.table.with_columns(pl.Series("pseudonyms", paths, pl.String)), kinds


def read_persons(frame: pl.DataFrame, schema: Schema, piece: Listed) -> pl.Series:
    """Return the person column of a piece, settled as it is when the table is read at once."""
    path = Path(piece["path"])
    place = Place(str(path), parts=((-int(piece["first"]), str(path)),))
    return with_types_of(frame, schema, place, from_text=False, origin=path.name).frame[str(schema.person)]


def _kind_of_all(kinds: list[str]) -> str:
    """Return what the identities of all pieces are; see :func:`reveil.series.persons.kind_of`."""
    if all(kind == WHOLE for kind in kinds):
        return WHOLE
    return PADDED if PADDED in kinds else TEXT


@dataclass(frozen=True)
class BringToBuckets:
    """Work: the records of the pieces that a shard lists, each with the bucket of its pseudonym."""

    example: Snapshot
    known_types: tuple[tuple[str, str], ...]
    buckets: int

    @property
    def returns(self) -> pl.Schema:
        """The columns of records on their way: names of people's columns may be anything."""
        types = {f"x{at}": dtype for at, dtype in enumerate(self.example.frame.dtypes)}
        return pl.Schema({BUCKET: pl.Int32(), HIGH: pl.Int64(), LOW: pl.Int64(), **types})

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the pieces."""
        found = [self.returns.to_frame()]
        for piece in table.iter_rows(named=True):
            names = pl.read_ipc(piece["pseudonyms"])
            snapshot = in_known_types(read_piece(piece, self.example.schema), dict(self.known_types))
            frame = snapshot.frame.select(self.example.frame.columns)
            if frame.schema != self.example.frame.schema:
                raise DataError(
                    "the files of this table have columns of different types",
                    file=piece["path"],
                    hint="Write all parts with the same types.",
                )
            columns = {f"x{at}": frame[name] for at, name in enumerate(frame.columns)}
            bucket = bucket_of(names[HIGH].to_numpy(), self.buckets)
            found.append(pl.DataFrame({BUCKET: bucket, HIGH: names[HIGH], LOW: names[LOW], **columns}))
        return pl.concat(found)


@dataclass(frozen=True)
class LayDown:
    """Work: a bucket as a file, in the order of pseudonyms."""

    folder: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Write the records of a bucket, all of which are here."""
        if not table.height:
            return _LAID.to_frame()
        bucket, rows = int(table[BUCKET][0]), table.drop(BUCKET).sort(HIGH, LOW)
        repeated = rows.height - rows.select(HIGH, LOW).n_unique()
        written(rows, _path(Path(self.folder), bucket))
        return pl.DataFrame([(bucket, rows.height, repeated)], schema=_LAID, orient="row")
