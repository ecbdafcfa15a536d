"""Fragmentation: the table of counts over several sensitive attributes, cut into boxes of near values.

The table has one axis for each attribute, and its cells count the records with a combination of values. It is kept
sparse: only combinations that occur. A *fragment* is a box of it, shrunk to the values that occur inside; a
*fragmentation* cuts the table into fragments.

*Theorem*. Let the group E take the same share of its records from each fragment F as the table does: |E in F| / |E| =
|F| / n. Then for each attribute i the earth mover's distance between E and the table is at most

    B_i = sum over F of Delta_i(F),   Delta_i(F) = max over values v of F of sum over values u of F of p_u d_i(u, v),

where p_u is the share of all records that lie in F and have the value u, and d_i the distance of values.

*Proof*. Both have the same mass in each fragment, so a plan that moves earth inside fragments only is a plan, and its
cost bounds the distance. Inside F the cost of the cheapest plan from the table's values to those of E is convex in the
latter, so it is largest in a corner of the simplex: all the mass of F at one value v that occurs in F. That costs
sum_u p_u d_i(u, v). (E has only values that occur in F, because its records do.)

For values in a row, neighbours 1/(m - 1) apart (m values of the table), the farthest v is one of the ends a and b of
the fragment's range: Delta = max(sum p_v (v - a), sum p_v (b - v)) / (m - 1). For other distances we take the bound
(|F| - 1)/n times the largest distance in the fragment: v has at least one record, which need not move.

Source: 002, chapter 4, for two attributes in a row, generalised to any number in its section 4.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import fragments as kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.models.statistics import Reference

_ONE_BY_ONE = 256  # up to so many fragments each cut looks at the whole; beyond it, so large a part of all at a time


@dataclass(frozen=True)
class StepDistances:
    """How far the values of one attribute lie apart, counted in steps.

    ``places`` gives each code its place among the values that occur (-1: it does not). A distance of ``steps`` is 1.
    ``present`` counts the records of the table at each place. ``nodes`` has for each level of a tree below its root the
    node over each place; none where values lie in a row.
    """

    places: IntArray
    present: IntArray
    steps: int
    nodes: CodeArray

    @classmethod
    def of(cls, reference: Reference, distance: str | None = None) -> StepDistances:
        """Return the scale that t-closeness uses for a table's values; the same default for the distance."""
        occurring = np.flatnonzero(reference.counts)
        present = reference.counts[occurring]
        places = np.full(len(reference.counts), -1, np.int64)
        places[occurring] = np.arange(len(occurring))
        if distance is None:
            distance = "taxonomy" if reference.levels is not None else "ordered" if reference.ordered else "equal"
        if distance == "ordered":
            return cls(places, present, max(len(occurring) - 1, 1), np.empty((0, len(occurring)), np.int32))
        if distance == "taxonomy" and reference.levels is not None and len(reference.levels) > 1:
            return cls(places, present, len(reference.levels) - 1, reference.levels[1:, occurring])
        return cls(places, present, 1, np.arange(len(occurring), dtype=np.int32)[None, :])


@dataclass(frozen=True)
class Fragments:
    """A fragment for each record, numbered so that neighbours in number are neighbours in the tree of cuts.

    ``bounds`` has for each attribute how far at most a group lies from the table that takes its share of each
    fragment.
    """

    labels: IntArray
    counts: IntArray
    bounds: tuple[Fraction, ...]

    @property
    def divisor(self) -> int:
        """How many groups can take exactly the same from each fragment."""
        return math.gcd(*self.counts.tolist())


def fragment(places: npt.NDArray[np.integer], scales: Sequence[StepDistances], limits: Sequence[Fraction]) -> Fragments:
    """Cut the table until the bound of every attribute is within its limit.

    ``places`` has a row for each record and a column for each attribute. While a bound exceeds its limit, one fragment
    is cut in two along one axis. The place of the cut is the one after which the axis's own attribute has the smallest
    bound; of all fragments and axes, the cut is made that leaves the smallest total excess over the limits (then the
    smallest sum of bounds, then the first). A cut along one axis may raise the bound of another attribute. The search
    ends, because a fragment of a single combination has Delta = 0. With many fragments, the best cuts are made several
    at a time: the search is then nearly linear, and the last round may cut a little more than needed.
    """
    if not scales:
        return Fragments(np.zeros(len(places), np.int64), np.array([len(places)], np.int64), ())
    return _Search(places, scales, limits).run()


