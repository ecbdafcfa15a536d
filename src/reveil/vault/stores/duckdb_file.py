"""A vault in a folder: an embedded DuckDB database, the key beside it, and room for copies of releases.

DuckDB lets one process into the file at a time. Several stores of one process share it, one for each thread; between
them the transactions decide.
"""

from __future__ import annotations

import shutil
import threading
import weakref
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from reveil.core.errors import BusyError, VaultError
from reveil.vault import settings
from reveil.vault.bridge import BUSY_HINT, BUSY_TEXT, begun, translated
from reveil.vault.drafts import FolderDrafts
from reveil.vault.keys import FolderKeys
from reveil.vault.migrations import MIGRATIONS, SEALS, current, dropped_after, migrate
from reveil.vault.opening import DATABASE, connect, find_folder
from reveil.vault.private import FOLDER, private
from reveil.vault.stores import seals
from reveil.vault.stores.rewriting import rewrite
from reveil.vault.unlocking import unlock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import AbstractContextManager

    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key, Keys
    from reveil.vault.store import Store, Unlocked

RELEASES = "releases"
_DAMAGED = (
    "Check the permissions and the free space on the disk. If the file 'vault.duckdb' is damaged, restore "
    "the vault from a backup; if there is none, start a new vault and adopt what was published."
)

# Opening and replacing the file are done by one thread at a time; an erasure must know who else has it open.
_DOOR = threading.RLock()
_OPEN: weakref.WeakSet[DuckDBFile] = weakref.WeakSet()


