"""Groups that are regions: a cut of the nesting tree.

A cluster of a dendrogram is a union of blocks of any shape; a reader of a nested release needs regions, of which the
innermost one that holds a point is the point's. So the groups are found in the tree of nested regions, from the inside
out: a region whose own block, with the blocks inside it that are in no group yet, satisfies the model becomes a
published region; else these blocks are left to the region around it.

Theorem: every record belongs to the innermost published region that holds it. Proof: a block's records lie in its
region and in the regions around it, and in no others. They are handed outwards from region to region until one is
published, and every region that was passed is not published.

What is left at the whole space, and is too little, needs companions: published regions directly under the whole space
are dissolved into it, the one with the fewest records first, because their records lose most: they get the box of the
whole space. Dissolving a region that has no other published one around it keeps the theorem. In the end everything may
be one group, which the model accepts, or nothing would.

Sizes alone are looked at where the model reads sizes alone (*blind*), else also values (*counted*).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import InfeasibleError
from reveil.models.statistics import GroupStats

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.models.base import Model


def published_regions(parents: CodeArray, model: Model, blocks: GroupStats) -> CodeArray:
    """Return for each block the published region that its records belong to.

    ``parents`` is the region around each one, -1 for the first, which is the whole space; regions come before those
    nested in them. Raises InfeasibleError where even everything together is not valid.
    """
    m = len(parents)
    depth = depths(parents)
    home = np.arange(m, dtype=np.int32)  # the region that each block's records are in, so far
    for level in range(int(depth.max(initial=0)), 0, -1):
        here = np.flatnonzero(depth == level)
        place = np.full(m, -1, np.int64)
        place[here] = np.arange(len(here))
        bad = here[~_valid(model, blocks, place[home], len(here))]
        outwards = np.arange(m, dtype=np.int32)
        outwards[bad] = parents[bad]
        home = outwards[home]
    return _dissolve_until_valid(parents, model, blocks, home)


def _dissolve_until_valid(parents: CodeArray, model: Model, blocks: GroupStats, home: CodeArray) -> CodeArray:
    """Dissolve regions directly under the whole space into it until what is there is valid."""
    sizes = np.zeros(len(parents), np.int64)
    many = 1
    while blocks.sizes[home == 0].any() and not _valid(model, blocks, np.where(home == 0, 0, -1), 1)[0]:
        sizes[:] = 0
        np.add.at(sizes, home, blocks.sizes)
        top = _outermost(parents, sizes > 0)
        if not len(top):
            raise InfeasibleError(
                f"the whole table does not satisfy {model!r}", hint="No grouping does then. Ask for no more."
            )
        few = top[np.argsort(sizes[top], kind="stable")][:many]
        outwards = np.arange(len(parents), dtype=np.int32)
        outwards[few] = 0
        home = outwards[home]
        many *= 2
    return home


def _outermost(parents: CodeArray, published: BoolArray) -> IntArray:
    """Return the published regions that have no published one around them but the whole space."""
    around = parents.copy()
    while (inner := (around > 0) & ~published[around]).any():
        around[inner] = parents[around[inner]]
    return np.flatnonzero(published & (around == 0))


def _valid(model: Model, blocks: GroupStats, into: IntArray, groups: int) -> BoolArray:
    """Ask the model about groups of blocks (-1: in none of them); a group without records is not valid."""
    chosen = into >= 0
    sizes = np.zeros(groups, np.int64)
    np.add.at(sizes, into[chosen], blocks.sizes[chosen])
    read = blocks.histograms if model.tags.reads_values else {}
    histograms = {name: histogram.select(chosen).coarsen(into[chosen], groups) for name, histogram in read.items()}
    return model.verdict(GroupStats(sizes, histograms, blocks.table)) & (sizes > 0)


def depths(parents: CodeArray) -> CodeArray:
    """Return how many regions are around each one."""
    depth = np.zeros(len(parents), np.int32)
    around = parents.copy()
    while (inner := around >= 0).any():
        depth += inner
        around = np.where(inner, parents[around], -1)
    return depth
