"""When a published value is the one that was read: plain definitions, value by value, and for whole columns at once."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from reveil.tables.coarsening import Coarsening
    from reveil.tables.schema import Column
    from reveil.verification.arrays import Ints

_CLOSE = 1e-9  # sums of fractions depend on their order


def coarser(value: Any, column: Column) -> Any:
    """Return what one value becomes, by arithmetic without rounding errors."""
    coarse: Coarsening | None = column.coarse
    if value is not None and column.cut is not None:
        return _bin(Fraction(value), column.cut)
    if value is None or coarse is None:
        return value
    if coarse.dates:
        day = value.date() if isinstance(value, dt.datetime) else value
        if coarse.round is not None:
            month = {"month": day.month, "quarter": 3 * ((day.month - 1) // 3) + 1, "year": 1}[str(coarse.round)]
            day = dt.date(day.year, month, 1)
        elif isinstance(value, dt.datetime) and not (_beyond(day, coarse)):
            return value
        return _cut(day, coarse)
    exact = Fraction(value)
    if coarse.round is not None:
        step = Fraction(str(coarse.round))
        exact = math.floor(exact / step + Fraction(1, 2)) * step
    return _cut(exact, coarse)


def _beyond(day: dt.date, coarse: Coarsening) -> bool:
    return bool(_cut(day, coarse) != day)


def _cut(value: Any, coarse: Coarsening) -> Any:
    if coarse.top is not None and value > coarse.top:
        return coarse.top
    return coarse.bottom if coarse.bottom is not None and value < coarse.bottom else value


def same(one: Any, other: Any) -> bool:
    """Return whether two values are one; numbers that are not both whole may differ by what rounding leaves."""
    if one is None or other is None:
        return one is other
    if isinstance(one, dt.datetime) and not isinstance(other, dt.datetime):
        one = one.date()
    if isinstance(one, str | dt.date | bool) or isinstance(other, str | dt.date | bool):
        return bool(one == other)
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return bool(one == other) or abs(float(one) - float(other)) <= _CLOSE * max(abs(float(one)), abs(float(other)))


def unlike(have: pl.Series, wanted: pl.Series, column: Column) -> Ints:
    """Return the places at which two columns differ, or may: all where values become coarser or types differ."""
    numbers = have.dtype.is_numeric() and wanted.dtype.is_numeric()
    if column.coarse is not None or not (numbers or have.dtype == wanted.dtype):
        return np.arange(len(have))
    one, other = pl.col("one"), pl.col("other")
    good = one.eq_missing(other)
    if numbers and not (have.dtype.is_integer() and wanted.dtype.is_integer()):
        one, other = one.cast(pl.Float64), other.cast(pl.Float64)
        within = (one - other).abs() <= _CLOSE * pl.max_horizontal(one.abs(), other.abs())
        good = one.eq_missing(other) | within.fill_null(value=False)
    both = pl.DataFrame({"one": have, "other": wanted})
    return both.select((~good).arg_true()).to_series().to_numpy().astype(np.int64)


def _bin(value: Fraction, edges: tuple[int | float, ...]) -> str:
    """Return the name of the bin in which a number lies."""
    if value < Fraction(edges[0]):
        return f"below {edges[0]!r}"
    if value >= Fraction(edges[-1]):
        return f"{edges[-1]!r} or more"
    low, high = next(pair for pair in itertools.pairwise(edges) if Fraction(pair[0]) <= value < Fraction(pair[1]))
    return f"{low!r} to below {high!r}"
