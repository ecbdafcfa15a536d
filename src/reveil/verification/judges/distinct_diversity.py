"""At least l different sensitive values in every group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.verification.exact import written
from reveil.verification.judges.base import GroupJudge, ValueJudge, text_told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.verification.arrays import Bools
    from reveil.verification.counting import GroupCounts, Tally


def asks_for(told: Mapping[str, JSON], diversity: str) -> bool:
    """Return whether parameters ask for one kind of diversity; without a kind, for different values."""
    return told.get("l") is not None and (told.get("diversity") or "distinct") == diversity


@dataclass(frozen=True, repr=False)
class DistinctDiversity(ValueJudge):
    """Count the different values of a group; a missing value is one."""

    l: int
    attribute: str | None = None

    name: ClassVar[str] = "DistinctDiversity"

    @classmethod
    def read(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Return what ``l`` asks for."""
        return (cls(int(written("l", told["l"])), text_told(told, "attribute")),) if asks_for(told, "distinct") else ()

    @classmethod
    def keys(cls, told: Mapping[str, JSON]) -> set[str]:
        """Return ``l`` and what goes with it."""
        return {"l", "diversity", "attribute"} & told.keys() if asks_for(told, "distinct") else set()

    def holds_in(self, tally: Tally) -> Bools:
        """Return where there are l values."""
        return np.asarray(tally.different >= self.l, np.bool_)

    def achieved(self, counts: GroupCounts) -> dict[str, JSON]:
        """Return the least number of values in any group, 0 of none."""
        least = [int(tally.different.min()) for tally in self.tallies(counts).values() if tally.n_groups]
        return {"l": min(least, default=0)}

    def covers(self, other: GroupJudge) -> bool:
        """Return whether l is as large, in the same column."""
        return isinstance(other, DistinctDiversity) and self.same_column(other) and self.l >= other.l

    def states(self, claim: str) -> bool:
        """Return whether the claim names l."""
        return f"at least {self.l} different value" in claim
