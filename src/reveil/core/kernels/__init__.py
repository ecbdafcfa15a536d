"""Compiled kernels, all of them in this folder; each has a plain-Python twin in ``tests/core/kernels/plain``.

Kernels are compiled on first use and cached per machine (:mod:`reveil.core.kernels._cache`). They hold no state,
release the GIL (callers run them on threads, over separate parts of the records; numba's own parallel layer is not
used, because it can neither be entered from two threads nor survive a fork) and see integers and floats only.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numba

from reveil.core.kernels import _cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function in nopython mode, without the GIL, cached on disk where that is safe."""
    compiled: Any = numba.njit(nogil=True)(function)
    if compiled is not function:  # it is, with NUMBA_DISABLE_JIT
        compiled._cache = _cache.KernelCache(function)
    made: Callable[..., object] = compiled
    return made


def are_kept() -> bool:
    """Return whether compiled kernels are there for the next run."""
    return _cache.folder() is not None


def kept() -> str:
    """Return in words whether compiled kernels are there for the next run, and what to do if not."""
    if are_kept():
        return "once on this machine"
    wanted = _cache.wanted_folder()
    if wanted is None:
        return "they cannot be kept: there is no home folder"
    return f"they are not kept: {wanted} must be yours alone, and so must be what it is in"


@contextmanager
def announced(announce: Callable[[], None]) -> Iterator[None]:
    """Call ``announce`` at most once in the block, before the first kernel that is not in the cache is compiled."""
    from numba.core import event

    class Once(event.Listener):
        told = False

        def on_start(self, event: object) -> None:  # noqa: ARG002
            if not self.told:
                self.told = True
                announce()

        def on_end(self, event: object) -> None:
            pass

    with event.install_listener("numba:compile", Once()):
        yield
