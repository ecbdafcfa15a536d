"""PeopleRegions of quasi values: every person lies in one, and a published box goes into each that it touches.

PeopleRegions are cut where fewest boxes are cut. Any regions give the same candidates; these give few copies of boxes.
How many people a region has is told by the boxes whose middle lies in it: wide boxes touch many regions, and if these
counted, there would be more regions than people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from reveil.core.arrays import BoolArray, CodeArray, IntArray

    FloatArray = npt.NDArray[np.float64]

_WORTH = 0.9  # of the boxes of a region, beyond which a cut leaves too many on one side
_DEEPEST = 40


@dataclass(frozen=True)
class PeopleRegions:
    """A tree of cuts. Node i sends codes of ``attribute[i]`` up to ``code[i]`` to node ``below[i]``, others behind it.

    A node that is not cut (attribute -1) is a region.
    """

    attribute: CodeArray = field(repr=False)
    code: CodeArray = field(repr=False)
    below: CodeArray = field(repr=False)

    @classmethod
    def around(cls, lo: CodeArray, hi: CodeArray, most: int) -> PeopleRegions:
        """Cut regions until none has more than ``most`` middles of some boxes, whose hulls are (boxes, attributes)."""
        attribute, code, below = [-1], [-1], [-1]
        middle = lo + (hi - lo) // 2
        every = np.arange(len(lo))
        open_: list[tuple[int, int, IntArray, IntArray]] = [(0, 0, every, every)]
        while open_:
            node, depth, boxes, middles = open_.pop()
            cut = None if len(middles) <= most or depth >= _DEEPEST else _best(lo[boxes], hi[boxes])
            if cut is None:
                continue
            along, last = cut
            attribute[node], code[node], below[node] = along, last, len(attribute)
            touched = (boxes[lo[boxes, along] <= last], boxes[hi[boxes, along] > last])
            inside = (middles[middle[middles, along] <= last], middles[middle[middles, along] > last])
            open_ += [(len(attribute) + side, depth + 1, touched[side], inside[side]) for side in range(2)]
            for column in (attribute, code, below):
                column += [-1, -1]
        return cls(*(np.array(column, np.int32) for column in (attribute, code, below)))

    def bundles(self, people: FloatArray, most: float) -> CodeArray:
        """Return for each region one number for regions that lie together and have so many people together, at most.

        A small release has few ``people`` in each region, and is looked at in larger pieces.
        """
        nodes = range(len(self.attribute))
        together, around = people.copy(), np.zeros(len(nodes), np.int32)
        for node in reversed(nodes):
            if self.attribute[node] >= 0:
                below = self.below[node]
                together[node] = together[below] + together[below + 1]
                around[below : below + 2] = node
        bundle = np.zeros(len(nodes), np.int32)
        for node in nodes[1:]:  # what lies around a node has a smaller number
            bundle[node] = node if together[around[node]] > most else bundle[around[node]]
        return bundle

    def share_of(self, lo: CodeArray, hi: CodeArray) -> FloatArray:
        """Return the share of some boxes that has its middle in each region."""
        middle = lo + (hi - lo) // 2
        regions = self.of_points(list(np.ascontiguousarray(middle.T)), len(middle))
        shares: FloatArray = np.bincount(regions, minlength=len(self.attribute)) / max(len(middle), 1)
        return shares

    @property
    def many(self) -> int:
        """How many regions there are."""
        return int((self.attribute < 0).sum())

    def of_points(self, codes: Sequence[CodeArray], many: int) -> CodeArray:
        """Return the region of each of so many persons, given their codes column by column."""
        node, inside = np.zeros(many, np.int32), np.arange(many)
        table = np.stack(codes) if codes else np.zeros((0, many), np.int32)
        while len(inside := inside[self.attribute[node[inside]] >= 0]):
            here = node[inside]
            node[inside] = self.below[here] + (table[self.attribute[here], inside] > self.code[here])
        return node

    def of_boxes(self, lo: CodeArray, hi: CodeArray) -> tuple[IntArray, CodeArray]:
        """Return all pairs of a box and a region that it touches."""
        box, node = np.arange(len(lo)), np.zeros(len(lo), np.int32)
        found: list[tuple[IntArray, CodeArray]] = [(box[:0], node[:0])]
        while len(box):
            inner: BoolArray = self.attribute[node] >= 0
            found.append((box[~inner], node[~inner]))
            box, node = box[inner], node[inner]
            along, code, below = self.attribute[node], self.code[node], self.below[node]
            left, right = lo[box, along] <= code, hi[box, along] > code
            box = np.concatenate([box[left], box[right]])
            node = np.concatenate([below[left], below[right] + 1]).astype(np.int32)
        return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])


def _best(lo: CodeArray, hi: CodeArray) -> tuple[int, int] | None:
    """Return the cut that leaves the fewest boxes on its larger side, None where none is worth it."""
    many = len(lo)
    best: tuple[int, int, int] | None = None
    for along in range(lo.shape[1]):
        starts, ends = np.sort(lo[:, along]), np.sort(hi[:, along])
        codes = np.unique(ends)[:-1]
        if not len(codes):
            continue
        left = np.searchsorted(starts, codes, side="right")
        right = many - np.searchsorted(ends, codes, side="right")
        worse = np.maximum(left, right)
        at = int(worse.argmin())
        if best is None or worse[at] < best[0]:
            best = int(worse[at]), along, int(codes[at])
    return None if best is None or best[0] > _WORTH * many else best[1:]
