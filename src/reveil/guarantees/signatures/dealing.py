"""Who of those who are alike goes where: dealt along a curve through the quasi values, some of them at a time.

Everybody of a class (newcomers of one value; movers of one value who were told the same) may go to any of the places
that were decided on for the class. The i-th of n places of a signature stands at (i + 1/2)/n of the curve, and the r-th
of the class along the curve takes the r-th place. So each signature gets people from everywhere, of all its values
about equally far along the curve, and whoever has some of a class only knows who goes where.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import ranks_in_rows

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray


@dataclass(frozen=True)
class Places:
    """The places of a class: ``amounts[i]`` of them are of the signature ``sets[i]``, ascending."""

    sets: IntArray = field(repr=False)
    amounts: IntArray = field(repr=False)

    @property
    def size(self) -> int:
        """How many places there are."""
        return int(self.amounts.sum())

    def dealt(self, first: int, end: int) -> IntArray:
        """Return the signatures of those who stand at these ranks of the class along the curve."""
        size, many = self.size, len(self.amounts)
        if not 0 <= first <= end <= size:
            raise ValueError("there are not so many places")
        if many == 1:
            return np.full(end - first, self.sets[0], np.int64)
        slack = many + 8  # before a point of the curve there are as many places as its share of all, but for so many
        low, high = (first - slack) / max(size, 1), (end + slack) / max(size, 1)
        starts = np.clip(np.ceil(low * self.amounts - 0.5), 0, self.amounts).astype(np.int64)
        ends = np.clip(np.ceil(high * self.amounts - 0.5), 0, self.amounts).astype(np.int64)
        lengths = ends - starts
        owner = np.repeat(np.arange(many), lengths)
        number = ranks_in_rows(lengths) + starts[owner]
        at = (number + 0.5) / self.amounts[owner]
        order = np.lexsort((owner, at))
        before = int(starts.sum())
        return self.sets[owner[order[first - before : end - before]]]


def places_among(ranks: IntArray, there: IntArray, groups: IntArray) -> IntArray:
    """Return in which of so many groups, along the curve, the records stand of whom so many are there.

    Where there are fewer records than groups, the holes are spread over all of them.
    """
    return np.asarray((2 * ranks + 1) * groups // (2 * there), np.int64)
