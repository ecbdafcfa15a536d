"""``mean(COLUMN)``: the mean of a column over the records that satisfy an expression and have a value there.

The estimate is a quotient: the sum of what each row is expected to add, over the number of records expected. Its
interval is that of a quotient (each row's distance from the mean instead of the row; see
:mod:`reveil.analysis.intervals`). The bounds are the least and the largest mean that any records have which agree with
the release; where records were left out of it, they may have any value, and there are none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from reveil.analysis.by_column import asked_part
from reveil.analysis.entries import values_asked
from reveil.analysis.intervals import quotient_interval
from reveil.analysis.questions.base import Question, check_column, check_number
from reveil.analysis.reader import reader_of
from reveil.releases.answers import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.analysis.entries import Holders
    from reveil.core.arrays import BoolArray
    from reveil.releases.release import Release
    from reveil.tables.expressions import Expression
    from reveil.tables.expressions.regions import FloatArray
    from reveil.tables.schema import Schema


@dataclass(frozen=True)
class MeanQuestion(Question):
    """The mean of a column."""

    usage: ClassVar[str] = "mean(COLUMN) EXPR"
    column: str

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        """Take the column."""
        check_number(cls.usage, arguments, 1)
        return cls(arguments[0])

    def of(self, release: Release, expression: str | Expression | None, schema: Schema | None = None) -> Figure:
        """Return the mean."""
        reader = reader_of(asked_part(release, expression, (self.column,)), schema)
        check_column(reader, self.column)
        found = values_asked(reader, self.column, expression, distances=True)
        sizes, entries = found.asked.units.sizes, found.even
        expected = sizes[entries.unit] * entries.chance
        total = float(expected.sum())
        lower, upper = (None, None) if found.holders is None else mean_bounds(found.holders)
        if total <= 0:  # nobody is expected there; somebody may be, at a point of an interval say
            least, largest = (found.scale.value(bound, exact=False) for bound in (lower, upper))
            return Figure(None, least, largest, None, None)
        mean = float((expected * entries.mean).sum() / total)
        low, high = quotient_interval(found, lambda parts: parts.mean, lambda parts: parts.variance)
        if lower is not None and upper is not None:
            mean = min(max(mean, lower), upper)
            low, high = max(low, lower), min(high, upper)
        shown = (mean, lower, upper, min(low, mean), max(high, mean))
        return Figure(*(found.scale.value(number, exact=False) for number in shown))


def mean_bounds(holders: Holders) -> tuple[float | None, float | None]:
    """Return the least and the largest mean: those who need not be asked for are taken while they pull it further."""
    least = _least(holders.many, holders.lo, holders.certain)
    most = _least(holders.many, -holders.hi, holders.certain)
    return least, None if most is None else -most


def _least(many: FloatArray, at: FloatArray, certain: BoolArray) -> float | None:
    if not len(many):
        return None
    count, total = float(many[certain].sum()), float((many * at)[certain].sum())
    order = np.argsort(at[~certain], kind="stable")
    further, value = many[~certain][order], at[~certain][order]
    if not count:
        return float(value[0])
    if not len(value):
        return total / count
    # Whoever lies below the mean so far pulls it down: a mean of more of the smallest, down to where it turns.
    counts = count + np.concatenate([[0.0], np.cumsum(further)])
    totals = total + np.concatenate([[0.0], np.cumsum(further * value)])
    return float((totals / counts).min())
