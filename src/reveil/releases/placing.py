"""How finished files get in place: from a locked temporary folder beside the target, in one step, undisturbed."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.disk import sync_file, sync_folder
from reveil.core.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DRAFT = ".reveil-draft-"


@contextmanager
def draft_folder(target: Path) -> Iterator[Path]:
    """Return a temporary folder beside the target, from which files can be moved in one step.

    It is locked while this process lives. Those of killed ones are removed.
    """
    _remove_drafts(target.parent)
    folder, lock = _locked_folder(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked_folder(target: Path) -> tuple[Path, int]:
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=DRAFT, dir=target.parent))
        except OSError:
            raise FileError("cannot write here", file=target, hint="The folder does not take new files.") from None
        with suppress(FileNotFoundError):  # somebody took it for a dead one's before it was locked
            lock = os.open(folder, os.O_RDONLY)
            if _lock(lock) and folder.is_dir():
                return folder, lock
            os.close(lock)


def _remove_drafts(folder: Path) -> None:
    """Remove what killed runs left: nobody holds its lock any more."""
    with suppress(OSError):
        for path in folder.glob(f"{DRAFT}*"):
            if path.is_symlink() or not path.is_dir():
                continue
            with suppress(OSError):
                lock = os.open(path, os.O_RDONLY)
                try:
                    if _lock(lock):
                        shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(lock)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def put_in_place(
    drafts: Sequence[Path], folder: Path, leftover: Sequence[Path], done: Callable[[], None] = lambda: None
) -> None:
    """Move finished files to where they belong, in order, and remove what they replace; ``done`` is told at once."""
    for file in drafts:
        sync_file(file)
    with undisturbed():
        for file in drafts:
            file.replace(folder / file.name)
        for file in leftover:
            file.unlink(missing_ok=True)
        sync_folder(folder)
        done()


def put_folder_in_place(made: Path, folder: Path, done: Callable[[], None] = lambda: None) -> None:
    """Let a finished folder take its place in one step; what it replaces is another copy of the same release.

    ``made`` lies in a draft folder. A kill leaves the folder as it was, or none: then the same command makes it again.
    """
    below = sorted(made.rglob("*"))
    for path in below:
        (sync_folder if path.is_dir() else sync_file)(path)
    sync_folder(made)
    replaced = made.with_name(f"{made.name}.replaced")
    with undisturbed():
        if folder.exists():
            folder.rename(replaced)
        try:
            made.rename(folder)
        except OSError:
            if replaced.exists():
                replaced.rename(folder)
            raise
        sync_folder(folder.parent)
        done()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore a keyboard interrupt where half of the work is worse than none: a moment later all is done anyway."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
