"""A store of vaults: relations lie in Parquet files, are loaded into memory, and are written back on commit.

Each commit writes a new folder with all pieces; a small file that says which folder counts is replaced last. A lock
file keeps others out, threads included.
"""

import fcntl
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import duckdb

from reveil.core.errors import BusyError, VaultError
from reveil.vault import settings
from reveil.vault.bridge import BUSY_HINT, BUSY_TEXT, begun, translated
from reveil.vault.drafts import FolderDrafts
from reveil.vault.keys import FolderKeys
from reveil.vault.migrations import migrate
from reveil.vault.private import private, write_private
from reveil.vault.unlocking import unlock

SCHEME = "pieces://"


class PieceStore:
    """Relations in Parquet files."""

    def __init__(self, folder, lock):
        self.folder, self._lock = folder, lock
        self.drafts = FolderDrafts(folder / "copies", folder)
        self._connection = None

    @classmethod
    def open(cls, address, *, create):
        folder = Path(address.removeprefix(SCHEME))
        if not create and not cls.exists(address):
            raise VaultError("there is no vault here", file=address, hint="Check the address.")
        folder.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise BusyError(BUSY_TEXT, hint=BUSY_HINT, file=address) from None
        return cls(folder, lock)

    @classmethod
    def exists(cls, address):
        return (Path(address.removeprefix(SCHEME)) / "current").exists()

    @property
    def place(self):
        return f"{SCHEME}{self.folder}"

    @property
    def connection(self):
        if self._connection is None:
            raise ValueError("this vault is closed")
        return self._connection

    def _translated(self):
        return translated(self.place, "Restore the pieces from a backup.")

    @contextmanager
    def unlocked(self):
        with self._translated():
            self._connection = duckdb.connect(":memory:")
            (self.folder / "copies").mkdir(mode=0o700, exist_ok=True)
            if self.exists(self.place):
                self._connection.execute(f"IMPORT DATABASE '{self._current()}'")
            migrate(self._connection)
            yield unlock(self._connection, FolderKeys(self.folder))

    def _current(self):
        return self.folder / (self.folder / "current").read_text()

    @contextmanager
    def reading(self, release=None):
        with self._translated():
            yield self.connection

    @contextmanager
    def transaction(self, *tables, releases=()):
        with self._translated(), begun(self.connection) as connection:
            yield connection
            self._write(connection)
        self._clean()

    def _write(self, connection):
        before = int(self._current().name) if self.exists(self.place) else 0
        fresh = self.folder / f"{before + 1}"
        shutil.rmtree(fresh, ignore_errors=True)
        with private(self.folder):
            connection.execute(f"EXPORT DATABASE '{fresh}' (FORMAT PARQUET)")
            write_private(self.folder / "current", fresh.name.encode())

    def _clean(self):
        for path in self.folder.iterdir():
            if path.name.isdigit() and path != self._current():
                shutil.rmtree(path, ignore_errors=True)

    def check(self):
        pass

    def checkpoint(self):
        pass

    @contextmanager
    def exclusive(self):
        yield

    def erase(self):
        with self.transaction() as connection:
            connection.execute("DELETE FROM settings WHERE key = ?", [settings.ERASING])

    def discard(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.close()

    def close(self):
        connection, self._connection = self._connection, None
        lock, self._lock = self._lock, None
        if connection is not None:
            connection.close()
        if lock is not None:
            os.close(lock)
