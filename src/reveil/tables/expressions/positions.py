"""Values of ordered columns as places on a line.

Whole numbers, decimals, dates and times lie on a line of integers (a decimal as its unscaled number, a date as days,
a moment as ticks of the column's unit); floating point numbers lie on their own. A :class:`Cut` is a place *between*
two values of the line, so that every comparison is a stretch from one cut to another and no end is open or closed.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from fractions import Fraction
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import polars as pl

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_LONGEST = 400  # characters of a number: more than any type can hold
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TICKS = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DIGITS = 39  # of the largest integer there is, 128 bits


class LineCut(NamedTuple):
    """The place before a value, or, on lines of floating point numbers only, ``after`` it."""

    value: float  # an int on lines of integers
    after: bool = False


class Span(NamedTuple):
    """All values between two cuts."""

    start: LineCut
    end: LineCut


FIRST, LAST = LineCut(-math.inf), LineCut(math.inf, after=True)


def is_line(dtype: pl.DataType) -> bool:
    """Whether values of this type have a natural order and distances."""
    return dtype.is_numeric() or dtype.is_temporal()


def is_fine(dtype: pl.DataType) -> bool:
    """Whether the line is so fine that the number of its values in an interval says nothing."""
    return not (dtype.is_integer() or dtype == pl.Date)


def on_line(values: pl.Series) -> pl.Series:
    """Return values as numbers on their line; what is missing or no number is null."""
    if values.dtype.is_float():
        return values.cast(pl.Float64).fill_nan(None)
    return values.to_physical()


def ordinals(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the place of floating point numbers among all of them: neighbours are one apart, zero is one number.

    >>> ordinals(np.array([-5e-324, -0.0, 0.0, 5e-324])).tolist()
    [-1, 0, 0, 1]
    """
    bits = np.ascontiguousarray(values, np.float64).view(np.int64)
    return np.where(bits >= 0, bits, -(bits & np.iinfo(np.int64).max))


def span_of(text: str, dtype: pl.DataType) -> Span | None:
    """Return what a written value stands for on the line of a type; None if it cannot be read.

    A value is a stretch, not a point: in a column of moments, ``2023-01-31`` is the whole day.

    >>> stretch("30.5", pl.Int64()) == Span(Cut(31), Cut(31))   # no whole number is 30.5
    True
    """
    if dtype.is_numeric():
        return _number(text, dtype)
    try:
        if dtype == pl.Date:
            return _steps(Fraction(_days(text))) if _DATE.fullmatch(text) else None
        if dtype == pl.Time:
            return _time(text) if _TIME.fullmatch(text) else None
        if isinstance(dtype, pl.Datetime):
            return _moment(text, dtype)
    except (ValueError, OverflowError, ZoneInfoNotFoundError):
        pass
    return None


def beginning(digits: str) -> tuple[Span, ...] | None:
    """Return the whole numbers whose digits begin so (``44*``); None if they are no digits."""
    if digits == "":
        return (Span(FIRST, LAST),)
    if not re.fullmatch(r"-?[0-9]{0,39}", digits):
        return None
    negative, digits = digits.startswith("-"), digits.removeprefix("-")
    if not digits:
        return (Span(FIRST, LineCut(0)),)
    if digits.startswith("0"):
        return (Span(LineCut(0), LineCut(1)),) if digits == "0" and not negative else ()
    ends = [(int(digits) * 10**n, (int(digits) + 1) * 10**n) for n in range(_DIGITS + 1 - len(digits))]
    return tuple(Span(LineCut(1 - b), LineCut(1 - a)) if negative else Span(LineCut(a), LineCut(b)) for a, b in ends)


def _number(text: str, dtype: pl.DataType) -> Span | None:
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    if dtype.is_float():
        value = float(text)
        if dtype == pl.Float32:
            with np.errstate(over="ignore"):
                value = float(np.float32(value))  # 0.1 means the 0.1 of this column
        return Span(LineCut(value), LineCut(value, after=True))
    scale = dtype.scale if isinstance(dtype, pl.Decimal) else 0
    return _steps(Fraction(text) * 10**scale)


def _steps(exact: Fraction) -> Span:
    return Span(LineCut(math.ceil(exact)), LineCut(math.floor(exact) + 1))


def _days(text: str) -> int:
    return dt.date.fromisoformat(text).toordinal() - _EPOCH.toordinal()


def _time(text: str) -> Span:
    time = dt.time.fromisoformat(text)
    seconds = (time.hour * 60 + time.minute) * 60 + time.second
    return _steps(Fraction(seconds * 10**9 + time.microsecond * 1000))


def _moment(text: str, dtype: pl.Datetime) -> Span | None:
    zone = None if dtype.time_zone is None else ZoneInfo(dtype.time_zone)
    ticks = _TICKS[dtype.time_unit]
    if _DATE.fullmatch(text):
        day = dt.datetime.fromisoformat(text)
        ends = (_since_epoch(moment, zone) * ticks for moment in (day, day + dt.timedelta(days=1)))
        return Span(*(LineCut(math.ceil(end)) for end in ends))
    if not _MOMENT.fullmatch(text):
        return None
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None and zone is None:
        return None
    return _steps(_since_epoch(moment, zone) * ticks)


def _since_epoch(moment: dt.datetime, zone: ZoneInfo | None) -> Fraction:
    """Return exact seconds; a moment without a zone is one of the column's."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone or dt.UTC)
    return Fraction((moment - _EPOCH) // dt.timedelta(microseconds=1), 10**6)
