"""The sensitive values of every group are at least as mixed as l equally frequent ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.verification.exact import MILLION, as_told, shown, written
from reveil.verification.judges.base import GroupJudge, ValueJudge, text_told
from reveil.verification.judges.distinct_diversity import asks_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.verification.arrays import Bools, Floats
    from reveil.verification.counting import GroupCounts, Tally

_DIGITS = Context(prec=60)
_UNSURE = 1e-9  # far above the error of adding up logarithms of whole numbers in floats
_TIE = Decimal("1e-40")
_POWERS = 2**22  # bits of whole numbers that are multiplied out to decide a tie


@dataclass(frozen=True, repr=False)
class EntropyDiversity(ValueJudge):
    """Compare the entropy with log l: with counts c and their sum n, n log n - sum c log c >= n log l."""

    l: Fraction | float
    attribute: str | None = None

    name: ClassVar[str] = "EntropyDiversity"

    @classmethod
    def read(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Return what ``l`` asks for."""
        return (cls(written("l", told["l"]), text_told(told, "attribute")),) if asks_for(told, "entropy") else ()

    @classmethod
    def keys(cls, told: Mapping[str, JSON]) -> set[str]:
        """Return ``l`` and what goes with it."""
        return {"l", "diversity", "attribute"} & told.keys() if asks_for(told, "entropy") else set()

    @property
    def bound(self) -> Fraction:
        """``l`` as it was written."""
        return written("l", self.l)

    def holds_in(self, tally: Tally) -> Bools:
        """Return where the entropy is large enough; what floats cannot say is decided with 60 digits."""
        excess = _entropy(tally) - (math.log(self.bound.numerator) - math.log(self.bound.denominator))
        good: Bools = excess > 0
        for group in np.flatnonzero(np.abs(excess) <= _UNSURE * (1 + math.log(max(float(self.bound), 1)))):
            good[group] = _reaches(_simplest(tally, int(group)), self.bound)
        return good

    def achieved(self, counts: GroupCounts) -> dict[str, JSON]:
        """Return exp(entropy) of the worst group, rounded down to six decimals; 0 of none."""
        worst = None
        for tally in self.tallies(counts).values():
            if not tally.n_groups:
                continue
            entropy = _entropy(tally)
            smallest = np.flatnonzero(entropy <= entropy.min() + 2 * _UNSURE)
            for key in {_simplest(tally, int(group)) for group in smallest}:
                level = _level(key)
                worst = level if worst is None else min(worst, level)
        return {"l": 0.0 if worst is None else worst / MILLION}

    def covers(self, other: GroupJudge) -> bool:
        """Return whether l is as large, in the same column."""
        return (
            isinstance(other, EntropyDiversity)
            and self.same_column(other)
            and as_told(self.bound) >= as_told(other.bound)
        )

    def states(self, claim: str) -> bool:
        """Return whether the claim names l."""
        return f"as mixed as {shown(self.bound)} equally frequent" in claim


def _entropy(tally: Tally) -> Floats:
    count, total = tally.count.astype(np.float64), tally.total.astype(np.float64)
    found: Floats = np.log(total) - tally.summed(count * np.log(count)) / total
    return found


def _simplest(tally: Tally, group: int) -> tuple[int, ...]:
    """Return the counts of a group without their common divisor: the same entropy, and few of them to decide."""
    counts = tally.counts_of(group)
    return tuple(sorted((counts // np.gcd.reduce(counts)).tolist()))


def _excess(counts: tuple[int, ...], bound: Fraction) -> Decimal:
    """Return n log n - sum c log c - n log l."""
    total = sum(counts)

    def part(number: int) -> Decimal:
        return _DIGITS.multiply(Decimal(number), _DIGITS.ln(Decimal(number)))

    found = part(total)
    for count in counts:
        found = _DIGITS.subtract(found, part(count))
    logs = _DIGITS.subtract(_DIGITS.ln(Decimal(bound.numerator)), _DIGITS.ln(Decimal(bound.denominator)))
    return _DIGITS.subtract(found, _DIGITS.multiply(Decimal(total), logs))


@cache
def _reaches(counts: tuple[int, ...], bound: Fraction) -> bool:
    """Return whether a group with these counts has the entropy log l; a tie that is too large to see is refused."""
    if len(set(counts)) == 1:
        return bool(len(counts) >= bound)
    total = sum(counts)
    excess = _excess(counts, bound)
    if abs(excess) > _TIE * total:
        return excess > 0
    bits = total * (total.bit_length() + bound.numerator.bit_length() + bound.denominator.bit_length())
    if bits > _POWERS:
        return False
    left, right = (total * bound.denominator) ** total, bound.numerator**total
    for count in counts:
        right *= count**count
    return bool(left >= right)


def _level(counts: tuple[int, ...]) -> int:
    """Return exp(entropy) in millionths, rounded down."""
    total = sum(counts)
    rough = math.exp(math.log(total) - sum(c * math.log(c) for c in counts) / total)
    steps = math.floor(rough * MILLION) + 1
    while steps > 0 and not _reaches(counts, Fraction(steps, MILLION)):
        steps -= 1
    return steps
