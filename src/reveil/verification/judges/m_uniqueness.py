"""At least m records in every group, all with different sensitive values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.verification.exact import written
from reveil.verification.judges.base import GroupJudge, ValueJudge, text_told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.verification.arrays import Bools, Ints
    from reveil.verification.counting import GroupCounts, Tally


@dataclass(frozen=True, repr=False)
class MUniqueness(ValueJudge):
    """Compare the number of records with the number of different values. Not so of a union: it needs the groups."""

    m: int
    attribute: str | None = None

    name: ClassVar[str] = "MUniqueness"
    union_closed: ClassVar[bool] = False

    @classmethod
    def read(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Return what ``m`` asks for."""
        return () if told.get("m") is None else (cls(int(written("m", told["m"])), text_told(told, "attribute")),)

    @classmethod
    def keys(cls, told: Mapping[str, JSON]) -> set[str]:
        """Return ``m`` and the column."""
        return {"m", "attribute"} & told.keys() if told.get("m") is not None else set()

    def level(self, tally: Tally) -> Ints:
        """Return the size of each group whose values are all different, else 0."""
        return np.where(tally.different == tally.total, tally.total, 0).astype(np.int64)

    def holds_in(self, tally: Tally) -> Bools:
        """Return where m different values are."""
        return np.asarray(self.level(tally) >= self.m, np.bool_)

    def holds(self, counts: GroupCounts) -> Bools:
        """Return where every record has a value of its own."""
        told = [tally.total == counts.sizes for tally in self.tallies(counts).values()]
        return np.asarray(super().holds(counts) & np.logical_and.reduce(told), np.bool_)

    def achieved(self, counts: GroupCounts) -> dict[str, JSON]:
        """Return the level of the worst group, 0 of none."""
        worst = [int(self.level(tally).min()) for tally in self.tallies(counts).values() if tally.n_groups]
        return {"m": min(worst, default=0)}

    def covers(self, other: GroupJudge) -> bool:
        """Return whether m is as large, in the same column."""
        return isinstance(other, MUniqueness) and self.same_column(other) and self.m >= other.m

    def states(self, claim: str) -> bool:
        """Return whether the claim names m."""
        return f"1/{self.m}" in claim or f"at least {self.m} record" in claim
