"""Forgetting a person: which rows go, and what becomes of what was told.

The deletion and a mark that the bytes are still there are one transaction: a vault that was interrupted before its
store left none of them does so when it is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.vault import ledgers, settings
from reveil.vault.bridge import as_tables, columns, one, texts
from reveil.vault.writing import attribute_numbers

if TYPE_CHECKING:
    from reveil.vault.bridge import Connection
    from reveil.vault.protocol import Revised


def delete_person(connection: Connection, high: int, low: int, *, tombstone: bool, revised: Revised) -> bool:
    """Delete a person's rows, and values that are nobody's any more, inside a transaction.

    False if they are unknown, or erased already but for a tombstone. Values in ledgers stay: they were
    published. So do declared ones. Otherwise the set of possible values would shrink with an erasure, and the erasure
    show in what is published next. ``revised``: what settings that hold values become, by their names.
    """
    settings.refuse_pending(connection)
    settings.refuse_moved(connection)
    person = one(connection, "SELECT person FROM persons WHERE high = ? AND low = ?", [high, low])
    if person is None:
        return False
    numbers = attribute_numbers(connection)
    if tombstone and _is_tombstone(connection, person, numbers):
        return False
    connection.execute("DELETE FROM placements WHERE person = ?", [person])
    ledgers.forget(connection, person, tombstone=tombstone)
    if tombstone:
        cleared = "".join(f", a{number} = NULL" for number in numbers.values())
        connection.execute(
            f"UPDATE persons SET present = FALSE{cleared} WHERE person = ?",  # noqa: S608 -- names are a<number>
            [person],
        )
    else:
        connection.execute("DELETE FROM persons WHERE person = ?", [person])
    _purge_dictionary(connection, numbers)
    for name, revise in revised.items():
        before = settings.get(connection, name)
        if before is not None:
            settings.put_callers(connection, {name: revise(before, _values(connection, numbers))})
    settings.put(connection, settings.ERASING, value=True)
    return True


def _is_tombstone(connection: Connection, person: int, numbers: dict[str, int]) -> bool:
    """Return whether nothing is known of a person but the pseudonym and what was told."""
    last = "".join(f" AND a{number} IS NULL" for number in numbers.values())
    blank = f"SELECT EXISTS (SELECT 1 FROM persons WHERE person = ? AND NOT present{last})"  # noqa: S608 -- a<number>
    placed = "SELECT EXISTS (SELECT 1 FROM placements WHERE person = ?)"
    return (
        bool(one(connection, blank, [person]))
        and not one(connection, placed, [person])
        and not ledgers.has_more(connection, person)
    )


def _values(connection: Connection, numbers: dict[str, int]) -> dict[str, pl.Series]:
    """Return the values that are left in the dictionary of each attribute."""
    sql = "SELECT value FROM dictionary WHERE attribute = ? AND value IS NOT NULL"
    return {name: texts(name, columns(connection, sql, [number])["value"]) for name, number in numbers.items()}


def _purge_dictionary(connection: Connection, numbers: dict[str, int]) -> None:
    told = settings.get(connection, settings.DECLARED) or []
    signed = settings.get(connection, settings.SIGNED)
    by_column = told if isinstance(told, dict) else {signed: told}  # of the signed column, or of several
    for name, number in numbers.items():
        used = ledgers.codes_in_use(connection, number, first=name == signed)
        declared = pl.DataFrame({"code": by_column.get(name, [])}, schema={"code": pl.Int32})
        kept = pl.concat([declared, used]).unique()
        with as_tables(connection, kept=kept):
            connection.execute(
                f"DELETE FROM dictionary WHERE attribute = {number} AND code NOT IN "  # noqa: S608 -- numbers only
                f"(SELECT a{number} FROM persons WHERE a{number} IS NOT NULL) AND code NOT IN (SELECT code FROM kept)"
            )
