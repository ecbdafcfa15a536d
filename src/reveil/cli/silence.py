"""A standard error stream that only Reveil writes to.

Compiled libraries write to it past Python: where polars gives up, it prints where and why, and that may quote a cell.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STDERR = 2


@contextmanager
def alone_on_stderr() -> Iterator[None]:
    """Let what Python writes to stderr through, and nothing else; with ``REVEIL_DEBUG`` everything."""
    usual = sys.stderr
    try:
        kept = None if os.environ.get("REVEIL_DEBUG") else os.dup(_STDERR)
    except OSError:  # it is closed: nobody listens
        kept = None
    if kept is None:
        yield
        return
    copy = None
    if _is_stderr():
        usual.flush()
        copy = open(  # noqa: PTH123, SIM115  (a descriptor is no path)
            os.dup(kept), "w", buffering=1, encoding=usual.encoding, errors=usual.errors
        )
        sys.stderr = copy
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    os.close(nowhere)
    try:
        yield
    finally:
        if copy is not None:
            copy.close()
            sys.stderr = usual
        os.dup2(kept, _STDERR)
        os.close(kept)


def _is_stderr() -> bool:
    """Return whether Python's stream is the process's own, and not one that somebody put in its place."""
    try:
        return sys.stderr.fileno() == _STDERR
    except (AttributeError, OSError, ValueError):
        return False
