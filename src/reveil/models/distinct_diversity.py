"""Distinct l-diversity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.models.base import FloatArray, Tags, ValueModel, whole_number

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.statistics import GroupStats


@dataclass(frozen=True)
class DistinctDiversity(ValueModel):
    """Every group has at least ``l`` different values of the sensitive attribute.

    *Guarantee*: someone who finds a person's group, and can rule out fewer than l - 1 of its values, still does not
    know the person's value. A missing value counts as a value.

    *Assumes*: one record for each person; values that differ are different things to learn (two
    spellings of one thing are two values here).

    *Does not protect against*: likely guesses. A group in which 99 records agree and one does not has two values;
    ask for frequency or entropy diversity. Nor against values that are different but alike (three kinds of one
    illness), which is what t-closeness is for. With several sensitive attributes each is judged alone: who knows
    one sensitive value of a person looks only at the records that have it, and these may agree in the others.

    *Closure*: monotone: adding records removes no value. Union-closed: a union is a superset of both. (Of groups
    that are not empty: the empty group is valid and its supersets need not be.)

    *Source*: Machanavajjhala et al. 2007.

    The level of a group is its number of values, of an empty group infinity; over several attributes the least.

    >>> DistinctDiversity(3, attribute="disease").sentence()
    'every group has at least 3 different values of disease'
    """

    l: int
    attribute: str | None = field(default=None, kw_only=True)

    tags: ClassVar[Tags] = Tags(monotone=True, union_closed=True, reads_values=True)

    @classmethod
    def examples(cls) -> tuple[DistinctDiversity, ...]:
        """Return what the contract suite tries."""
        return (cls(2), cls(3, attribute="s"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", whole_number("l", self.l, least=1))

    @property
    def minimum_size(self) -> int:
        """As many records as values."""
        return self.l

    def _levels(self, stats: GroupStats, name: str) -> FloatArray:
        return stats.histograms[name].distinct.astype(np.float64)

    def _holds(self, stats: GroupStats, name: str) -> BoolArray:
        return stats.histograms[name].distinct >= self.l

    def _sure(self, sizes: IntArray, whole: GroupStats, name: str) -> BoolArray:
        # The l - 1 most frequent values fill at most so many records; one more has an l-th value.
        histogram = whole.histograms[name]
        return np.asarray(sizes > histogram.totals - histogram.beyond(self.l - 1), np.bool_)

    def achieved(self, stats: GroupStats) -> dict[str, JSON]:
        """Return the least number of values in any group, 0 for a release without records."""
        worst = float(self.measure(stats).min(initial=np.inf))
        return {"l": int(worst) if np.isfinite(worst) else 0}

    def parameters(self) -> dict[str, JSON]:
        """Return ``l``, the kind of diversity and the attribute, if one is named."""
        return {"l": self.l, "diversity": "distinct", **self._attribute()}

    def sentence(self) -> str:
        """Return the claim in plain words."""
        return f"every group has at least {self.l} different value{'' if self.l == 1 else 's'} of {self._subject()}"
