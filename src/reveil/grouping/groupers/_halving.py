"""Halving in proportion: both halves take half of each stratum, and the near records of it.

The records lie in *strata*, numbered in an order in which neighbours are alike. Of the first strata together, for each
number of strata, half of the records of a node go to its left, rounded. So of each stratum, too, either half gets half,
rounded up or down. These are the records of the stratum that come first along one attribute, so that halves get
narrower.

All nodes are halved level by level together.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.grouping.hilbert import along_curve
from reveil.models.statistics import Partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.core.arrays import BoolArray, IntArray
    from reveil.models.encoding import Codes

FloatArray = npt.NDArray[np.float64]


class Ground:
    """Where the records lie: positions in each attribute, and their order along each and along the curve."""

    def __init__(self, codes: Codes) -> None:
        self.codes, self.n = codes, codes.n
        self.points: FloatArray = np.stack([a.positions[a.codes] for a in codes.quasi])
        self.place = np.empty(codes.n, np.int64)
        self.place[along_curve(codes)] = np.arange(codes.n)

    @cached_property
    def ranks(self) -> IntArray:
        """The order of the records along each attribute; equal ones along the curve."""
        ranks = np.empty(self.points.shape, np.int64)
        for a, points in enumerate(self.points):
            ranks[a, np.lexsort((self.place, points))] = np.arange(self.n)
        return ranks

    def spread(self, order: IntArray, offsets: IntArray) -> FloatArray:
        """Return how far the records of each node are spread in each attribute: (attributes, nodes)."""
        sizes = np.diff(offsets)
        out = np.empty((len(self.points), len(sizes)))
        for a, points in enumerate(self.points):
            own = points[order]
            mean = np.add.reduceat(own, offsets[:-1]) / sizes
            out[a] = np.add.reduceat(np.abs(own - np.repeat(mean, sizes)), offsets[:-1]) / sizes
        return out


def halved(
    ground: Ground,
    strata: IntArray,
    order: IntArray,
    offsets: IntArray,
    axis: IntArray,
) -> tuple[IntArray, IntArray]:
    """Halve every node along its axis; return the records, halves side by side, and where the right halves begin.

    ``order`` has the records node by node, each node's by stratum, and so has the result, half by half.
    """
    sizes = np.diff(offsets)
    node = np.repeat(np.arange(len(sizes)), sizes)
    own = strata[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (own[1:] != own[:-1]) | (node[1:] != node[:-1])
    begins = np.flatnonzero(new)
    lengths = np.diff(np.append(begins, len(order)))
    of = node[begins]
    before = begins - offsets[of]
    quota = (before + lengths + 1) // 2 - (before + 1) // 2
    run = np.repeat(np.arange(len(begins)), lengths)
    sorted_runs = np.argsort(run * ground.n + ground.ranks[axis[node], order])
    order = order[sorted_runs]
    right = np.arange(len(order)) - begins[run] >= quota[run]
    order = order[np.argsort(node * 2 + right, kind="stable")]
    return order, offsets[:-1] + np.add.reduceat(quota, np.searchsorted(of, np.arange(len(sizes))))


def halve_while(ground: Ground, strata: IntArray, valid: Callable[[Partition], BoolArray], least: int) -> Partition:
    """Halve while both halves are valid and have ``least`` records; a node that no attribute can halve is a group.

    Attributes are tried in the order of how far the node's records are spread in them.
    """
    done: list[tuple[IntArray, IntArray]] = []
    order, offsets = np.lexsort((ground.place, strata)), np.array([0, ground.n], np.int64)
    while len(offsets) > 1:
        made, stays = _level(ground, strata, order, offsets, valid, least)
        order, offsets = _joined(made)
        done += stays
    order, offsets = _joined(done)
    return Partition(order.astype(np.int32), offsets, ground.n)


def _level(
    ground: Ground,
    strata: IntArray,
    order: IntArray,
    offsets: IntArray,
    valid: Callable[[Partition], BoolArray],
    least: int,
) -> tuple[list[tuple[IntArray, IntArray]], list[tuple[IntArray, IntArray]]]:
    """Try to halve each node once; return the halves made and the nodes that stay."""
    small = np.diff(offsets) < 2 * least
    made: list[tuple[IntArray, IntArray]] = []
    stays = [taken(order, offsets, small)]
    order, offsets = taken(order, offsets, ~small)
    if len(offsets) == 1:
        return made, stays
    preference = np.argsort(-ground.spread(order, offsets), axis=0, kind="stable")
    for turn in range(len(preference)):
        tried, middle = halved(ground, strata, order, offsets, preference[turn])
        halves = np.append(np.stack([offsets[:-1], middle], axis=1).ravel(), offsets[-1])
        both = valid(Partition(tried.astype(np.int32), halves, ground.n)).reshape(-1, 2)
        good: BoolArray = both[:, 0] & both[:, 1]
        made.append(taken(tried, halves, np.repeat(good, 2)))
        order, offsets = taken(order, offsets, ~good)
        preference = preference[:, ~good]
        if len(offsets) == 1:
            break
    stays.append((order, offsets))
    return made, stays


def _joined(parts: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Put nodes from several places side by side."""
    sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(offsets) for _, offsets in parts)])
    order = np.concatenate([np.zeros(0, np.int64), *(order for order, _ in parts)])
    return order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def taken(order: IntArray, offsets: IntArray, chosen: BoolArray) -> tuple[IntArray, IntArray]:
    """Keep only the chosen nodes."""
    sizes = np.diff(offsets)
    kept = order[np.repeat(chosen, sizes)]
    return kept, np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64)
