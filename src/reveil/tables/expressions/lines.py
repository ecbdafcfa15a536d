"""Published columns of numbers, dates and times: cells that are intervals or points on a line."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.tables.expressions.binding import Between, Missing, Test
from reveil.tables.expressions.positions import FIRST, LAST, LineCut, is_fine, on_line, ordinals
from reveil.tables.expressions.regions import CountedDivision, Division, FloatArray, IndexArray, Numbers, Spread

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray

_ROOM = 2**62  # integers below it can be subtracted from each other in 64 bits


class Intervals:
    """Intervals on a line.

    ``amount`` is the number of values of an interval on a line of integers and half the length else; ``null_share``
    is None if no cell has a null.
    """

    def __init__(self, lo: pl.Series, hi: pl.Series, null: BoolArray) -> None:
        only_null = lo.is_null().to_numpy()
        self.null, self.exact = null, not lo.dtype.is_float()
        low, high = _numbers(lo), _numbers(hi)
        if self.exact:
            self.lo, self.hi = np.where(only_null, 0, low), np.where(only_null, -1, high)
            self.amount = self.hi - self.lo + 1
        else:
            self.lo, self.hi = np.where(only_null, np.inf, low), np.where(only_null, -np.inf, high)
            # Halves, because the difference of two numbers need not be one; and nothing is subtracted from infinity.
            self.amount = np.where(low == high, 0.0, high / 2 - np.where(low == high, 0.0, low) / 2)
        self.point = self.amount == 0
        self.measure = np.where(self.point, 1, self.amount) if self.point.any() else self.amount
        beside: Numbers = self.amount
        if is_fine(lo.dtype):
            ends = np.unique(np.concatenate([self.lo[~only_null], self.hi[~only_null]]))
            beside = np.searchsorted(ends, self.hi, "right") - np.searchsorted(ends, self.lo, "left")
        beside = np.where(only_null, 0, beside).astype(np.float64)
        self.null_share: FloatArray | None = np.where(null, 1 / (1 + beside), 0.0) if null.any() else None

    def at(self, cells: IndexArray) -> Intervals:
        """Return the given cells alone, as far as a division looks at them."""
        part = copy(self)
        part.lo, part.amount = self.lo[cells], self.amount[cells]
        part.measure = part.amount if self.measure is self.amount else self.measure[cells]
        if not self.exact:
            part.hi, part.point = self.hi[cells], self.point[cells]
        if self.null_share is not None:
            part.null, part.null_share = self.null[cells], self.null_share[cells]
        return part

    def counted(self) -> Intervals:
        """Return the same intervals on a line of integers: floats by their place among all the floats there are."""
        if self.exact:
            return self
        part, only_null = copy(self), self.lo > self.hi
        low, high = (ordinals(ends).astype(object) for ends in (self.lo, self.hi))  # differences outgrow 64 bits
        part.exact, part.lo, part.hi = True, np.where(only_null, 0, low), np.where(only_null, -1, high)
        part.amount = part.hi - part.lo + 1
        return part

    def divide(self, tests: list[Test]) -> Division:
        """Cut the line where a test begins or ends."""
        cuts = {cut for test in tests if isinstance(test, Between) for span in test.spans for cut in span}
        bounds = sorted(cuts | {FIRST, LAST})
        place = {cut: i for i, cut in enumerate(bounds)}
        truths = []
        for test in tests:
            truth = np.zeros(len(bounds), np.bool_)  # one stretch less than bounds, and null
            if isinstance(test, Between):
                for start, end in test.spans:
                    truth[place[start] : place[end]] = True
            elif isinstance(test, Missing):
                truth[:] = test.negated
                truth[-1] = not test.negated
            truths.append(truth)
        return LineDivision(self, bounds[1:-1], truths)

    def below(self, cut: LineCut) -> Numbers:
        """Return how much of each interval lies below a cut."""
        if self.exact:
            at = max(min(cut.value, _ROOM), -_ROOM) if self.lo.dtype == np.int64 else cut.value
            under = at - self.lo
        else:
            with np.errstate(invalid="ignore"):  # infinite points are told apart by `meets`
                under = cut.value / 2 - self.lo / 2
        found: Numbers = np.minimum(np.maximum(under, 0), self.amount)
        return found

    def meets(self, start: LineCut, end: LineCut) -> BoolArray:
        """Return which intervals of floating point numbers have a value between two cuts."""
        first, behind = (np.nextafter(c.value, np.inf) if c.after else c.value for c in (start, end))
        least = np.maximum(self.lo, first)
        found: BoolArray = (least <= self.hi) & ((least < behind) | (end == LAST))
        return found


class LineDivision(CountedDivision):
    """Stretches of a line, from the lowest to the highest, and null."""

    def __init__(self, line: Intervals, cuts: list[LineCut], truths: list[BoolArray]) -> None:
        self.line, self.cuts, self.truths, self.cells = line, cuts, truths, len(line.lo)

    def spread(self, region: IntArray, regions: int, cells: IndexArray | None = None) -> Spread:
        """Measure every region but that of the lowest stretch, which has the rest."""
        line = self.line if cells is None else self.line.at(cells)
        amounts, meets = _measure_regions(line, self.cuts, region, regions)
        measure = line.measure
        if not line.exact:
            amounts = np.where(line.point, meets, amounts)
        if line.null_share is not None:
            amounts = amounts / measure * (1 - line.null_share)
            amounts[region[-1]] += line.null_share
            meets[region[-1]] |= line.null
            measure = np.ones(1)
        return Spread(amounts, measure, meets)

    def counts(self, region: IntArray, regions: int) -> Numbers:
        """Count values on the line of integers, null being one."""
        line, cuts = self.line.counted(), self.cuts
        if not self.line.exact:
            places = ordinals(np.array([cut.value for cut in cuts], np.float64))
            cuts = [LineCut(int(at) + cut.after) for cut, at in zip(cuts, places, strict=True)]
        counts, _ = _measure_regions(line, cuts, region, regions)
        counts[region[-1]] += line.null.astype(np.int64)
        return counts

    def within(self, region: IntArray, regions: int, inner: IndexArray, outer: IndexArray) -> FloatArray:
        """Measure values by the outer interval, and null by its share there."""
        line = self.line
        amounts, meets = _measure_regions(line, self.cuts, region, regions)
        found = amounts[:, inner]
        if not line.exact:
            # On a line of floats a point has no length, unless the outer interval is this point.
            found = np.where(line.point[outer], meets[:, inner], np.where(line.point[inner], 0, found))
        share: FloatArray = (found / line.measure[outer]).astype(np.float64)
        if line.null_share is not None:
            share *= 1 - line.null_share[outer]
            share[region[-1]] += line.null[inner] * line.null_share[outer]
        return share


def _measure_regions(line: Intervals, cuts: list[LineCut], region: IntArray, regions: int) -> tuple[Numbers, BoolArray]:
    """Measure each region on the line, and whether it meets each interval; null is another matter."""
    lowest = int(region[0])
    amounts = np.zeros((regions, len(line.lo)), line.amount.dtype)
    meets = np.zeros((regions, len(line.lo)), np.bool_)
    start: LineCut = FIRST
    before: Numbers | None = None
    for i, here in enumerate(region[:-1].tolist()):
        end = cuts[i] if i < len(cuts) else LAST
        if end is not LAST and region[i + 1] == here:
            continue  # the same region goes on
        if not line.exact:
            meets[here] |= line.meets(start, end)
        if here != lowest or end is not LAST:
            until = line.amount if end is LAST else line.below(end)
            if here != lowest:
                amounts[here] += until if before is None else until - before
            before = until
        start = end
    amounts[lowest] = line.amount - (amounts[1 - lowest] if regions == 2 else amounts.sum(axis=0))
    if line.exact:
        return amounts, (amounts > 0).astype(np.bool_, copy=False)
    return np.maximum(amounts, 0), meets


def _numbers(values: pl.Series) -> Numbers:
    """Return places on the line: floats, 64-bit integers, or Python's own where these could overflow."""
    line = on_line(values).fill_null(0)
    if line.dtype == pl.Float64:
        return line.to_numpy()
    if line.is_empty() or (line.min() > -_ROOM and line.max() < _ROOM):  # type: ignore[operator]
        return line.cast(pl.Int64).to_numpy()
    return np.array(line.to_list(), object)
