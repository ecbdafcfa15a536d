"""SealedPieces in a folder: a SQLite database with one row for each, which another process cannot open meanwhile."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reveil.core.errors import BusyError, VaultError
from reveil.vault.bridge import BUSY_HINT, BUSY_TEXT, FIRST_HINT, FIRST_TEXT
from reveil.vault.private import FOLDER, private
from reveil.vault.sealed.sealed_store import SealedStore
from reveil.vault.sealed.shelf import Header, HistoryRow, Piece
from reveil.vault.sealed.whereabouts import Whereabouts, folder_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from reveil.vault.store import Store

SCHEME = "sealed"
DATABASE, LOCK = "pieces.sqlite", "lock"
_DAMAGED = "Check the permissions and the free space on the disk, or restore the folder from a backup."
_TABLES = (
    "CREATE TABLE IF NOT EXISTS vault (format INTEGER, identity BLOB, salt BLOB, checked TEXT, version INTEGER)",
    (
        "CREATE TABLE IF NOT EXISTS pieces (bucket INTEGER, release INTEGER, version INTEGER, key INTEGER, body BLOB, "
        "PRIMARY KEY (bucket, release))"
    ),
    (
        "CREATE TABLE IF NOT EXISTS history (release INTEGER PRIMARY KEY, state TEXT, created TEXT, digest TEXT, "
        "manifest_digest TEXT, counts TEXT)"
    ),
)


class FileShelf:
    """A folder with pieces; see :class:`~reveil.vault.sealed.shelf.Shelf` for its methods."""

    def __init__(self, folder: Path, *, create: bool) -> None:
        self.folder = folder
        self.place = f"{SCHEME}://{folder}"
        if not create and not (folder / DATABASE).exists():
            raise VaultError("there is no vault here", file=folder, hint="Check the path, or publish first.")
        if (folder / "vault.duckdb").exists():
            raise VaultError(
                "this vault is not sealed",
                file=folder,
                hint="Take sealed = true out, or copy it: reveil vault copy FROM TO.",
            )
        with self._translated():
            folder.mkdir(mode=FOLDER, exist_ok=True)
            self._lock: int | None = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._unlock()
            raise BusyError(BUSY_TEXT, hint=BUSY_HINT, file=folder) from None
        try:
            with private(folder), self._translated():
                self._database = sqlite3.connect(folder / DATABASE, isolation_level=None, check_same_thread=False)
                self._database.execute("PRAGMA secure_delete = ON")
                self._database.execute("PRAGMA synchronous = FULL")
                for statement in _TABLES:
                    self._database.execute(statement)
        except BaseException:
            self._unlock()
            raise

    def _unlock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError):
            raise VaultError(
                "the pieces of this vault cannot be read or written", file=self.place, hint=_DAMAGED
            ) from None

    def header(self) -> Header | None:
        """Return the header, None where there is no vault yet."""
        with self._translated():
            row = self._database.execute("SELECT format, identity, salt, checked, version FROM vault").fetchone()
        return None if row is None else Header(*row)

    def fetch(self, release: int, bucket: int | None = None) -> Sequence[Piece]:
        """Return the pieces of a release, or of the state: all, or that of one bucket."""
        sql = (
            "SELECT bucket, release, version, key, body FROM pieces WHERE release = ? AND bucket = COALESCE(?, bucket)"
        )
        with self._translated():
            return [Piece(*row) for row in self._database.execute(sql, (release, bucket))]

    def index(self) -> Sequence[Piece]:
        """Return all pieces without their bodies."""
        with self._translated():
            return [Piece(*row) for row in self._database.execute("SELECT bucket, release, version, key FROM pieces")]

    def commit(
        self,
        header: Header,
        pieces: Iterable[Piece],
        removed: Collection[tuple[int, int]],
        history: Sequence[HistoryRow],
    ) -> None:
        """Put pieces in place, entirely or not at all."""
        with private(self.folder), self._translated():
            database = self._database
            database.execute("BEGIN IMMEDIATE")
            try:
                before = database.execute("SELECT version FROM vault").fetchone()
                if (0 if before is None else before[0]) != header.version - 1:
                    raise BusyError(FIRST_TEXT, hint=FIRST_HINT, file=self.place)
                database.execute("DELETE FROM vault")
                database.execute("INSERT INTO vault VALUES (?, ?, ?, ?, ?)", tuple(vars(header).values()))
                database.executemany("DELETE FROM pieces WHERE bucket = ? AND release = ?", list(removed))
                database.executemany(
                    "INSERT OR REPLACE INTO pieces VALUES (?, ?, ?, ?, ?)",
                    [tuple(vars(piece).values()) for piece in pieces],
                )
                database.execute("DELETE FROM history")
                database.executemany(
                    "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)", [tuple(vars(row).values()) for row in history]
                )
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise

    def discard(self) -> None:
        """Take the folder away."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:
        """Let others in. Closing twice is allowed."""
        self._database.close()
        self._unlock()


class SealedFolder(SealedStore):
    """A vault in a folder whose thief learns nothing without the keys, which lie beside it and not in it."""

    @classmethod
    def open(cls, address: str, *, create: bool) -> SealedFolder:
        """Open the folder; make it if there is none and ``create`` allows it."""
        folder, where = _parts(address)
        return cls(FileShelf(folder, create=create), where)

    @classmethod
    def files(cls, address: str) -> Whereabouts:
        """Return where its keys and copies of releases lie: beside the folder unless the address says."""
        return _parts(address)[1]

    @classmethod
    def exists(cls, address: str) -> bool:
        """Return whether a folder has the pieces of a vault."""
        folder, _ = _parts(address)
        if not (folder / DATABASE).exists():
            return False
        try:
            found = sqlite3.connect(folder / DATABASE)
            try:
                return bool(found.execute("SELECT COUNT(*) FROM vault").fetchone()[0])
            finally:
                found.close()
        except sqlite3.Error:
            return True  # something is there: opening it says what is wrong


def _parts(address: str) -> tuple[Path, Whereabouts]:
    folder = folder_of(address)
    query = address.partition("?")[2]
    name = folder.name.removesuffix(".vault")
    where = Whereabouts.of(f"{SCHEME}:///?{query}", name)
    keys = where.keys if where.keys.is_absolute() or "keys=" in query else folder.parent / where.keys
    return folder, Whereabouts(where.rest, where.schema, keys, where.command)


if TYPE_CHECKING:
    _CHECKED: type[Store] = SealedFolder
