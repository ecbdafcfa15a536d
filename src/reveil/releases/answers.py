"""What a release answers when it is asked. How the answers are computed is the business of :mod:`reveil.analysis`.

Every answer has an estimate, hard bounds ``lower`` and ``upper`` where there are any, and an interval of 95 %, from
``low`` to ``high``: see :mod:`reveil.analysis.intervals` for what that means. What is not known is None.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from reveil.tables.snapshot import to_native

if TYPE_CHECKING:
    from reveil.core.json_values import JSON

NUMBERS = ("estimate", "lower", "upper", "low", "high")
Value = float | int | str | dt.date | dt.datetime | dt.time  # a number, or what a column of another type has


@dataclass(frozen=True)
class Count:
    """How many records satisfy an expression: expected, at least, at most.

    ``upper`` is None where the manifest keeps secret how many records are not in the release. Two counts are equal when
    they say the same of these; ``low`` and ``high`` are the interval.

    ``fitted`` is there where sensitive values of a second table are asked about: another estimate, mostly nearer to the
    truth, for which rows and values are matched as all groups together suggest (:mod:`reveil.analysis.links`).
    """

    estimate: float
    lower: int
    upper: int | None
    low: float | None = field(default=None, compare=False)
    high: float | None = field(default=None, compare=False)
    fitted: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Figure:
    """A mean or a quantile of a column: a number, a day, or one of its ordered values.

    ``estimate`` is None where no published row can satisfy the expression; the bounds are None where there are none.
    """

    estimate: Value | None
    lower: Value | None
    upper: Value | None
    low: Value | None
    high: Value | None


@dataclass(frozen=True)
class CrosstabCell:
    """One cell of a cross table: the two values (None: missing), and the count."""

    values: tuple[str | None, str | None]
    count: Count


@dataclass(frozen=True)
class Crosstab:
    """A cross table of two columns: its cells, those that no published row can be in left out."""

    columns: tuple[str, str]
    cells: tuple[CrosstabCell, ...]


@dataclass(frozen=True)
class TrendPoint:
    """The answer of one release of a series."""

    release: int | None
    created: str | None
    answer: Count | Figure


@dataclass(frozen=True)
class ReleaseTrend(Sequence[TrendPoint]):
    """The answers of several releases, in their order."""

    points: tuple[TrendPoint, ...]
    native: str = field(default="polars", repr=False)

    def __getitem__(self, place: Any) -> Any:
        return self.points[place]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def table(self) -> Any:
        """The answers as a frame in the caller's type: release, created, estimate, lower, upper, low, high."""
        rows = [
            {
                "release": point.release,
                "created": point.created,
                **{name: getattr(point.answer, name) for name in NUMBERS},
            }
            for point in self.points
        ]
        return to_native(pl.DataFrame(rows, infer_schema_length=None, strict=False), self.native)


Answer = Count | Figure | Crosstab


def as_json(found: Answer) -> dict[str, JSON]:
    """Return an answer as it is written as JSON."""
    if isinstance(found, Crosstab):
        cells: list[JSON] = [{"values": list(one.values), **as_json(one.count)} for one in found.cells]
        return {"columns": list(found.columns), "cells": cells}
    fitted = found.fitted if isinstance(found, Count) else None
    return {name: _json(getattr(found, name)) for name in NUMBERS} | ({} if fitted is None else {"fitted": fitted})


def _json(value: Value | None) -> JSON:
    return value if value is None or isinstance(value, int | float | str) else value.isoformat()
