"""Writing a release into the vault: everything that :class:`~reveil.vault.changes.Change` says, inside a transaction.

Nothing here begins or ends the transaction, and every statement reads the frames of the change as a whole.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VaultError
from reveil.vault import ledgers, settings
from reveil.vault.bridge import as_tables, match, one
from reveil.vault.changes import Portion
from reveil.vault.protocol import ADOPTED, PENDING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.vault.bridge import Connection
    from reveil.vault.changes import Change, Records
    from reveil.vault.protocol import ReleaseRow

_AT_ONCE = 1 << 20  # persons that are written at once
_FEW = 1_000  # values of a dictionary that are read, rather than looked for in it


def write(connection: Connection, change: Change) -> None:
    """Write a change. The head comes first: it decides between two publishers before anything is done."""
    records = change.records
    _check(change.row, records)
    settings.swap_head(connection, change.row.release)
    settings.refuse_pending(connection)
    settings.refuse_moved(connection)
    _write_attributes(connection, records.types)
    numbers = attribute_numbers(connection)
    for name, values in records.dictionary.items():
        _write_values(connection, numbers[name], values)
    settings.put_callers(connection, change.settings)
    for portion in chain([Portion(records, change.entries, change.placements)], change.portions):
        if portion.records is not records:
            _check(change.row, portion.records)
        person = _write_persons(connection, portion.records, numbers)
        for entries in portion.entries:
            ledgers.write(connection, entries, person)
        _write_placements(connection, change.row.release, portion.placements, person)
    _write_release(connection, change.row)


def attribute_numbers(connection: Connection) -> dict[str, int]:
    """Return the number of each attribute, in order of appearance."""
    rows = connection.execute("SELECT name, attribute FROM attributes ORDER BY attribute").fetchall()
    return {str(name): int(number) for name, number in rows}


def _check(row: ReleaseRow, records: Records) -> None:
    if row.state not in {PENDING, ADOPTED}:
        raise ValueError("a release is prepared as pending or as adopted")
    lengths = {len(array) for array in (records.high, records.low, records.person, records.changed)}
    if len(lengths | {len(codes) for codes in records.codes.values()}) != 1:
        raise ValueError("the arrays of a change have one entry for each record")
    fresh = records.person < 0
    if pl.DataFrame({"high": records.high[fresh], "low": records.low[fresh]}).is_duplicated().any():
        raise ValueError("a new person has one record")


def _write_release(connection: Connection, row: ReleaseRow) -> None:
    cells = {**vars(row), "request": settings.to_json(row.request), "facts": settings.to_json(row.facts)}
    marks = ", ".join("?" for _ in cells)
    sql = f"INSERT INTO releases ({', '.join(cells)}) VALUES ({marks})"  # noqa: S608 -- names of the dataclass
    connection.execute(sql, list(cells.values()))


def _write_attributes(connection: Connection, types: Mapping[str, str]) -> None:
    known = dict(connection.execute("SELECT name, type FROM attributes").fetchall())
    for name, kind in types.items():
        if name in known:
            if known[name] != kind:
                raise VaultError(
                    f"the column {name!r} was {known[name]} in earlier releases and is {kind} now",
                    hint=f"Give it the type it had: {name} = {{ ..., type = {known[name]!r} }}.",
                    column=name,
                )
            continue
        number = len(known)
        known[name] = kind
        connection.execute("INSERT INTO attributes VALUES (?, ?, ?, 0)", [number, name, kind])
        connection.execute(f"ALTER TABLE persons ADD COLUMN a{number} INTEGER")


def _write_values(connection: Connection, attribute: int, values: pl.Series) -> None:
    if not len(values):
        return
    if values.is_duplicated().any() or (match_values(connection, attribute, values) >= 0).any():
        raise ValueError("a value is added to a dictionary once")
    first = one(connection, "SELECT next_code FROM attributes WHERE attribute = ?", [attribute])
    codes = np.arange(first, first + len(values), dtype=np.int32)
    frame = pl.DataFrame({"code": codes, "value": values.cast(pl.String)})
    with as_tables(connection, added=frame):
        connection.execute("INSERT INTO dictionary SELECT CAST(? AS INTEGER), code, value FROM added", [attribute])
    connection.execute("UPDATE attributes SET next_code = ? WHERE attribute = ?", [first + len(values), attribute])


def match_values(connection: Connection, attribute: int, values: pl.Series) -> CodeArray:
    """Return the code of each value in the dictionary of an attribute, -1 where it is not there."""
    rows = connection.execute(
        "SELECT code, value FROM dictionary WHERE attribute = ? LIMIT ?", [attribute, _FEW + 1]
    ).fetchall()
    if len(rows) > _FEW:
        return match(connection, values, "dictionary", "code", "value", f"t.attribute = {attribute}")
    code = {value: code for code, value in rows}
    texts = values.cast(pl.String)
    different = texts.unique()
    known = pl.DataFrame(
        {"value": different, "number": [code.get(text, -1) for text in different]},
        schema_overrides={"number": pl.Int32},
    )
    found = texts.to_frame("value").join(known, on="value", how="left", nulls_equal=True, maintain_order="left")
    return np.ascontiguousarray(found["number"].to_numpy(), np.int32)


def _write_persons(connection: Connection, records: Records, numbers: Mapping[str, int]) -> CodeArray:
    """Write records and return the number of every record's person, new ones included."""
    limits = dict(connection.execute("SELECT name, next_code FROM attributes").fetchall())
    if any(len(codes) and codes.max() >= limits[name] for name, codes in records.codes.items()):
        raise ValueError("a code is not in the dictionary")
    fresh = records.person < 0
    first = int(settings.get(connection, settings.NEXT_PERSON) or 0)
    person = records.person.astype(np.int32)
    person[fresh] = np.arange(first, first + int(fresh.sum()), dtype=np.int32)
    names = [f"a{numbers[name]}" for name in records.codes]
    for rows in _pieces(np.flatnonzero(fresh)):
        with as_tables(connection, added=_person_rows(records, person, numbers, rows)):
            connection.execute(
                f"INSERT INTO persons (person, high, low, present{_behind(names)}) "  # noqa: S608 -- names are a<number>
                f"SELECT person, high, low, TRUE{_behind(names)} FROM added"
            )
    if fresh.any():
        settings.put(connection, settings.NEXT_PERSON, first + int(fresh.sum()))
    assigned = _behind(f"{name} = u.{name}" for name in names)
    for rows in _pieces(np.flatnonzero(records.changed & ~fresh)):
        with as_tables(connection, altered=_person_rows(records, person, numbers, rows)):
            connection.execute(
                f"UPDATE persons SET present = TRUE{assigned} FROM altered u "  # noqa: S608 -- names are a<number>
                "WHERE persons.person = u.person"
            )
    if len(records.gone):
        with as_tables(connection, gone=pl.DataFrame({"person": records.gone.astype(np.int32)})):
            connection.execute("UPDATE persons SET present = FALSE WHERE person IN (SELECT person FROM gone)")
    return person


