"""Writing a release into the vault: everything that :class:`~reveil.vault.protocol.Change` says, inside a transaction.

Nothing here begins or ends the transaction, and every statement reads the frames of the change as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VaultError
from reveil.vault import ledgers, settings
from reveil.vault.bridge import lent, match, one
from reveil.vault.protocol import ADOPTED, PENDING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.vault.bridge import Connection
    from reveil.vault.protocol import Change, CodeArray


def write(connection: Connection, change: Change) -> None:
    """Write a change. The head comes first: it decides between two publishers before anything is done."""
    _check(change)
    settings.swap_head(connection, change.release)
    settings.refuse_pending(connection)
    _write_attributes(connection, change.types)
    numbers = attribute_numbers(connection)
    for name, values in change.dictionary.items():
        _write_values(connection, numbers[name], values)
    person = _write_persons(connection, change, numbers)
    _write_told(connection, change, person)
    for entries in change.entries:
        ledgers.write(connection, entries, person)
    _write_placements(connection, change, person)
    for name, value in change.settings.items():
        settings.put_callers(connection, name, value)
    _write_release(connection, change)


def attribute_numbers(connection: Connection) -> dict[str, int]:
    """Return the number of each attribute, in order of appearance."""
    rows = connection.execute("SELECT name, attribute FROM attributes ORDER BY attribute").fetchall()
    return {str(name): int(number) for name, number in rows}


def _check(change: Change) -> None:
    if change.state not in {PENDING, ADOPTED}:
        raise ValueError("a release is prepared as pending or as adopted")
    lengths = {len(array) for array in (change.high, change.low, change.person, change.changed)}
    if len(lengths | {len(codes) for codes in change.records.values()}) != 1:
        raise ValueError("the arrays of a change have one entry for each record")
    fresh = change.person < 0
    if pl.DataFrame({"high": change.high[fresh], "low": change.low[fresh]}).is_duplicated().any():
        raise ValueError("a new person has one record")


def _write_release(connection: Connection, change: Change) -> None:
    connection.execute(
        "INSERT INTO releases (release, state, created, snapshot, request, path, digest, manifest, manifest_digest, "
        "facts) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            change.release,
            change.state,
            change.created,
            change.snapshot,
            settings.to_json(change.request),
            change.path,
            change.digest,
            change.manifest,
            change.manifest_digest,
            settings.to_json(change.facts),
        ],
    )


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
    with lent(connection, added=frame):
        connection.execute("INSERT INTO dictionary SELECT CAST(? AS INTEGER), code, value FROM added", [attribute])
    connection.execute("UPDATE attributes SET next_code = ? WHERE attribute = ?", [first + len(values), attribute])


def match_values(connection: Connection, attribute: int, values: pl.Series) -> CodeArray:
    """Return the code of each value in the dictionary of an attribute, -1 where it is not there."""
    return match(connection, values, "dictionary", "code", "value", f"t.attribute = {attribute}")


def _write_persons(connection: Connection, change: Change, numbers: Mapping[str, int]) -> CodeArray:
    """Write records and return the number of every record's person, new ones included."""
    limits = dict(connection.execute("SELECT name, next_code FROM attributes").fetchall())
    if any(len(codes) and codes.max() >= limits[name] for name, codes in change.records.items()):
        raise ValueError("a code is not in the dictionary")
    fresh = change.person < 0
    first = int(settings.get(connection, settings.NEXT_PERSON) or 0)
    person = change.person.astype(np.int32)
    person[fresh] = np.arange(first, first + int(fresh.sum()), dtype=np.int32)
    codes = {f"a{numbers[name]}": array.astype(np.int32, copy=False) for name, array in change.records.items()}
    frame = pl.DataFrame({"person": person, "high": change.high, "low": change.low, **codes})
    frame = frame.with_columns(pl.when(pl.col(name) >= 0).then(pl.col(name)) for name in codes)
    if fresh.any():
        names = "".join(f", {name}" for name in codes)
        with lent(connection, added=frame.filter(fresh)):
            connection.execute(
                f"INSERT INTO persons (person, high, low, present{names}) "  # noqa: S608 -- names are a<number>
                f"SELECT person, high, low, TRUE{names} FROM added"
            )
        settings.put(connection, settings.NEXT_PERSON, first + int(fresh.sum()))
    known = change.changed & ~fresh
    if known.any():
        assigned = "".join(f", {name} = u.{name}" for name in codes)
        with lent(connection, altered=frame.filter(known)):
            connection.execute(
                f"UPDATE persons SET present = TRUE{assigned} FROM altered u "  # noqa: S608 -- names are a<number>
                "WHERE persons.person = u.person"
            )
    if len(change.gone):
        with lent(connection, gone=pl.DataFrame({"person": change.gone.astype(np.int32)})):
            connection.execute("UPDATE persons SET present = FALSE WHERE person IN (SELECT person FROM gone)")
    return person


def _write_told(connection: Connection, change: Change, person: CodeArray) -> None:
    if change.signed is not None:
        settings.put(connection, settings.SIGNED, change.signed)
    if len(change.signatures):
        if settings.get(connection, settings.SIGNED) is None:
            raise ValueError("the first change with signatures names the attribute that they are about in `signed`")
        members = change.signatures.cast(pl.String)
        if members.is_duplicated().any() or (find_signatures(connection, members) >= 0).any():
            raise ValueError("a signature is added once")
        first = int(settings.get(connection, settings.NEXT_SIGNATURE) or 0)
        number = np.arange(first, first + len(members), dtype=np.int32)
        with lent(connection, added=pl.DataFrame({"signature": number, "members": members})):
            connection.execute("INSERT INTO signatures SELECT signature, members FROM added")
        settings.put(connection, settings.NEXT_SIGNATURE, first + len(members))
    if len(change.told):
        signature = find_signatures(connection, change.told["members"])
        if (signature < 0).any():
            raise ValueError("somebody was told a signature that the vault does not know")
        told = pl.DataFrame({"person": person[change.told["record"].to_numpy()], "signature": signature})
        with lent(connection, added=told.unique()):
            if change.replaces:
                connection.execute("DELETE FROM told WHERE person IN (SELECT person FROM added)")
            connection.execute(
                "INSERT INTO told SELECT n.person, n.signature FROM added n WHERE NOT EXISTS "
                "(SELECT 1 FROM told t WHERE t.person = n.person AND t.signature = n.signature)"
            )


def find_signatures(connection: Connection, members: pl.Series) -> CodeArray:
    """Return the number of each signature, -1 where there is none."""
    return match(connection, members, "signatures", "signature", "members")


def _write_placements(connection: Connection, change: Change, person: CodeArray) -> None:
    if change.placements is None or not len(change.placements):
        return
    frame = ledgers.owned(change.placements, person).select(pl.col("place", "grp", "person").cast(pl.Int32))
    with lent(connection, added=frame):
        connection.execute(
            "INSERT INTO placements SELECT CAST(? AS INTEGER), person, place, grp FROM added", [change.release]
        )
