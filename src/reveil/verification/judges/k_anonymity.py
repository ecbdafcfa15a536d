"""At least k records in every group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.verification.exact import written
from reveil.verification.judges.base import GroupJudge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.verification.arrays import Bools
    from reveil.verification.counting import GroupCounts

LEAST = 2  # what a k that was left to the method promises at least


@dataclass(frozen=True, repr=False)
class KAnonymity(GroupJudge):
    """Count the rows of a group."""

    k: int

    name: ClassVar[str] = "KAnonymity"
    reads_values: ClassVar[bool] = False
    about: ClassVar[str] = "link"

    @property
    def most(self) -> float:
        """Nobody's row is found with more than one in k."""
        return 1 / self.k

    @classmethod
    def read(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Return what ``k`` asks for; ``auto`` asks for 2 at least."""
        k = told.get("k")
        if k is None:
            return ()
        return (cls(LEAST if k == "auto" else int(written("k", k))),)

    @classmethod
    def keys(cls, told: Mapping[str, JSON]) -> set[str]:
        """Return ``k``."""
        return {"k"} & told.keys()

    def holds(self, counts: GroupCounts) -> Bools:
        """Return where there are k records."""
        return np.asarray(counts.sizes >= self.k, np.bool_)

    def achieved(self, counts: GroupCounts) -> dict[str, JSON]:
        """Return the size of the smallest group, 0 of none."""
        return {"k": int(counts.sizes.min()) if len(counts.sizes) else 0}

    def covers(self, other: GroupJudge) -> bool:
        """Return whether k is as large."""
        return isinstance(other, KAnonymity) and self.k >= other.k

    def states(self, claim: str) -> bool:
        """Return whether the claim names k."""
        return f"at least {self.k} record" in claim
