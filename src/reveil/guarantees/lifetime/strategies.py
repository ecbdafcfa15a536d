"""How much of a pair's budget one release may spend.

The *survival* S of a pair of a person and a value is the chance that the value was never the person's, by all the
groups in which the two were linked: the product of (1 - n_s/n). The bound is S >= 1 - 1/l, at all times. A strategy
says which share n_s/n one more group may have, so that something is left for the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from reveil.core.errors import ConfigError
from reveil.models.base import exact_number, plain_number, whole_number

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON

FloatArray = npt.NDArray[np.float64]

ROUNDING = 1e-12  # more than products of so few floats can be off, and less than anybody could use
_SMALL = 1 << 12  # groups up to this size are judged exactly, larger ones a hair too strictly
LARGEST_SETTING = 10_000  # releases, or alpha: beyond that groups would be as large as tables
_ROUNDED = 1e-6


class Strategy(ABC):
    """What a group must look like for one more link of a person with a value."""

    kind: ClassVar[str]
    grows: ClassVar[bool] = False  # whether pairs need larger groups the more was told; then there is a largest one
    GROWTH: ClassVar[int] = 10  # by default a pair is used up when it needs so many times its first group

    @abstractmethod
    def share(self, l: Fraction) -> float:
        """Return the largest share of a group that a value may have for somebody who was never linked with it."""

    @abstractmethod
    def fits(self, count: int, size: int, l: Fraction) -> bool:
        """Return, exactly, whether a value may have so many of so many rows where nobody was linked with it."""

    @abstractmethod
    def needs(self, survival: FloatArray, links: IntArray, l: Fraction) -> FloatArray:
        """Return n/n_s that each pair needs from now on; 0 where it needs no more than a new one, infinity: no group.

        ``links``: in so many releases the two were linked.
        """

    @abstractmethod
    def settings(self) -> dict[str, JSON]:
        """Return the parameters under their config names."""

    def further(self, survival: FloatArray, links: IntArray, l: Fraction, largest: float) -> IntArray:
        """Return how many further links at the smallest group allowed each pair has, before it is used up.

        Each is linked again and again, until it would need a larger group; ``largest`` is finite. Where nothing of the
        budget is left there is no further link, whatever a strategy says it needs.
        """
        found = np.zeros(len(survival), np.int64)
        bound = float(1 - 1 / l) * (1 - _ROUNDED)
        survival, links = survival.astype(np.float64), links.copy()
        while True:
            needed = np.maximum(self.needs(survival, links, l), self.ratio(l))
            able = (needed <= largest) & (survival >= bound)
            if not able.any():
                return found
            found += able
            survival = np.where(able, survival * (1 - 1 / needed), survival)
            links = links + 1

    def used_up(self, survival: FloatArray, links: IntArray, l: Fraction, largest: float) -> BoolArray:
        """Return which pairs can be linked no more, by groups of at most ``largest`` rows per row with the value."""
        needed = self.needs(survival, links, l)
        used: BoolArray = (needed > largest) | np.isinf(needed)
        return used

    def ratio(self, l: Fraction) -> float:
        """Return n/n_s that a new pair needs at least."""
        return 1 / self.share(l)

    def least(self, l: Fraction) -> int:
        """Return the smallest group that may have a value once."""
        size = max(int(np.floor(self.ratio(l))) - 1, 1)
        while not self.fits(1, size, l):
            size += 1
        return size

    def most(self, sizes: npt.NDArray[np.integer], l: Fraction) -> IntArray:
        """Return how often a value may be in groups of these sizes where nobody was linked with it.

        Exact for groups of up to 4,096 rows: a group that is exactly at the limit is allowed. Of larger ones, those
        within rounding of the limit are not.
        """
        exact = sizes * self.share(l)
        counts: IntArray = np.floor(exact * (1 - ROUNDING)).astype(np.int64)
        close = (np.abs(exact - np.round(exact)) <= _ROUNDED * (1 + exact)) & (sizes <= _SMALL)
        for place in np.flatnonzero(close):
            count = round(float(exact[place]))
            counts[place] = count if self.fits(count, int(sizes[place]), l) else count - 1
        return np.maximum(counts, 0)


@dataclass(frozen=True, kw_only=True)
class ConstantRatio(Strategy):
    """The same ratio in each of so many releases in which a person is linked with a value; then the pair is used up.

    n/n_s >= 1/(1 - (1 - 1/l)^(1/releases)). It makes the largest group as small as it can be (Wong et al., theorem 4).

    Whether a group is allowed is decided in whole numbers: n_s of n rows are allowed if and only if
    (n - n_s)^releases l >= (l - 1) n^releases. So S >= 1 - 1/l after all the links, but for the rounding of a product
    of floats.
    """

    kind: ClassVar[str] = "constant-ratio"

    releases: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "releases", whole_number("releases", self.releases, least=1))
        if self.releases > LARGEST_SETTING:
            raise ConfigError(
                f"releases must be at most {LARGEST_SETTING:,}", hint="So long a series needs huge groups."
            )

    def share(self, l: Fraction) -> float:
        """Return 1 - (1 - 1/l)^(1/releases)."""
        # Of the logarithm, so that nothing is lost where many releases make it small.
        return float(-np.expm1(np.log1p(-float(1 / l)) / self.releases))

    def fits(self, count: int, size: int, l: Fraction) -> bool:
        """Return whether (n - n_s)^releases l >= (l - 1) n^releases."""
        if count > size:
            return False
        return bool((size - count) ** self.releases * l >= (l - 1) * size**self.releases)

    def needs(self, survival: FloatArray, links: IntArray, l: Fraction) -> FloatArray:
        """Return 0, and infinity after so many links; or where an adopted release has spent more than its part."""
        left = survival * (1 - self.share(l))
        used = (links >= self.releases) | (left < float(1 - 1 / l) * (1 - ROUNDING))
        return np.where(used, np.inf, 0.0)

    def further(self, survival: FloatArray, links: IntArray, l: Fraction, largest: float) -> IntArray:  # noqa: ARG002
        """Return how many of the releases are left."""
        left = self.releases - links
        none = np.isinf(self.needs(survival, links, l))
        return np.where(none, 0, left).astype(np.int64)

    def settings(self) -> dict[str, JSON]:
        """Return the name and the number of releases."""
        return {"strategy": self.kind, "releases": self.releases}


@dataclass(frozen=True, kw_only=True)
class EvenSpread(ConstantRatio):
    """What is left of a pair's budget, spread evenly over the links that it is still meant to have.

    A new pair needs what it needs under the constant ratio. After j of ``releases`` links the next group may spend
    1 - ((1 - 1/l)/S)^(1/(releases - j)); after all of them, what is left, if groups can be so large. So what
    groups did not spend, because they had to be larger or the value was rare in them, is spent later, and a pair is
    used up by what was told and not by how often: somebody who was in groups of thirty rows of which one had the value
    has most of their budget left. S >= 1 - 1/l, because no group spends more than all that is left.
    """

    kind: ClassVar[str] = "spread"
    grows: ClassVar[bool] = True

    def needs(self, survival: FloatArray, links: IntArray, l: Fraction) -> FloatArray:
        """Return n/n_s for an even part of what is left; 0 where the constant ratio asks for no less."""
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.log(survival) - np.log1p(-float(1 / l))
            over = np.where(links < self.releases, self.releases - links, 1)
            needed = np.where(left > ROUNDING, -1 / np.expm1(-left / over), np.inf)
        as_new = (links == 0) | (needed <= self.ratio(l) * (1 + ROUNDING))
        return np.where(as_new, 0.0, needed)

    def further(self, survival: FloatArray, links: IntArray, l: Fraction, largest: float) -> IntArray:
        """Link each pair again and again."""
        return Strategy.further(self, survival, links, l, largest)


@dataclass(frozen=True, kw_only=True)
class Geometric(Strategy):
    """In each release an alpha-th of what is left: n/n_s >= alpha l S/(l S - (l - 1)), with alpha above 1.

    The budget is never used up, but the groups that a pair needs grow. Small at first, they are small on average
    (Wong et al., 6.2). S stays above 1 - 1/l by a factor that no rounding can close: no tolerance is needed.
    """

    kind: ClassVar[str] = "geometric"
    grows: ClassVar[bool] = True

    alpha: float

    def __post_init__(self) -> None:
        alpha = exact_number("alpha", self.alpha)
        if alpha < 1 + Fraction(1, 10**6):
            raise ConfigError(
                f"alpha must be above 1, not {self.alpha!r}",
                hint="With alpha = 1 one release spends everything. Take 3 or more.",
            )
        if alpha > LARGEST_SETTING:
            raise ConfigError(
                f"alpha must be at most {LARGEST_SETTING:,}", hint="Groups are at least alpha times l large."
            )
        object.__setattr__(self, "alpha", plain_number(alpha))

    @property
    def _alpha(self) -> Fraction:
        return exact_number("alpha", self.alpha)

    def share(self, l: Fraction) -> float:
        """Return 1/(alpha l)."""
        return float(1 / (self._alpha * l))

    def fits(self, count: int, size: int, l: Fraction) -> bool:
        """Return whether n >= alpha l n_s."""
        return size >= self._alpha * l * count

    def needs(self, survival: FloatArray, links: IntArray, l: Fraction) -> FloatArray:
        """Return alpha times the bound of theorem 1."""
        scaled = float(l) * survival
        margin = scaled - float(l - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = float(self._alpha) * scaled / margin
        return np.where(links == 0, 0.0, np.where(margin > ROUNDING, needed, np.inf))

    def settings(self) -> dict[str, JSON]:
        """Return the name and alpha."""
        return {"strategy": self.kind, "alpha": self.alpha}


STRATEGIES: dict[str, tuple[type[Strategy], str]] = {
    ConstantRatio.kind: (ConstantRatio, "releases"),
    EvenSpread.kind: (EvenSpread, "releases"),
    Geometric.kind: (Geometric, "alpha"),
}
