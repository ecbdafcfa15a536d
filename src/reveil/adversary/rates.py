"""How often guesses are right, with intervals: of an attack, of a baseline, and of people who are not in the data."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reveil.core.json_values import JSON

CONFIDENCE = 0.95
_Z = 1.959963984540054  # of the normal distribution, for CONFIDENCE


@dataclass(frozen=True)
class Rate:
    """``right`` guesses of ``tried``, with Wilson's interval."""

    right: int
    tried: int

    @property
    def rate(self) -> float:
        """The share of right guesses; 0 where nothing was tried."""
        return self.right / self.tried if self.tried else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval; everything is possible where nothing was tried.

        >>> [round(end, 4) for end in Rate(50, 100).interval]
        [0.4038, 0.5962]
        """
        if not self.tried:
            return 0.0, 1.0
        n, p = self.tried, self.rate
        middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z / (1 + _Z**2 / n) * sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n))
        low, high = max(middle - half, 0.0), min(middle + half, 1.0)
        return (0.0 if not self.right else low), (1.0 if self.right == n else high)

    def to_json(self) -> dict[str, JSON]:
        """Return what is written of it."""
        low, high = self.interval
        return {"right": self.right, "tried": self.tried, "rate": self.rate, "low": low, "high": high}


def advantage(attack: Rate, control: Rate) -> dict[str, JSON]:
    """Return how much of what could be gained over a control is gained: (attack - control) / (1 - control).

    The interval puts Wilson's two halves together by the root of the sum of their squares (Newcombe's way for a
    difference). Source: Giomi, Boenisch, Wehmeyer, Tasnádi 2023, the risk of an attack against a control.
    """
    a, c = attack.rate, control.rate
    (a_low, a_high), (c_low, c_high) = attack.interval, control.interval
    room = max(1 - c, 1e-12)
    low = (a - c - sqrt((a - a_low) ** 2 + (c_high - c) ** 2)) / room
    high = (a - c + sqrt((a_high - a) ** 2 + (c - c_low) ** 2)) / room
    return {"gain": (a - c) / room, "low": max(low, -1.0), "high": min(high, 1.0)}


def sampled(attacked: int, everybody: int, certain: int) -> dict[str, JSON]:
    """Return what a sample of persons says of everybody: how many values are certain, with an interval."""
    rate = Rate(certain, attacked)
    low, high = (end * everybody for end in rate.interval)
    estimate = rate.rate * everybody
    return {"attacked": attacked, "of": everybody, "certain": {"estimate": estimate, "low": low, "high": high}}
