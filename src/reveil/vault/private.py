"""Nobody else on the machine reads a vault: folders are 0700 and files 0600, from the moment they exist."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from reveil.core.disk import sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLOSED = 0o077
FOLDER, FILE = 0o700, 0o600


class _Mask:
    """The umask belongs to the whole process: the first one in closes it, the last one out restores it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before = 0

    def enter(self) -> None:
        with self.lock:
            if not self.users:
                self.before = os.umask(CLOSED)
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                os.umask(self.before)


_MASK = _Mask()


@contextmanager
def private_files() -> Iterator[None]:
    """Make files that only their owner can read."""
    _MASK.enter()
    try:
        yield
    finally:
        _MASK.leave()


@contextmanager
def private(folder: Path) -> Iterator[None]:
    """Make files that only their owner can read, and tighten what another program made."""
    try:
        with private_files():
            yield
    finally:
        tighten(folder)


def tighten(folder: Path) -> None:
    """Take all rights from everybody but the owner. Files of other owners stay as they are."""
    with suppress(OSError):
        folder.chmod(FOLDER)
    # By path and never by opening: closing a descriptor of the database would drop the process's lock on it.
    with suppress(OSError):
        for path in folder.rglob("*"):
            with suppress(OSError):  # the database makes and removes files of its own meanwhile
                if not path.is_symlink():
                    path.chmod(FOLDER if path.is_dir() else FILE)


def write_private(path: Path, content: bytes) -> None:
    """Put a small file in place, entirely or not at all."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)
