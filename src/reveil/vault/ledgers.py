"""Ledgers: the tables in which guarantees keep what was told. Each is made when it is first written.

A row that takes another's place is written after the old one is deleted; both happen inside the transaction of the
release. The names of tables and columns come from guarantees, never from data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.vault import settings
from reveil.vault.bridge import as_tables, columns, integers, one

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy.typing as npt

    from reveil.core.arrays import CodeArray, Integers
    from reveil.vault.bridge import Connection
    from reveil.vault.protocol import Entries, Ledger

_AT_ONCE = 1 << 20  # rows that are written at once
_FOR_EACH, _FEW = (
    4,
    10_000,
)  # rows of a ledger for each number that is asked for, and at least, up to which all are read
_NAME = re.compile(r"[a-z][a-z_]*")


def _table(ledger: Ledger) -> str:
    for name in (ledger.name, *ledger.columns):
        if not _NAME.fullmatch(name):
            raise ValueError("ledgers and their columns are named by small letters")
    return f"ledger_{ledger.name}"


def _exists(connection: Connection, name: str) -> bool:
    return one(connection, "SELECT 1 FROM ledgers WHERE name = ?", [name]) is not None


def read(
    connection: Connection, ledger: Ledger, column: str | None = None, among: Integers | None = None
) -> pl.DataFrame:
    """Return the rows of a ledger, all or those whose ``column`` is among some numbers, in no particular order."""
    table = _table(ledger)
    owner = ("person",) if ledger.personal else ()
    names = (*owner, *ledger.columns)
    types = {name: pl.Float64 if name in ledger.real else pl.Int32 for name in names}
    if not _exists(connection, ledger.name):
        return pl.DataFrame(schema=types)
    every = f"SELECT {_listed(f't.{_quoted(name)}' for name in names)} FROM {table} t"  # noqa: S608 -- names by code
    if column is None:
        return _rows(ledger, columns(connection, every), types)
    if column not in names:
        raise ValueError(f"the ledger {ledger.name!r} has no column {column!r}")
    numbers = np.zeros(0, np.int32) if among is None else among.astype(np.int32)
    if one(connection, f"SELECT COUNT(*) FROM {table}") <= _FOR_EACH * len(numbers) + _FEW:  # noqa: S608
        # Reading a row takes far less than looking for its number among those that are asked for.
        rows = _rows(ledger, columns(connection, every), types)
        asked = np.isin(rows[column].to_numpy(), numbers)
        return rows if asked.all() else rows.filter(pl.Series(asked))
    with as_tables(connection, wanted=pl.DataFrame({"number": numbers})):
        only = f" WHERE t.{_quoted(column)} IN (SELECT number FROM wanted)"  # noqa: S608 -- names by code
        return _rows(ledger, columns(connection, every + only), types)


def read_range(connection: Connection, ledger: Ledger, first: int, end: int) -> pl.DataFrame:
    """Return the rows of a personal ledger that belong to persons from one number up to another."""
    table, names = _table(ledger), ("person", *ledger.columns)
    types = {name: pl.Float64 if name in ledger.real else pl.Int32 for name in names}
    if not _exists(connection, ledger.name):
        return pl.DataFrame(schema=types)
    found = columns(
        connection,
        f"SELECT {_listed(map(_quoted, names))} FROM {table} WHERE person >= ? AND person < ?",  # noqa: S608 -- names by code
        [first, end],
    )
    return _rows(ledger, found, types)


def _rows(
    ledger: Ledger, found: Mapping[str, npt.NDArray[np.generic]], types: Mapping[str, type[pl.DataType]]
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            name: np.ascontiguousarray(np.ma.getdata(found[name]), np.float64)
            if name in ledger.real
            else integers(found[name])
            for name in types
        },
        schema=dict(types),
    )


def columns_of(connection: Connection, name: str) -> tuple[str, ...]:
    """Return the columns of whole numbers of a ledger, in their order."""
    found = connection.execute(
        "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND data_type = 'INTEGER' ORDER BY column_index",
        [f"ledger_{name}"],
    ).fetchall()
    return tuple(str(column) for (column,) in found if column != "person")


def write(connection: Connection, entries: Entries, person: CodeArray) -> None:
    """Write what a release adds to a ledger; ``person`` is the number of every record's person."""
    ledger = entries.ledger
    table = _table(ledger)
    _make(connection, ledger, table)
    owner = ("person",) if ledger.personal else ()
    if entries.cleared is not None and len(entries.cleared):
        cleared = owned(entries.cleared, person) if ledger.personal else entries.cleared
        keys = owner or ledger.keys
        with as_tables(connection, cleared=cleared.select(pl.col(*keys).cast(pl.Int32)).unique()):
            connection.execute(f"DELETE FROM {table} t USING cleared c WHERE {_same(keys)}")  # noqa: S608
    rows = owned(entries.rows, person) if ledger.personal else entries.rows
    rows = rows.select(
        pl.col(*owner, *ledger.keys, *ledger.whole).cast(pl.Int32),
        *(pl.col(name).cast(pl.Float64) for name in ledger.real),
    )
    keys = (*owner, *ledger.keys)
    if not len(rows):
        return
    if ledger.coded and "attribute" not in ledger.columns and settings.get(connection, settings.SIGNED) is None:
        raise ValueError(f"the setting `signed` names the attribute whose codes are in the ledger {ledger.name!r}")
    for piece in _pieces(rows, keys):
        if piece.select(keys).is_duplicated().any():
            raise ValueError(f"a row of the ledger {ledger.name!r} is written once")
        with as_tables(connection, added=piece):
            if keys == tuple(rows.columns):  # a row that is there is the same row
                connection.execute(
                    f"INSERT INTO {table} SELECT {_listed(map(_quoted, keys))} FROM added c "  # noqa: S608
                    f"WHERE NOT EXISTS (SELECT 1 FROM {table} t WHERE {_same(keys)})"
                )
                continue
            connection.execute(f"DELETE FROM {table} t USING added c WHERE {_same(keys)}")  # noqa: S608
            listed = _listed(map(_quoted, rows.columns))
            connection.execute(f"INSERT INTO {table} SELECT {listed} FROM added")  # noqa: S608


