"""SealedPieces on a PostgreSQL server: a schema for each series, one publisher at a time.

The server sees sealed pieces, their sizes, and the history that :class:`~reveil.vault.sealed.shelf.HistoryRow` has. A
session lock keeps other publishers out and ends with the connection; the count of commits decides once more.
"""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, LiteralString
from urllib.parse import parse_qsl, urlsplit

from reveil.core.errors import BusyError, ConfigError, VaultError
from reveil.vault.bridge import BUSY_HINT, BUSY_TEXT, FIRST_HINT, FIRST_TEXT
from reveil.vault.sealed.failures import failure
from reveil.vault.sealed.sealed_store import SealedStore
from reveil.vault.sealed.shelf import Header, HistoryRow, Piece
from reveil.vault.sealed.whereabouts import Whereabouts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import psycopg
    from psycopg import sql
    from psycopg.rows import TupleRow

    from reveil.vault.store import Store

LAYOUT = 1  # of the tables below; a newer one is refused, an older one is brought to it
DEFAULT_SCHEMA = "reveil"
WAIT = 10  # seconds for a server to answer
PATIENCE = 2.0  # seconds in which a server notices that a killed publisher is gone
# Either end notices within a minute that the other's machine is gone; by themselves systems take two hours.
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_SESSION: tuple[LiteralString, ...] = (
    "SET tcp_keepalives_idle = 30",
    "SET tcp_keepalives_interval = 10",
    "SET tcp_keepalives_count = 3",
    "SET idle_session_timeout = 0",  # a publisher may work for long before there is something to write
    "SET search_path = pg_catalog",  # nobody else's functions
    # What was said to be committed must be there after a crash: by then the release may be out.
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)
_TABLES: tuple[LiteralString, ...] = (
    (
        "CREATE TABLE {}.vault (only_one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_one), layout INTEGER NOT NULL, "
        "format INTEGER, identity BYTEA, salt BYTEA, checked TEXT, version BIGINT)"
    ),
    (
        "CREATE TABLE {}.pieces (bucket INTEGER, release INTEGER, version BIGINT, key INTEGER, body BYTEA, "
        "PRIMARY KEY (bucket, release))"
    ),
    # Sealed bytes do not compress.
    "ALTER TABLE {}.pieces ALTER COLUMN body SET STORAGE EXTERNAL",
    (
        "CREATE TABLE {}.history (release INTEGER PRIMARY KEY, state TEXT NOT NULL, created TEXT NOT NULL, "
        "digest TEXT, manifest_digest TEXT, counts TEXT NOT NULL)"
    ),
)
ROLES: dict[str, tuple[LiteralString, ...]] = {
    "publisher": (
        "GRANT USAGE ON SCHEMA {schema} TO {role}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    ),
    "auditor": (
        "GRANT USAGE ON SCHEMA {schema} TO {role}",
        "GRANT SELECT ON {schema}.history TO {role}",
        "GRANT SELECT (layout, format, version) ON {schema}.vault TO {role}",
    ),
    "reader": (
        "GRANT USAGE ON SCHEMA {schema} TO {role}",
        "GRANT SELECT (release, state, created, digest, manifest_digest) ON {schema}.history TO {role}",
    ),
}


class PostgresShelf:
    """A schema with pieces; see :class:`~reveil.vault.sealed.shelf.Shelf` for its methods."""

    def __init__(self, where: Whereabouts, *, create: bool) -> None:
        self.schema = where.schema
        self.place = place_of(where)
        self._connection: psycopg.Connection[TupleRow] | None = connected(where, self.place)
        try:
            with self._translated():
                self._enter(create=create)
        except BaseException:
            self.close()
            raise

    @property
    def connection(self) -> psycopg.Connection[TupleRow]:
        """The session. ValueError once it is closed."""
        if self._connection is None:
            raise ValueError("this vault is closed")
        return self._connection

    def _sql(self, text: LiteralString) -> sql.Composed:
        from psycopg import sql

        return sql.SQL(text).format(sql.Identifier(self.schema))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise failure(error, self.place, self.schema) from None

    def _enter(self, *, create: bool) -> None:
        """Take the lock; make the tables where there are none and ``create`` allows it."""
        end = time.monotonic() + PATIENCE
        while not self._locked():
            if time.monotonic() > end:
                raise BusyError(BUSY_TEXT, hint=BUSY_HINT, file=self.place)
            time.sleep(0.05)
        if not has_tables(self.connection, self.schema):
            if not create:
                raise VaultError(
                    f"there is no vault in the schema {self.schema!r} of this database",
                    file=self.place,
                    hint="Check the address, or make one: reveil vault init -c reveil.toml.",
                )
            make_tables(self.connection, self.schema)
        check_layout(self.connection, self.schema, self.place)

    def _locked(self) -> bool:
        row = self.connection.execute(
            "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [f"reveil vault {self.schema}"]
        ).fetchone()
        return row is not None and bool(row[0])

    def header(self) -> Header | None:
        """Return the header, None where there is no vault yet."""
        query = "SELECT format, identity, salt, checked, version FROM {}.vault"
        with self._translated():
            row = self.connection.execute(self._sql(query)).fetchone()
        return None if row is None or row[0] is None else Header(row[0], bytes(row[1]), bytes(row[2]), row[3], row[4])

    def fetch(self, release: int, bucket: int | None = None) -> Sequence[Piece]:
        """Return the pieces of a release, or of the state: all, or that of one bucket."""
        query = (
            "SELECT bucket, release, version, key, body FROM {}.pieces "
            "WHERE release = %s AND bucket = COALESCE(%s::integer, bucket)"
        )
        with self._translated():
            return [Piece(*row) for row in self.connection.execute(self._sql(query), [release, bucket], binary=True)]

    def index(self) -> Sequence[Piece]:
        """Return all pieces without their bodies."""
        query = "SELECT bucket, release, version, key FROM {}.pieces"
        with self._translated():
            return [Piece(*row) for row in self.connection.execute(self._sql(query), binary=True)]

    def commit(
        self,
        header: Header,
        pieces: Iterable[Piece],
        removed: Collection[tuple[int, int]],
        history: Sequence[HistoryRow],
    ) -> None:
        """Put pieces in place, entirely or not at all."""
        written = list(pieces)
        gone = [*removed, *((piece.bucket, piece.release) for piece in written)]
        with self._translated(), self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute(
                self._sql(
                    "UPDATE {}.vault SET format = %s, identity = %s, salt = %s, checked = %s, version = %s "
                    "WHERE COALESCE(version, 0) = %s"
                ),
                [*vars(header).values(), header.version - 1],
            )
            if cursor.rowcount != 1:
                raise BusyError(FIRST_TEXT, hint=FIRST_HINT, file=self.place)
            cursor.execute(
                self._sql(
                    "DELETE FROM {}.pieces p USING unnest(%s::integer[], %s::integer[]) AS g (bucket, release) "
                    "WHERE p.bucket = g.bucket AND p.release = g.release"
                ),
                [[bucket for bucket, _ in gone], [release for _, release in gone]],
            )
            into = "COPY {}.pieces (bucket, release, version, key, body) FROM STDIN (FORMAT BINARY)"
            with cursor.copy(self._sql(into)) as copy:
                copy.set_types(["int4", "int4", "int8", "int4", "bytea"])
                for piece in written:
                    copy.write_row(tuple(vars(piece).values()))
            cursor.execute(self._sql("DELETE FROM {}.history"))
            cursor.executemany(
                self._sql("INSERT INTO {}.history VALUES (%s, %s, %s, %s, %s, %s)"),
                [tuple(vars(row).values()) for row in history],
            )

    def discard(self) -> None:
        """Empty the tables; the schema may be an administrator's, and stays."""
        with self._translated(), self.connection.transaction():
            self.connection.execute(self._sql("DELETE FROM {}.pieces"))
            self.connection.execute(self._sql("DELETE FROM {}.history"))
            self.connection.execute(self._sql("DELETE FROM {}.vault"))
            self.connection.execute(self._sql("INSERT INTO {}.vault (layout) VALUES (%s)"), [LAYOUT])

    def close(self) -> None:
        """Let others in. Closing twice is allowed."""
        import psycopg

        connection, self._connection = self._connection, None
        if connection is not None:
            # Closing alone frees the lock only when the server gets to it.
            with suppress(psycopg.Error):
                connection.execute("SELECT pg_advisory_unlock_all()")
            connection.close()


class PostgreSQL(SealedStore):
    """A vault on a server."""

    @classmethod
    def open(cls, address: str, *, create: bool) -> PostgreSQL:
        """Open the vault in a schema; make its tables if there are none and ``create`` allows it."""
        where = Whereabouts.of(address, DEFAULT_SCHEMA)
        return cls(PostgresShelf(where, create=create), where)

    @classmethod
    def files(cls, address: str) -> Whereabouts:
        """Return where its keys and copies of releases lie."""
        return Whereabouts.of(address, DEFAULT_SCHEMA)

    @classmethod
    def exists(cls, address: str) -> bool:
        """Return whether a vault was begun in a schema."""
        import psycopg
        from psycopg import sql

        where = Whereabouts.of(address, DEFAULT_SCHEMA)
        place = place_of(where)
        connection = connected(where, place)
        try:
            if not has_tables(connection, where.schema):
                return False
            query = sql.SQL("SELECT version IS NOT NULL FROM {}.vault").format(sql.Identifier(where.schema))
            row = connection.execute(query).fetchone()
            return row is not None and bool(row[0])
        except psycopg.Error as error:
            raise failure(error, place, where.schema) from None
        finally:
            connection.close()


def connected(where: Whereabouts, place: str) -> psycopg.Connection[TupleRow]:
    """Open a session; what the server says is told in our words."""
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ImportError:
        raise ConfigError(
            "vaults on a PostgreSQL server need the package 'psycopg', which is not installed",
            hint="Install it: pip install 'reveil[postgresql]'.",
        ) from None
    told = dict(parse_qsl(urlsplit(where.rest).query))
    ours = {name: value for name, value in _ALIVE.items() if name not in told}
    try:
        address = make_conninfo(where.rest, **ours)
        made = psycopg.connect(address, autocommit=True, connect_timeout=WAIT, application_name="reveil")
    except psycopg.Error as error:
        raise failure(error, place, where.schema) from None
    try:
        for statement in _SESSION:
            made.execute(statement)
    except psycopg.Error as error:
        made.close()
        raise failure(error, place, where.schema) from None
    return made


def place_of(where: Whereabouts) -> str:
    """Return the address for messages: host and database, no user, no settings."""
    parts = urlsplit(where.rest)
    return f"postgresql://{parts.hostname or ''}{parts.path}?schema={where.schema}"


def has_tables(connection: psycopg.Connection[TupleRow], schema: str) -> bool:
    """Return whether a schema has the tables of a vault."""
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'vault')", [schema]
    ).fetchone()
    return row is not None and bool(row[0])