def _pieces(rows: IntArray) -> Iterator[IntArray]:
    """Yield rows piece by piece: a frame of all columns of all persons would be as large as the table."""
    return (rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE))


def _behind(names: Iterable[str]) -> str:
    return "".join(f", {name}" for name in names)


def _person_rows(records: Records, person: CodeArray, numbers: Mapping[str, int], rows: IntArray) -> pl.DataFrame:
    """Return what some records say of their persons; -1 is no code."""
    person_of = {
        name: array[rows] for name, array in (("person", person), ("high", records.high), ("low", records.low))
    }
    codes = {f"a{numbers[name]}": array[rows].astype(np.int32) for name, array in records.codes.items()}
    frame = pl.DataFrame({**person_of, **codes})
    return frame.with_columns(pl.when(pl.col(name) >= 0).then(pl.col(name)) for name in codes)


def _write_placements(connection: Connection, release: int, placements: pl.DataFrame | None, person: CodeArray) -> None:
    if placements is None or not len(placements):
        return
    frame = ledgers.owned(placements, person).select(pl.col("place", "grp", "person").cast(pl.Int32))
    with as_tables(connection, added=frame):
        connection.execute("INSERT INTO placements SELECT CAST(? AS INTEGER), person, place, grp FROM added", [release])


def drop_placements(connection: Connection, releases: Sequence[int]) -> None:
    """Forget who was in which row of some releases."""
    for release in releases:
        connection.execute("DELETE FROM placements WHERE release = ?", [release])
