"""Exact decisions on many fractions of whole numbers at once.

A verdict must not depend on rounding: a group at exactly the threshold is valid, a group one record short is not.
So levels are kept as numerator and denominator and compared by multiplication. Machine integers do where they
suffice. Beyond that, floating point settles what is clear, with a margin above its proven error, and Python's
integers settle the rest.

Arrays of whole numbers are ``int64``, or ``object`` with Python integers where ``int64`` would overflow.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray

WholeArray = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

LIMIT = 2**62  # products and sums of two of them stay within int64
FLOAT_EXACT = 2**53  # whole numbers up to here are floats without rounding
FLOAT_BITS = 900  # factors of more bits could overflow a float when multiplied
DECIMALS = 10**6  # reported levels have six decimals


def at_most(left: WholeArray, right: WholeArray, factor: Fraction) -> BoolArray:
    """Return where ``left <= factor * right``, exactly, for numbers that are not negative."""
    up, down = factor.numerator, factor.denominator
    if max(_largest(left), 1) * down < LIMIT and max(_largest(right), 1) * up < LIMIT:
        return np.asarray(left * down <= right * up, np.bool_)
    if max(up.bit_length(), down.bit_length()) > FLOAT_BITS:
        return np.asarray(left.astype(object) * down <= right.astype(object) * up, np.bool_)
    # Each side is rounded three times (number, factor, product), a relative error below 3.4e-16.
    near_left, near_right = left.astype(np.float64) * float(down), right.astype(np.float64) * float(up)
    result: BoolArray = near_left <= near_right
    unclear = np.abs(near_left - near_right) <= 1e-15 * (near_left + near_right)
    result[unclear] = left[unclear].astype(object) * down <= right[unclear].astype(object) * up
    return result


def quotient(numerator: WholeArray, denominator: WholeArray, *, up: bool) -> FloatArray:
    """Return the fractions as floats: the nearest one, or for very large numbers rounded up (down).

    The nearest float is monotone in the fraction, so that comparing it with a threshold written as a float never
    refuses a group that the exact comparison accepts.
    """
    result = numerator.astype(np.float64) / denominator.astype(np.float64)
    if max(_largest(numerator), _largest(denominator)) > FLOAT_EXACT:
        # Three roundings; 2**-50 is eight times the error of one.
        large = (numerator > FLOAT_EXACT) | (denominator > FLOAT_EXACT)
        result = np.where(large.astype(np.bool_), result * (1 + 2.0**-50 if up else 1 - 2.0**-50), result)
    return result


def extreme(numerator: WholeArray, denominator: WholeArray, *, up: bool) -> Fraction:
    """Return the largest (smallest) of one or more fractions, exactly."""
    rough = numerator.astype(np.float64) / denominator.astype(np.float64)
    end = rough.max() if up else rough.min()
    at_end = np.abs(rough - end) <= 1e-14 * end
    numerator, denominator = numerator[at_end], denominator[at_end]
    common = np.gcd(numerator, denominator)
    pairs = set(zip((numerator // common).tolist(), (denominator // common).tolist(), strict=True))
    return (max if up else min)(Fraction(a, b) for a, b in pairs)


def rounded_down(value: Fraction) -> float:
    """Return the largest number of six decimals that is not above."""
    return math.floor(value * DECIMALS) / DECIMALS


def rounded_up(value: Fraction) -> float:
    """Return the smallest number of six decimals that is not below."""
    return math.ceil(value * DECIMALS) / DECIMALS


def _largest(values: WholeArray) -> int:
    return int(values.max()) if len(values) else 0
