"""The relations of a vault, cut into buckets: out of memory as bytes, and back.

Rows of persons lie in buckets by pseudonym; a row of a personal ledger or of placements lies where its person does. All
other tables are *commons*. Which rows changed is found by sums of hashes for each bucket, which take no Python loop.
"""

from __future__ import annotations

import io
import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.vault.bridge import as_tables, texts
from reveil.vault.bridge import columns as fetched
from reveil.vault.sealed.bucket_keys import BUCKETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from reveil.vault.bridge import Connection

PERSONS, PLACEMENTS, SEALS = "persons", "placements", "seals"
_HEAD = struct.Struct(">HI")  # lengths of a name and of its rows
_TYPES: dict[str, pl.DataType] = {
    "INTEGER": pl.Int32(),
    "BIGINT": pl.Int64(),
    "BOOLEAN": pl.Boolean(),
    "DOUBLE": pl.Float64(),
    "VARCHAR": pl.String(),
}
_NUMBERS = {"INTEGER": "<i4", "BIGINT": "<i8", "BOOLEAN": "|b1", "DOUBLE": "<f8"}
_COUNT = struct.Struct(">I")
_THERE = "\0there"  # behind the name of a column with nulls
Numbers = dict[str, "npt.NDArray[np.generic]"]  # by column, and in the order of the columns
Fingerprint = tuple[int, int, int]  # rows, and two sums of different hashes of them


@dataclass(frozen=True)
class Relation:
    """A table of the vault: its columns and their types, in order."""

    name: str
    columns: dict[str, str]

    @property
    def personal(self) -> bool:
        """Whether its rows belong to persons, placements aside."""
        return self.name == PERSONS or (self.name.startswith("ledger_") and "person" in self.columns)

    @property
    def statement(self) -> str:
        """How it is made."""
        cells = ", ".join(f'"{name}" {kind}' for name, kind in self.columns.items())
        return f'CREATE TABLE "{self.name}" ({cells})'


def tables_of(connection: Connection) -> dict[str, Relation]:
    """Return the tables that are kept: all but seals, which the pieces have themselves."""
    rows = connection.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = 'main' AND table_catalog = current_database() ORDER BY table_name, ordinal_position"
    ).fetchall()
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in rows:
        found.setdefault(table, {})[column] = kind
    return {name: Relation(name, columns) for name, columns in found.items() if name != SEALS}


def fingerprints(connection: Connection, table: Relation, release: int | None = None) -> dict[int, Fingerprint]:
    """Return the fingerprint of each bucket that has rows; of commons under bucket 0."""
    bucket = _bucket(table) if table.personal or table.name == PLACEMENTS else "0"
    cells = ", ".join(f't."{name}"' for name in table.columns)
    rows = connection.execute(
        f"SELECT {bucket} AS bucket, COUNT(*), CAST(SUM(CAST(hash({cells}) AS HUGEINT)) AS VARCHAR), "
        f"CAST(SUM(CAST(hash({cells}, 'again') AS HUGEINT)) AS VARCHAR) {_from(table, release)} GROUP BY 1"
    ).fetchall()
    return {int(bucket): (int(count), int(one), int(two)) for bucket, count, one, two in rows}


def rows_of(
    connection: Connection, table: Relation, buckets: npt.NDArray[np.int32], release: int | None = None
) -> Iterator[tuple[int, Numbers]]:
    """Yield the rows of each of some buckets, of placements those of one release."""
    cells = ", ".join(f't."{name}"' for name in table.columns)
    with as_tables(connection, wanted_buckets=pl.DataFrame({"bucket": buckets})):
        found = fetched(
            connection,
            f"SELECT {_bucket(table)} AS bucket_of_row, {cells} {_from(table, release)} "  # noqa: S608
            f"{'AND' if release is not None else 'WHERE'} {_bucket(table)} IN (SELECT bucket FROM wanted_buckets) "
            "ORDER BY 1",
        )
    of_row = np.asarray(np.ma.getdata(found.pop("bucket_of_row")), np.int64)
    numbers = _numbers(found, table)
    starts = np.append(0, np.flatnonzero(np.diff(of_row)) + 1) if len(of_row) else np.zeros(0, np.int64)
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(of_row)], strict=False):
        yield int(of_row[start]), {name: column[start:end] for name, column in numbers.items()}


def whole(connection: Connection, table: Relation) -> pl.DataFrame:
    """Return all the rows of a table."""
    found = fetched(connection, f'SELECT * FROM "{table.name}"')  # noqa: S608
    return pl.DataFrame([_series(name, kind, found[name]) for name, kind in table.columns.items()])


def packed(frames: Mapping[str, pl.DataFrame]) -> bytes:
    """Return tables as bytes: Arrow streams, for the few that may have texts."""
    parts = []
    for name, frame in frames.items():
        out = io.BytesIO()
        frame.write_ipc_stream(out)
        rows, label = out.getvalue(), name.encode()
        parts += [_HEAD.pack(len(label), len(rows)), label, rows]
    return b"".join(parts)