def make_tables(connection: psycopg.Connection[TupleRow], schema: str) -> None:
    """Make the schema and its tables, entirely or not at all."""
    from psycopg import sql

    name = sql.Identifier(schema)
    with connection.transaction():
        found = connection.execute("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s", [schema]).fetchone()
        if found is None:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        for statement in _TABLES:
            connection.execute(sql.SQL(statement).format(name))
        connection.execute(sql.SQL("INSERT INTO {}.vault (layout) VALUES (%s)").format(name), [LAYOUT])


def make_roles(connection: psycopg.Connection[TupleRow], schema: str) -> list[str]:
    """Make a role for publishers, auditors and readers, with their rights; return the names."""
    from psycopg import sql

    made = []
    with connection.transaction():
        for role, grants in ROLES.items():
            name = f"{schema}_{role}"
            if connection.execute("SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = %s", [name]).fetchone() is None:
                connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(name)))
            for grant in grants:
                connection.execute(sql.SQL(grant).format(schema=sql.Identifier(schema), role=sql.Identifier(name)))
            made.append(name)
    return made


def check_layout(connection: psycopg.Connection[TupleRow], schema: str, place: str) -> None:
    """Refuse tables that a newer version made, and tables that are no vault's."""
    from psycopg import sql

    row = connection.execute(sql.SQL("SELECT layout FROM {}.vault").format(sql.Identifier(schema))).fetchone()
    if row is None or not isinstance(row[0], int) or row[0] < 1:
        raise VaultError(
            f"the schema {schema!r} has a table 'vault' that is no vault's",
            file=place,
            hint="Name another schema in the address: ?schema=hospital.",
        )
    if row[0] > LAYOUT:
        raise VaultError(
            f"the tables of this vault have layout {row[0]}, and this version of Reveil reads layouts up to {LAYOUT}",
            file=place,
            hint="Install a newer version of Reveil.",
        )


def initialise(address: str, *, roles: bool) -> list[str]:
    """Make the schema and its tables where there are none, and the roles if asked for; return their names."""
    import psycopg

    where = Whereabouts.of(address, DEFAULT_SCHEMA)
    place = place_of(where)
    connection = connected(where, place)
    try:
        if not has_tables(connection, where.schema):
            make_tables(connection, where.schema)
        check_layout(connection, where.schema, place)
        return make_roles(connection, where.schema) if roles else []
    except psycopg.Error as error:
        raise failure(error, place, where.schema) from None
    finally:
        connection.close()


if TYPE_CHECKING:
    from psycopg.rows import TupleRow

    _CHECKED: type[Store] = PostgreSQL
