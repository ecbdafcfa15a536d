"""m-uniqueness."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.models.base import FloatArray, Tags, ValueModel, whole_number

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray
    from reveil.core.json_values import JSON
    from reveil.models.statistics import GroupStats


@dataclass(frozen=True)
class MUniqueness(ValueModel):
    """Every group has at least ``m`` records, all with different values of the sensitive attribute.

    *Guarantee*: someone who finds a person's group in one release, and knows nothing else, gives each value of the
    group the same chance, at most 1/m. It is what every single release of an m-invariant or tau-safe series keeps;
    the series as a whole needs the rules about signatures as well. Counterfeits are records here: a reader cannot
    tell them apart. A missing value is a value like others.

    *Assumes*: one record for each person; the group is published as a column of its own, because groups with equal
    boxes are not one group here; all rows of a group in a table with the values have the same box.

    *Does not protect against*: several releases held side by side, if nothing else is kept. Values that are different
    but alike (three kinds of one illness). An adversary who knows the algorithm, where it looked at values. With
    several sensitive attributes each is judged alone: who knows one sensitive value of a person has found their
    record.

    *Closure*: none. Not monotone: {a, b} is valid for m = 2, {a, a, b} is not. Not union-closed: {a, b} and {a, c}
    are valid, their union has a twice.

    *Source*: Xiao, Tao 2007; thesis 000, chapter 4.

    The level of a group is its number of records if all their values are different, else 0; of an empty group
    infinity; over several attributes the least.

    >>> MUniqueness(3, attribute="disease").sentence()
    'every group has at least 3 records, all with different values of disease'
    """

    m: int
    attribute: str | None = field(default=None, kw_only=True)

    tags: ClassVar[Tags] = Tags(monotone=False, union_closed=False, reads_values=True)

    @classmethod
    def examples(cls) -> tuple[MUniqueness, ...]:
        """Return what the contract suite tries."""
        return (cls(2), cls(3, attribute="s"))

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", whole_number("m", self.m, least=1))

    @property
    def minimum_size(self) -> int:
        """The threshold itself."""
        return self.m

    def _levels(self, stats: GroupStats, name: str) -> FloatArray:
        histogram = stats.histograms[name]
        # A record whose value is not told may have any: such a group is not known to be unique.
        unique = (histogram.distinct == stats.sizes) & (histogram.totals == stats.sizes)
        return np.where(unique, stats.sizes, 0).astype(np.float64)

    def _holds(self, stats: GroupStats, name: str) -> BoolArray:
        return self._levels(stats, name) >= self.m

    def achieved(self, stats: GroupStats) -> dict[str, JSON]:
        """Return the level of the worst group, 0 for a release without records."""
        worst = float(self.measure(stats).min(initial=np.inf))
        return {"m": int(worst) if np.isfinite(worst) else 0}

    def parameters(self) -> dict[str, JSON]:
        """Return ``m``, and the attribute, if one is named."""
        return {"m": self.m, **self._attribute()}

    def sentence(self) -> str:
        """Return the claim in plain words."""
        records = f"{self.m} record{'' if self.m == 1 else 's'}"
        return f"every group has at least {records}, all with different values of {self._subject()}"
