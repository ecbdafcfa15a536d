"""Differential privacy by sampling: what a sample on a fixed grid, without its rare rows, promises.

The theorem (Li, Qardaji, Su 2012, theorem 5): take each record with probability beta, map it to a cell by a function
that does not depend on the data, and publish the cells that at least k sampled records have, with their counts. For
epsilon >= -ln(1 - beta) that is (epsilon, delta)-differentially private with

    gamma = (e^epsilon - 1 + beta) / e^epsilon
    delta = max over n >= ceil(k / gamma - 1) of P[Bin(n, beta) > gamma n].

Why: two tables differ in one record, of a cell with n records in the larger one. What is published of the other cells
has the same chances. Of this cell j >= k records are published with the chances of Bin(n, beta) and Bin(n - 1, beta),
whose quotient is n (1 - beta) / (n - j): at most e^epsilon where j <= gamma n. The rest, j > gamma n, has the chance
delta at most; for n below the first one, j >= k is what is left of it, and that grows with n. The other way round, and
for a cell that is not published, no quotient is above 1 / (1 - beta) <= e^epsilon.

Among all n with the same least j > gamma n the largest one has the largest chance, so it is enough to look at one n for
each j = k, k + 1, ...; and by the Chernoff bound P[Bin(n, beta) >= gamma n] <= exp(-n KL(gamma, beta)) the search ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reveil.core.json_values import JSON

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from reveil.core.errors import ConfigError

_AT_ONCE = 256
_ROUNDING = 1e-12  # what sums of floats may lack
_TINY = 1e-300  # less than this is not told apart from it
_ONE_RELEASE = (
    "The bound of differential privacy is for this release alone: each further one about the same people spends "
    "epsilon and delta anew, and they add up."
)
_PUBLIC = (
    "The grid, the columns with their declared types, hierarchies and orders, the marks for missing values and the "
    "kind of file were fixed without looking at the table. One that is empty or cannot be read so is refused, and that "
    "it was is not hidden. Nobody outside knows the dice."
)
_WEAK = "Delta is not below beta: the sampling alone promises as much, and k adds nothing to it."


def least_epsilon(beta: float) -> float:
    """Return the smallest epsilon for which the theorem holds: -ln(1 - beta)."""
    return min(-math.log1p(-beta), -math.log(1 - beta))  # the two may differ in their last digit


@cache
def delta_of(k: int, beta: float, epsilon: float) -> float:
    """Return the delta of the theorem, rounded up.

    >>> round(delta_of(5, 0.1, 1.0), 7)
    0.0001765
    """
    from scipy.special import betainc

    rest = (1 - beta) * math.exp(-epsilon)
    gamma = 1 - rest
    divergence = gamma * math.log(gamma / beta) - rest * epsilon  # rest / (1 - beta) is e^-epsilon
    best, first = 0.0, k
    while True:
        least = np.arange(first, first + _AT_ONCE)
        # The largest n with gamma n < j; a product that is j but for rounding is j, where the quotient is e^epsilon.
        most = np.maximum(np.ceil(least / gamma * (1 - _ROUNDING)) - 1, least)
        best = max(best, float(betainc(least, most - least + 1, beta).max()))
        first += _AT_ONCE
        if best == 0.0 or math.exp(-(first / gamma - 1) * divergence) < best:
            return max(min(best * (1 + _ROUNDING), 1.0), _TINY)


def _rounded_up(number: float) -> str:
    """Return three digits of a small number, rounded up."""
    digits = 10.0 ** (2 - math.floor(math.log10(number))) if number > _TINY else 1 / _TINY
    return f"{math.ceil(number * digits) / digits:.3g}"


@dataclass(frozen=True)
class Sampling:
    """What was promised of a sampled release: k, beta, epsilon, and the delta that follows."""

    k: int
    beta: float
    epsilon: float

    def __post_init__(self) -> None:
        for key in ("beta", "epsilon"):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise ConfigError(f"{key} must be a number, not {value!r}")
            object.__setattr__(self, key, float(value))
        if not 0 < self.beta < 1:
            raise ConfigError(
                f"beta must lie between 0 and 1, not {self.beta!r}",
                hint="It is the probability with which each record is taken; 1 would take everybody, and hide nobody.",
            )
        if self.epsilon < least_epsilon(self.beta):
            least = least_epsilon(self.beta)
            digits = 10.0 ** (5 - math.floor(math.log10(least)))
            enough = math.ceil(least * digits) / digits  # six digits, rounded up: what is shown is accepted
            raise ConfigError(
                f"epsilon = {self.epsilon:g} is too small for beta = {self.beta:g}: it must be at least -ln(1 - beta)",
                hint=f"The smallest epsilon is {enough:.10g}; a smaller beta allows a smaller one.",
            )

    @property
    def delta(self) -> float:
        """The delta that k, beta and epsilon give."""
        return delta_of(self.k, self.beta, self.epsilon)

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters and delta as a manifest has them."""
        return {"k": self.k, "beta": self.beta, "epsilon": self.epsilon, "delta": self.delta}

    def sentence(self) -> str:
        """Return the claim in plain words."""
        e, d = f"{self.epsilon:g}", _rounded_up(self.delta)
        return (
            f"Each record was taken with probability {self.beta:g} and put into the cell of a grid that was fixed "
            f"before; rows that fewer than {self.k} of the records taken have, all columns counted, were left out. So, "
            "for any set of tables, the chance that the published one is among them changes by no more than the factor "
            f"e^{e} and a further {d} when any one record is added or taken away: ({e}, {d})-differential privacy."
        )

    def assumes(self) -> tuple[str, ...]:
        """Return what the claim rests on."""
        return (_ONE_RELEASE, _PUBLIC) if self.delta < self.beta else (_ONE_RELEASE, _PUBLIC, _WEAK)
