"""Axes of charts: stretches of numbers, where they lie on the picture, and the numbers that stand beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 440.0
LEFT, RIGHT = 58.0, 12.0


def number(value: float) -> str:
    """Write a number as it stands at an axis: short, and no more digits than are read.

    >>> [number(v) for v in (0, 0.25, 1234567, 12.5, 1e-7, 1e12)]
    ['0', '0.25', '1,234,567', '12.5', '1e-07', '1e+12']
    """
    if value == 0:
        return "0"
    if abs(value) >= 1e9 or abs(value) < 1e-4:
        return f"{value:.3g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers, and where it lies on the picture."""

    low: float
    high: float
    log: bool = False
    start: float = LEFT
    end: float = WIDTH - RIGHT

    @classmethod
    def of(cls, values: Sequence[float], *, log: bool, zero: bool) -> Axis:
        """Find the stretch of these numbers; nothing at all, and one number alone, have one, too."""
        low, high = (min(values), max(values)) if values else (0.1 if log else 0.0, 1.0)
        if log:
            return cls(low / 2, high * 2, log=True) if high <= low * 1.001 else cls(low, high, log=True)
        low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
        if high - low <= 1e-9 * max(abs(low), abs(high)):
            low, high = (0.0, 1.0) if zero else (low - 0.5 - abs(low) / 2, high + 0.5 + abs(high) / 2)
        if zero:  # the axis ends at marks
            step = _step(high - low, 5)
            low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        return cls(low, high)

    def placed(self, start: float, end: float, *, inset: float = 0.0) -> Axis:
        """Return the same stretch at another place."""
        sign = 1.0 if end >= start else -1.0
        return Axis(self.low, self.high, self.log, start + sign * inset, end - sign * inset)

    def at(self, value: float) -> float:
        """Return where a number lies."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        given = math.log(value) if self.log else value
        return self.start + (self.end - self.start) * (given - low) / (high - low)

    def ticks(self, about: int) -> list[float]:
        """Return round numbers inside."""
        if not self.log:
            step = _step(self.high - self.low, about)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [place * step for place in range(first, last + 1)]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        every = max(1, math.ceil(len(decades) / about))
        near = (1.0, 2.0, 5.0) if len(decades) <= 3 else (1.0,)
        found = [part * 10.0**power for power in decades[::every] for part in near]
        return [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


def _step(length: float, about: int) -> float:
    """Return 1, 2 or 5 times a power of ten, so that about so many fit."""
    rough = length / about
    power = 10.0 ** math.floor(math.log10(rough))
    return next((part * power for part in (1.0, 2.0, 5.0) if part * power >= rough * (1 - 1e-9)), 10.0 * power)
