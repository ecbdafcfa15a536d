"""t-closeness, and the earth mover's distance of many groups at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged
from reveil.core.errors import ConfigError
from reveil.models._exact import LIMIT, WholeArray, at_most, extreme, quotient, rounded_up
from reveil.models.base import FloatArray, Tags, ValueModel, concerned, exact_number, plain_number, words_of
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.tables.schema import Schema, Type

if TYPE_CHECKING:
    from fractions import Fraction

    from reveil.core.json_values import JSON


DISTANCES = ("ordered", "equal", "taxonomy")


@dataclass(frozen=True)
class TCloseness(ValueModel):
    """The sensitive values of a group are distributed nearly as in all the published records.

    The earth mover's distance (EMD) between the two distributions is at most ``t``, from 0 to 1. It is the share of
    records that would have to change, times how far they would have to go. ``distance`` says how far apart values
    are: ``ordered`` by how many values of the table lie between them (1 for the two ends), ``equal`` 1 for any two,
    ``taxonomy`` by the height of their lowest common node over the height of the tree. The default is the taxonomy if
    the attribute has one, else its order if it has one, else ``equal``. A missing value is a value, the last one.

    *Guarantee*: someone who finds a person's group learns little more about the sensitive value than the published
    table tells about everybody.

    *Assumes*: one record for each person; the distribution in the whole published table is no secret.

    *Does not protect against*: what the whole table tells already. A shift of few records: with many values, or a
    rare one, a small distance can still make a value several times as likely. Which records could be a person's: ask
    for k-anonymity as well. With several sensitive attributes each is judged alone: who knows one sensitive value of
    a person looks only at the records that have it, and these may be far from the table in the others.

    *Closure*: union-closed: the distribution of a disjoint union is the mean of the two, weighted by size, and the
    distance to the table is convex in the group's distribution (move the earth of each part by its own plan; the
    weighted mean of the plans is a plan for the union), so it is at most the larger of the two. Not monotone: with
    two values that are equally frequent in the table, {a, b} is at distance 0 and {a, a, b} at distance 1/6.

    *Source*: Li, Li, Venkatasubramanian 2007.

    The level of a group is its distance: smaller is better. It is 0 for an empty group; over several attributes the
    largest.

    >>> TCloseness(0.2, attribute="bp").parameters()
    {'t': {'bp': 0.2}}
    """

    t: float | Fraction
    attribute: str | None = field(default=None, kw_only=True)
    distance: str | None = field(default=None, kw_only=True)

    tags: ClassVar[Tags] = Tags(monotone=False, union_closed=True, reads_values=True)
    smaller_is_better: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> tuple[TCloseness, ...]:
        """Return what the contract suite tries."""
        return (cls(0.2), cls(0.1, distance="equal"), cls(0.3, attribute="s", distance="ordered"))

    def __post_init__(self) -> None:
        if not 0 <= exact_number("t", self.t) <= 1:
            raise ConfigError(f"t must be a number from 0 to 1, not {self.t!r}")
        if self.distance is not None and self.distance not in DISTANCES:
            raise ConfigError(f"unknown distance {self.distance!r}", hint=f"Known distances: {', '.join(DISTANCES)}.")

    @property
    def _exact(self) -> Fraction:
        return exact_number("t", self.t)

    def _distances(self, stats: GroupStats, name: str) -> tuple[WholeArray, WholeArray]:
        if name not in stats.table:
            raise ValueError(f"these statistics do not tell the whole table's values of {name!r}")
        reference = stats.table[name]
        if self.distance == "ordered" and not reference.ordered:
            raise _without_order(name)
        if self.distance == "taxonomy" and reference.levels is None:
            raise _without_hierarchy(name)
        return earth_movers_distance(stats.histograms[name], reference, self.distance)

    def _levels(self, stats: GroupStats, name: str) -> FloatArray:
        return quotient(*self._distances(stats, name), up=True)

    def _holds(self, stats: GroupStats, name: str) -> BoolArray:
        return at_most(*self._distances(stats, name), self._exact) & (stats.histograms[name].distinct > 0)

    def achieved(self, stats: GroupStats) -> dict[str, JSON]:
        """Return for each attribute the largest distance of any group, rounded up to six decimals."""
        levels: dict[str, float] = {}
        for name in self._names(stats):
            numerator, denominator = self._distances(stats, name)
            levels[name] = rounded_up(extreme(numerator, denominator, up=True)) if len(numerator) else 0.0
        return {"t": levels}

    def parameters(self) -> dict[str, JSON]:
        """Return ``t``, under the attribute's name if one is named, and the distance if one is asked for."""
        t = plain_number(self._exact)
        distance = {} if self.distance is None else {"distance": self.distance}
        return {"t": t if self.attribute is None else {self.attribute: t}, **distance}

    def sentence(self) -> str:
        """Return the claim in plain words."""
        return (
            f"in every group the values of {self._subject()} are distributed as in the whole table up to a distance of "
            f"{plain_number(self._exact)} (0 is the same, 1 the farthest)"
        )

    def check(self, schema: Schema) -> None:
        """Raise if a concerned column is not sensitive or cannot have the distance asked for.

        The type of a column may be known only when the data are read; then a missing order is found by measuring.
        """
        for name in concerned(self.attribute, schema.sensitive, words_of(type(self).__name__)):
            column = schema[name]
            if self.distance == "taxonomy" and column.taxonomy is None:
                raise _without_hierarchy(name)
            unordered = column.taxonomy is not None or column.type in (Type.TEXT, Type.BOOLEAN)
            if self.distance == "ordered" and column.order is None and unordered:
                raise _without_order(name)


