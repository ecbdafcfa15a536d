"""Nested boxes: which published box lies directly inside which, found from the published cells alone.

In a nested release a row stands for the *block* of its box: the part that no box further inside holds. Whoever reads
such a release (counts, measures, an adversary, verification) asks here for the box around each box. Boxes that overlap
without one being inside the other, or whose levels do not grow inwards, are no nesting and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged
from reveil.core.errors import VerificationError
from reveil.releases.box_search import points_in_boxes
from reveil.tables.expressions.lines import Intervals
from reveil.tables.expressions.word_sets import members_of
from reveil.tables.notation import Form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import polars as pl

    from reveil.releases.release import Release
    from reveil.tables.expressions.regions import Numbers

Indices = npt.NDArray[np.integer]

_FITS = 61  # bits of a product that surely fits a 64-bit integer
_WIDEST = 1 << 30  # to which codes are stretched
HINT = "Regions are nested or disjoint, and the inner one has the higher level. Use the table that was published."


class IntervalCells:
    """The distinct cells of a column of intervals: places of their ends among all published ends, null behind them.

    ``sizes`` is how many values a cell admits on the line of integers (floats: that there are), null being one.
    """

    def __init__(self, cells: pl.Series) -> None:
        lo, hi, null = (cells.struct.field(name) for name in ("lo", "hi", "null"))
        line = Intervals(lo, hi, null.to_numpy()).counted()
        self.null, self.only_null = line.null, line.lo > line.hi
        ends = np.unique(np.concatenate([line.lo[~self.only_null], line.hi[~self.only_null]]))
        self._lo = np.where(self.only_null, len(ends) + 1, np.searchsorted(ends, line.lo)).astype(np.int32)
        self._hi = np.where(self.only_null, -1, np.searchsorted(ends, line.hi)).astype(np.int32)
        self.lo = np.where(self.only_null, len(ends), self._lo).astype(np.int32)
        self.hi = np.where(self.null, len(ends), self._hi).astype(np.int32)
        self.sizes: Numbers = line.amount + self.null.astype(np.int64)

    def compare(self, one: Indices, other: Indices) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Return which pairs of cells meet, where the first is inside the second, and the other way round."""
        meet = np.maximum(self._lo[one], self._lo[other]) <= np.minimum(self._hi[one], self._hi[other])
        return (
            meet | (self.null[one] & self.null[other]),
            self._inside(one, other),
            self._inside(other, one),
        )

    def _inside(self, one: Indices, other: Indices) -> BoolArray:
        values = self.only_null[one] | ((self._lo[one] >= self._lo[other]) & (self._hi[one] <= self._hi[other]))
        inside: BoolArray = values & (~self.null[one] | self.null[other])
        return inside


class SetCells:
    """The distinct cells of a column of sets, their members in an order in which nested sets are runs."""

    def __init__(self, cells: pl.Series) -> None:
        from scipy.sparse import csr_array

        found = members_of(cells)
        cell, word = found.members  # type: ignore[misc]  # sets have members
        words = len(found.words) + 1
        self.sizes: Numbers = np.bincount(cell, minlength=len(cells)).astype(np.int64)
        self._sets = csr_array((np.ones(len(cell), np.int64), (cell, word)), shape=(len(cells), words))
        # Words in the same large sets, then in the same smaller ones, come together: sets that are nested or disjoint
        # become runs. Others have gaps in their hulls, which cost time and change nothing.
        rank = np.argsort(np.argsort(-self.sizes, kind="stable"))
        order = np.lexsort((rank[cell], word))
        chains = np.split(rank[cell][order], np.searchsorted(word[order], np.arange(1, words)))
        place = np.empty(words, np.int32)
        place[sorted(range(words), key=[chain.tolist() for chain in chains].__getitem__)] = np.arange(words)
        self.lo, self.hi = np.full(len(cells), words, np.int32), np.full(len(cells), -1, np.int32)
        np.minimum.at(self.lo, cell, place[word])
        np.maximum.at(self.hi, cell, place[word])

    def compare(self, one: Indices, other: Indices) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Return which pairs of cells meet, where the first is inside the second, and the other way round."""
        pair, place = np.unique(one * np.int64(len(self.sizes)) + other, return_inverse=True)
        first, second = pair // len(self.sizes), pair % len(self.sizes)
        common = np.asarray((self._sets[first] * self._sets[second]).sum(axis=1)).reshape(-1)
        found = (common > 0, common == self.sizes[first], common == self.sizes[second])
        return found[0][place], found[1][place], found[2][place]


@dataclass(frozen=True)
class Nesting:
    """The box directly around the box of each class, -1 where there is none; and the cells it was found from."""

    parent: IntArray
    index: Mapping[str, CodeArray] = field(repr=False)
    cells: Mapping[str, IntervalCells | SetCells] = field(repr=False)

    @cached_property
    def children(self) -> Ragged[np.int64]:
        """The classes directly inside each class: (classes), rows of classes."""
        inner = np.flatnonzero(self.parent >= 0)
        return Ragged.grouped(self.parent[inner], len(self.parent), inner.astype(np.int64))

    def volumes(self, names: Iterable[str]) -> Numbers:
        """Return how many combinations of values of the given columns each class's box has; exact."""
        sizes = [self.cells[name].sizes[self.index[name]] for name in names]
        volumes: Numbers = np.ones(len(self.parent), wide_type(sizes))
        for widths in sizes:
            volumes = volumes * widths.astype(volumes.dtype)
        return volumes


