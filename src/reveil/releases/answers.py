"""What a release answers when it is asked. How the answers are computed is the business of :mod:`reveil.analysis`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    """How many records satisfy an expression: expected, at least, at most.

    ``upper`` is None where the manifest keeps secret how many records are not in the release.
    """

    estimate: float
    lower: int
    upper: int | None
