"""The dendrogram: blocks merged with their neighbours, densest first, into one binary tree that any model can cut.

A plain densest-first linkage makes chains: one cluster grows block by block, every merge has a single block on one
side, and a cut from the top stops at once. So blocks are merged in rounds. In each round the clusters, in the order of
falling density (records over volume), each take the best neighbour that is still free: the one with which the
certainty penalty of the joint bounding box grows least, then the one of closest density. (Density alone as the
criterion for *whom* to take gives groups that are up to several times as wide.) A cluster that finds nobody free joins
its best neighbour before that one joins its mate.

Theorem: after r rounds every cluster is made of at least 2**r blocks, so there are at most log2(m) rounds for m
blocks. Proof: the neighbourhood is connected, because clusters that are next to each other in number are neighbours,
and a cluster without a mate has only neighbours with one (else it would have taken one). So every cluster of a round is
joined with at least one other.

Corollary: where every block has at least M records, a cut for k up to M * 2**r is at least as fine as the clusters
after r rounds: every child of a node above them is a union of some of them, and so has k records. No small block is
left over until the end, which would stop every cut at the root.

What is looked at is sizes, volumes and boxes of quasi values: building is *blind*. A cut asks the model, and is blind
when the model reads sizes alone, else *counted*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, offsets_of, spans
from reveil.core.errors import InfeasibleError
from reveil.core.kernels import dendrogram as kernel
from reveil.models.statistics import GroupStats, Histogram

if TYPE_CHECKING:
    from reveil.models.base import Model

FloatArray = npt.NDArray[np.float64]

_LEAST_VOLUME = 1e-290  # so that densities stay finite, however often space was halved


@dataclass(frozen=True)
class Dendrogram:
    """A binary tree over blocks. Node v has the children ``left[v]`` and ``right[v]``, a leaf has none (-1).

    ``leaves[b]`` is the leaf of block b, -1 if there is no such block. Nodes that do not hang under ``root`` are left
    over from changes.
    """

    left: CodeArray
    right: CodeArray
    parents: CodeArray
    leaves: CodeArray
    root: int

    @classmethod
    def of(
        cls,
        sizes: IntArray,
        volumes: FloatArray,
        lo: FloatArray,
        hi: FloatArray,
        pairs: tuple[CodeArray, CodeArray],
    ) -> Dendrogram:
        """Merge blocks, given in the order of their keys, to the end.

        ``lo`` and ``hi`` (blocks, attributes) are the boxes of their records in normalised positions, ``pairs`` are
        neighbours; blocks that are next to each other in the order are neighbours anyway.
        """
        m = len(sizes)
        left, right = np.full(2 * m - 1, -1, np.int32), np.full(2 * m - 1, -1, np.int32)
        clusters = kernel.Clusters(
            np.arange(m, dtype=np.int32),
            sizes.astype(np.float64),
            np.maximum(volumes, _LEAST_VOLUME),
            lo.copy(),
            hi.copy(),
        )
        neighbours = kernel.contract(kernel.listed(*pairs, m), np.arange(m), m)
        made = m
        while len(clusters.nodes) > 1:
            densities = (
                np.maximum(clusters.sizes, 0.5) / clusters.volumes
            )  # a block without records is not infinitely far
            falling = np.argsort(-densities, kind="stable")
            mates, anchors = kernel.match(neighbours, clusters, densities, falling)
            over = np.flatnonzero(mates < 0)
            # The smallest deepest: it is the first to be too small.
            over = over[np.argsort(clusters.sizes[over], kind="stable")]
            into, heads, made = kernel.join(mates, anchors, over, clusters, left, right, made)
            neighbours = kernel.contract(neighbours, into, len(heads))
            clusters = kernel.Clusters(*(array[heads] for array in clusters))
        parents = np.full(2 * m - 1, -1, np.int32)
        inner = np.arange(m, 2 * m - 1, dtype=np.int32)
        parents[left[inner]], parents[right[inner]] = inner, inner
        return cls(left, right, parents, np.arange(m, dtype=np.int32), int(clusters.nodes[0]))

    @cached_property
    def _places(self) -> tuple[CodeArray, CodeArray, CodeArray]:
        leaves, starts, ends = kernel.places(self.left, self.right, self.root)
        block_of = np.full(len(self.left), -1, np.int32)
        present = np.flatnonzero(self.leaves >= 0).astype(np.int32)
        block_of[self.leaves[present]] = present
        return block_of[leaves], starts, ends

    @property
    def order(self) -> CodeArray:
        """The blocks from left to right: every node is a range of this order."""
        return self._places[0]

    def cut(self, model: Model, blocks: GroupStats) -> CodeArray:
        """Return the group of each block: from the root, go down while both children satisfy the model.

        ``blocks`` are the statistics of the blocks; no record is looked at. Blocks without records are in no group
        (-1). Groups are numbered from left to right. Every node that is a group was judged valid; a model need not be
        monotone for that. For one that is not, a finer valid cut may lie below an invalid child, and is not searched.
        Raises InfeasibleError where the root is invalid.
        """
        order, starts, ends = self._places
        judge = _Judge(model, blocks, order)
        frontier = np.array([self.root], np.int32)
        if not judge.valid(starts[frontier], ends[frontier])[0]:
            raise InfeasibleError(
                f"the whole table does not satisfy {model!r}",
                hint="No grouping does then. Ask for no more than it has.",
            )
        groups = []
        while len(frontier):
            is_leaf = self.left[frontier] < 0
            groups.append(frontier[is_leaf])
            inner = frontier[~is_leaf]
            children = np.stack([self.left[inner], self.right[inner]], axis=1)
            filled = judge.sizes(starts[children], ends[children]) > 0
            both = filled.all(axis=1)
            split = children[both]
            good = judge.valid(starts[split.ravel()], ends[split.ravel()]).reshape(-1, 2).all(axis=1)
            groups.append(inner[both][~good])
            # Where one child has no records, the node is the other child.
            frontier = np.concatenate([split[good].ravel(), children[~both][filled[~both]]])
        chosen = np.concatenate(groups)
        chosen = chosen[judge.sizes(starts[chosen], ends[chosen]) > 0]
        chosen = chosen[np.argsort(starts[chosen], kind="stable")]
        labels = np.full(len(self.leaves), -1, np.int32)
        first = starts[chosen].astype(np.int64)
        many = ends[chosen] - first
        labels[order[spans(first, many)]] = np.repeat(np.arange(len(chosen), dtype=np.int32), many)
        labels[blocks.sizes == 0] = -1
        return labels

    def split(self, old: CodeArray, new: CodeArray) -> Dendrogram:
        """Let block ``old[i]`` become a node over itself and block ``new[i]``, one i after another; all else stays."""
        if not len(old):
            return self
        made = len(self.left)
        left, right, parents = (np.append(links, np.full(2 * len(old), -1, np.int32)) for links in self._links)
        room = max(int(new.max()) + 1 - len(self.leaves), 0)
        leaves = np.append(self.leaves, np.full(room, -1, np.int32))
        root, _ = kernel.split(kernel.Links(left, right, parents, leaves), old, new, self.root, made)
        return Dendrogram(left, right, parents, leaves, root)

    def without(self, gone: CodeArray) -> Dendrogram:
        """Take blocks out; the sibling of each takes the place of their parent, and all else stays."""
        if not len(gone):
            return self
        left, right, parents, leaves = (links.copy() for links in (*self._links, self.leaves))
        root = kernel.remove(kernel.Links(left, right, parents, leaves), gone, self.root)
        return Dendrogram(left, right, parents, leaves, root)._tidied()

    def numbered(self, numbers: CodeArray) -> Dendrogram:
        """Return the same tree over blocks with other numbers: block b is called ``numbers[b]``."""
        leaves = np.full(int(numbers.max()) + 1, -1, np.int32)
        leaves[numbers] = self.leaves
        return Dendrogram(self.left, self.right, self.parents, leaves, self.root)

    def _tidied(self) -> Dendrogram:
        """Forget nodes that are not in the tree any more, once they are the most."""
        order, starts, ends = self._places
        if len(self.left) <= 4 * len(order):
            return self
        kept = ends > starts
        number = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        renamed = (np.where(links < 0, -1, number[links]).astype(np.int32) for links in (*self._links, self.leaves))
        left, right, parents, leaves = renamed
        return Dendrogram(left[kept], right[kept], parents[kept], leaves, int(number[self.root]))

    @property
    def _links(self) -> tuple[CodeArray, CodeArray, CodeArray]:
        return self.left, self.right, self.parents


class _Judge:
    """Asks a model about ranges of blocks."""

    def __init__(self, model: Model, blocks: GroupStats, order: CodeArray) -> None:
        self.model, self.table = model, blocks.table
        read = blocks.histograms if model.tags.reads_values else {}
        self.values = {name: _in_order(column, order) for name, column in read.items()}
        self.until = offsets_of(blocks.sizes[order])

    def sizes(self, starts: CodeArray, ends: CodeArray) -> IntArray:
        """Return the number of records in each range."""
        return self.until[ends] - self.until[starts]

    def valid(self, starts: CodeArray, ends: CodeArray) -> BoolArray:
        """Return which ranges satisfy the model; those too small for it are not counted out."""
        sizes = self.sizes(starts, ends)
        large = np.flatnonzero(sizes >= self.model.minimum_size)
        histograms = {
            name: _over(histogram_values, starts[large], ends[large]) for name, histogram_values in self.values.items()
        }
        good: BoolArray = sizes == 0
        good[large] = self.model.verdict(GroupStats(sizes[large], histograms, self.table))
        return good


def _over(histogram: Histogram, starts: CodeArray, ends: CodeArray) -> Histogram:
    """Return the counts of ranges of groups."""
    first = histogram.values.offsets[starts]
    many = histogram.values.offsets[ends] - first
    entries = spans(first, many)
    groups = np.repeat(np.arange(len(starts)), many)
    return Histogram.of_counts(
        groups, histogram.codes[entries], histogram.counts[entries], len(starts), histogram.domain
    )


def _in_order(histogram: Histogram, order: CodeArray) -> Histogram:
    """Return the groups in another order."""
    _, entries = histogram.values.places(order.astype(np.int64))
    return Histogram(histogram.values.take(order.astype(np.int64)), histogram.counts[entries], histogram.domain)
