"""Compiled kernels on disk: in a folder that only their owner can write to, because to load one is to run it.

A file holds one compiled kernel for one set of argument types, and begins with a digest of its bytes together with all
that they depend on: the sources of all kernels (one is compiled into another), the versions of Python, numba and
llvmlite. What does not match, damaged or out of date, is removed and made again.

The folder is ``reveil/kernels`` in the user's cache, or ``reveil`` in ``NUMBA_CACHE_DIR`` where that is set. It
belongs to the user, nobody else can write to it, it is no link, and nobody else can put another one in its place. If
that is not so, if there is no such folder and none can be made, or if nothing can be written to it, kernels are
compiled in each process, and nothing is left anywhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle  # the folder is checked, and so is each file
import platform
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
import numba
from numba.core.caching import _Cache as CacheProtocol
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

if TYPE_CHECKING:
    from collections.abc import Callable


_OWNER_ONLY = 0o700
_OTHERS_WRITE = 0o022
_DIGEST = 32


def wanted_folder() -> Path | None:
    """Return where compiled kernels are kept if that is safe; None where there is no home."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given).absolute() / "reveil"
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    try:
        base = base.expanduser()
    except RuntimeError:
        return None
    return base / "reveil" / "kernels" if base.is_absolute() else None


@cache
def folder() -> Path | None:
    """Return the folder of compiled kernels, made if need be; None if there is none that can be trusted."""
    wanted = wanted_folder()
    try:
        return None if wanted is None else _trusted(wanted)
    except (OSError, ValueError):
        return None


def _trusted(wanted: Path) -> Path | None:
    for missing in reversed([path for path in (wanted, *wanted.parents) if not os.path.lexists(path)]):
        missing.mkdir(_OWNER_ONLY, exist_ok=True)
    # Links on the way are followed to where they lead; the folder itself is none.
    found = wanted.parent.resolve() / wanted.name
    status = found.lstat()
    if not stat.S_ISDIR(status.st_mode) or not _only_mine(status) or not all(map(_stays, found.parents)):
        return None
    if stat.S_IMODE(status.st_mode) != _OWNER_ONLY:
        found.chmod(_OWNER_ONLY)
    return found


def _only_mine(status: os.stat_result) -> bool:
    """Return whether this belongs to the user, and nobody else can have written to it."""
    if not hasattr(os, "geteuid"):
        return True  # no such bits: a profile is its user's own
    return status.st_uid == os.geteuid() and not status.st_mode & _OTHERS_WRITE


def _stays(parent: Path) -> bool:
    """Return whether nobody else can put another folder in the place of one in this folder."""
    if not hasattr(os, "geteuid"):
        return True
    status = parent.lstat()
    protected = not status.st_mode & _OTHERS_WRITE or bool(status.st_mode & stat.S_ISVTX)
    return protected and status.st_uid in (0, os.geteuid())


@cache
def stamp() -> bytes:
    """Return a digest of all that a compiled kernel depends on."""
    total = hashlib.sha256("\0".join([platform.python_version(), numba.__version__, llvmlite.__version__]).encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        total.update(hashlib.sha256(source.read_bytes()).digest())
    return total.digest()


class KernelCache(CacheProtocol):
    """What numba asks for a compiled kernel before it compiles, and gives one to afterwards."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        """Where the files are."""
        return None if folder() is None else str(folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a compiled kernel; None if there is none that is whole and up to date."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        digest, payload = content[:_DIGEST], content[_DIGEST:]
        if digest == _digest(payload):
            with contextlib.suppress(Exception):  # whatever is wrong with it, it can be made again
                return CompileResult._rebuild(target_context, *pickle.loads(payload))  # noqa: S301
        with contextlib.suppress(OSError):
            path.unlink()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if there is room for it."""
        path = self._path(sig, data.codegen)
        if path is None or data.lifted or data.library.has_dynamic_globals:
            return
        payload = dumps(data._reduce())
        draft = path.with_suffix(".draft")
        try:
            draft.write_bytes(_digest(payload) + payload)
            draft.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        """Return the file of the kernel for these types on this processor, whichever installation has these sources."""
        trusted = folder()
        if trusted is None or not self._enabled:
            return None
        place = (self._function.__module__, self._function.__qualname__, self._function.__code__.co_firstlineno)
        key = repr((place, stamp(), str(sig), codegen.magic_tuple()))
        name = f"{self._function.__module__.rpartition('.')[2]}.{self._function.__name__}"
        return trusted / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.kernel"

    def enable(self) -> None:
        """Use the folder."""
        self._enabled = True

    def disable(self) -> None:
        """Do without."""
        self._enabled = False

    def flush(self) -> None:
        """Forget nothing: what is out of date is not loaded."""


def _digest(payload: bytes) -> bytes:
    return hashlib.sha256(stamp() + payload).digest()