def _pieces(rows: pl.DataFrame, keys: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yield rows some at a time, those with equal keys together."""
    many = -(-len(rows) // _AT_ONCE) if keys else 1
    if many <= 1:
        yield rows
        return
    for number in range(many):
        yield rows.filter(pl.col(keys[0]) % many == number)


def _same(keys: tuple[str, ...]) -> str:
    return " AND ".join(f"t.{_quoted(key)} = c.{_quoted(key)}" for key in keys)


def _quoted(name: str) -> str:
    """Return a column's name as SQL has it, whether or not it is a word of the language."""
    return f'"{name}"'


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def owned(rows: pl.DataFrame, person: CodeArray) -> pl.DataFrame:
    """Give each row the number of its person: that of its record, or where that is -1 the one it has already."""
    if "record" not in rows.columns:
        return rows
    record = rows["record"].to_numpy()
    others = rows["person"].fill_null(-1).to_numpy() if "person" in rows.columns else np.full(len(rows), -1)
    persons = np.where(record >= 0, np.append(person, np.int32(-1))[record], others)
    if (persons < 0).any():
        raise ValueError("a row of a personal ledger has neither a record nor a person")
    return rows.with_columns(person=pl.Series(persons.astype(np.int32)))


def _make(connection: Connection, ledger: Ledger, table: str) -> None:
    if _exists(connection, ledger.name):
        return
    owner = ["person INTEGER"] if ledger.personal else []
    numbers = [f"{_quoted(name)} INTEGER" for name in (*ledger.keys, *ledger.whole)]
    reals = [f"{_quoted(name)} DOUBLE" for name in ledger.real]
    connection.execute(f"CREATE TABLE {table} ({', '.join([*owner, *numbers, *reals])})")
    connection.execute(
        "INSERT INTO ledgers (name, personal, outlives, coded, by_attribute, blanked) VALUES (?, ?, ?, ?, ?, ?)",
        [ledger.name, ledger.personal, ledger.outlives, ledger.coded, "attribute" in ledger.columns, ledger.blanked],
    )


def forget(connection: Connection, person: int, *, tombstone: bool) -> None:
    """Delete what ledgers say of a person; a tombstone keeps those that outlive an erasure, but no value of theirs."""
    for name, personal, outlives, coded, _, blanked in _known(connection):
        if personal and not (tombstone and outlives):
            connection.execute(f"DELETE FROM ledger_{name} WHERE person = ?", [person])  # noqa: S608
        elif personal and blanked:
            connection.execute(f"UPDATE ledger_{name} SET {_quoted(coded)} = -1 WHERE person = ?", [person])  # noqa: S608


def has_more(connection: Connection, person: int) -> bool:
    """Return whether ledgers say more of a person than a tombstone keeps."""
    for name, personal, outlives, coded, _, blanked in _known(connection):
        only = f" AND {_quoted(coded)} >= 0" if outlives and blanked else ""
        more = f"SELECT EXISTS (SELECT 1 FROM ledger_{name} WHERE person = ?{only})"  # noqa: S608 -- names by code
        if personal and (blanked or not outlives) and one(connection, more, [person]):
            return True
    return False


def codes_in_use(connection: Connection, attribute: int, *, first: bool) -> pl.DataFrame:
    """Return the dictionary codes of an attribute in ledgers; ``first``: it is the one that ``signed`` names."""
    found = [pl.DataFrame(schema={"code": pl.Int32})]
    for name, _, _, coded, by_attribute, _ in _known(connection):
        if coded is None or not (by_attribute or first):
            continue
        only = f" WHERE attribute = {attribute}" if by_attribute else ""
        codes = columns(connection, f"SELECT DISTINCT {_quoted(coded)} AS code FROM ledger_{name}{only}")  # noqa: S608
        found.append(pl.DataFrame({"code": integers(codes["code"])}))
    return pl.concat(found).unique()


def _known(connection: Connection) -> Iterator[tuple[str, bool, bool, str, bool, bool]]:
    """Yield of each ledger its name, personal, outlives, coded (None where nothing is), by_attribute and blanked."""
    yield from connection.execute(
        "SELECT name, personal, outlives, coded, by_attribute, blanked FROM ledgers"
    ).fetchall()
