"""Published intervals and raw values on one line, on which differences are exact.

Whole numbers, decimals, dates and times lie on a line of integers (a moment as ticks of the column's unit), as
distances from the lowest value there is; floats lie on their own, scaled so that no difference overflows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.models.encoding import FloatArray

Places = npt.NDArray[Any]  # uint64 or float64


@dataclass(frozen=True)
class Line:
    """Both ends of each interval and the place of each raw value; ``only_null`` marks cells that admit null only."""

    lo: Places
    hi: Places
    domain: Places
    only_null: BoolArray
    fine: bool  # so fine that the number of values in an interval says nothing

    @property
    def widths(self) -> FloatArray:
        """The length of each interval over that of the domain, which has more than one value."""
        whole = (self.domain[-1:] - self.domain[:1]).astype(np.float64)
        return np.asarray((self.hi - self.lo).astype(np.float64) / whole)

    @cached_property
    def lengths(self) -> FloatArray:
        """Values in each interval, or for floats its length."""
        return (self.hi - self.lo).astype(np.float64) + self._step

    @property
    def _step(self) -> float:
        return 0.0 if self.lo.dtype == np.float64 else 1.0

    @cached_property
    def beside_null(self) -> FloatArray:
        """How many values stand beside a null: those of the interval, or the published ends in it on fine lines."""
        if not self.fine:
            return self.lengths
        ends = np.unique(np.concatenate([self.lo[~self.only_null], self.hi[~self.only_null]]))
        return (np.searchsorted(ends, self.hi, "right") - np.searchsorted(ends, self.lo, "left")).astype(np.float64)

    def parts(self, first: IntArray, last: IntArray) -> FloatArray:
        """Return which part of each interval (columns) lies between two raw values, given by code (rows)."""
        start = np.maximum(self.lo, self.domain[first][:, None])
        end = np.minimum(self.hi, self.domain[last][:, None])
        meets = end >= start
        # A difference below zero wraps around; it is not used.
        overlap = (end - start).astype(np.float64) + self._step
        point = self.lengths == 0
        return np.where(meets, np.where(point, 1.0, overlap / np.where(point, 1.0, self.lengths)), 0.0)


def line_of(lo: pl.Series, hi: pl.Series, domain: pl.Series) -> Line:
    """Put intervals and the ascending domain on their line."""
    only_null = lo.is_null().to_numpy()
    fine = not (domain.dtype.is_integer() or domain.dtype == pl.Date)
    lower, upper, values = (_physical(s) for s in (lo, hi, domain))
    filler = values[:1] if len(values) else np.zeros(1, values.dtype)
    lower, upper = np.where(only_null, filler, lower), np.where(only_null, filler, upper)
    if values.dtype == np.float64:
        return Line(lower * 0.25, upper * 0.25, values * 0.25, only_null, fine)
    ends = [array for array in (lower, values) if len(array)]
    least = min(array.min() for array in ends) if ends else 0
    most = max(array.max() for array in (upper, values) if len(array)) if ends else 0
    lower, upper, values = (_from(array, least, int(most) - int(least)) for array in (lower, upper, values))
    return Line(lower, upper, values, only_null, fine)


def _physical(values: pl.Series) -> Places:
    """Return numbers in a type that holds them; what is missing becomes 0."""
    if values.dtype.is_float():
        return values.cast(pl.Float64).fill_null(0).to_numpy()
    physical = values.to_physical()
    physical = physical.fill_null(0) if physical.null_count() else physical
    if physical.dtype.is_integer() and physical.dtype not in (pl.Int128, pl.UInt128, pl.UInt64):
        return physical.cast(pl.Int64).to_numpy()
    return np.array(physical.to_list(), object)


def _from(values: Places, least: Any, room: int) -> Places:
    """Return distances from the least; beyond 64 bits without their last digits."""
    if values.dtype == object:
        shift = max(room.bit_length() - 64, 0)
        return np.array([(int(value) - int(least)) >> shift for value in values], np.uint64)
    # Modulo 2**64, in which ascending differences are exact.
    return values.astype(np.uint64) - np.array([least], np.int64).astype(np.uint64)
