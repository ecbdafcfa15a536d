"""A private folder for what is worked on, that is not there afterwards, however the work ended."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import polars as pl

from reveil.core.errors import FileError

PREFIX = "reveil-scratch-"
_HINT = "Make room there, or let the variable TMPDIR name a folder on a larger disk."


class Scratch:
    """A folder (0700) among the temporary ones, locked while this process lives.

    What killed processes left is removed first: nobody holds its lock.
    """

    def __init__(self) -> None:
        place = Path(tempfile.gettempdir())
        _remove_dead(place)
        while True:
            try:
                self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
            except OSError:
                raise no_room(place) from None
            with suppress(FileNotFoundError):  # somebody took it for a dead one's before it was locked
                self._lock = os.open(self.folder, os.O_RDONLY)
                if _locked(self._lock) and self.folder.is_dir():
                    return
                os.close(self._lock)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):
            os.close(self._lock)


def no_room(place: Path) -> FileError:
    """Return what is said where a temporary file cannot be written."""
    return FileError("a temporary file could not be written here", file=place, hint=_HINT)


def written(table: pl.DataFrame, path: Path) -> Path:
    """Write a file in a folder of the private one; it has its name only when it is whole: work may be done twice."""
    draft = path.with_name(f".{secrets.token_hex(8)}-{path.name}")
    try:
        table.write_ipc(draft, compression="uncompressed")
        draft.replace(path)
    except (OSError, pl.exceptions.PolarsError):
        raise no_room(path.parent.parent.parent) from None
    return path


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_dead(place: Path) -> None:
    with suppress(OSError):
        for path in place.glob(f"{PREFIX}*"):
            if path.is_symlink() or not path.is_dir() or path.stat().st_uid != os.getuid():
                continue
            with suppress(OSError):
                lock = os.open(path, os.O_RDONLY)
                try:
                    if _locked(lock):
                        shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(lock)
