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

from reveil.core.arrays import BoolArray, IntArray, Ragged
from reveil.grouping.hilbert import along_curve
from reveil.models.statistics import Partition

if TYPE_CHECKING:
    from collections.abc import Callable

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

    def spread(self, nodes: Ragged[np.int64]) -> FloatArray:
        """Return how far the records of each node are spread in each attribute: (attributes, nodes)."""
        sizes = nodes.lengths
        out = np.empty((len(self.points), len(sizes)))
        for a, points in enumerate(self.points):
            places = points[nodes.items]
            mean = nodes.reduce(np.add, places) / sizes
            out[a] = nodes.reduce(np.add, np.abs(places - np.repeat(mean, sizes))) / sizes
        return out


def halved(ground: Ground, strata: IntArray, nodes: Ragged[np.int64], axis: IntArray) -> Ragged[np.int64]:
    """Halve every node along its axis, (nodes); return the halves, left and right ones in turn.

    A node lists its records by stratum, and so does each half.
    """
    order, node = nodes.items, nodes.owners()
    stratum = strata[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (stratum[1:] != stratum[:-1]) | (node[1:] != node[:-1])
    begins = np.flatnonzero(new)
    lengths = np.diff(np.append(begins, len(order)))
    of = node[begins]
    before = begins - nodes.offsets[of]
    quota = (before + lengths + 1) // 2 - (before + 1) // 2
    run = np.repeat(np.arange(len(begins)), lengths)
    sorted_runs = np.argsort(run * ground.n + ground.ranks[axis[node], order])
    order = order[sorted_runs]
    right = np.arange(len(order)) - begins[run] >= quota[run]
    left = Ragged.of_sorted_owners(of, len(nodes), quota).reduce(np.add, quota)
    return Ragged.of_lengths(
        np.stack([left, nodes.lengths - left], axis=1).ravel(), order[np.argsort(node * 2 + right, kind="stable")]
    )


def halve_while(ground: Ground, strata: IntArray, valid: Callable[[Partition], BoolArray], least: int) -> Partition:
    """Halve while both halves are valid and have ``least`` records; a node that no attribute can halve is a group.

    Attributes are tried in the order of how far the node's records are spread in them.
    """
    none = Ragged.of_lengths([], np.zeros(0, np.int64))
    done = [none]
    nodes = Ragged.of_lengths([ground.n], np.lexsort((ground.place, strata)))
    while len(nodes):
        made, stays = _level(ground, strata, nodes, valid, least)
        nodes = Ragged.concatenate([none, *made])
        done += stays
    groups = Ragged.concatenate(done)
    return Partition(groups.items.astype(np.int32), groups.offsets, ground.n)


def _level(
    ground: Ground, strata: IntArray, nodes: Ragged[np.int64], valid: Callable[[Partition], BoolArray], least: int
) -> tuple[list[Ragged[np.int64]], list[Ragged[np.int64]]]:
    """Try to halve each node once; return the halves made and the nodes that stay."""
    small = nodes.lengths < 2 * least
    made: list[Ragged[np.int64]] = []
    stays = [nodes.take(np.flatnonzero(small))]
    nodes = nodes.take(np.flatnonzero(~small))
    if not len(nodes):
        return made, stays
    preference = np.argsort(-ground.spread(nodes), axis=0, kind="stable")
    for turn in range(len(preference)):
        halves = halved(ground, strata, nodes, preference[turn])
        both = valid(Partition(halves.items.astype(np.int32), halves.offsets, ground.n)).reshape(-1, 2)
        good: BoolArray = both[:, 0] & both[:, 1]
        made.append(halves.take(np.flatnonzero(np.repeat(good, 2))))
        nodes = nodes.take(np.flatnonzero(~good))
        preference = preference[:, ~good]
        if not len(nodes):
            break
    stays.append(nodes)
    return made, stays
