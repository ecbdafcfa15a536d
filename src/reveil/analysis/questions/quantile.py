"""``quantile(COLUMN, q)``: the smallest value that at least a share q of the records reach from below.

Over the records that satisfy an expression and have a value in the column; 0 is the smallest value, 0.5 the median, 1
the largest. The estimate is that of the values as they are spread in their cells. The interval has the shares around q
that an estimate of a share may be off by (Woodruff 1952). The bounds are those of any records that agree with the
release; where records were left out of it, they may have any value, and there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from reveil.analysis.by_column import asked_part
from reveil.analysis.entries import values_asked
from reveil.analysis.intervals import quotient_interval
from reveil.analysis.questions.base import Question, check_column, check_number
from reveil.analysis.reader import reader_of
from reveil.core.arrays import sums_of
from reveil.core.errors import InputError
from reveil.releases.answers import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.analysis.entries import CellParts, Holders
    from reveil.core.arrays import BoolArray
    from reveil.releases.release import Release
    from reveil.tables.expressions import Expression
    from reveil.tables.expressions.regions import FloatArray
    from reveil.tables.schema import Schema

_ROUNDING = 1e-9


@dataclass(frozen=True)
class QuantileQuestion(Question):
    """A quantile of a column."""

    usage: ClassVar[str] = "quantile(COLUMN, 0.5) EXPR"
    column: str
    q: float

    def __post_init__(self) -> None:
        given: object = self.q
        if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
            raise InputError(
                f"a quantile is for a share from 0 to 1, not {given!r}", hint="0.5 is the median, 0.9 the top tenth."
            )

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        """Take the column and the share."""
        check_number(cls.usage, arguments, 2)
        try:
            share = float(arguments[1])
        except ValueError:
            share = math.nan
        return cls(arguments[0], share)

    def of(self, release: Release, expression: str | Expression | None, schema: Schema | None = None) -> Figure:
        """Return the quantile."""
        reader = reader_of(asked_part(release, expression, (self.column,)), schema)
        check_column(reader, self.column)
        found = values_asked(reader, self.column, expression, distances=False)
        sizes, whole = found.asked.units.sizes, found.scale.whole
        spread = _Spread(found.even, sizes, whole=whole)
        lower, upper = (None, None) if found.holders is None else quantile_bounds(found.holders, self.q)
        if spread.total <= 0:  # nobody is expected there; somebody may be, at a point of an interval say
            least, largest = (found.scale.value(bound, exact=True) for bound in (lower, upper))
            return Figure(None, least, largest, None, None)
        middle = spread.at(self.q)

        def below(parts: CellParts) -> FloatArray:
            width = np.maximum(parts.end - parts.start, _ROUNDING)
            inside = np.clip((middle + whole - parts.start) / width, 0, 1)
            return np.where(parts.end > parts.start, inside, (parts.start <= middle).astype(np.float64))

        first, last = quotient_interval(found, below, lambda parts: below(parts) * (1 - below(parts)))
        at_middle = spread.share(middle)
        low, high = (spread.at(min(max(self.q + end - at_middle, 0), 1)) for end in (first, last))
        if lower is not None and upper is not None:
            middle = min(max(middle, lower), upper)
            low, high = max(low, lower), min(high, upper)
        shown = (middle, lower, upper, min(low, middle), max(high, middle))
        return Figure(*(found.scale.value(number, exact=True) for number in shown))


class _Spread:
    """How many records are expected up to each value: a line that rises within cells and jumps at points."""

    def __init__(self, entries: CellParts, sizes: FloatArray, *, whole: bool) -> None:
        weight = sizes[entries.unit] * entries.chance
        self.whole, self.total = whole, float(weight.sum())
        at = np.unique(np.concatenate([entries.start, entries.end]))
        point = entries.end <= entries.start
        first, last = np.searchsorted(at, entries.start), np.searchsorted(at, entries.end)
        slope = np.where(point, 0.0, weight / np.where(point, 1.0, entries.end - entries.start))
        steep = np.cumsum(sums_of(first, slope, len(at)) - sums_of(last, slope, len(at)))
        jump = sums_of(first, weight * point, len(at))
        rise = np.concatenate([[0.0], (np.maximum(steep, 0)[:-1] * np.diff(at))]) if len(at) else np.zeros(0)
        after = np.cumsum(rise + jump)
        self.places = np.repeat(at, 2)
        self.shares = np.column_stack([after - jump, after]).reshape(-1) / max(self.total, _ROUNDING)

    def share(self, value: float) -> float:
        """Return the share of the records up to a value."""
        at = np.searchsorted(self.places, value + self.whole, "right")
        return float(self._between(self.places, self.shares, int(at), value + self.whole))

    @staticmethod
    def _between(one: FloatArray, other: FloatArray, at: int, value: float) -> float:
        if at == 0:
            return 0.0
        if at == len(one):
            return float(other[-1])
        width = one[at] - one[at - 1]
        part = (value - one[at - 1]) / width if width > 0 else 0.0
        return float(other[at - 1] + part * (other[at] - other[at - 1]))

    def at(self, share: float) -> float:
        """Return the smallest value up to which there is so large a share; 0: where they begin."""
        target = max(share, _ROUNDING)
        at = int(np.searchsorted(self.shares, target * (1 - _ROUNDING)))
        at = min(max(at, 1), len(self.shares) - 1)
        rise = self.shares[at] - self.shares[at - 1]
        part = min(max((target - self.shares[at - 1]) / rise, 0.0), 1.0) if rise > 0 else 0.0
        place = float(self.places[at - 1] + part * (self.places[at] - self.places[at - 1]))
        return math.ceil(place - _ROUNDING) - 1 if self.whole else place


def quantile_bounds(holders: Holders, q: float) -> tuple[float | None, float | None]:
    """Return the least and the largest quantile: those who need not be asked for are where they pull it furthest."""
    if not len(holders.many):
        return None, None
    return _first(holders.many, holders.lo, holders.certain, q), _last(holders.many, holders.hi, holders.certain, q)


def _first(many: FloatArray, at: FloatArray, certain: BoolArray, q: float) -> float:
    """Return the smallest value up to which there can be so large a share."""
    order = np.argsort(at, kind="stable")
    upto, sure = np.cumsum(many[order]), np.cumsum((many * certain)[order])
    enough = upto >= q * (upto + sure[-1] - sure) * (1 - _ROUNDING)
    return float(at[order][int(np.argmax(enough))])


def _last(many: FloatArray, at: FloatArray, certain: BoolArray, q: float) -> float:
    """Return the smallest value up to which there must be so large a share."""
    order = np.argsort(at, kind="stable")
    upto, sure = np.cumsum(many[order]), np.cumsum((many * certain)[order])
    enough = (sure > 0) & (sure >= q * (sure + upto[-1] - upto) * (1 - _ROUNDING))
    # Those at the same value are counted together, so that the last of them decides.
    return float(at[order][int(np.argmax(enough))]) if enough.any() else float(at.max())
