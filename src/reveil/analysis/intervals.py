"""Intervals of 95 % beside an estimate: where the number probably is, by a rule that looks at the release alone.

A hard bound holds always and is wide. An interval is narrower and may fail: it is meant to hold in about 95 of 100
questions about a real table, and ``docs/evidence.md`` says in how many it did. It has three parts.

1. *Chance*. Each row is in or out by a coin of its own chance; rows of a class (or of a group, where values are matched
   with rows) tend to be in or out together, because cells were cut where the table has gaps and because people of one
   group are alike. A correlation ``WITHIN`` between two rows of a class makes the variance of n rows
   ``n v (1 + (n - 1) WITHIN)``: the design effect of a sample in clusters.
2. *What all classes have in common*. Values within cells are not even, columns within a box not independent, values
   within a group not matched by dice; and that leans the same way everywhere. It is taken as a share of the sum of all
   deviations: ``ACROSS``, ``LINKED`` where sensitive values are asked about, whose link to the rest a group hides, and
   ``MATCHED`` where these values stand in a second table, whose groups have no boxes of their own.
3. *What the release itself shows*. Tight cells tell how frequent values are; the count is made once more with cells
   shared out by these frequencies (:mod:`reveil.analysis.frequencies`), and with rows and values of a second table
   matched as all groups together suggest (:mod:`reveil.analysis.links`). The interval holds both counts, and ``BEYOND``
   of their distance on either side.

The interval is cut at the hard bounds. The five numbers were set once, by hand, so that intervals of random windows on
samples of ten thousand records held about as often as they should; nothing is fitted to a release or read from a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import sums_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.analysis.entries import CellParts, ValuesAsked
    from reveil.analysis.tally import CountSums
    from reveil.tables.expressions.regions import FloatArray

DEVIATIONS = 1.959964  # of a normal distribution, between which it is with 95 %
WITHIN, ACROSS, LINKED, MATCHED, BEYOND = 0.2, 0.04, 0.13, 0.18, 0.5
FOREIGN = 0.2  # of the dirty records expected in a window: how far off that is
_HALF = 0.5  # a count is a whole number
_LEAST = 1e-300


def interval(even: CountSums, weighed: CountSums, real: float = 1.0) -> tuple[float, float]:
    """Return the ends of the interval of a count; ``real``: the share of rows that are asked-for records.

    Which rows are not, nobody can see: as if they were left out by dice, with what classes have in common.
    """
    one, other = even.estimate * real, weighed.estimate * real
    lost = (1 - real) * max(even.estimate, weighed.estimate)
    counted = max(deviation(even), deviation(weighed))
    spread = DEVIATIONS * np.sqrt(counted**2 + real * lost + (FOREIGN * lost) ** 2) + _HALF + BEYOND * abs(one - other)
    return min(one, other) - spread, max(one, other) + spread


def deviation(found: CountSums) -> float:
    """Return the standard deviation of a count."""
    common = MATCHED if found.matched else LINKED if found.linked else ACROSS
    return spread_of(found.variances, found.deviations, common)


def spread_of(variances: FloatArray, deviations: FloatArray, common: float = ACROSS) -> float:
    """Return the standard deviation of a sum, given for each cluster the sums of variances and of deviations."""
    within = (1 - WITHIN) * variances.sum() + WITHIN * (deviations**2).sum()
    return float(np.sqrt(within + common**2 * deviations.sum() ** 2))


def quotient_interval(
    found: ValuesAsked, value: Callable[[CellParts], FloatArray], variance: Callable[[CellParts], FloatArray]
) -> tuple[float, float]:
    """Return the interval of a mean: of ``value`` over the entries, which vary by ``variance`` each.

    A mean R is a quotient of sums, and to first order as far off as the mean of (value - R) over the rows asked for.
    """
    units, means, off = found.asked.units, [], []
    linked = any(name in found.asked.reader.release.manifest.sensitive for name in found.asked.regions)
    clusters = int(units.owner.max(initial=-1)) + 1
    for entries in (found.even, found.weighed):
        expected = units.sizes[entries.unit] * entries.chance
        total = max(float(expected.sum()), _LEAST)
        middle = value(entries)
        mean = float((expected * middle).sum() / total)
        first = sums_of(entries.unit, entries.chance * (middle - mean), len(units))
        second = sums_of(entries.unit, entries.chance * (variance(entries) + (middle - mean) ** 2), len(units))
        vary = np.maximum(second - first**2, 0)
        variances = sums_of(units.owner, units.sizes * vary, clusters)
        deviations = sums_of(units.owner, units.sizes * np.sqrt(vary), clusters)
        means.append(mean)
        off.append(spread_of(variances, deviations, LINKED if linked else ACROSS) / total)
    spread = DEVIATIONS * max(off) + BEYOND * abs(means[0] - means[1])
    return min(means) - spread, max(means) + spread
