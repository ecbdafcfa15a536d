"""Comparisons that rounding cannot change: whole numbers of any size, and thresholds as they were written."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from reveil.core.errors import VerificationError

if TYPE_CHECKING:
    from reveil.verification.arrays import Bools

Whole = npt.NDArray[Any]  # int64, or Python's own integers where these could overflow

_ROOM = 2**62
MILLION = 10**6  # levels are told with six decimals


def written(name: str, value: object) -> Fraction:
    """Return a threshold as the number that somebody wrote: 0.1 is one tenth."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise VerificationError(f"the promise has no number for {name!r}", hint="Use the manifest that Reveil wrote.")
    if not math.isfinite(float(value)):
        raise VerificationError(f"the promise has no finite number for {name!r}")
    return Fraction(repr(float(value))) if isinstance(value, float | np.floating) else Fraction(int(value))


def shown(value: Fraction) -> int | float:
    """Return a threshold as a manifest has it."""
    return int(value) if value.denominator == 1 else float(value)


def as_told(value: Fraction) -> float:
    """Return a threshold as precisely as a manifest can tell it: a third has no other digits there."""
    return float(value)


def times(numbers: Whole, factor: int) -> Whole:
    """Multiply whole numbers that are not negative; Python's integers where machine ones would not do."""
    largest = int(numbers.max()) if len(numbers) else 0
    if numbers.dtype != object and max(largest, 1) * factor < _ROOM:
        return numbers * factor
    return numbers.astype(object) * factor


def at_most(left: Whole, right: Whole, factor: Fraction) -> Bools:
    """Return where ``left <= factor * right``."""
    return np.asarray(times(left, factor.denominator) <= times(right, factor.numerator), np.bool_)


def largest(numerator: Whole, denominator: Whole) -> Fraction:
    """Return the largest of some fractions with positive denominators; 0 of none."""
    if not len(numerator):
        return Fraction(0)
    near = numerator.astype(np.float64) / denominator.astype(np.float64)
    close = np.flatnonzero(near >= near.max() * (1 - 1e-12))
    pairs = {(int(numerator[at]), int(denominator[at])) for at in close}
    return max(Fraction(above, below) for above, below in pairs)


def floored(value: Fraction) -> float:
    """Round down to six decimals."""
    return math.floor(value * MILLION) / MILLION


def raised(value: Fraction) -> float:
    """Round up to six decimals."""
    return math.ceil(value * MILLION) / MILLION