def unpacked(content: bytes) -> dict[str, pl.DataFrame]:
    """Return what :func:`packed` made bytes of."""
    found, at = {}, 0
    while at < len(content):
        named, size = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        name = content[at : at + named].decode()
        found[name] = pl.read_ipc_stream(content[at + named : at + named + size])
        at += named + size
    return found


def packed_numbers(parts: Mapping[str, Numbers]) -> bytes:
    """Return tables of numbers as bytes: their columns as they lie in memory.

    There are thousands of such pieces, of a few hundred rows each: an Arrow stream for each takes most of the time.
    """
    names = json.dumps({table: {name: a.dtype.str for name, a in part.items()} for table, part in parts.items()})
    sizes = [len(next(iter(part.values()), ())) for part in parts.values()]
    head = names.encode()
    columns = [array.tobytes() for part in parts.values() for array in part.values()]
    return b"".join([_COUNT.pack(len(head)), head, *map(_COUNT.pack, sizes), *columns])


class Reader:
    """Reads many pieces of numbers; what a piece has is the same in nearly all of them, and is understood once."""

    def __init__(self, pieces: Iterable[bytes] = ()) -> None:
        self._heads: dict[bytes, list[tuple[str, list[tuple[str, np.dtype[np.generic]]]]]] = {}
        self._found: dict[str, dict[str, list[npt.NDArray[np.generic]]]] = {}
        for content in pieces:
            self._read(content)

    def _read(self, content: bytes) -> None:
        (length,) = _COUNT.unpack_from(content)
        head = content[_COUNT.size : _COUNT.size + length]
        if head not in self._heads:
            self._heads[head] = [
                (table, [(name, np.dtype(kind)) for name, kind in columns.items()])
                for table, columns in json.loads(head).items()
            ]
        tables, at = self._heads[head], _COUNT.size + length
        sizes = [_COUNT.unpack_from(content, at + n * _COUNT.size)[0] for n in range(len(tables))]
        at += len(tables) * _COUNT.size
        for (table, columns), size in zip(tables, sizes, strict=True):
            kept = self._found.setdefault(table, {})
            for name, kind in columns:
                kept.setdefault(name, []).append(np.frombuffer(content, kind, size, at))
                at += size * kind.itemsize
            there = dict(columns)
            for name in [name for name in there if not name.endswith(_THERE) and name + _THERE not in there]:
                kept.setdefault(name + _THERE, []).append(np.ones(size, np.bool_))  # all of its cells are

    def tables(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yield each table with all the rows that were read."""
        for table, columns in self._found.items():
            whole = {name: pl.Series(name, np.concatenate(parts)) for name, parts in columns.items()}
            yield (
                table,
                pl.DataFrame(
                    [
                        values if whole[name + _THERE].all() else _with_nulls(values, whole[name + _THERE])
                        for name, values in whole.items()
                        if not name.endswith(_THERE)
                    ]
                ),
            )


def insert(connection: Connection, name: str, frame: pl.DataFrame) -> None:
    """Add rows to a table."""
    cells = ", ".join(f'"{column}"' for column in frame.columns)
    with as_tables(connection, given_rows=frame):
        connection.execute(f'INSERT INTO "{name}" ({cells}) SELECT {cells} FROM given_rows')  # noqa: S608


def _bucket(table: Relation) -> str:
    if table.name == PERSONS:
        return f"CAST(t.high & {BUCKETS - 1} AS INTEGER)"
    # Rows of nobody who is known lie by their number; there are none unless a guarantee writes them.
    return f"CAST(COALESCE(p.high, t.person) & {BUCKETS - 1} AS INTEGER)"


def _from(table: Relation, release: int | None) -> str:
    owner = (
        ""
        if table.name == PERSONS or not (table.personal or table.name == PLACEMENTS)
        else (f" LEFT JOIN {PERSONS} p ON p.person = t.person")
    )
    only = "" if release is None else f" WHERE t.release = {int(release)}"
    return f'FROM "{table.name}" t{owner}{only}'


def _numbers(found: Mapping[str, npt.NDArray[np.generic]], table: Relation) -> Numbers:
    """Return the columns as numbers; one that has nulls is followed by which of its cells are there."""
    numbers: Numbers = {}
    for name, kind in table.columns.items():
        missing = np.ma.getmaskarray(found[name])
        data = np.ascontiguousarray(np.ma.getdata(found[name]))
        numbers[name] = data.astype(_NUMBERS[kind], copy=False)
        if missing.any():
            numbers[name] = np.where(missing, np.zeros((), data.dtype), data).astype(_NUMBERS[kind], copy=False)
            numbers[name + _THERE] = ~missing
    return numbers


def _series(name: str, kind: str, column: npt.NDArray[np.generic]) -> pl.Series:
    if kind == "VARCHAR":
        return texts(name, column)
    values = pl.Series(name, np.ascontiguousarray(np.ma.getdata(column))).cast(_TYPES[kind])
    missing = np.ma.getmaskarray(column)
    return _with_nulls(values, pl.Series(~missing)) if missing.any() else values


def _with_nulls(values: pl.Series, there: pl.Series) -> pl.Series:
    return pl.select(pl.when(there).then(values).alias(values.name))[values.name]
