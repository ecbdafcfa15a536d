"""Space in cells, where records meet the boxes around them: a record is in one cell, a box in all that it touches.

Points are halved again and again in the column in which they are widest beside the boxes. A few points of the table
decide where; that is for balance alone: whatever the cells are, every box that holds a point is in the point's cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray, IntArray

    Points = npt.NDArray[np.int32]  # a row for each, a column for each attribute

_LEAF = -1


@dataclass(frozen=True)
class SpaceCells:
    """A tree of halves: a node's points up to ``threshold`` in ``column`` are in its first child, others in the next.

    A node without a column is a cell, and its number is that of the node.
    """

    column: IntArray = field(repr=False)
    threshold: IntArray = field(repr=False)
    child: IntArray = field(repr=False)

    @classmethod
    def of(cls, points: Points, cells: int, rooms: npt.NDArray[np.float64]) -> SpaceCells:
        """Halve space until there are so many cells, as far as these points are apart.

        ``rooms`` is how wide boxes are in each column.
        """
        column, threshold, child = [_LEAF], [0], [_LEAF]
        level = [(0, np.arange(len(points)))]
        while level and (len(column) + 1) // 2 < cells:
            below = []
            for node, members in level:
                found = _half(points[members], rooms)
                if found is None:
                    continue
                column[node], threshold[node] = found
                child[node] = len(column)
                inside = points[members, found[0]] <= found[1]
                for part in (members[inside], members[~inside]):
                    below.append((len(column), part))
                    column.append(_LEAF)
                    threshold.append(0)
                    child.append(_LEAF)
            level = below
        return cls(np.array(column, np.int64), np.array(threshold, np.int64), np.array(child, np.int64))

    def of_points(self, points: Points) -> CodeArray:
        """Return the cell of each point."""
        node = np.zeros(len(points), np.int64)
        rows = np.arange(len(points))
        while len(rows):
            rows = rows[self.column[node[rows]] >= 0]
            at = node[rows]
            node[rows] = self.child[at] + (points[rows, self.column[at]] > self.threshold[at])
        return node.astype(np.int32)

    def of_boxes(self, lo: Points, hi: Points) -> tuple[IntArray, CodeArray]:
        """Return all pairs of a box, from ``lo`` to ``hi`` in each column, and a cell that it touches."""
        box, node = np.arange(len(lo)), np.zeros(len(lo), np.int64)
        boxes, cells = [], []
        while len(box):
            done = self.column[node] < 0
            boxes.append(box[done])
            cells.append(node[done])
            box, node = box[~done], node[~done]
            column, threshold, child = self.column[node], self.threshold[node], self.child[node]
            first, second = lo[box, column] <= threshold, hi[box, column] > threshold
            box, node = np.concatenate([box[first], box[second]]), np.concatenate([child[first], child[second] + 1])
        return np.concatenate([np.zeros(0, np.int64), *boxes]), np.concatenate([np.zeros(0, np.int64), *cells]).astype(
            np.int32
        )


def _half(points: Points, rooms: npt.NDArray[np.float64]) -> tuple[int, int] | None:
    """Return the column in which points are halved, and up to where; None where they are all alike."""
    if not points.size:
        return None
    least, most = points.min(axis=0).astype(np.int64), points.max(axis=0).astype(np.int64)
    column = int(((most - least) / (rooms + 1)).argmax())
    if least[column] == most[column]:
        apart = np.flatnonzero(most > least)
        if not len(apart):
            return None
        column = int(apart[0])
    values = np.sort(points[:, column])
    threshold = int(values[(len(values) - 1) // 2])
    if threshold == most[column]:
        threshold = int(values[np.searchsorted(values, threshold) - 1])
    return column, threshold
