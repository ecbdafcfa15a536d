"""Seals: a keyed digest of what each table of a vault holds, kept beside it and compared before it is believed.

DuckDB's checksum of a block is a sum without carries over its words, each times the same number: two equal words that
both become zero leave it as it was, and packed columns are full of equal words. A seal covers the rows themselves, in
whatever order they are read, and the columns. It holds no value of anybody: without the key nothing can be tried
against it, and the seals of before an erasure go with the bytes of before.

Placements are sealed by release, so that a new release costs the same however many there were; they are checked when
they are read. All other tables are sealed as wholes and checked when the vault is opened. Both are renewed by the
transaction that changes them: two that change the same table change the same seal, and so one of them is refused.

The digest of a row is DuckDB's own, which is fast, and may be another in another version of DuckDB. So each seal says
which version made it. Those of another version are not compared, and the next change renews them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import duckdb

from reveil.errors import VaultError
from reveil.vault.bridge import one

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key

    Place: TypeAlias = tuple[str, int]  # a table, and of placements the release

PLACEMENTS = "placements"
WHOLE = -1  # in the place of a release: the seal is of all the rows
VERSION = str(duckdb.__version__)
_UNSEALED = frozenset({PLACEMENTS, "seals"})  # as wholes
HINT = (
    "The database was damaged or changed by another program. Restore the vault from a backup; if there is none, start "
    "a new vault and adopt what was published."
)


def any_kept(connection: Connection) -> bool:
    """Return whether something was sealed here."""
    return bool(one(connection, "SELECT EXISTS (SELECT 1 FROM seals)"))


def check(
    connection: Connection,
    key: Key,
    folder: Path,
    releases: Collection[int] | None = (),
    *,
    database: str | None = None,
) -> bool:
    """Refuse tables, and placements of these releases (None: of all), that are not what was sealed.

    Inside a transaction, or where nobody else writes. Return whether all seals are of this version of DuckDB; the
    others are not compared.
    """
    kept = _kept(connection, database)
    found = _digests(connection, key, None, releases, database)
    expected = {place for place in kept if place[1] == WHOLE or releases is None or place[1] in releases}
    for place in sorted(expected | found.keys(), key=repr):  # damage may leave NULL
        digest, version = kept.get(place, ("", VERSION))
        if place not in found or (version == VERSION and digest != found[place]):
            raise damaged(folder, *place)
    return all(version == VERSION for _, version in kept.values())


def check_release(connection: Connection, key: Key, folder: Path, release: int) -> None:
    """Refuse the placements of a release if they are not what was sealed."""
    # One statement: another thread may change the table between two.
    ((digest, version, known, schema, count, total),) = connection.execute(
        "SELECT (SELECT digest FROM seals WHERE name = $name AND release = $release), "
        "(SELECT duckdb FROM seals WHERE name = $name AND release = $release), "
        "EXISTS (SELECT 1 FROM releases WHERE release = $release), "
        "(SELECT sql FROM duckdb_tables() WHERE table_name = $name AND database_name = current_database()), "
        "COUNT(*), SUM(hash(hash(t))) FROM placements t WHERE t.release = $release",
        {"name": PLACEMENTS, "release": release},
    ).fetchall()
    if digest is None and not known and not count:
        return  # there is no such release
    if digest is None or (version == VERSION and digest != _seal(key, (PLACEMENTS, release), schema, count, total)):
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
    kept = _kept(connection, database)
    found = _digests(connection, key, tables or None, releases, database)
    changed = {place: digest for place, digest in found.items() if kept.get(place) != (digest, VERSION)}
    prefix = _prefix(database)
    old = [place for place in changed if place in kept]
    if old:
        connection.execute(
            f"UPDATE {prefix}seals SET digest = n.digest, duckdb = n.duckdb "  # noqa: S608 -- a name of this package
            f"FROM ({_ROWS}) n WHERE seals.name = n.name AND seals.release = n.release",
            _columns(old, changed),
        )
    new = [place for place in changed if place not in kept]
    if new:
        connection.execute(f"INSERT INTO {prefix}seals {_ROWS}", _columns(new, changed))


_ROWS = (
    "SELECT unnest(CAST($names AS TEXT[])) AS name, unnest(CAST($releases AS INTEGER[])) AS release, "
    "unnest(CAST($digests AS TEXT[])) AS digest, CAST($version AS TEXT) AS duckdb"
)


def _columns(places: Iterable[Place], digests: dict[Place, str]) -> dict[str, object]:
    names, releases = zip(*places, strict=True)
    found = [digests[place] for place in zip(names, releases, strict=True)]
    return {"names": list(names), "releases": list(releases), "digests": found, "version": VERSION}


def _kept(connection: Connection, database: str | None) -> dict[Place, tuple[str, str]]:
    """Return digest and version of each seal."""
    sql = f"SELECT name, release, digest, duckdb FROM {_prefix(database)}seals"  # noqa: S608
    return {(name, release): (digest, version) for name, release, digest, version in connection.execute(sql).fetchall()}


def _digests(
    connection: Connection,
    key: Key,
    tables: Collection[str] | None,
    releases: Collection[int] | None,
    database: str | None,
) -> dict[Place, str]:
    """Return what the seals of some tables (None: of all) and of the placements of some releases have to be."""
    schemas = _schemas(connection, database)
    prefix = _prefix(database)
    places = [(name, WHOLE) for name in schemas if name not in _UNSEALED and (tables is None or name in tables)]
    rows = [
        f"SELECT {_text(name)} AS name, {WHOLE} AS release, hash(hash(t)) AS h FROM {prefix}{_quoted(name)} t"  # noqa: S608
        for name, _ in places
    ]
    if releases is None or releases:
        only = "" if releases is None else f" WHERE release IN ({', '.join(map(str, map(int, releases)))})"
        rows.append(f"SELECT '{PLACEMENTS}' AS name, release, hash(hash(t)) AS h FROM {prefix}{PLACEMENTS} t{only}")  # noqa: S608
        known = releases
        if known is None:
            known = [n for (n,) in connection.execute(f"SELECT release FROM {prefix}releases").fetchall()]  # noqa: S608
        places += [(PLACEMENTS, release) for release in known]
    # One statement with one sum: each statement, and each sum of its own, takes longer than a small table.
    sql = f"SELECT name, release, COUNT(*), SUM(h) FROM ({' UNION ALL '.join(rows)}) GROUP BY name, release"  # noqa: S608
    found = {(name, release): (count, total) for name, release, count, total in connection.execute(sql).fetchall()}
    empty = dict.fromkeys(places, (0, 0))
    return {place: _seal(key, place, schemas[place[0]], *sums) for place, sums in {**empty, **found}.items()}


def _schemas(connection: Connection, database: str | None) -> dict[str, str]:
    """Return how each table is made."""
    own = "current_database()" if database is None else _text(database)
    sql = f"SELECT table_name, sql FROM duckdb_tables() WHERE database_name = {own}"  # noqa: S608
    return dict(connection.execute(sql).fetchall())


def _prefix(database: str | None) -> str:
    return "" if database is None else f"{_quoted(database)}.main."


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def _seal(key: Key, place: Place, schema: str, count: int, total: int | None) -> str:
    # The columns only: before them comes the name, for another file than the first that of the database, too.
    columns = schema.partition("(")[2]
    return key.seal("table", *map(str, place), columns, str(count), str(total or 0), VERSION)


def damaged(folder: Path, name: str, release: int = WHOLE) -> VaultError:
    """Return the error that says which table is not what was written."""
    of = "" if release == WHOLE else f" of release {release}"
    return VaultError(f"the table {name!r}{of} in this vault is not what was written", hint=HINT, file=folder)
