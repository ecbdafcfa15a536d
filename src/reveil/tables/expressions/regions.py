"""Regions: how the values of one column fall apart under an expression, and the cells with them.

The tests of an expression divide a column's values into *pieces* on which every test is constant: stretches of a
line, or single words; null is a piece of its own. Pieces on which the expression cannot tell a difference are one
*region*. For every published cell, a :class:`Spread` says which regions the cell meets (exactly) and which share of
the cell lies in each, values within a cell taken as equally likely:

* whole numbers and dates by number, finer types by length;
* sets by members, labels of a hierarchy by leaves;
* null among others is one more value. Floating point numbers, decimals and times are too fine to be counted; there
  null stands beside as many values as the release has published ends inside the interval.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray

Numbers = npt.NDArray[Any]  # floats, 64-bit integers or Python's own
FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Spread:
    """For each region (rows) and cell (columns): how much of the cell lies there, and whether the two meet at all."""

    amounts: Numbers
    measure: Numbers
    meets: BoolArray

    def share(self, regions: list[int]) -> FloatArray:
        """Return the share of each cell in the regions together."""
        amount = self.amounts[regions[0]] if len(regions) == 1 else self.amounts[regions].sum(axis=0)
        share: FloatArray = (amount / self.measure).astype(np.float64, copy=False)
        return share

    def possible(self, regions: list[int]) -> BoolArray:
        """Return which cells meet one of the regions."""
        found: BoolArray = self.meets[regions[0]] if len(regions) == 1 else np.any(self.meets[regions], axis=0)
        return found


class Division(ABC):
    """A column's values in pieces; ``truths[i]`` says on which of them test i holds."""

    truths: list[BoolArray]
    cells: int

    @abstractmethod
    def spread(self, region: IntArray, regions: int, cells: IndexArray | None = None) -> Spread:
        """Spread the distinct cells, or the given ones of them, over regions; ``region`` is that of each piece."""


class CountedDivision(Division):
    """A division whose cells have a known number of values, so that what lies inside another cell can be taken away."""

    @abstractmethod
    def counts(self, region: IntArray, regions: int) -> Numbers:
        """Return for each region (rows) and distinct cell (columns) how many values they share; exact."""

    @abstractmethod
    def within(self, region: IntArray, regions: int, inner: IndexArray, outer: IndexArray) -> FloatArray:
        """Return for each region (rows) the share of each outer cell that lies in it and in the inner cell beside."""


@dataclass(frozen=True)
class ColumnRegions:
    """The regions of one column under an expression."""

    division: Division
    region: IntArray
    number: int

    def spread(self, cells: IndexArray | None = None) -> Spread:
        """Spread the distinct cells, or the given ones of them."""
        return self.division.spread(self.region, self.number, cells)

    @property
    def counted(self) -> CountedDivision:
        """The division, where the number of values in a cell is known; labels without their hierarchy have none."""
        if not isinstance(self.division, CountedDivision):
            raise TypeError("the values of these cells cannot be counted")
        return self.division

    def counts(self) -> Numbers:
        """Count the values of each distinct cell, region by region."""
        return self.counted.counts(self.region, self.number)

    def within(self, inner: IndexArray, outer: IndexArray) -> FloatArray:
        """Measure inner cells by the outer ones around them, region by region."""
        return self.counted.within(self.region, self.number, inner, outer)
