"""No demand on groups: for releases that are not judged by what stands together in a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.models.base import FloatArray, Model, Tags

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.limits import Limit, Over
    from reveil.models.statistics import GroupStats


@dataclass(frozen=True)
class AnyGroup(Model):
    """Accepts every group: each row is a box of its own, and what it may tell is a matter of another rule.

    *Guarantee*: none.

    *Assumes*: nothing.

    *Does not protect against*: anything; the guarantee that uses it does.

    *Closure*: monotone and union-closed, because nothing is refused.

    *Source*: possible worlds (Shmueli, Tassa 2015) judge rows, not groups.
    """

    tags: ClassVar[Tags] = Tags(monotone=True, union_closed=True, reads_values=False)

    @classmethod
    def examples(cls) -> tuple[AnyGroup, ...]:
        """Return what the contract suite tries."""
        return (cls(),)

    def measure(self, stats: GroupStats) -> FloatArray:
        """Return infinity: there is nothing to reach."""
        return np.full(stats.n_groups, np.inf)

    def verdict(self, stats: GroupStats) -> BoolArray:
        """Accept every group."""
        return np.ones(stats.n_groups, np.bool_)

    def surely(self, sizes: IntArray, whole: GroupStats) -> BoolArray:  # noqa: ARG002
        """Accept every part."""
        return np.ones(len(sizes), np.bool_)

    def achieved(self, stats: GroupStats) -> dict[str, JSON]:  # noqa: ARG002
        """Return nothing."""
        return {}

    def parameters(self) -> dict[str, JSON]:
        """Return nothing."""
        return {}

    def sentence(self) -> str:
        """Return what is true of every row."""
        return "every row has a box of its own around its record"

    def limits(self, over: Over = "release") -> tuple[Limit, ...]:  # noqa: ARG002
        """Return nothing: the guarantee says what is promised."""
        return ()
