"""Recursive (c, l)-diversity."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core.errors import ConfigError
from reveil.models._exact import at_most, extreme, quotient, rounded_up
from reveil.models.base import FloatArray, Tags, ValueModel, exact_number, plain_number, whole_number

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.statistics import GroupStats


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity(ValueModel):
    """The most frequent value of a group is not too frequent beside the less frequent ones: r_1 < c (r_l + ... + r_m).

    r_1 >= r_2 >= ... >= r_m are the counts of the m values of a group. The sum is the *tail*. It is empty when there
    are fewer than l values, and then the group is invalid.

    *Guarantee*: whichever l - 2 values of the group an adversary rules out, in what is left the most frequent value
    has less than c times the records of the others together. A missing value counts as a value.

    *Assumes*: one record for each person; the adversary rules out values, and has no other reason to hold one
    assignment of the group's values to its persons for likelier than another.

    *Does not protect against*: values that are different but alike. With several sensitive attributes each is judged
    alone: who knows one sensitive value of a person looks only at the records that have it, and these may agree in
    the others.

    *Closure*: union-closed, for disjoint A and B: the largest count of the union is at most the sum of the largest
    counts. The tail is what is left when the l - 1 most frequent values are removed, the least that is left when any
    l - 1 values are. Removing the union's l - 1 most frequent values from A leaves at least A's tail, from B at least
    B's tail, so the union's tail is at least the sum of the tails. Hence r_1(A + B) <= r_1(A) + r_1(B) <
    c tail(A) + c tail(B) <= c tail(A + B). Not monotone: for c = 2, l = 2 the group {a, b} is valid (1 < 2) and
    {a, a, b} is not (2 < 2 is false).

    *Source*: Machanavajjhala et al. 2007.

    The level of a group is r_1 divided by the tail: smaller is better, c must be larger. It is infinite for an empty
    tail and 0 for an empty group; over several attributes the largest.

    >>> RecursiveDiversity(c=3, l=2).parameters()
    {'l': 2, 'c': 3, 'diversity': 'recursive'}
    """

    c: float | Fraction
    l: int
    attribute: str | None = field(default=None)

    tags: ClassVar[Tags] = Tags(monotone=False, union_closed=True, reads_values=True)
    smaller_is_better: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> tuple[RecursiveDiversity, ...]:
        """Return what the contract suite tries."""
        return (cls(c=2, l=2), cls(c=0.5, l=3, attribute="s"))

    def __post_init__(self) -> None:
        if exact_number("c", self.c) <= 0:
            raise ConfigError(f"c must be a number above 0, not {self.c!r}")
        object.__setattr__(self, "l", whole_number("l", self.l, least=1))

    @property
    def minimum_size(self) -> int:
        """There are at least l values."""
        return self.l

    @property
    def _exact(self) -> Fraction:
        return exact_number("c", self.c)

    def _levels(self, stats: GroupStats, name: str) -> FloatArray:
        histogram = stats.histograms[name]
        rest = histogram.beyond(self.l - 1)
        return np.where(rest > 0, quotient(histogram.largest, rest.clip(min=1), up=True), np.inf)

    def _holds(self, stats: GroupStats, name: str) -> BoolArray:
        histogram = stats.histograms[name]
        # r_1 < c * tail is the contrary of tail <= r_1 / c, which an empty tail always fulfils.
        return ~at_most(histogram.beyond(self.l - 1), histogram.largest, 1 / self._exact)

    def _sure(self, sizes: IntArray, whole: GroupStats, name: str) -> BoolArray:
        # Of a part, r_1 is at most that of the whole, and its l - 1 most frequent values have at most as many records
        # as those of the whole; so its tail is at least what its size leaves beyond these.
        histogram = whole.histograms[name]
        least = np.maximum(sizes - (histogram.totals - histogram.beyond(self.l - 1)), 0)
        return ~at_most(least, histogram.largest, 1 / self._exact)

    def achieved(self, stats: GroupStats) -> dict[str, JSON]:
        """Return ``l`` and the largest ratio of any group, rounded up to six decimals.

        Every c above the ratio would hold. It is None where a group has fewer than l values (no c holds), and 0 for a
        release without records.
        """
        levels = [Fraction(0)]
        for name in self._names(stats):
            histogram = stats.histograms[name]
            filled = histogram.distinct > 0
            rest = histogram.beyond(self.l - 1)[filled]
            if not rest.all():
                return {"l": self.l, "c": None}
            if len(rest):
                levels.append(extreme(histogram.largest[filled], rest, up=True))
        return {"l": self.l, "c": rounded_up(max(levels))}

    def parameters(self) -> dict[str, JSON]:
        """Return ``l``, ``c``, the kind of diversity and the attribute, if one is named."""
        return {"l": self.l, "c": plain_number(self._exact), "diversity": "recursive", **self._attribute()}

    def sentence(self) -> str:
        """Return the claim in plain words."""
        most = "the most frequent one" if self.l == 2 else f"the {self.l - 1} most frequent ones"
        rest = "all values" if self.l == 1 else f"all values but {most}"
        return (
            f"in every group the most frequent value of {self._subject()} occurs less than "
            f"{plain_number(self._exact)} times as often as {rest} together"
        )