def earth_movers_distance(
    histogram: Histogram, reference: Reference, distance: str | None = None
) -> tuple[WholeArray, WholeArray]:
    """Return the distance of each group to the table as numerators and positive denominators; 0/1 for empty groups.

    Whole numbers throughout: ``int64``, or Python integers where these would overflow.
    """
    if distance is None:
        distance = "taxonomy" if reference.levels is not None else "ordered" if reference.ordered else "equal"
    if len(histogram.codes) and not reference.counts[histogram.codes].all():
        raise ValueError("a group has a value that the table does not have")
    table = reference.counts
    levels = None if distance == "ordered" else _levels_below_root(reference, distance)
    # No number on the way is larger than twice records of the group x records of the table x steps.
    steps = int(np.count_nonzero(table)) if levels is None else 2 * len(levels) + 2
    small = histogram.totals <= LIMIT // 2 // max(int(table.sum()) * steps, 1)

    def of(part: Histogram, dtype: np.dtype[np.generic]) -> tuple[WholeArray, WholeArray]:
        return _ordered(part, table, dtype) if levels is None else _by_levels(part, table, levels, dtype)

    if small.all():
        return of(histogram, np.dtype(np.int64))
    numerator, denominator = np.empty(len(small), object), np.empty(len(small), object)
    for chosen, dtype in ((small, np.dtype(np.int64)), (~small, np.dtype(object))):
        numerator[chosen], denominator[chosen] = of(histogram.select(chosen), dtype)
    return numerator, denominator


