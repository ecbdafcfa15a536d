"""The most frequent value of a group has less than c times the records of all values but the l - 1 most frequent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.verification.exact import as_told, largest, raised, shown, times, written
from reveil.verification.judges.base import GroupJudge, ValueJudge, text_told
from reveil.verification.judges.distinct_diversity import asks_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.verification.arrays import Bools, Ints
    from reveil.verification.counting import GroupCounts, Tally


@dataclass(frozen=True, repr=False)
class RecursiveDiversity(ValueJudge):
    """Sort the counts of a group, r_1 first: r_1 < c (r_l + r_(l+1) + ...)."""

    c: Fraction | float
    l: int
    attribute: str | None = None

    name: ClassVar[str] = "RecursiveDiversity"

    @classmethod
    def read(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Return what ``l`` and ``c`` ask for."""
        if not asks_for(told, "recursive"):
            return ()
        return (cls(written("c", told.get("c")), int(written("l", told["l"])), text_told(told, "attribute")),)

    @classmethod
    def keys(cls, told: Mapping[str, JSON]) -> set[str]:
        """Return ``l``, ``c`` and what goes with them."""
        return {"l", "c", "diversity", "attribute"} & told.keys() if asks_for(told, "recursive") else set()

    @property
    def ratio(self) -> Fraction:
        """``c`` as it was written."""
        return written("c", self.c)

    def tail(self, tally: Tally) -> Ints:
        """Return how many records each group has of all values but the l - 1 most frequent ones."""
        order = np.lexsort((-tally.count, tally.group))
        rank = np.arange(len(order)) - np.repeat(tally.starts, tally.different)
        found: Ints = tally.summed(np.where(rank >= self.l - 1, tally.count[order], 0))
        return found

    def holds_in(self, tally: Tally) -> Bools:
        """Return where r_1 is below c times the tail."""
        left = times(tally.most, self.ratio.denominator)
        return np.asarray(left < times(self.tail(tally), self.ratio.numerator), np.bool_)

    def achieved(self, counts: GroupCounts) -> dict[str, JSON]:
        """Return l, and the largest r_1 / tail, rounded up; None for c where a tail is empty."""
        worst = Fraction(0)
        for tally in self.tallies(counts).values():
            tail = self.tail(tally)
            if not tail.all():
                return {"l": self.l, "c": None}
            worst = max(worst, largest(tally.most, tail))
        return {"l": self.l, "c": raised(worst)}

    def covers(self, other: GroupJudge) -> bool:
        """Return whether l is as large and c as small, in the same column."""
        if not isinstance(other, RecursiveDiversity) or not self.same_column(other):
            return False
        return self.l >= other.l and as_told(self.ratio) <= as_told(other.ratio)

    def states(self, claim: str) -> bool:
        """Return whether the claim names c, and how many values are left out."""
        rest = {1: "all values together", 2: "all values but the most frequent one"}.get(
            self.l, f"the {self.l - 1} most frequent ones"
        )
        return f"less than {shown(self.ratio)} times as often as" in claim and rest in claim
