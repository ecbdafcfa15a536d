"""Ctrl-C that always works.

Python delivers an interrupt wherever the main thread happens to be. Inside a callback of a compiled library (numba
loading a kernel) it is swallowed and printed as a traceback. So the interrupt is also remembered, and raised again
at the next stage.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_pending = False
_over = False


def install() -> None:
    """Remember interrupts, and do not print the ones that a callback swallows."""
    global _over, _pending  # noqa: PLW0603  (a process has one keyboard)
    _over = _pending = False
    rearm()
    ordinary = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            ordinary(unraisable)

    sys.unraisablehook = hook


def rearm() -> None:
    """Take the interrupt back before a question is asked.

    Polars puts a handler of its own in front of Python's, which restarts the read that waits for an answer: Ctrl-C
    would do nothing at a prompt.
    """
    signal.signal(signal.SIGINT, _remember)


def check() -> None:
    """Raise an interrupt that was swallowed."""
    if _pending and not _over:
        raise KeyboardInterrupt


def over() -> None:
    """Take no more interrupts: what was asked for is done, and saying otherwise would be wrong."""
    global _over  # noqa: PLW0603  (a process has one keyboard)
    _over = True


def _remember(_number: int, _frame: FrameType | None) -> None:
    global _pending  # noqa: PLW0603  (a process has one keyboard)
    if _over:
        return
    _pending = True
    raise KeyboardInterrupt
