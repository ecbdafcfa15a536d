"""Entropy l-diversity."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.models._exact import DECIMALS, at_most
from reveil.models.base import FloatArray, RealDiversity, Tags, plain_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.statistics import GroupStats, Histogram

PRECISION = Context(prec=50)
LARGEST_POWER = 2**22  # bits of the numbers that are compared to settle a tie


@dataclass(frozen=True)
class EntropyDiversity(RealDiversity):
    """The values of a group are at least as mixed as ``l`` equally frequent ones; ``l`` may be any number from 1 up.

    *Guarantee*: the entropy of the sensitive values of each group is at least log l. So a group has at least l
    values, and an adversary who finds a person's group is left with at least log l of uncertainty on average. A
    missing value counts as a value.

    *Assumes*: one record for each person; the adversary has no reason to hold one assignment of the group's values
    to its persons for likelier than another.

    *Does not protect against*: a good guess in a single case: entropy is an average, and half the records of a large
    group may share a value even for a high l. Ask for frequency diversity where the best guess matters. Values that
    are different but alike. The entropy of the whole table must be log l or more, which common values prevent. With
    several sensitive attributes each is judged alone: who knows one sensitive value of a person looks only at the
    records that have it, and these may agree in the others.

    *Closure*: union-closed: the distribution of a disjoint union is a mixture of the two distributions, and entropy
    is concave, so the entropy of the mixture is at least the mean of the two entropies. Not monotone: for l = 2 the
    group {a, b} is valid and {a, a, b} is not.

    *Source*: Machanavajjhala et al. 2007.

    The level of a group is exp(entropy), the effective number of values, rounded down; of an empty group infinity;
    over several attributes the least. With counts c and n their sum, the verdict decides n^n >= l^n * prod c^c.

    >>> EntropyDiversity(3).sentence()
    'in every group the values of each sensitive column are at least as mixed as 3 equally frequent ones'
    """

    l: float | Fraction
    attribute: str | None = field(default=None, kw_only=True)

    tags: ClassVar[Tags] = Tags(monotone=False, union_closed=True, reads_values=True)

    def _levels(self, stats: GroupStats, name: str) -> FloatArray:
        histogram = stats.histograms[name]
        entropy, error = _entropy(histogram)
        # exp and the last product are rounded once each; the true level is at least 1.
        level = np.maximum(np.exp(entropy - error) * (1 - 2.0**-50), 1.0)
        return np.where(_uniform(histogram), histogram.distinct, level)

    def _holds(self, stats: GroupStats, name: str) -> BoolArray:
        histogram = stats.histograms[name]
        entropy, error = _entropy(histogram)
        above, below = math.log(self._exact.numerator), math.log(self._exact.denominator)
        excess = entropy - (above - below)
        error += 2.0**-50 * (1 + above + below)
        holds: BoolArray = excess > 0
        uniform = _uniform(histogram)
        holds[uniform] = histogram.distinct[uniform] >= math.ceil(self._exact)
        decided: dict[tuple[int, ...], bool] = {}
        for group in np.flatnonzero((np.abs(excess) <= error) & ~uniform):
            counts = histogram.counts[histogram.values.offsets[group] : histogram.values.offsets[group + 1]]
            key = tuple(sorted((counts // np.gcd.reduce(counts)).tolist()))
            if key not in decided:
                decided[key] = entropy_reaches(key, self._exact)
            holds[group] = decided[key]
        return holds & (histogram.distinct > 0)

    def _sure(self, sizes: IntArray, whole: GroupStats, name: str) -> BoolArray:
        # Entropy is at least the logarithm of n over the largest count, and no value is more frequent in a part.
        return at_most(whole.histograms[name].largest, sizes, 1 / self._exact)

    def achieved(self, stats: GroupStats) -> dict[str, JSON]:
        """Return the least level of any group, rounded down to six decimals; 0 for a release without records."""
        worst = float(self.measure(stats).min(initial=np.inf))
        if not np.isfinite(worst):
            return {"l": 0.0}
        # The measured level is below the true one by less than a millionth: see whether the next step still holds.
        steps = math.floor(Fraction(worst) * DECIMALS)
        if replace(self, l=Fraction(steps + 1, DECIMALS)).verdict(stats).all():
            steps += 1
        return {"l": steps / DECIMALS}

    def parameters(self) -> dict[str, JSON]:
        """Return ``l``, the kind of diversity and the attribute, if one is named."""
        return {"l": plain_number(self._exact), "diversity": "entropy", **self._attribute()}

    def sentence(self) -> str:
        """Return the claim in plain words."""
        mixed = f"at least as mixed as {plain_number(self._exact)} equally frequent ones"
        return f"in every group the values of {self._subject()} are {mixed}"


def entropy_reaches(counts: Sequence[int], bound: Fraction) -> bool:
    """Return whether the entropy of one group is at least the logarithm of the bound.

    Decided with 50 digits; a tie is decided with whole numbers. A tie of counts so large that their powers cannot
    be written down, once a common divisor is taken out, is refused.
    """
    size = sum(counts)
    # All through the context's methods: the operators would round to whatever precision the caller has set.
    gains = [(size, size), (size, bound.denominator)]
    losses = [(count, count) for count in counts] + [(size, bound.numerator)]
    gain, loss = (_sum_of_logs(side) for side in (gains, losses))
    # Each term and each sum is rounded to 50 digits: the error is below their number times 1e-48 of the total.
    margin = PRECISION.multiply(PRECISION.add(gain, loss), Decimal("1e-38"))
    excess = PRECISION.subtract(gain, loss)
    if excess.copy_abs() > margin:
        return bool(excess > 0)
    if size * (size.bit_length() + bound.numerator.bit_length() + bound.denominator.bit_length()) > LARGEST_POWER:
        return False
    powers = math.prod(count**count for count in counts)
    return bool((size * bound.denominator) ** size >= bound.numerator**size * powers)


def _sum_of_logs(terms: Sequence[tuple[int, int]]) -> Decimal:
    """Return the sum of factor * log(number)."""
    total = Decimal(0)
    for factor, number in terms:
        total = PRECISION.fma(Decimal(factor), PRECISION.ln(Decimal(number)), total)
    return total


def _uniform(histogram: Histogram) -> BoolArray:
    """Where all the values of a group have the same count: the entropy is the logarithm of their number."""
    mean, over = np.divmod(histogram.totals, histogram.distinct.clip(min=1))
    uniform: BoolArray = (mean == histogram.largest) & (over == 0)
    return uniform


def _entropy(histogram: Histogram) -> tuple[FloatArray, FloatArray]:
    """Return the entropy of each group as sum of p log(1/p), and a bound of the error.

    With u = 2^-53: 1/p and p have three roundings each, which moves log(1/p) by at most 3u; the logarithm is good to
    a few units in the last place, say 4u relative; so each term is off by at most p (3u + 9u log(1/p)), and adding
    m terms that are not negative by m u times the sum. Together at most u (3 + (m + 9) H), of which twice is taken.
    """
    counts = histogram.counts.astype(np.float64)
    shares = histogram.totals.astype(np.float64)[histogram.groups] / counts
    entropy = histogram.reduce(np.add, np.log(shares) / shares).astype(np.float64)
    return entropy, (histogram.distinct + 16) * 2.0**-52 * (1 + entropy)
