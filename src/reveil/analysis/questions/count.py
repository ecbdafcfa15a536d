"""``count``: how many records satisfy an expression?

The number of records of the snapshot that satisfy it is never below ``lower`` nor above ``upper``: records that the
manifest counts as suppressed or withheld may all satisfy it, counterfeits and dirty records may be among the certain
rows, and stale rows may have any sensitive value. The estimate and the interval are of the published records
(:mod:`reveil.analysis.tally`); any row may be a dirty one, so each counts for the share that is not. Of a release that
is a sample, they are of the table that it was taken from: what the sample has is divided by the chance with which a
record was taken. (Its rare cells were left out; of these nothing is known, so such an estimate is rather too small.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from reveil.analysis.asking import put
from reveil.analysis.by_column import asked_part
from reveil.analysis.intervals import DEVIATIONS, interval
from reveil.analysis.links import fitted
from reveil.analysis.questions.base import Question, check_number
from reveil.analysis.reader import reader_of
from reveil.analysis.tally import tally
from reveil.releases.answers import Count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.analysis.asking import AskedRows
    from reveil.releases.release import Release
    from reveil.tables.expressions import Expression
    from reveil.tables.schema import Schema


@dataclass(frozen=True)
class CountQuestion(Question):
    """How many records satisfy."""

    usage: ClassVar[str] = "count EXPR"

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        """Take no arguments."""
        check_number(cls.usage, arguments, 0)
        return cls()

    def of(self, release: Release, expression: str | Expression | None, schema: Schema | None = None) -> Count:
        """Count."""
        return counted(put(reader_of(asked_part(release, expression), schema), expression))


def counted(asked: AskedRows) -> Count:
    """Count the records that satisfy what was asked."""
    reader = asked.reader
    even = tally(asked)
    unplaced, stale = reader.unplaced, reader.stale((*asked.first, *asked.second))
    most = max(int(reader.groups.real.sum()) - unplaced, 0)
    lower, possible = max(even.certain - unplaced - stale, 0), min(even.possible + stale, most)
    estimate = min(max(even.estimate * reader.placed, lower), possible)
    weighed = tally(asked.by_frequency())
    learnt = fitted(asked) if asked.second else None
    if learnt is not None:
        weighed = replace(weighed, estimate=learnt)
        learnt = float(min(max(learnt * reader.placed, lower), possible))
    low, high = interval(even, weighed, reader.placed)
    low, high = float(min(max(low, lower), estimate)), float(max(min(high, possible), estimate))
    left_out, beta = reader.left_out, reader.sampled
    if beta is not None:
        low, high = _before_sampling(low, high, beta)
        return Count(estimate / beta, lower, None, max(low, lower), high)
    return Count(estimate, lower, None if left_out is None else possible + left_out, low, high, learnt)


def _before_sampling(low: float, high: float, beta: float) -> tuple[float, float]:
    """Widen an interval by what the dice of the sample may have done, and put it on the scale of the whole table."""
    less, more = (DEVIATIONS * (max(end, 1.0) * (1 - beta)) ** 0.5 for end in (low, high))
    return max(low - less, 0) / beta, (high + more) / beta
