"""No sensitive value in more than one in l records of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from reveil.verification.exact import as_told, at_most, floored, largest, shown, written
from reveil.verification.judges.base import GroupJudge, ValueJudge, text_told
from reveil.verification.judges.distinct_diversity import asks_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from reveil.core.json_values import JSON
    from reveil.verification.arrays import Bools
    from reveil.verification.counting import GroupCounts, Tally


@dataclass(frozen=True, repr=False)
class FrequencyDiversity(ValueJudge):
    """Compare the most frequent value with the size of the group, in whole numbers."""

    l: Fraction | float
    attribute: str | None = None

    name: ClassVar[str] = "FrequencyDiversity"

    @classmethod
    def read(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Return what ``l`` asks for."""
        return (cls(written("l", told["l"]), text_told(told, "attribute")),) if asks_for(told, "frequency") else ()

    @classmethod
    def keys(cls, told: Mapping[str, JSON]) -> set[str]:
        """Return ``l`` and what goes with it."""
        return {"l", "diversity", "attribute"} & told.keys() if asks_for(told, "frequency") else set()

    @property
    def bound(self) -> Fraction:
        """``l`` as it was written."""
        return written("l", self.l)

    @property
    def most(self) -> float:
        """No value is believed with more than one in l."""
        return float(1 / self.bound)

    def holds_in(self, tally: Tally) -> Bools:
        """Return where the most frequent value has at most one l-th: l times its count is at most the size."""
        return at_most(tally.most, tally.total, 1 / self.bound)

    def achieved(self, counts: GroupCounts) -> dict[str, JSON]:
        """Return the least ratio of size and most frequent value, rounded down; 0 of none."""
        worst = [largest(tally.most, tally.total) for tally in self.tallies(counts).values() if tally.n_groups]
        return {"l": floored(1 / max(worst)) if worst else 0.0}

    def covers(self, other: GroupJudge) -> bool:
        """Return whether l is as large, in the same column."""
        return (
            isinstance(other, FrequencyDiversity)
            and self.same_column(other)
            and as_told(self.bound) >= as_told(other.bound)
        )

    def states(self, claim: str) -> bool:
        """Return whether the claim names l."""
        return f"one in {shown(self.bound)} records" in claim or f"1/{shown(self.bound)}" in claim
