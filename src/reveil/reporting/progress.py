"""How far a report is, and about how long it takes yet: parts of the work are counted before it begins."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.reporting.holdings import Holdings

LEVELS = 3  # of knowledge beside the promise's, about
BEGINNINGS = 6  # of a series that are attacked at most
SURE = 3  # parts that must be done before a guess is worth saying


class Progress:
    """Tells what is being done, with the time that is left: what the parts so far took is taken for the others."""

    def __init__(self, stage: Callable[[str], None], parts: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._stage, self._parts, self._clock = stage, max(parts, 1), clock
        self._began, self._done = clock(), 0

    @classmethod
    def of(cls, about: Holdings, stage: Callable[[str], None]) -> Progress:
        """Count the parts of a report: releases, and columns that are attacked again and again."""
        releases = len(about.at_hand)
        known = any(held.truth is not None for held in about.at_hand)
        attacks = len(about.schema.sensitive) * (min(releases, BEGINNINGS) + LEVELS + 1) if known else 0
        return cls(stage, 2 * releases + attacks + (releases if known else 0) + 2)

    def __call__(self, name: str) -> None:
        """Begin a part."""
        left = ""
        if self._done >= SURE:
            rest = max(self._parts - self._done, 1)
            seconds = (self._clock() - self._began) / self._done * rest
            left = f" ({self._done} of about {max(self._parts, self._done + 1)}, about {seconds:.0f} s left)"
        self._stage(name + left)
        self._done += 1
