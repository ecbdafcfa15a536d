"""Between polars, NumPy and DuckDB without pyarrow, and DuckDB's errors in our words."""

from __future__ import annotations

import errno
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl

from reveil.core.errors import BusyError, VaultError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from reveil.core.arrays import CodeArray

    Connection = duckdb.DuckDBPyConnection

LOCKED = "Could not set lock"
UNWRITTEN = "Could not write"  # also DuckDB's
FIRST_TEXT = "another publisher was first"
FIRST_HINT = "Nothing was published by this run. Look at `reveil history` and publish again."
FULL_TEXT = "there is no room left on the disk of this vault"
FULL_HINT = "Make room; the same command goes on from here."
_FULL = (errno.ENOSPC, errno.EDQUOT)
BUSY_TEXT = "another publisher is at work in this vault"
BUSY_HINT = "Wait until it is done and try again. If none is running, end the process that holds the vault."


class _Stream:
    """A frame that shows itself to DuckDB as an Arrow stream only; as a polars frame it would ask for pyarrow."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


@contextmanager
def as_tables(connection: Connection, **frames: pl.DataFrame) -> Iterator[None]:
    """Let SQL read frames by name for a while."""
    try:
        for name, frame in frames.items():
            connection.register(name, _Stream(frame))
        yield
    finally:
        for name in frames:
            with suppress(duckdb.Error):  # after a rollback or a fatal error it is gone already
                connection.unregister(name)


@contextmanager
def translated(place: str | Path, hint: str) -> Iterator[None]:
    """Say in our words what went wrong at a place: DuckDB's texts quote values."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        # A full disk ends a transaction, too.
        if isinstance(error, duckdb.TransactionException) and UNWRITTEN not in str(error):
            raise BusyError(FIRST_TEXT, hint=FIRST_HINT, file=place) from None
        if LOCKED in str(error):
            raise BusyError(BUSY_TEXT, hint=BUSY_HINT, file=place) from None
        if isinstance(error, OSError) and error.errno in _FULL:
            raise VaultError(FULL_TEXT, hint=FULL_HINT, file=place) from None
        raise VaultError("the database of this vault cannot be read or written", hint=hint, file=place) from None


@contextmanager
def begun(connection: Connection) -> Iterator[Connection]:
    """Do something entirely or not at all."""
    connection.execute("BEGIN")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):  # a failed COMMIT has rolled back already
            connection.execute("ROLLBACK")
        raise


def columns(connection: Connection, sql: str, parameters: Sequence[object] = ()) -> dict[str, npt.NDArray[np.generic]]:
    """Return the columns of a result. The caller's SQL keeps NULL out of all but text columns."""
    found: dict[str, npt.NDArray[np.generic]] = connection.execute(sql, list(parameters)).fetchnumpy()
    return found


def integers(column: npt.NDArray[np.generic]) -> CodeArray:
    """Return a column of INTEGER without NULL."""
    return np.ascontiguousarray(np.ma.getdata(column), np.int32)


def texts(name: str, column: npt.NDArray[np.generic]) -> pl.Series:
    """Return a column of TEXT, NULL included."""
    return pl.Series(name, column.tolist(), pl.String)


def one(connection: Connection, sql: str, parameters: Sequence[object] = ()) -> Any:
    """Return the first cell of a result, None if there is no row. For INSERT, UPDATE and DELETE: how many rows."""
    rows = connection.execute(sql, list(parameters)).fetchall()  # a result not read to its end blocks the connection
    return rows[0][0] if rows else None


def match(
    connection: Connection, values: pl.Series, table: str, number: str, text: str, where: str = "TRUE"
) -> CodeArray:
    """Return the number that a table has for each text (null equals null), -1 where it has none."""
    frame = values.cast(pl.String).to_frame("value")
    distinct = frame.unique().with_row_index("at").with_columns(pl.col("at").cast(pl.Int32))
    with as_tables(connection, wanted=distinct):
        found = columns(
            connection,
            f"SELECT w.at AS at, t.{number} AS number FROM {table} t "  # noqa: S608 -- names from this package
            f"JOIN wanted w ON t.{text} IS NOT DISTINCT FROM w.value WHERE {where}",
        )
    numbers = np.full(len(distinct), -1, np.int32)
    numbers[integers(found["at"])] = integers(found["number"])
    mapped = frame.join(
        distinct.with_columns(number=numbers), on="value", how="left", nulls_equal=True, maintain_order="left"
    )
    return np.ascontiguousarray(mapped["number"].to_numpy(), np.int32)