def wide_type(factors: Iterable[Numbers]) -> npt.DTypeLike:
    """Return a type of integers that holds the products of the given positive numbers: Python's own if need be."""
    bits = sum(int(factor.max(initial=1)).bit_length() for factor in factors)
    return np.int64 if bits <= _FITS else object


def evenly(points: CodeArray, lo: CodeArray, hi: CodeArray) -> tuple[CodeArray, CodeArray, CodeArray]:
    """Stretch the codes of points and boxes so that all columns are as wide: then a tree cuts all of them in turn.

    Nested regions are narrow in all columns alike, where a tree that cuts the column with the most codes finds little.
    """
    most = np.max([codes.max(axis=0, initial=0) for codes in (points, lo, hi)], axis=0).astype(np.int64)
    scale = (_WIDEST // (most + 1)).astype(np.int32)
    return points * scale, lo * scale, hi * scale


def nesting_of(release: Release) -> Nesting | None:
    """Return how the boxes of a release are nested; None where they are not published as nested. It is kept with it."""
    if release.levels is None:
        return None
    kept: dict[str, Nesting] = vars(release)
    if "_nesting" not in kept:
        kept["_nesting"] = _found(release, release.levels)
    return kept["_nesting"]


def _found(release: Release, levels: CodeArray) -> Nesting:
    index = {name: column.index for name, column in release.cells.items()}
    strange = [name for name, column in release.cells.items() if column.form not in (Form.INTERVAL, Form.SET)]
    if strange:
        raise VerificationError(f"column {strange[0]!r} has no cells that can be nested", column=strange[0], hint=HINT)
    cells: dict[str, IntervalCells | SetCells] = {
        name: (IntervalCells if column.form is Form.INTERVAL else SetCells)(column.distinct)
        for name, column in release.cells.items()
    }
    one, other = _meeting([cells[name].lo[index[name]] for name in cells], [cells[n].hi[index[n]] for n in cells])
    inside, around = np.ones(len(one), np.bool_), np.ones(len(one), np.bool_)
    for name, column in cells.items():
        meet, within, outside = column.compare(index[name][one], index[name][other])
        one, other = one[meet], other[meet]
        inside, around = inside[meet] & within[meet], around[meet] & outside[meet]
    if not cells:
        inside = around = np.zeros(0, np.bool_)
    if not (inside | around).all():
        raise VerificationError("two published boxes overlap, and neither is inside the other", hint=HINT)
    inner, outer = np.where(inside, one, other), np.where(inside, other, one)
    if (inside & around).any() or (levels[inner] <= levels[outer]).any():
        raise VerificationError("a published box inside another has no higher level", hint=HINT)
    # All the boxes around a box are nested in each other: the one of the highest level is directly around it.
    order = np.lexsort((levels[outer], inner))
    parent = np.full(len(levels), -1, np.int64)
    last = np.flatnonzero(np.diff(inner[order], append=-1))
    parent[inner[order][last]] = outer[order][last]
    return Nesting(parent, index, cells)


def _meeting(lo: list[CodeArray], hi: list[CodeArray]) -> tuple[IntArray, IntArray]:
    """Return the pairs of boxes whose hulls meet, each once."""
    none = np.zeros(0, np.int64)
    if not lo or not len(lo[0]):
        return none, none
    low, high = np.stack(lo, axis=1), np.stack(hi, axis=1)
    # A box as a point of twice the dimensions: others meet it that begin before its end and end behind its beginning.
    ends = np.hstack([low, high])
    least, most = np.broadcast_to(ends.min(axis=0), ends.shape), np.broadcast_to(ends.max(axis=0), ends.shape)
    width = low.shape[1]
    one, other = points_in_boxes(ends, np.hstack([least[:, :width], low]), np.hstack([high, most[:, width:]]))
    once = one < other
    return one[once], other[once]
