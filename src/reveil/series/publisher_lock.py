"""One publisher at a time: threads of one process share the vault's database, and would share its drafts."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reveil.core.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.vault.address import Place

_LOCK = threading.Lock()
_AT_WORK: set[Place] = set()


@contextmanager
def only_publisher(vault: Place) -> Iterator[None]:
    """Let one thread of this process change a vault; another is told so. (Another process cannot even open it.)"""
    place = vault.resolve()
    with _LOCK:
        if place in _AT_WORK:
            raise BusyError(
                "another publisher is at work in this vault",
                file=str(vault),
                hint="Nothing was published by this one. Wait until the other is done and try again.",
            )
        _AT_WORK.add(place)
    try:
        yield
    finally:
        with _LOCK:
            _AT_WORK.discard(place)