class DuckDBFile:
    """The store of a folder; see :class:`~reveil.vault.store.Store` for its methods."""

    def __init__(self, folder: Path, connection: Connection) -> None:
        self.folder = folder
        self.keys: Keys = FolderKeys(folder)
        self._connection: Connection | None = connection
        self._key: Key | None = None
        self._sealed = True  # all of it by this version of DuckDB
        self._checked: set[int] = set()  # releases whose placements were compared with their seals

    @classmethod
    def open(cls, address: str, *, create: bool) -> DuckDBFile:
        """Open the database in a folder; make both if there is none and ``create`` allows it."""
        with _DOOR:
            folder = find_folder(Path(address), create=create)
            with private(folder), translated(folder, _DAMAGED):
                store = cls(folder, connect(folder))
            _OPEN.add(store)
        return store

    @classmethod
    def exists(cls, address: str) -> bool:
        """Return whether a folder has the database of a vault."""
        return (Path(address) / DATABASE).exists()

    def __repr__(self) -> str:
        return f"DuckDBFile({str(self.folder)!r})"

    @property
    def place(self) -> str:
        """The folder."""
        return str(self.folder)

    @cached_property
    def drafts(self) -> FolderDrafts:
        """The copies of releases, in a folder beside the database."""
        return FolderDrafts(self.folder / RELEASES, self.folder)

    @property
    def connection(self) -> Connection:
        """The database."""
        if self._connection is None:
            raise ValueError("this vault is closed")
        return self._connection

    @property
    def _known_key(self) -> Key:
        if self._key is None:
            raise ValueError("this vault was not unlocked")
        return self._key

    def _translated(self) -> AbstractContextManager[None]:
        return translated(self.folder, _DAMAGED)

    def _others(self) -> bool:
        return any(v is not self and v._connection is not None and v.folder == self.folder for v in _OPEN)

    @contextmanager
    def unlocked(self) -> Iterator[Unlocked]:
        """Bring the database to the last format, find the key, and compare everything with its seal."""
        with _DOOR, private(self.folder), self._translated():
            try:
                version = current(self.connection) or 0
                if SEALS.version <= version < MIGRATIONS[-1].version:
                    self._check_before(version)
                migrate(self.connection)
                unlocked = self._unlock()
                self._key = unlocked.key
                if unlocked.begun:
                    self._compare()
                elif seals.any_kept(self.connection):
                    raise seals.damaged(self.folder, "settings")
                with suppress(OSError):
                    (self.folder / RELEASES).mkdir(mode=FOLDER, exist_ok=True)
                yield unlocked
            except VaultError as error:
                if error.file is None:
                    error.file = self.place
                raise

    def _unlock(self) -> Unlocked:
        try:
            return unlock(self.connection, self.keys)
        except (TypeError, ValueError):
            raise seals.damaged(self.folder, "settings") from None

    def _check_before(self, version: int) -> None:
        """Compare a database of an earlier format with its seals: afterwards it is sealed anew, whatever it is."""
        unlocked = self._unlock()
        if unlocked.begun and not settings.get(self.connection, settings.UNSEALED):
            with begun(self.connection) as connection:
                seals.check(connection, unlocked.key, self.folder, None, also=dropped_after(version))

    def _compare(self) -> None:
        if settings.get(self.connection, settings.UNSEALED):
            with self.transaction(releases=None) as connection:
                connection.execute("DELETE FROM settings WHERE key = ?", [settings.UNSEALED])
        else:
            with begun(self.connection) as connection:
                self._sealed = seals.check(connection, self._known_key, self.folder)

    @contextmanager
    def reading(self, release: int | None = None) -> Iterator[Connection]:
        """Read relations; placements of a release are compared with their seal the first time."""
        with self._translated():
            if release is not None and release not in self._checked:
                seals.check_release(self.connection, self._known_key, self.folder, release)
                self._checked.add(release)
            yield self.connection

    @contextmanager
    def transaction(self, *tables: str, releases: Collection[int] | None = ()) -> Iterator[Connection]:
        """Change tables and placements, and their seals with them; what is not named keeps its seal."""
        with private(self.folder), self._translated(), begun(self.connection) as connection:
            yield connection
            if self._sealed:
                seals.renew(connection, self._known_key, tables, releases)
            else:
                seals.renew(connection, self._known_key, releases=None)
        self._sealed = True

    @contextmanager
    def rekeyed(self, key: Key) -> Iterator[Connection]:
        """Change everything under another key: all seals are of it once this is committed."""
        before = self._known_key
        self.keys.stage(key)
        self.check()
        try:
            with private(self.folder), self._translated(), begun(self.connection) as connection:
                yield connection
                self._key = key
                seals.renew(connection, key, releases=None)
        except BaseException:
            self._key = before
            raise
        self.keys.take(key)

    def check(self) -> None:
        """Compare everything with its seal, placements of all releases included."""
        with self._translated():
            self._sealed = seals.check(self.connection, self._known_key, self.folder, None)

    def checkpoint(self) -> None:
        """Fold the log into the file.

        A damaged log is cut off in silence when it is read; blocks of the file have checksums, and tables seals. Where
        another thread is writing, its own end will fold this in.
        """
        with private(self.folder), self._translated(), suppress(duckdb.TransactionException):
            self.connection.execute("CHECKPOINT")

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other threads out."""
        with _DOOR:
            if self._others():
                raise BusyError(BUSY_TEXT, hint=BUSY_HINT, file=self.folder)
            yield

    def erase(self) -> None:
        """Write the database anew, and open the new one."""
        with private(self.folder), self._translated():
            rewrite(self.connection, self.folder / DATABASE, self._known_key)
            self._connection = None
            self._connection = connect(self.folder)

    def discard(self) -> None:
        """Remove the folder and close. Where another thread has it open, it stays."""
        with _DOOR:
            if not self._others():
                with private(self.folder), self._translated():
                    self.connection.execute("CHECKPOINT")  # closing has nothing left to write
                # While it is open, no other process gets in; one that begins a vault here afterwards keeps its folder.
                shutil.rmtree(self.folder, ignore_errors=True)
            self.close()

    def close(self) -> None:
        """Let others in. Closing twice is allowed."""
        with _DOOR:
            connection, self._connection = self._connection, None
            _OPEN.discard(self)
            if connection is not None:
                with private(self.folder), self._translated():
                    connection.close()


if TYPE_CHECKING:
    _CHECKED: type[Store] = DuckDBFile
