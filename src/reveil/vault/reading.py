"""Reading the relations of a vault: what is known of persons, values and releases."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.vault.bridge import as_tables, columns, integers, one, texts
from reveil.vault.protocol import Recall, ReleaseRow
from reveil.vault.writing import attribute_numbers, match_values

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray, IntArray, Integers
    from reveil.vault.bridge import Connection


def releases(connection: Connection) -> list[ReleaseRow]:
    """Return all releases in order."""
    names = [field.name for field in fields(ReleaseRow)]
    rows = connection.execute(
        f"SELECT {', '.join(names)} FROM releases ORDER BY release"  # noqa: S608 -- names of the dataclass
    ).fetchall()
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return [
        ReleaseRow(**{**row, "request": json.loads(row["request"]), "facts": json.loads(row["facts"])}) for row in found
    ]


def attributes(connection: Connection) -> dict[str, str]:
    """Return the type of each attribute whose values are remembered, in order of appearance."""
    return dict(connection.execute("SELECT name, type FROM attributes ORDER BY attribute").fetchall())


def next_code(connection: Connection, attribute: str) -> int:
    """Return the code that the next new value of an attribute gets."""
    return int(one(connection, "SELECT next_code FROM attributes WHERE name = ?", [attribute]) or 0)


def lookup(connection: Connection, attribute: str, values: pl.Series) -> CodeArray:
    """Return the code of each value (null is a value), -1 where it is not in the dictionary."""
    number = attribute_numbers(connection).get(attribute)
    return np.full(len(values), -1, np.int32) if number is None else match_values(connection, number, values)


def values(connection: Connection, attribute: str) -> pl.DataFrame:
    """Return the dictionary of an attribute: ``code`` and ``value``, ascending by code."""
    found = columns(
        connection,
        "SELECT d.code, d.value FROM dictionary d JOIN attributes a ON a.attribute = d.attribute "
        "WHERE a.name = ? ORDER BY d.code",
        [attribute],
    )
    return pl.DataFrame({"code": integers(found["code"]), "value": texts("value", found["value"])})


def recall(connection: Connection, high: IntArray, low: IntArray) -> Recall:
    """Return what is known of the persons with these pseudonyms, and who is missing among them."""
    numbers = attribute_numbers(connection)
    with as_tables(connection, given=_given(high, low)):
        found = columns(
            connection,
            f"SELECT COALESCE(g.record, -1) AS record, p.person, p.present{_codes(numbers)} FROM persons p "  # noqa: S608
            "LEFT JOIN given g ON p.high = g.high AND p.low = g.low WHERE p.present OR g.record IS NOT NULL",
        )
    record, number = integers(found["record"]), integers(found["person"])
    seen = record >= 0
    person = np.full(len(high), -1, np.int32)
    person[record[seen]] = number[seen]
    present = np.zeros(len(high), np.bool_)
    present[record[seen]] = found["present"][seen]
    known = {}
    for name, n in numbers.items():
        known[name] = np.full(len(high), -1, np.int32)
        known[name][record[seen]] = integers(found.pop(f"a{n}"))[seen]  # one copy at a time
    return Recall(person, present, known, np.sort(number[~seen]))


def last(connection: Connection, persons: Integers) -> dict[str, CodeArray]:
    """Return the last record of each of some persons: dictionary codes by attribute, -1 where none is kept."""
    numbers = attribute_numbers(connection)
    wanted = pl.DataFrame({"at": np.arange(len(persons), dtype=np.int32), "person": persons.astype(np.int32)})
    with as_tables(connection, wanted=wanted):
        found = columns(
            connection,
            f"SELECT w.at AS at{_codes(numbers)} FROM persons p JOIN wanted w ON w.person = p.person",  # noqa: S608
        )
    known = {name: np.full(len(persons), -1, np.int32) for name in numbers}
    for name, n in numbers.items():
        known[name][integers(found["at"])] = integers(found[f"a{n}"])
    return known


def presence(connection: Connection) -> tuple[CodeArray, BoolArray]:
    """Return everybody's number, and whether they were in the last release."""
    found = columns(connection, "SELECT person, present FROM persons ORDER BY person")
    return integers(found["person"]), np.asarray(found["present"], np.bool_)


def archived(connection: Connection, release: int) -> pl.DataFrame:
    """Return ``person`` and ``place`` of everybody whose row in a release is kept."""
    found = columns(connection, "SELECT person, place FROM placements WHERE release = ?", [release])
    return pl.DataFrame({name: integers(found[name]) for name in ("person", "place")})


def placements(connection: Connection, release: int, high: IntArray, low: IntArray) -> pl.DataFrame:
    """Return ``record``, ``place`` and ``grp`` of those of the given persons who were in a release."""
    with as_tables(connection, given=_given(high, low)):
        found = columns(
            connection,
            "SELECT g.record, a.place, a.grp FROM placements a JOIN persons p ON p.person = a.person "
            "JOIN given g ON g.high = p.high AND g.low = p.low WHERE a.release = ?",
            [release],
        )
    frame = pl.DataFrame({name: integers(found[name]) for name in ("record", "place", "grp")})
    return frame.sort("record", "place")


def has_archive(connection: Connection, release: int) -> bool:
    """Return whether placements of a release are kept."""
    return bool(one(connection, "SELECT EXISTS (SELECT 1 FROM placements WHERE release = ?)", [release]))


def _codes(numbers: dict[str, int]) -> str:
    return "".join(f", COALESCE(p.a{n}, -1) AS a{n}" for n in numbers.values())


def _given(high: IntArray, low: IntArray) -> pl.DataFrame:
    return pl.DataFrame({"record": np.arange(len(high), dtype=np.int32), "high": high, "low": low})
