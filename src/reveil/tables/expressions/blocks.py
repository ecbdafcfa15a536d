"""Blocks: boxes without the boxes nested in them, sent through a decision diagram.

Regions of space add up: what satisfies an expression in a block is what does in its box, less what does in each of the
boxes directly inside. That is asked twice. For bounds in exact integers, every box having as many points as there are
combinations of values (on a line of floats: of the floats there are): a block is *possible* when one of its points
satisfies the expression, *certain* when none does not. For estimates in shares of the enclosing box, measured as
elsewhere: whole numbers and members by number, finer numbers by length, null by its share in the enclosing box.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import BoolArray, IntArray, Ragged, offsets_of, ranks_in_rows
from reveil.tables.expressions.diagram import FALSE, TRUE, Diagram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.tables.expressions.regions import FloatArray, IndexArray, Numbers

THIN = 1e-9  # a share of a box below which what is left of it has no volume to speak of


@dataclass(frozen=True)
class BlockBoxes:
    """The boxes of some blocks, block by block: the enclosing box first, then those directly inside it.

    ``starts`` is where each block begins. ``counts`` and ``shares`` have, for each column of a diagram, the values of
    each piece and its share of the enclosing cell in each region; ``other_counts`` and ``other_shares`` are the
    products over the columns that the diagram does not ask about.
    """

    starts: IntArray
    counts: Sequence[Numbers]
    shares: Sequence[FloatArray]
    other_counts: Numbers
    other_shares: FloatArray


def block_outcomes(diagram: Diagram, pieces: BlockBoxes) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return for each block which share of it satisfies, whether all of it does, and whether any."""
    good, bad = (_left(found, pieces.starts) for found in _sent(diagram, pieces.counts, pieces.other_counts))
    certain, possible = (bad <= 0).astype(np.bool_), (good > 0).astype(np.bool_)
    hit, missed = _sent(diagram, pieces.shares, pieces.other_shares)
    whole = hit[pieces.starts]  # the share of the enclosing box
    hit, missed = (_left(found, pieces.starts) for found in (hit, missed))
    room = hit + missed
    # What is left may have no volume: points and lines between boxes of floats. There the box has to answer.
    thin = ~(room > THIN)
    share = np.where(thin, whole, np.clip(hit, 0, room) / np.where(thin, 1.0, room))
    share = np.where(certain, 1.0, np.where(possible, share, 0.0))
    return share, certain & possible, possible


def _left(found: Numbers, starts: IntArray) -> Numbers:
    """Take what is inside away from the enclosing box."""
    signed = -found
    signed[starts] = found[starts]
    left: Numbers = np.add.reduceat(signed, starts)
    return left


def _sent(diagram: Diagram, columns: Sequence[Numbers], others: Numbers) -> tuple[Numbers, Numbers]:
    """Return how much of each piece ends at true and at false."""
    arrived: dict[int, Numbers] = {diagram.root: others}
    for nodes, amounts in zip(diagram.levels, columns, strict=True):
        reached: dict[int, Numbers] = {}
        for node, mass in arrived.items():
            # What a node does not ask about, it passes on whole.
            children = nodes.get(node, (node,) * len(amounts))
            for child in set(children):
                ways = [region for region, below in enumerate(children) if below == child]
                going = mass * amounts[ways].sum(axis=0)
                reached[child] = reached[child] + going if child in reached else going
        arrived = reached
    nothing = np.zeros_like(others)
    return arrived.get(TRUE, nothing), arrived.get(FALSE, nothing)


def pieces_of(owners: IndexArray, children: Ragged[np.int64]) -> tuple[IntArray, IntArray, IntArray]:
    """List the pieces of the blocks of some classes: the box of the class, and those of its children.

    Returns where each block begins, (owners), and the owner's place and the box of each piece, (pieces).
    """
    many = children.lengths[owners] + 1
    starts = offsets_of(many)[:-1]
    place = np.repeat(np.arange(len(owners)), many)
    rank = ranks_in_rows(many)
    box = owners[place].astype(np.int64)
    box[rank > 0] = children.items[children.places(owners)[1]]
    return starts, place.astype(np.int64), box
