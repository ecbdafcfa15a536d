"""Compiled kernels, all of them in this folder; each has a plain-Python twin in ``reveil.kernels.plain``.

Kernels are compiled on first use and cached per machine. They hold no state, release the GIL (callers run them
on threads, over separate parts of the records; numba's own parallel layer is not used, because it can neither be
entered from two threads nor survive a fork) and see integers and floats only.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any


def _cache_folder() -> str:
    """Return a folder that can be written: the user's cache, or a temporary one where there is no home."""
    wanted = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "reveil" / "kernels"
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return str(wanted)
    except OSError:
        # A fresh folder, not a shared name: code is loaded from it, and others can write to the temporary folder.
        return tempfile.mkdtemp(prefix="reveil-kernels-")


os.environ.setdefault("NUMBA_CACHE_DIR", _cache_folder())

import numba  # noqa: E402  (reads NUMBA_CACHE_DIR when imported)

if TYPE_CHECKING:
    from collections.abc import Callable


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function in nopython mode, without the GIL, cached on disk."""
    compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    return compiled


def on_compile(announce: Callable[[], None]) -> None:
    """Call ``announce`` once, before the first kernel that is not in the cache is compiled."""
    from numba.core import event

    class Once(event.Listener):
        told = False

        def on_start(self, event: Any) -> None:  # noqa: ARG002
            if not self.told:
                Once.told = True
                announce()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Once())