class _Search:
    """The combinations of values in the order of the cuts so far, and for each fragment its best cuts."""

    def __init__(
        self, places: npt.NDArray[np.integer], scales: Sequence[StepDistances], limits: Sequence[Fraction]
    ) -> None:
        n, axes = places.shape
        order = np.lexsort(places.T[::-1])
        ascending = places[order]
        new = np.ones(n, np.bool_)
        new[1:] = (ascending[1:] != ascending[:-1]).any(axis=1)
        self.cell = np.empty(n, np.int64)  # of each record
        self.cell[order] = np.cumsum(new) - 1
        rows: CodeArray = ascending[new].astype(np.int32)
        self.table = kernels.CountedRows(rows, np.diff(np.append(np.flatnonzero(new), n)), np.arange(len(rows)))
        self.limits, self.steps = limits, np.array([scale.steps for scale in scales], np.int64)
        self.units = n * self.steps  # a bound is a whole number of these parts
        heights = np.array([len(scale.nodes) for scale in scales], np.int64)
        nodes = np.zeros(
            (axes, int(heights.max(initial=0)), max((s.nodes.shape[1] for s in scales), default=0)), np.int32
        )
        for i, scale in enumerate(scales):
            nodes[i, : len(scale.nodes), : scale.nodes.shape[1]] = scale.nodes
        self.axes = kernels.Axes(nodes, heights, self.units.astype(np.float64))
        self.starts, self.ends = np.zeros(1, np.int64), np.array([len(rows)], np.int64)
        self.now, self.cut, self.after = self._survey(self.starts, self.ends)

    def _survey(self, starts: IntArray, ends: IntArray) -> kernels.Survey:
        axes = self.table.rows.shape[1]
        now, cut = np.empty((len(starts), axes), np.int64), np.empty((len(starts), axes), np.int32)
        after = np.zeros((len(starts), axes, axes), np.int64)
        found = kernels.Survey(now, cut, after)
        kernels.survey(self.table, starts, ends, self.axes, found)
        return found

    @property
    def bounds(self) -> tuple[Fraction, ...]:
        """What the fragments so far are spread in each attribute, exactly."""
        return tuple(Fraction(int(b), int(u)) for b, u in zip(self.now.sum(axis=0), self.units, strict=True))

    def run(self) -> Fragments:
        while any(bound > limit for bound, limit in zip(self.bounds, self.limits, strict=True)):
            self._step(max(1, len(self.starts) // _ONE_BY_ONE))
        order = np.argsort(self.starts)
        lengths = (self.ends - self.starts)[order]
        of_cell = np.empty(len(self.table.rows), np.int64)
        of_cell[self.table.first_place] = np.repeat(np.arange(len(order)), lengths)
        counts = np.add.reduceat(self.table.weights, self.starts[order])
        return Fragments(of_cell[self.cell], counts, self.bounds)

    def _step(self, most: int) -> None:
        """Make the best cut, or so many of the best, each in another fragment."""
        axes = self.table.rows.shape[1]
        change = (self.after - self.now[:, None, :]) / self.units
        bound = self.now.sum(axis=0) / self.units
        limits = np.array([float(limit) for limit in self.limits])
        excess = np.maximum(bound + change - limits, 0).sum(axis=2)
        excess[self.cut < 0] = np.inf
        sums = change.sum(axis=2)
        if most == 1:
            lowest = np.flatnonzero(excess.ravel() == excess.min())
            chosen = lowest[[np.argmin(sums.ravel()[lowest])]]
        else:
            axis = np.argmin(excess, axis=1)
            best_axis = np.arange(len(axis)), axis
            best = np.lexsort((self.starts, sums[best_axis], excess[best_axis]))[:most]
            chosen = (best * axes + axis[best])[np.isfinite(excess[best_axis][best])]
        which, axis = chosen // axes, chosen % axes
        middle = np.empty(len(which), np.int64)
        starts, ends = self.starts[which], self.ends[which]
        kernels.divide(self.table, starts, ends, axis, self.cut[which, axis], middle)
        left, right = self._survey(starts, middle), self._survey(middle, ends)
        self.ends[which] = middle
        self.now[which], self.cut[which], self.after[which] = left
        self.starts, self.ends = np.append(self.starts, middle), np.append(self.ends, ends)
        self.now = np.concatenate([self.now, right[0]])
        self.cut = np.concatenate([self.cut, right[1]])
        self.after = np.concatenate([self.after, right[2]])
