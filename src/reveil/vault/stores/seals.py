"""Seals: a keyed digest of what each table of a vault holds, kept beside it and compared before it is believed.

DuckDB's checksum of a block is a sum without carries over its words, each times the same number: two equal words that
both become zero leave it as it was, and packed columns are full of equal words. A seal covers the rows themselves, in
whatever order they are read. It holds no value of anybody: without the key nothing can be tried against it, and the
seals of before an erasure go with the bytes of before.

Placements are sealed by release, so that a new release costs the same however many there were; they are checked when
they are read. All other tables are sealed as wholes and checked when the vault is opened. Both are renewed by the
transaction that changes them: two that change the same table change the same seal, and so one of them is refused.

The digest of a row is DuckDB's own, which is fast, and may be another in another version of DuckDB. So each seal says
which version made it. Those of another version are not compared, and the next change renews them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import duckdb

from reveil.core.errors import VaultError
from reveil.vault.bridge import one

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key

    Place: TypeAlias = tuple[str, int]  # a table, and of placements the release

PLACEMENTS = "placements"
# As wholes, beside the ledgers. Asking DuckDB for the names takes longer than all seals of a small vault.
TABLES = (
    "migrations",
    "settings",
    "releases",
    "attributes",
    "dictionary",
    "persons",
    "ledgers",
    "chain",
)
WHOLE = -1  # in the place of a release
VERSION = str(duckdb.__version__)
# The digest of a row mixes its columns by XOR; taken once more, two rows that swap a value do not cancel out.
_ROW = "hash(hash(t))"
_HINT = (
    "The database was damaged or changed by another program. Restore the vault from a backup; if there is none, start "
    "a new vault and adopt what was published."
)


def any_kept(connection: Connection) -> bool:
    """Return whether something was sealed here."""
    return bool(one(connection, "SELECT EXISTS (SELECT 1 FROM seals)"))


def damaged(folder: Path, name: str, release: int = WHOLE) -> VaultError:
    """Return the error that says which table is not what was written."""
    of = "" if release == WHOLE else f" of release {release}"
    return VaultError(f"the table {name!r}{of} in this vault is not what was written", hint=_HINT, file=folder)


def check(
    connection: Connection,
    key: Key,
    folder: Path,
    releases: Collection[int] | None = (),
    *,
    database: str | None = None,
    also: Collection[str] = (),
) -> bool:
    """Refuse tables, and placements of these releases (None: of all), that are not what was sealed.

    Inside a transaction, or where nobody else writes. Return whether all seals are of this version of DuckDB; the
    others are not compared. ``also`` are tables that an earlier format had.
    """
    prefix = _prefix(database)
    kept = _kept(connection, prefix)
    found = _digests(connection, key, [*_wholes(connection, prefix), *also], releases, prefix)
    expected = {place for place in kept if place[1] == WHOLE or releases is None}
    for place in sorted(expected | found.keys(), key=repr):  # damage may leave NULL
        digest, version = kept.get(place, ("", VERSION))
        if place not in found or (version == VERSION and digest != found[place]):
            raise damaged(folder, *place)
    return all(version == VERSION for _, version in kept.values())


def check_release(connection: Connection, key: Key, folder: Path, release: int) -> None:
    """Refuse the placements of a release if they are not what was sealed."""
    # One statement: between two, another thread may change the table.
    ((count, total, digest, version, known),) = connection.execute(
        f"SELECT COUNT(*), SUM({_ROW}), "  # noqa: S608 -- a fixed text
        "(SELECT digest FROM seals WHERE name = $name AND release = $release), "
        "(SELECT duckdb FROM seals WHERE name = $name AND release = $release), "
        "EXISTS (SELECT 1 FROM releases WHERE release = $release) FROM placements t WHERE t.release = $release",
        {"name": PLACEMENTS, "release": release},
    ).fetchall()
    if digest is None and not known and not count:
        return  # there is no such release
    if digest is None or (version == VERSION and digest != _seal(key, (PLACEMENTS, release), count, total)):
        raise damaged(folder, PLACEMENTS, release)


def renew(
    connection: Connection,
    key: Key,
    tables: Collection[str] = (),
    releases: Collection[int] | None = (),
    *,
    database: str | None = None,
) -> None:
    """Seal these tables (all where none is named) and the placements of these releases (None: of all) anew.

    Inside the transaction that changed them, after all else.
    """
    prefix = _prefix(database)
    kept = _kept(connection, prefix)
    found = _digests(connection, key, tables or _wholes(connection, prefix), releases, prefix)
    changed = {place: digest for place, digest in found.items() if kept.get(place) != (digest, VERSION)}
    old = {f"{name} {release}": digest for (name, release), digest in changed.items() if (name, release) in kept}
    if old:
        place = "name || ' ' || release"
        connection.execute(
            f"UPDATE {prefix}seals SET digest = $digests[list_position($places, {place})], duckdb = $version "  # noqa: S608
            f"WHERE list_contains($places, {place})",
            {"places": list(old), "digests": list(old.values()), "version": VERSION},
        )
    new = [(name, release, digest) for (name, release), digest in changed.items() if (name, release) not in kept]
    if new:
        names, numbers, digests = (list(column) for column in zip(*new, strict=True))
        connection.execute(
            f"INSERT INTO {prefix}seals SELECT unnest(CAST($names AS TEXT[])), "
            "unnest(CAST($numbers AS INTEGER[])), unnest(CAST($digests AS TEXT[])), $version",
            {"names": names, "numbers": numbers, "digests": digests, "version": VERSION},
        )


def _kept(connection: Connection, prefix: str) -> dict[Place, tuple[str, str]]:
    """Return digest and version of each seal."""
    rows = connection.execute(f"SELECT name, release, digest, duckdb FROM {prefix}seals").fetchall()  # noqa: S608
    return {(name, release): (digest, version) for name, release, digest, version in rows}


def _wholes(connection: Connection, prefix: str) -> list[str]:
    """Return the tables that are sealed as wholes."""
    rows = connection.execute(f"SELECT name FROM {prefix}ledgers").fetchall()  # noqa: S608 -- our names
    return [*TABLES, *(f"ledger_{name}" for (name,) in rows)]


def _digests(
    connection: Connection, key: Key, wholes: Collection[str], releases: Collection[int] | None, prefix: str
) -> dict[Place, str]:
    """Return what the seals of these tables, and of the placements of these releases (None: of all), have to be."""
    sources = [(name, f"{WHOLE}", "") for name in wholes]
    places = [(name, WHOLE) for name in wholes]
    if releases is None:
        sources.append((PLACEMENTS, "t.release", ""))
        known = connection.execute(f"SELECT release FROM {prefix}releases").fetchall()  # noqa: S608 -- our names
        places += [(PLACEMENTS, release) for (release,) in known]
    elif releases:
        listed = ", ".join(str(int(release)) for release in releases)
        sources.append((PLACEMENTS, "t.release", f" WHERE t.release IN ({listed})"))
        places += [(PLACEMENTS, release) for release in releases]
    # One statement, with numbers for the tables: of a small vault, other ways take several times as long.
    rows = " UNION ALL ".join(
        f"SELECT {number} AS number, {release} AS release, {_ROW} AS digest FROM {prefix}{_quoted(name)} t{where}"  # noqa: S608
        for number, (name, release, where) in enumerate(sources)
    )
    sql = f"SELECT number, release, COUNT(*), SUM(digest) FROM ({rows}) GROUP BY number, release"  # noqa: S608
    sums = dict.fromkeys(places, (0, 0))
    for number, release, count, total in connection.execute(sql).fetchall():
        sums[sources[number][0], release] = (count, total)
    return {place: _seal(key, place, count, total) for place, (count, total) in sums.items()}


def _seal(key: Key, place: Place, count: int, total: int | None) -> str:
    return key.seal("table", *map(str, place), str(count), str(total or 0), VERSION)


def _prefix(database: str | None) -> str:
    return "" if database is None else f"{_quoted(database)}.main."


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
