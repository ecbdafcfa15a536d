"""A store whose relations lie on a shelf as sealed pieces: opened into memory, and sealed anew where they change.

The policy works on relations in memory, as it does on those of a file. A transaction is in the store when the shelf has
committed its pieces; only then is it committed in memory.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import polars as pl

from reveil.core.errors import VaultError
from reveil.vault import settings
from reveil.vault.bridge import begun, translated
from reveil.vault.drafts import FolderDrafts
from reveil.vault.keys import SALT, FileKeys
from reveil.vault.migrations import MIGRATIONS, current, migrate
from reveil.vault.private import FILE, FOLDER
from reveil.vault.sealed import relations
from reveil.vault.sealed.bucket_keys import COMMONS, BucketKeys
from reveil.vault.sealed.cipher import require
from reveil.vault.sealed.pieces import HINT, SealedPieces
from reveil.vault.sealed.shelf import STATE, Header, HistoryRow
from reveil.vault.store import Unlocked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key, Keys
    from reveil.vault.sealed.relations import Fingerprint, Relation
    from reveil.vault.sealed.shelf import Shelf
    from reveil.vault.sealed.whereabouts import Whereabouts

FORMAT = 1
MARK = "vault.copies"
_TABLES, _INDEX = " tables", " pieces"  # in the commons, beside the tables: a space is in no table's name
_COUNTS = ("persons", "inserted", "deleted", "updated", "returned", "counterfeits", "withheld", "rows")

Prints = dict[str, dict[int, "Fingerprint"]]


class SealedStore:
    """The store above a shelf; see :class:`~reveil.vault.store.Store` for its methods."""

    def __init__(self, shelf: Shelf, where: Whereabouts) -> None:
        require()
        self.shelf, self.where = shelf, where
        self.keys: Keys = FileKeys(where.key, where.command)
        self._drafts = FolderDrafts(where.drafts / "releases", where.drafts)
        self._connection: Connection | None = None
        self._header: Header | None = None
        self._pieces: SealedPieces | None = None
        self._prints: Prints | None = {}  # of tables; None: not looked at since they were loaded
        self._placed: dict[int, dict[int, Fingerprint]] = {}  # of placements, by release: those that were loaded
        self._made: list[Path] = []  # files that this opening has made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    @property
    def place(self) -> str:
        """The address of the shelf."""
        return self.shelf.place

    @property
    def folder(self) -> Path:
        """Where copies of releases lie."""
        return self.where.drafts

    @property
    def drafts(self) -> FolderDrafts:
        """The copies of releases, on this machine."""
        return self._drafts

    @property
    def connection(self) -> Connection:
        """The relations in memory."""
        if self._connection is None:
            raise ValueError("this vault is closed")
        return self._connection

    def _translated(self) -> AbstractContextManager[None]:
        return translated(self.place, HINT)

    @property
    def _known_pieces(self) -> SealedPieces:
        if self._pieces is None:
            raise ValueError("this vault was not unlocked")
        return self._pieces

    @contextmanager
    def unlocked(self) -> Iterator[Unlocked]:
        """Open the pieces into memory; a vault that begins gets its keys."""
        with self._translated():
            try:
                self._make_folders()
                self._connection = _memory()
                self._header = self.shelf.header()
                unlocked = self._begin() if self._header is None else self._open(self._header)
                yield unlocked
            except VaultError as error:
                if error.file is None:
                    error.file = self.place
                raise

    def _make_folders(self) -> None:
        for folder in (self.where.drafts, self._drafts.folder):
            try:
                folder.mkdir(mode=FOLDER, parents=True, exist_ok=True)
                (self.where.drafts / MARK).touch(mode=FILE)  # nobody takes these copies for what was published
            except OSError:
                raise VaultError(
                    "the folder for copies of releases cannot be made",
                    file=folder,
                    hint="Check the permissions of the folder above it, or name another place with `keys`.",
                ) from None

    def _begin(self) -> Unlocked:
        salt = secrets.token_bytes(SALT)
        if not self.where.key.exists():
            self._made.append(self.where.key)
        key = self.keys.load_or_make(salt)
        if self.where.keys.exists():  # of a beginning that was interrupted before anything was told
            keys = BucketKeys.load(self.where.keys, key)
        else:
            self._made.append(self.where.keys)
            keys = BucketKeys.make(self.where.keys, key)
        self._pieces = SealedPieces(self.shelf, keys)
        migrate(self.connection)
        return Unlocked(key, salt, begun=False)

    def _open(self, header: Header) -> Unlocked:
        if header.format > FORMAT:
            raise VaultError(
                f"the pieces of this vault have format {header.format}, and this version of Reveil reads formats up to "
                f"{FORMAT}",
                hint="Install a newer version of Reveil.",
            )
        key = self.keys.fitting(header.salt or None, header.check)
        keys = BucketKeys.load(self.where.keys, key)
        if keys.identity != header.identity:
            raise VaultError(
                "these bucket keys belong to another vault",
                file=self.where.keys,
                hint="Name the file of this vault's keys with `keys` under [series].",
            )
        self._pieces = SealedPieces(self.shelf, keys).found()
        self._load()
        if current(self.connection) != MIGRATIONS[-1].version:
            migrate(self.connection)
            with self.transaction(releases=None) as connection:  # all of it is sealed anew
                connection.execute("DELETE FROM settings WHERE key = ?", [settings.UNSEALED])
        return Unlocked(key, header.salt, begun=True)

    # Reading

    def _load(self) -> None:
        """Open the commons and the state of all buckets."""
        commons = relations.unpacked(self._known_pieces.commons())
        tables = _tables(commons.pop(_TABLES))
        self._pieces = replace(self._known_pieces, listed=dict(commons.pop(_INDEX).iter_rows()))
        reader = relations.Reader(self._pieces.of(STATE))
        connection = self.connection
        for table in tables:
            connection.execute(table.statement)
        connection.execute("CREATE TABLE IF NOT EXISTS seals (name TEXT, release INTEGER, digest TEXT, duckdb TEXT)")
        for name, frame in [*commons.items(), *reader.tables()]:
            relations.insert(connection, name, frame)
        self._prints = None

    def _load_placements(self, release: int) -> None:
        if release in self._placed:
            return
        for name, frame in relations.Reader(self._known_pieces.of(release)).tables():
            relations.insert(self.connection, name, frame)
        table = relations.tables_of(self.connection)[relations.PLACEMENTS]
        self._placed[release] = relations.fingerprints(self.connection, table, release)

    @contextmanager
    def reading(self, release: int | None = None) -> Iterator[Connection]:
        """Read relations; placements of a release are opened the first time."""
        with self._translated():
            connection = self.connection
            if release is not None:
                self._load_placements(release)
            yield connection

    def check(self) -> None:
        """Open every piece again, from the shelf."""
        with self._translated():
            self._known_pieces.check()

    # Changing

    @contextmanager
    def transaction(self, *tables: str, releases: Collection[int] | None = ()) -> Iterator[Connection]:
        """Change tables and placements; the pieces that changed are sealed anew and committed on the shelf."""
        with self._translated():
            connection = self.connection
            for release in self._known_pieces.releases if releases is None else releases:
                self._load_placements(release)
            if self._prints is None:
                self._prints = _prints(connection)
            with begun(connection):
                yield connection
                changes = self._changes(connection, tables, self._placed if releases is None else releases)
                if releases is None and settings.get(connection, settings.ERASING):
                    changes = self._under_new_keys(changes)
                header, pieces = self._commit(connection, changes)
            self._header, self._pieces = header, pieces
            self._prints, self._placed = changes.prints, changes.placed

    @contextmanager
    def rekeyed(self, key: Key) -> Iterator[Connection]:
        """Change everything under another master key: the keys of buckets are wrapped by it once this is committed."""
        wrapped = self._known_pieces.keys.wrapped_by(key)
        self.keys.stage(key)
        wrapped.stage()
        with self.transaction(releases=None) as connection:
            yield connection
        wrapped.take()
        self._pieces = replace(self._known_pieces, keys=wrapped)
        self.keys.take(key)

    def _changes(self, connection: Connection, names: Collection[str], releases: Collection[int]) -> _Changes:
        """Return in which buckets something is not what it was; ``names`` are the tables to look at, all if none."""
        every = relations.tables_of(connection)
        placements = every.pop(relations.PLACEMENTS)
        looked = {name: table for name, table in every.items() if not names or name in names}
        before = self._prints or {}
        now = before | {name: relations.fingerprints(connection, table) for name, table in looked.items()}
        state = {
            bucket
            for name, table in looked.items()
            if table.personal
            for bucket in _different(before.get(name, {}), now[name])
        }
        placed = self._placed | {r: relations.fingerprints(connection, placements, r) for r in releases}
        moved = {r: _different(self._placed.get(r, {}), placed[r]) for r in releases}
        return _Changes(every, placements, {name: now[name] for name in every}, placed, state, moved)

    def _under_new_keys(self, changes: _Changes) -> _Changes:
        """Seal whatever an erasure changes with new keys; :meth:`erase` destroys the old ones."""
        index = self._known_pieces.index
        touched = changes.state.union(*changes.moved.values())
        self._known_pieces.keys.renew({*touched, COMMONS})
        releases = {*self._known_pieces.releases, *changes.moved}
        moved = {r: {b for b in touched if b in changes.placed[r] or (b, r) in index} for r in releases}
        return replace(changes, state=touched, moved=moved)

    def _commit(self, connection: Connection, changes: _Changes) -> tuple[Header, SealedPieces]:
        pieces, version = self._known_pieces, 1 if self._header is None else self._header.version + 1
        written = [pieces.sealed(*place, version, content) for place, content in _contents(connection, changes)]
        touched = {(b, STATE) for b in changes.state} | {
            (b, r) for r, buckets in changes.moved.items() for b in buckets
        }
        removed = touched & pieces.index.keys() - {(piece.bucket, piece.release) for piece in written}
        after = pieces.after(written, removed)
        commons = pieces.sealed(COMMONS, STATE, version, _commons(connection, changes, after.listed))
        after.index[COMMONS, STATE] = (commons.version, commons.key)
        found = settings.get_all(connection)
        salt = bytes.fromhex(str(found.get(settings.SALT) or ""))
        header = Header(FORMAT, pieces.keys.identity, salt, str(found.get(settings.CHECK)), version)
        self.shelf.commit(header, [*written, commons], removed, _history(connection))
        return header, after

    def checkpoint(self) -> None:
        """Nothing is left to do: what was committed lies on the shelf."""

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Nobody else is in: a shelf lets one in at a time."""
        yield

    def erase(self) -> None:
        """Destroy the keys of what was deleted, wherever copies of it are."""
        self._known_pieces.destroy_old_keys()
        with self.transaction("settings") as connection:
            connection.execute("DELETE FROM settings WHERE key = ?", [settings.ERASING])

    def discard(self) -> None:
        """Take the shelf away, and the files that this opening has made; then close."""
        with self._translated():
            self.shelf.discard()
        for path in self._made:
            path.unlink(missing_ok=True)
        shutil.rmtree(self.where.drafts, ignore_errors=True)
        self.close()

    def close(self) -> None:
        """Let others in. Closing twice is allowed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self.shelf.close()


def _memory() -> Connection:
    """Return an empty database in memory, without extensions and without a way to files."""
    connection = duckdb.connect(
        ":memory:", config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    )
    connection.execute("SET enable_external_access = false")
    return connection


def _prints(connection: Connection) -> Prints:
    tables = relations.tables_of(connection).values()
    return {t.name: relations.fingerprints(connection, t) for t in tables if t.name != relations.PLACEMENTS}


def _different(before: dict[int, Fingerprint], after: dict[int, Fingerprint]) -> set[int]:
    return {bucket for bucket in before.keys() | after.keys() if before.get(bucket) != after.get(bucket)}


@dataclass(frozen=True)
class _Changes:
    """What a transaction changed: buckets of the state, and of placements by release; and how everything is now."""

    tables: dict[str, Relation]
    placements: Relation
    prints: Prints
    placed: dict[int, dict[int, Fingerprint]]
    state: set[int]
    moved: dict[int, set[int]]


def _contents(connection: Connection, changes: _Changes) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield the place of each piece that changed and has rows, and what it is to hold."""
    rows: dict[int, dict[str, relations.Numbers]] = defaultdict(dict)
    for table in (table for table in changes.tables.values() if table.personal):
        there = np.array(sorted(changes.state & changes.prints[table.name].keys()), np.int32)
        for bucket, numbers in relations.rows_of(connection, table, there) if len(there) else ():
            rows[bucket][table.name] = numbers
    for bucket, parts in rows.items():
        yield (bucket, STATE), relations.packed_numbers(parts)
    for release, buckets in changes.moved.items():
        there = np.array(sorted(buckets & changes.placed[release].keys()), np.int32)
        for bucket, numbers in relations.rows_of(connection, changes.placements, there, release) if len(there) else ():
            yield (bucket, release), relations.packed_numbers({relations.PLACEMENTS: numbers})


def _commons(connection: Connection, changes: _Changes, listed: dict[int, str]) -> bytes:
    """Return all that belongs to no person, which tables there are, and which pieces."""
    tables = changes.tables
    parts = {name: relations.whole(connection, table) for name, table in tables.items() if not table.personal}
    kept = [*tables.values(), changes.placements]
    parts[_TABLES] = pl.DataFrame({"table": [t.name for t in kept], "columns": [json.dumps(t.columns) for t in kept]})
    parts[_INDEX] = pl.DataFrame({"release": list(listed), "digest": list(listed.values())})
    return relations.packed(parts)


def _tables(listed: pl.DataFrame) -> list[Relation]:
    return [relations.Relation(name, json.loads(columns)) for name, columns in listed.iter_rows()]


def _history(connection: Connection) -> list[HistoryRow]:
    rows = connection.execute(
        "SELECT release, state, created, digest, manifest_digest, facts FROM releases ORDER BY release"
    ).fetchall()
    return [HistoryRow(*row[:5], _counts(row[5])) for row in rows]  # type: ignore[call-arg]  # five cells and a sixth


def _counts(facts: str) -> str:
    found = json.loads(facts)
    return json.dumps({name: found[name] for name in _COUNTS if isinstance(found.get(name), int)})
