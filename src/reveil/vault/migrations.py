"""The tables of a vault, version by version.

A migration is a version and the statements that lead to it from the version before. Each is applied in a transaction
of its own together with its line in ``migrations``, so that a failure leaves the version before intact; in an empty
database all of them are applied in one. The SQL is
kept to what PostgreSQL reads as well. The big tables have no keys and no indexes: DuckDB's are slow to build, refuse
a row that is deleted and inserted again in one transaction, and the joins here read whole columns anyway.

From version 5 on tables are sealed: whatever changes one here, its line in ``migrations`` included, ends with the mark
``unsealed`` of that version.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import duckdb

from reveil.core.errors import VaultError
from reveil.vault.bridge import begun

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Migration:
    """How to come to a version from the one before; ``drops`` are the tables that it takes away."""

    version: int
    statements: tuple[str, ...]
    drops: tuple[str, ...] = ()


FIRST = Migration(
    1,
    (
        "CREATE TABLE migrations (version INTEGER, applied TEXT, reveil TEXT)",
        "CREATE TABLE settings (key TEXT, value TEXT)",
        (
            "CREATE TABLE releases (release INTEGER, state TEXT, created TEXT, snapshot TEXT, request TEXT, path TEXT, "
            "digest TEXT, manifest TEXT, manifest_digest TEXT, facts TEXT)"
        ),
        # The next code is kept beside the attribute, because an erasure may remove the entry with the highest one.
        "CREATE TABLE attributes (attribute INTEGER, name TEXT, type TEXT, next_code INTEGER)",
        "CREATE TABLE dictionary (attribute INTEGER, code INTEGER, value TEXT)",
        # One column a<attribute> is added for each attribute when it appears.
        "CREATE TABLE persons (person INTEGER, high BIGINT, low BIGINT, present BOOLEAN)",
        "CREATE TABLE signatures (signature INTEGER, members TEXT)",
        "CREATE TABLE told (person INTEGER, signature INTEGER)",
        "CREATE TABLE placements (release INTEGER, person INTEGER, place INTEGER, grp INTEGER)",
    ),
)
# Guarantees keep ledgers; each is a table ledger_<name>, made when it is first written.
SECOND = Migration(
    2, ("CREATE TABLE ledgers (name TEXT, personal BOOLEAN, outlives BOOLEAN, coded TEXT, by_attribute BOOLEAN)",)
)
# Texts of expressions become keyed digests, which takes the key: a mark says that it is due. Of ledgers it is known
# which of them have a value of the person's own that a tombstone does not keep.
THIRD = Migration(
    3,
    (
        "INSERT INTO settings VALUES ('texts_of_expressions', 'true')",
        "ALTER TABLE ledgers ADD COLUMN blanked BOOLEAN",
        "UPDATE ledgers SET blanked = (name = 'cohorts')",
    ),
)
# Every change of state is an entry of a chain, whose end is kept outside the vault as well (see anchor.py).
CHAIN = Migration(
    4, ("CREATE TABLE chain (entry INTEGER, act TEXT, release INTEGER, about TEXT, nonce TEXT, digest TEXT)",)
)
# Every table has a seal (see stores/seals.py), which takes the key: a mark says that it is due.
SEALS = Migration(
    5,
    (
        "CREATE TABLE seals (name TEXT, release INTEGER, digest TEXT, duckdb TEXT)",
        "INSERT INTO settings VALUES ('unsealed', 'true')",
    ),
)
# Signatures are ledgers like those of other guarantees: the members as rows, and who was told which.
SIGNATURES = Migration(
    6,
    (
        "CREATE TABLE ledger_signatures (signature INTEGER, code INTEGER)",
        (
            "INSERT INTO ledger_signatures SELECT signature, CAST(UNNEST(STRING_TO_ARRAY(members, ',')) AS INTEGER) "
            "FROM signatures"
        ),
        "CREATE TABLE ledger_told (person INTEGER, signature INTEGER)",
        "INSERT INTO ledger_told SELECT person, signature FROM told",
        (
            "INSERT INTO ledgers (name, personal, outlives, coded, by_attribute, blanked) "
            "VALUES ('signatures', FALSE, TRUE, 'code', FALSE, FALSE), ('told', TRUE, TRUE, NULL, FALSE, FALSE)"
        ),
        "DROP TABLE signatures",
        "DROP TABLE told",
        "DELETE FROM seals WHERE name = 'signatures' OR name = 'told'",
        "DELETE FROM settings WHERE key = 'next_signature'",
        "INSERT INTO settings VALUES ('unsealed', 'true')",
    ),
    drops=("signatures", "told"),
)
MIGRATIONS: tuple[Migration, ...] = (FIRST, SECOND, THIRD, CHAIN, SEALS, SIGNATURES)


def dropped_after(version: int) -> tuple[str, ...]:
    """Return the tables that a database of a version has and those of later ones have not."""
    return tuple(name for migration in MIGRATIONS if migration.version > version for name in migration.drops)


def current(connection: duckdb.DuckDBPyConnection) -> int | None:
    """Return the version of a database, 0 if it is empty and None if it is something else."""
    try:
        rows = connection.execute("SELECT MAX(version), EXISTS (SELECT 1 FROM settings) FROM migrations").fetchall()
    except duckdb.CatalogException:  # no such tables; asking for their names first takes longer than all the rest
        tables = "FROM information_schema.tables WHERE table_schema = 'main' AND table_type = 'BASE TABLE'"
        rows = connection.execute(f"SELECT CASE COUNT(*) WHEN 0 THEN 0 END {tables}").fetchall()
    found = rows[0][0]
    return None if found is None else int(found)


def migrate(connection: duckdb.DuckDBPyConnection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring a database to the last version."""
    at = current(connection)
    if at is None:
        raise VaultError(
            "this database is not a vault",
            hint="Name another folder under `vault`, or restore the vault from a backup.",
        )
    last = migrations[-1].version
    if at > last:
        raise VaultError(
            f"this vault has format {at}, and this version of Reveil reads formats up to {last}",
            hint="Install a newer version of Reveil.",
        )
    steps = [(migration,) for migration in migrations if migration.version > at]
    for step in steps if at else (migrations,):  # an empty database becomes a vault, or stays empty
        _apply(connection, step)


def _apply(connection: duckdb.DuckDBPyConnection, step: Sequence[Migration]) -> None:
    try:
        with begun(connection):
            for migration in step:
                for statement in migration.statements:
                    connection.execute(statement)
                now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
                connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", [migration.version, now, _reveil()])
    except duckdb.Error:
        raise VaultError(
            f"this vault could not be brought to format {step[-1].version}; it is as it was before",
            hint="Check the free space on the disk and try again, or keep the version of Reveil that made the vault.",
        ) from None


@cache
def _reveil() -> str:
    try:
        return version("reveil")
    except PackageNotFoundError:  # a bare checkout
        return "unknown"
