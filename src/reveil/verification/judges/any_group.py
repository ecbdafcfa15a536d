"""Nothing is asked of a group: the guarantee judges something else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.verification.judges.base import GroupJudge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.verification.arrays import Bools
    from reveil.verification.counting import GroupCounts


@dataclass(frozen=True, repr=False)
class AnyGroup(GroupJudge):
    """Accept every group."""

    name: ClassVar[str] = "AnyGroup"
    reads_values: ClassVar[bool] = False

    @classmethod
    def read(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:  # noqa: ARG003
        """Return nothing: it has no parameters."""
        return ()

    @classmethod
    def keys(cls, told: Mapping[str, JSON]) -> set[str]:  # noqa: ARG003
        """Return nothing."""
        return set()

    def holds(self, counts: GroupCounts) -> Bools:
        """Accept every group."""
        return np.ones(len(counts.sizes), np.bool_)

    def achieved(self, counts: GroupCounts) -> dict[str, JSON]:  # noqa: ARG002
        """Return nothing."""
        return {}

    def covers(self, other: GroupJudge) -> bool:
        """Return whether nothing is asked for, either."""
        return isinstance(other, AnyGroup)
