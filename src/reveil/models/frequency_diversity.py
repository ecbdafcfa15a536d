"""Frequency l-diversity: the 1/l bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from reveil.models._exact import at_most, extreme, quotient, rounded_down
from reveil.models.base import FloatArray, RealDiversity, Tags, plain_number
from reveil.models.limits import Limit, Over

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.statistics import GroupStats


@dataclass(frozen=True)
class FrequencyDiversity(RealDiversity):
    """No value occurs in more than one in ``l`` records of a group; ``l`` may be any number from 1 up.

    *Guarantee*: someone who finds a person's group guesses the person's value with a chance of at most 1/l. Also
    known as simple l-diversity, and with a size bound as (alpha, k)-anonymity with alpha = 1/l. A missing value
    counts as a value.

    *Assumes*: one record for each person; the adversary has no reason to hold one assignment of the group's values
    to its persons for likelier than another, and does not reason about why the group was made as it was.

    *Does not protect against*: knowledge that rules values out (an illness that one sex cannot have), which raises
    the chance of the others. Values that are different but alike. With several sensitive attributes each is judged
    alone: who knows one sensitive value of a person looks only at the records that have it, and these may agree in
    the others.

    *Closure*: union-closed: a value that has at most |A|/l records of A and at most |B|/l of B has at most
    (|A| + |B|)/l of their disjoint union. Not monotone: for l = 2 the group {a, b} is valid and {a, a, b} is not.

    *Source*: Machanavajjhala et al. 2007 (as the bound on the posterior belief); Wong et al. 2006 for (alpha, k).

    The level of a group is its size divided by the count of its most frequent value, of an empty group infinity;
    over several attributes the least.

    >>> FrequencyDiversity(4).sentence()
    'no value of a sensitive column occurs in more than one in 4 records of a group'
    """

    l: float | Fraction
    attribute: str | None = field(default=None, kw_only=True)

    tags: ClassVar[Tags] = Tags(monotone=False, union_closed=True, reads_values=True)

    def _levels(self, stats: GroupStats, name: str) -> FloatArray:
        histogram = stats.histograms[name]
        return quotient(histogram.totals, histogram.largest.clip(min=1), up=False)

    def _holds(self, stats: GroupStats, name: str) -> BoolArray:
        histogram = stats.histograms[name]
        return at_most(histogram.largest, histogram.totals, 1 / self._exact) & (histogram.distinct > 0)

    def _sure(self, sizes: IntArray, whole: GroupStats, name: str) -> BoolArray:
        # A part has no value more often than the whole has its most frequent one.
        return at_most(whole.histograms[name].largest, sizes, 1 / self._exact)

    def achieved(self, stats: GroupStats) -> dict[str, JSON]:
        """Return the least level of any group, rounded down to six decimals; 0 for a release without records."""
        levels = []
        for name in self._names(stats):
            histogram = stats.histograms[name]
            filled = histogram.distinct > 0
            if filled.any():
                levels.append(extreme(histogram.totals[filled], histogram.largest[filled], up=False))
        return {"l": rounded_down(min(levels, default=Fraction(0)))}

    def parameters(self) -> dict[str, JSON]:
        """Return ``l``, the kind of diversity and the attribute, if one is named."""
        return {"l": plain_number(self._exact), "diversity": "frequency", **self._attribute()}

    def sentence(self) -> str:
        """Return the claim in plain words."""
        share = f"one in {plain_number(self._exact)} records"
        return f"no value of {self._subject('a')} occurs in more than {share} of a group"

    def limits(self, over: Over = "release") -> tuple[Limit, ...]:
        """Return that no value is believed with more than one in l."""
        return (Limit("value", over, self.sentence(), at_most=float(1 / self._exact), model=self),)