def _ordered(histogram: Histogram, table: IntArray, dtype: np.dtype[np.generic]) -> tuple[WholeArray, WholeArray]:
    """Distance of values in a row, neighbours 1/(s - 1) apart: (1/(s-1)) sum_i |sum_{j<=i} (p_j - q_j)|.

    Over the border between value i and the next exactly the difference of what lies below it must be carried, which
    is the inner sum; each border is one step of 1/(s - 1). The s values are those of the table. With n records in
    the group, N in the table, and a_i and C_i of these at value i or below, the distance is

        sum_i |N a_i - n C_i| / (n N (s - 1)).

    A group has few values: between one and the next, a_i is constant and C_i rises, so that the sign changes at most
    once, at a place x that a binary search in C finds. With P_i = C_0 + ... + C_{i-1}, the stretch from lo up to
    before hi sums to N a (2x - lo - hi) + n (P_lo + P_hi - 2 P_x).
    """
    occurring = np.flatnonzero(table)
    rank = np.zeros(len(table), np.int64)
    rank[occurring] = np.arange(len(occurring))
    below = np.cumsum(table[occurring].astype(dtype))
    sums = np.concatenate([np.zeros(1, dtype), np.cumsum(below)])
    whole = int(table.sum())

    totals, groups, lo = histogram.totals.astype(dtype), histogram.groups, rank[histogram.codes]
    size = totals[groups]
    filled = histogram.distinct > 0
    first, last = histogram.values.starts[filled], histogram.values.offsets[1:][filled] - 1
    hi = np.empty_like(lo)
    hi[:-1] = lo[1:]
    hi[last] = len(occurring)
    running = np.cumsum(histogram.counts.astype(dtype))
    before = np.concatenate([np.zeros(1, dtype), running])[histogram.values.starts]
    carried = (running - before[groups]) * whole

    turn = np.searchsorted(below, carried // size, side="right").clip(lo, hi)
    work = carried * (2 * turn - lo - hi) + size * (sums[lo] + sums[hi] - 2 * sums[turn])
    numerator: WholeArray = histogram.reduce(np.add, work)
    numerator[filled] += totals[filled] * sums[lo[first]]  # the stretch before the first value, where a = 0
    return numerator, _positive(totals * whole * (len(occurring) - 1))


def _by_levels(
    histogram: Histogram, table: IntArray, levels: CodeArray, dtype: np.dtype[np.generic]
) -> tuple[WholeArray, WholeArray]:
    """Distance of leaves of a tree of height H, two of them h/H apart if their lowest common node has height h.

    Let each edge have length 1/(2H): the way from one leaf up to the common node and down to the other has 2h edges.
    In a tree the earth has only one way to go, and through the edge above a node goes exactly the difference between
    what the two distributions have below it. So the distance is 1/(2H) sum |p(node) - q(node)| over all nodes below
    the root, level by level, which in whole numbers is

        sum |N c(node) - n C(node)| / (2 H n N).

    Of the nodes of one level that the group does not touch, the sum is n times the rest of the table, so the level
    sums to n N plus the sum of |N c - n C| - n C over the nodes it touches. ``equal`` is the tree of height 1.
    """
    histogram = _contiguous(histogram, levels)
    whole = int(table.sum())
    totals, groups, counts = histogram.totals.astype(dtype), histogram.groups, histogram.counts.astype(dtype)
    filled = histogram.distinct > 0
    starts_of_groups = histogram.values.starts[filled]
    numerator = totals * whole * len(levels)
    for nodes in levels if len(counts) else ():
        node = nodes[histogram.codes]
        starts = np.ones(len(node), np.bool_)  # of runs with the same node
        starts[1:] = node[1:] != node[:-1]
        starts[starts_of_groups] = True
        at = np.flatnonzero(starts)
        of_table = np.zeros(int(nodes.max()) + 1, np.int64)
        np.add.at(of_table, nodes, table)
        expected = totals[groups[at]] * of_table[node[at]]
        excess = np.abs(np.add.reduceat(counts, at) * whole - expected) - expected
        first_runs = np.searchsorted(at, starts_of_groups)
        numerator[filled] += np.add.reduceat(excess, first_runs)
    return numerator, _positive(totals * (whole * 2 * len(levels)))


def _levels_below_root(reference: Reference, distance: str) -> CodeArray:
    """Return the node over each code, one row for each level below the root."""
    if distance == "taxonomy":
        if reference.levels is None:
            raise ValueError("the table has no taxonomy")
        if len(reference.levels) > 1:
            return reference.levels[1:]
        # A tree that is only a root still has a missing value beside its one value.
    return np.arange(len(reference.counts), dtype=np.int32)[None, :]


def _contiguous(histogram: Histogram, levels: CodeArray) -> Histogram:
    """Order the values so that those under one node stand together; depth-first codes do already."""
    if all(np.count_nonzero(np.diff(nodes)) + 1 <= len(np.unique(nodes)) for nodes in levels):
        return histogram
    rank = np.empty(levels.shape[1], np.int64)
    rank[np.lexsort(levels[::-1])] = np.arange(levels.shape[1])
    order = np.lexsort((rank[histogram.codes], histogram.groups))
    values = Ragged(histogram.values.offsets, histogram.codes[order])
    return Histogram(values, histogram.counts[order], histogram.domain)


def _positive(denominator: WholeArray) -> WholeArray:
    """Replace the denominator of an empty group, or of a table with one value, whose distance is 0."""
    return np.where((denominator > 0).astype(np.bool_), denominator, 1).astype(denominator.dtype)


def _without_order(name: str) -> ConfigError:
    return ConfigError(
        f"the values of {name!r} have no order, which the distance 'ordered' needs",
        column=name,
        hint="Give the column an order = [...] or a type that has one, or ask for another distance or attribute.",
    )


def _without_hierarchy(name: str) -> ConfigError:
    return ConfigError(
        f"column {name!r} has no hierarchy, which the distance 'taxonomy' needs",
        column=name,
        hint="Give the column a hierarchy, or ask for another distance or attribute.",
    )
