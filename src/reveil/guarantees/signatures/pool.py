"""New records by value along a curve: those that are near to a place, each taken once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import Ragged, offsets_of
from reveil.core.kernels import nearest_free
from reveil.guarantees.signatures.sets import Sets

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.guarantees.signatures.frequencies import Step
    from reveil.guarantees.signatures.space import Space

REGION_ROWS = 500_000  # new records that are drawn together; more are drawn region by region


class FreeRecords:
    """New records by value along the curve, from which each is taken once.

    To the kernels the records of the pool are 0, 1, 2 ..., and those that others are to be near to come behind them.
    """

    def __init__(self, records: CodeArray, values: CodeArray, space: Space, width: int) -> None:
        self.values, self.space, self.width = values, space, width
        order = np.lexsort((space.ranks[records], values[records]))
        self.ordered = records[order].astype(np.int32)
        self.starts = starts_of(values[self.ordered], width)
        self.links = np.arange(len(records) + 1, dtype=np.int64), np.arange(len(records) + 1, dtype=np.int64)
        self.left = np.diff(self.starts)

    def _pool_beside(self, targets: CodeArray) -> nearest_free.Pool:
        """Return the pool as kernels see it, beside some other records."""
        every = np.concatenate([self.ordered, targets])
        numbers = np.arange(len(self.ordered), dtype=np.int32)
        return nearest_free.Pool(numbers, self.starts, *self.links, self.space.ranks[every], self.space.points[every])

    def _named(self, taken: CodeArray) -> CodeArray:
        return np.append(self.ordered, np.int32(-1))[taken]

    def fill(self, wanted: CodeArray, anchors: CodeArray, quota: IntArray) -> CodeArray:
        """Take a near record for each hole, as far as the quota goes."""
        if not len(wanted) or not quota.any():
            return np.full(len(wanted), -1, np.int32)
        targets, of_hole = np.unique(anchors, return_inverse=True)
        near = (of_hole + len(self.ordered)).astype(np.int32)
        taken = self._named(nearest_free.fill_holes(self._pool_beside(targets), quota, wanted, near))
        self.left = self.left - np.bincount(wanted[taken >= 0], minlength=len(self.left))
        return taken

    def gather(
        self, movers: CodeArray, told: Sets, starts: IntArray, domain: CodeArray, m: int
    ) -> tuple[CodeArray, CodeArray]:
        """Form groups around movers."""
        every = np.concatenate([self.ordered, movers]).astype(np.int32)
        numbers = np.arange(len(self.ordered), len(every), dtype=np.int32)
        given = nearest_free.Movers(numbers, told.members, told.offsets)
        records, values = nearest_free.gather_groups(
            given, starts, self._pool_beside(movers), self.left, self.values[every], domain, m
        )
        return np.append(every, np.int32(-1))[records], values

    def draw(self, plan: list[Step]) -> tuple[Sets, Ragged[np.int32]]:
        """Draw the records of each step, by step and value; a step without any is no bucket.

        A large pool is drawn region by region of the curve: each region as much of each step as it has of all its
        values, and no more than its share; the records that are left over are drawn together.
        """
        sets = Sets.of([step.values.tolist() for step in plan])
        amounts = np.array([step.amount for step in plan], np.int64)
        regions = -(-int(self.left.sum()) // REGION_ROWS)
        if regions <= 1:
            return self._drawn(sets, amounts)
        free = self._free()
        place = np.argsort(self.space.ranks[free], kind="stable")
        found = []
        for part in np.array_split(free[place], regions):
            region = FreeRecords(part, self.values, self.space, self.width)
            share = amounts * len(part) // len(free)
            mine = np.zeros_like(amounts)
            left = region.left.copy()
            for j, step in enumerate(plan):
                mine[j] = min(int(share[j]), int(left[step.values].min()))
                left[step.values] -= mine[j]
            found.append(region._drawn(sets, mine))
            amounts = amounts - mine
        taken = np.concatenate([records.items for _, records in found])
        rest = FreeRecords(np.setdiff1d(free, taken), self.values, self.space, self.width)
        found.append(rest._drawn(sets, amounts))
        self.left = rest.left
        return (
            Sets(Ragged.concatenate([drawn.lists for drawn, _ in found])),
            Ragged.concatenate([records for _, records in found]),
        )

    def _free(self) -> CodeArray:
        """Return the records that nobody took; the links of one that was taken lead on."""
        free: BoolArray = self.links[0][:-1] == np.arange(len(self.ordered))
        return self.ordered[free]

    def _drawn(self, sets: Sets, amounts: IntArray) -> tuple[Sets, Ragged[np.int32]]:
        pool = self._pool_beside(self.ordered[:0])
        order, offsets = nearest_free.draw_steps(pool, self.left, sets.members, sets.offsets, amounts)
        return sets, Ragged(offsets, self._named(order))


def starts_of(values: CodeArray, width: int) -> IntArray:
    """Return where the records of each value begin, in an order by value, and at last where they end."""
    return offsets_of(np.bincount(values, minlength=width))
