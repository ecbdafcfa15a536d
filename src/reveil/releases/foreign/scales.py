"""Written values as stretches on the line of a column's values, and the values between two of them.

Whole numbers, decimals, dates and times are compared as exact integers or fractions, floating point numbers as floats.
A text is a span, not a point: ``2020-01`` is a whole month, and in a column of moments ``2020-01-31`` a whole day.
"""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from reveil.models.encoding import Attribute, Kind

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray

Point = int | float | Fraction
ReadSpan = tuple[Point, Point]  # first and last
Reader = Callable[[str], ReadSpan | None]

_INTEGER = re.compile(r"[+-]?[0-9]{1,60}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+-]?[0-9]{1,3})?")
_ENDLESS = re.compile(r"([+-]?)(?:inf|Inf|infinity|∞)")
_DAYS = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_CLOCK = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]{1,12})?)?"
_TIME = re.compile(_CLOCK)
_MOMENT = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})[T ]{_CLOCK}(Z|[+-][0-9]{{2}}:?[0-9]{{2}})?")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True)
class ColumnValues:
    """The values of a column, ascending; the code of each (None: its place); and how a text is read."""

    points: Sequence[Point]
    codes: CodeArray | None
    read: Reader

    def between(
        self, lo: str | None, hi: str | None, *, lo_open: bool = False, hi_open: bool = False
    ) -> range | CodeArray | None:
        """Return the codes from one written end to another (None: endless); None if an end cannot be read."""
        start, end = 0, len(self.points)
        first = None if lo is None else self.read(lo)
        last = None if hi is None else self.read(hi)
        if (first is None) != (lo is None) or (last is None) != (hi is None):
            return None
        if first is not None and last is not None and first[0] > last[1]:
            return None  # upside down: whoever wrote that meant something else
        if first is not None:
            start = bisect_right(self.points, first[1]) if lo_open else bisect_left(self.points, first[0])
        if last is not None:
            end = bisect_left(self.points, last[0]) if hi_open else bisect_right(self.points, last[1])
        return range(start, end) if self.codes is None else self.codes[start : max(start, end)]


def scale_of(attribute: Attribute) -> ColumnValues | None:
    """Return the scale of an attribute; None where its values have no order that a range could mean."""
    domain = attribute.domain
    if attribute.kind is Kind.INTERVAL:
        line = domain.cast(pl.Float64) if domain.dtype.is_float() else domain.to_physical()
        return ColumnValues(line.to_list(), None, _reader(domain.dtype))
    if attribute.kind is Kind.ORDERED:
        rank = {value: place for place, value in enumerate(domain)}
        return ColumnValues(range(len(domain)), None, lambda text: (rank[text], rank[text]) if text in rank else None)
    for read in (number, days):
        points = []
        for text in domain:
            span = read(text)
            if span is None or span[0] != span[1]:
                break
            points.append(span[0])
        if len(points) == len(domain) > 0:
            order = sorted(range(len(points)), key=points.__getitem__)
            return ColumnValues([points[place] for place in order], np.array(order, np.int32), read)
    return None


def number(text: str) -> ReadSpan | None:
    """Read a number, exactly."""
    if _INTEGER.fullmatch(text):
        return int(text), int(text)
    if _NUMBER.fullmatch(text):
        exact = Fraction(text)
        point = int(exact) if exact.denominator == 1 else exact
        return point, point
    return _endless(text)


def days(text: str) -> ReadSpan | None:
    """Read a day, a month, a year, or the day of a moment, as days since 1970."""
    moment = _MOMENT.fullmatch(text)
    found = _DAYS.fullmatch(moment[1] if moment else text)
    if found is None:
        return _endless(text)
    year, month, day = (None if part is None else int(part) for part in found.groups())
    try:
        first = dt.date(year or 0, month or 1, day or 1).toordinal()
        if day is not None:
            last = first
        elif month is None or month == 12:
            last = dt.date(year or 0, 12, 31).toordinal()
        else:
            last = dt.date(year or 0, month + 1, 1).toordinal() - 1
    except ValueError:
        return None
    return first - _EPOCH.toordinal(), last - _EPOCH.toordinal()


def _endless(text: str) -> ReadSpan | None:
    found = _ENDLESS.fullmatch(text)
    if found is None:
        return None
    end = float(found[1] + "inf")
    return end, end


def _reader(dtype: pl.DataType) -> Reader:
    """Return what reads a text as a span among the physical values of a type."""
    if dtype.is_float():
        return lambda text: _floating(text, single=dtype == pl.Float32)
    if isinstance(dtype, pl.Decimal):
        unit = 10**dtype.scale
        return lambda text: _times(number(text), unit)
    if dtype == pl.Date:
        return days
    if dtype == pl.Time:
        return _time
    if isinstance(dtype, pl.Datetime):
        zone = None if dtype.time_zone is None else ZoneInfo(dtype.time_zone)
        ticks = _TICKS[dtype.time_unit]
        return lambda text: _moment(text, ticks, zone)
    return number


def _floating(text: str, *, single: bool) -> ReadSpan | None:
    if not _NUMBER.fullmatch(text):
        return _endless(text)
    value = float(text)
    if single:
        with np.errstate(over="ignore"):
            value = float(np.float32(value))  # 0.1 means the 0.1 of this column
    return value, value


def _times(span: ReadSpan | None, unit: int) -> ReadSpan | None:
    return None if span is None else (span[0] * unit, span[1] * unit)


def _time(text: str) -> ReadSpan | None:
    found = _TIME.fullmatch(text)
    if found is None:
        return _endless(text)
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    point = ((hour * 60 + minute) * 60 + second) * 10**9 + Fraction(found[4] or 0) * 10**9
    return point, point


def _moment(text: str, ticks: int, zone: ZoneInfo | None) -> ReadSpan | None:
    found = _MOMENT.fullmatch(text)
    try:
        if found is None:
            span = days(text)
            if span is None or isinstance(span[0], float):
                return span
            first, last = (dt.datetime.fromordinal(int(day) + _EPOCH.toordinal()) for day in span)
            after = _since_epoch(last + dt.timedelta(days=1), zone) * ticks
            return _since_epoch(first, zone) * ticks, after - 1
        day, hour, minute, second, rest, offset = found.groups()
        if offset is not None and zone is None:
            return None  # a column without a zone has no idea of another
        written = dt.datetime.fromisoformat(f"{day}T{hour}:{minute}:{second or '00'}{offset or ''}")
        point = _since_epoch(written, zone) * ticks + Fraction(rest or 0) * ticks
    except (ValueError, OverflowError):
        return None
    return point, point


def _since_epoch(moment: dt.datetime, zone: ZoneInfo | None) -> int:
    """Return whole seconds; a moment without an offset is one of the column's zone."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone or dt.UTC)
    return (moment - _EPOCH) // dt.timedelta(seconds=1)
