"""What a table tells of the population it was drawn from: who is unique there, and how many are like a row.

The table is taken for a sample that was drawn at random. :func:`expected_chance` is the individual risk of Benedetti
and Franconi (1998) with equal weights, which sdcMicro computes: the number F of people like a class of f rows is f plus
a negative binomial number. Population uniques are estimated in two ways that ARX has, too: Zayatz (1991) and Pitman's
model (Hoshino 2001), of which the first is taken where the sample is more than a tenth (Dankar and others 2012, without
their third model).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON

FloatArray = npt.NDArray[np.float64]
SMALL_SAMPLE = 0.1
LARGE_CLASS, TERMS = 30, 60  # 1 / C(90, 60) is below what a number tells


@dataclass(frozen=True)
class PopulationUniques:
    """How many people of the population are expected to be unique in it; None where a model does not fit."""

    zayatz: float
    pitman: float | None
    fraction: float

    @property
    def expected(self) -> float:
        """The figure that is taken."""
        return self.zayatz if self.pitman is None or self.fraction > SMALL_SAMPLE else self.pitman

    def to_json(self) -> dict[str, JSON]:
        """Return both figures, and which of them is taken."""
        by = "zayatz" if self.pitman is None or self.fraction > SMALL_SAMPLE else "pitman"
        return {"expected": self.expected, "by": by, "zayatz": self.zayatz, "pitman": self.pitman}


def expected_chance(sizes: IntArray, fraction: float) -> FloatArray:
    """Return the expected 1/F of classes with ``sizes`` rows, where the table is a ``fraction`` of the population.

    The source has p^f/f 2F1(f, f; f+1; 1-p); Euler's transformation of it does not lose its digits for large f.

    >>> [round(float(one), 4) for one in expected_chance(np.array([1, 2, 5]), 0.5)]
    [0.6931, 0.3069, 0.1106]
    """
    from scipy.special import hyp2f1

    if fraction >= 1:
        return 1.0 / sizes
    z = 1 - fraction
    grown = np.ones(len(sizes))
    few = sizes < LARGE_CLASS
    grown[few] = hyp2f1(1.0, 1.0, sizes[few] + 1.0, z)
    term, large = np.ones(int((~few).sum())), sizes[~few].astype(np.float64)
    for k in range(1, TERMS):  # the series itself, for which SciPy has no digits near z = 1; it ends soon here
        term = term * k * z / (large + k)
        grown[~few] += term
    chance: FloatArray = fraction / sizes * grown
    return chance


def population_uniques(classes: IntArray, population: int) -> PopulationUniques:
    """Estimate the uniques of a population of this size; ``classes[i]`` is the number of classes with i rows."""
    rows = int((classes * np.arange(len(classes))).sum())
    fraction = rows / population if population else 1.0
    ones = int(classes[1]) if len(classes) > 1 else 0
    if fraction >= 1 or not ones:
        return PopulationUniques(float(ones), None, fraction)
    pitman = _pitman(classes, rows, population)
    return PopulationUniques(_zayatz(classes, rows, population) * ones / fraction, pitman, fraction)


def _zayatz(classes: IntArray, rows: int, population: int) -> float:
    """Return the chance that who is unique in the sample is so in the population, too.

    Classes of the population are taken to have the sizes of those of the sample in the same shares; of one with i
    people exactly one is drawn by the hypergeometric distribution.
    """
    from scipy.special import gammaln

    sizes = np.flatnonzero(classes)
    sizes = sizes[(sizes > 0) & (sizes <= population - rows + 1)].astype(np.float64)

    def choose(n: npt.ArrayLike, k: npt.ArrayLike) -> FloatArray:
        n, k = np.asarray(n, np.float64), np.asarray(k, np.float64)
        found: FloatArray = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
        return found

    one = np.exp(np.log(sizes) + choose(population - sizes, rows - 1) - choose(population, rows))
    weight = classes[sizes.astype(np.int64)] * one
    return float(classes[1] * (rows / population) / weight.sum())


def _pitman(classes: IntArray, rows: int, population: int) -> float | None:
    """Return the uniques of a population by Pitman's sampling formula, with the likeliest parameters.

    None where nothing can be fitted: no class of two, or a table of uniques only.
    """
    from scipy.optimize import minimize
    from scipy.special import expit, gammaln

    found = int(classes.sum())
    if len(classes) < 3 or not classes[2] or found == rows:
        return None
    sizes = np.flatnonzero(classes).astype(np.float64)
    many = classes[sizes.astype(np.int64)]

    def unlikely(place: FloatArray) -> float:
        alpha, theta = float(expit(place[0])), float(np.exp(place[1]))
        new = (found - 1) * np.log(alpha) + gammaln(theta / alpha + found) - gammaln(theta / alpha + 1)
        again = (many * (gammaln(sizes - alpha) - gammaln(1 - alpha))).sum()
        return float(gammaln(theta + rows) - gammaln(theta + 1) - new - again)

    best = minimize(unlikely, np.array([0.0, np.log(max(found, 2))]), method="Nelder-Mead", options={"maxiter": 2000})
    if not best.success:
        return None
    alpha, theta = float(expit(best.x[0])), float(np.exp(best.x[1]))
    uniques = np.exp(gammaln(theta + 1) - gammaln(theta + alpha) + alpha * np.log(population))
    return float(min(uniques, population))
