"""CPU seconds and memory of a process and of all that it starts, looked at from time to time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

_EVERY = 0.2  # seconds
_TICK, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


class Watched:
    """Adds up what this process and those below it have used since; what lives shorter than a look is missed."""

    def __init__(self) -> None:
        self.peak = 0  # bytes of all of them at once
        self._used: dict[int, float] = {}
        self._over = threading.Event()
        self._look()
        self._before = sum(self._used.values())
        threading.Thread(target=self._go_on, daemon=True).start()

    def seconds(self) -> float:
        """Return the CPU seconds so far."""
        self._look()
        return sum(self._used.values()) - self._before

    def stop(self) -> None:
        """Look no more."""
        self._over.set()

    def _go_on(self) -> None:
        while not self._over.wait(_EVERY):
            self._look()

    def _look(self) -> None:
        found: dict[int, tuple[float, int]] = {}
        below: dict[int, list[int]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                told = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            pid = int(path.parent.name)
            below.setdefault(int(told[1]), []).append(pid)
            found[pid] = (int(told[11]) + int(told[12])) / _TICK, int(told[21]) * _PAGE
        own = [os.getpid()]
        for pid in own:
            own.extend(below.get(pid, ()))
        alive = [pid for pid in own if pid in found]
        self._used |= {pid: found[pid][0] for pid in alive}
        self.peak = max(self.peak, sum(found[pid][1] for pid in alive))
