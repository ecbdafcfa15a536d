"""Groups in which every pair stays within its budget, as small and as tight as they come.

Records lie along a space-filling curve of their quasi values. A group begins with the record that is hardest to place
and takes the records nearest to it that keep it allowed (:mod:`reveil.core.kernels.budgets`); values that would become
too frequent among the rest are taken first. What is left over joins a group nearby, or has some of them merged; large
groups are split where that is allowed. All of it is near-linear in the number of records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import CodeArray, IntArray, offsets_of_sorted
from reveil.core.errors import InfeasibleError
from reveil.core.kernels import budget_mending, budgets
from reveil.core.kernels.budget_items import Items

if TYPE_CHECKING:
    from fractions import Fraction

    from reveil.guarantees.lifetime.strategies import Strategy
    from reveil.guarantees.lifetime.survival import Pairs

FloatArray = npt.NDArray[np.float64]

NEIGHBOURS = 128  # free records around a seed among which the best ones are chosen
REACH = 512  # records on either side whose groups are asked to take one that is left over
_TABLE = 1 << 12
_ROUNDING = 1e-9
_LARGE = 8  # times the smallest group: from there on, sizes that do not do are doubled
_HEAVIEST = 16  # so many values are looked at for a first size of groups
_FEW = 64  # of so many records one may be left over and is placed; of more, larger groups are tried

_WAYS_OUT = (
    "Declare values harmless that need no protection, ask for a smaller l, fewer releases or a smaller alpha, or "
    "publish more records at once."
)
_LET_REST = (
    'A series of its own, into which these releases are adopted first, can let people rest: when_exhausted = "rest".'
)
SOONER = "Set largest lower, so that they rest sooner; that may be changed in a series at any time."


@dataclass(frozen=True)
class Rule:
    """What a strategy asks of groups, for one l."""

    strategy: Strategy
    l: Fraction

    @property
    def least(self) -> int:
        """The smallest group that may have a value once; no group is smaller, whatever is in it."""
        return self.strategy.least(self.l)

    def most(self, largest: int) -> IntArray:
        """Return how often a value may be in a group, for all the sizes from 0 to ``largest``."""
        return self.strategy.most(np.arange(largest + 1), self.l)


@dataclass(frozen=True)
class Crowd:
    """Who is to be grouped.

    ``values``: what is bounded of each item, -1 for nothing; ``points``: where it lies, one row each; ``order``: the
    items along the curve. The item ``pair_item[k]`` needs a group of ``pair_need[k]`` rows for each row with the value
    ``pair_value[k]``, ascending by item.
    """

    values: CodeArray = field(repr=False)
    points: FloatArray = field(repr=False)
    order: IntArray = field(repr=False)
    pair_item: CodeArray = field(repr=False, default_factory=lambda: np.zeros(0, np.int32))
    pair_value: CodeArray = field(repr=False, default_factory=lambda: np.zeros(0, np.int32))
    pair_need: FloatArray = field(repr=False, default_factory=lambda: np.zeros(0))


def needed_by(pairs: Pairs, rule: Rule) -> FloatArray:
    """Return what each pair needs from now on."""
    return rule.strategy.needs(pairs.survival, pairs.links, rule.l)


def form_groups(crowd: Crowd, rule: Rule) -> CodeArray:
    """Return the group of each item, numbered from 0."""
    line = _Line.of(crowd)
    total, least = len(line.values), rule.least
    if total < least:
        raise InfeasibleError(
            f"{total:,} records are to be published, and every group needs at least {least}",
            hint="Publish more records at once, or ask for less: a smaller l, fewer releases, a smaller alpha.",
        )
    own_needs = line.own_needs()
    demand = check_demand(line.values, own_needs, total, line.domain, rule)
    most = rule.most(max(min(total, _TABLE), least))
    size = _first_size(least, most, demand, total)
    while size <= total:
        if len(most) <= min(4 * size, total):
            most = rule.most(min(8 * size, total))
        labels, groups = line.grow(most, demand.hold(size, most), size, own_needs)
        todo = np.flatnonzero(labels < 0)
        if 0 < len(todo) <= size + total // _FEW:
            budget_mending.place(line.items, line.points, labels, groups, todo, most, REACH)
        if (labels >= 0).all():
            budget_mending.split(line.items, line.points, labels, groups, most, least)
            return line.named(labels)
        size += max(1, size // 4) if size < _LARGE * least else size
    if line.all_allowed(rule):
        return np.zeros(total, np.int32)
    raise InfeasibleError(
        "no groups were found in which everybody's budget suffices: too many persons were linked with the same values "
        "too often",
        hint=SOONER if rule.strategy.grows else _LET_REST,
    )


@dataclass(frozen=True)
class Demand:
    """How many rows have each value, and how many rows those who have it need on average for each of them."""

    counts: IntArray
    need: FloatArray

    def hold(self, size: int, most: IntArray) -> IntArray:
        """Return how many rows with each value a group of this size holds, by what they need on average."""
        hold: IntArray = np.minimum(np.floor(size / self.need + _ROUNDING), most[size]).astype(np.int64)
        return np.maximum(hold, 1)


def check_demand(values: CodeArray, own_needs: FloatArray, total: int, domain: int, rule: Rule) -> Demand:
    """Raise if those who have a value need more rows than there are.

    Proposition. In an allowed group of n rows, of which n_s have the value s, n >= n_s need(o, s) for everybody in it,
    so that n is at least the sum of need(o, s) over those who have s. Added up over the groups: the needs of all who
    have s are at most the number of all rows. (Without pairs: no value has more than its share of the table.)
    """
    told = values >= 0
    counts = np.bincount(values[told], minlength=domain).astype(np.int64)
    count = int(counts.max())
    if count > rule.strategy.most(np.array([total]), rule.l)[0]:
        raise InfeasibleError(
            f"one value has {count:,} of {total:,} rows ({count / total:.1%}), and no group may have more than "
            f"{rule.strategy.share(rule.l):.1%} of one value",
            hint=_WAYS_OUT + " Leaving out the persons who have it would tell it.",
        )
    # With what pairs need beyond a new one: where nobody needs more, the exact rule above has judged.
    needs = np.maximum(own_needs, rule.strategy.ratio(rule.l))
    rows = np.bincount(values[told], needs[told], domain)
    more = np.bincount(values[told], own_needs[told], domain) > 0
    worst = float(np.where(more, rows, 0.0).max())
    if worst > total * (1 + _ROUNDING) + count:
        raise InfeasibleError(
            f"the persons with one value were linked with it before, and now need {worst:,.0f} rows in all; there are "
            f"{total:,}",
            hint=SOONER,
        )
    return Demand(counts, rows / np.maximum(counts, 1) + (counts == 0) * rule.strategy.ratio(rule.l))


def _first_size(least: int, most: IntArray, demand: Demand, total: int) -> int:
    """Return the smallest size of groups of which all together can hold every value that needs half of the table."""
    sizes = np.arange(least, len(most))
    enough = np.ones(len(sizes), np.bool_)
    for value in np.flatnonzero(2 * demand.counts * demand.need >= total)[:_HEAVIEST]:
        hold = np.minimum(np.floor(sizes / demand.need[value] + _ROUNDING), most[sizes])
        enough &= total // sizes * hold >= demand.counts[value]
    return int(sizes[np.argmax(enough)]) if enough.any() else least


@dataclass(frozen=True)
class _Line:
    """The items in the order of the curve, as the kernels want them."""

    order: IntArray
    items: Items
    points: FloatArray

    @classmethod
    def of(cls, crowd: Crowd) -> _Line:
        order = crowd.order
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        useful = crowd.pair_need > 0
        item = place[crowd.pair_item[useful]]
        by_item = np.argsort(item, kind="stable")
        values, pair_values = crowd.values[order], crowd.pair_value[useful][by_item]
        items = Items(
            values,
            offsets_of_sorted(item[by_item], len(order)),
            pair_values,
            crowd.pair_need[useful][by_item],
            int(max(values.max(initial=0), pair_values.max(initial=0))) + 1,
        )
        return cls(order, items, np.ascontiguousarray(crowd.points[order]))

    @property
    def values(self) -> CodeArray:
        """What is bounded of each item."""
        return self.items.values

    @property
    def domain(self) -> int:
        """How many values there are."""
        return self.items.domain

    def owner(self) -> IntArray:
        """Return the item of each pair."""
        return np.repeat(np.arange(len(self.values)), np.diff(self.items.starts))

    def own_needs(self) -> FloatArray:
        """Return what each item needs for the value that it has."""
        owner, found = self.owner(), np.zeros(len(self.values))
        present = self.items.pair_values == self.values[owner]
        found[owner[present]] = self.items.pair_needs[present]
        return found

    def grow(self, most: IntArray, hold: IntArray, size: int, own_needs: FloatArray) -> tuple[CodeArray, int]:
        # Who needs the largest group for their own value is the hardest to place, and comes first.
        hard = np.flatnonzero(own_needs > size)
        hard = hard[np.argsort(-own_needs[hard], kind="stable")]
        seeds = np.concatenate([hard, np.arange(len(self.values))])
        finite = own_needs[np.isfinite(own_needs)]
        limit = min(max(4 * size, int(finite.max(initial=0)) + size), len(most) - 1, len(self.values))
        labels, groups = budgets.grow(
            self.items, self.points, seeds, budgets.Sizes(most, hold, size, limit), NEIGHBOURS
        )
        return labels, groups

    def all_allowed(self, rule: Rule) -> bool:
        """Return whether all the items are allowed as one group."""
        total = len(self.values)
        counts = np.bincount(self.values[self.values >= 0], minlength=self.domain)
        if counts.max() > rule.strategy.most(np.array([total]), rule.l)[0]:
            return False
        with np.errstate(invalid="ignore"):
            return not (counts[self.items.pair_values] * self.items.pair_needs > total).any()

    def named(self, labels: CodeArray) -> CodeArray:
        """Return the labels in the order of the items, numbered without gaps."""
        found = np.empty(len(labels), np.int32)
        found[self.order] = np.unique(labels, return_inverse=True)[1]
        return found
