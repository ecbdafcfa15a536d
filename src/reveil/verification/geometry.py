"""Which points lie in which boxes, and how boxes lie in each other: all pairs, with arrays alone.

Points are halved again and again by their median, in the column in which they are widest beside the boxes; boxes go
down with the halves that they meet. All boxes go down at once, level by level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.tables.notation import Form
from reveil.verification.arrays import Ints, distinct_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scipy.sparse import csr_array

    from reveil.releases.release import Release
    from reveil.verification.arrays import AnyInts, Bools, Codes, Floats
    from reveil.verification.cells import QuasiColumn

_LEAF = 16  # points that are looked at one by one
_BOXES = 1 << 13  # boxes that go down at a time
_ALL_COLUMNS = 3  # so many levels apart a node is compared in all columns; else in the one that was halved
_HINT = "Regions are nested or disjoint, and the inner one has the higher level. Use the table that was published."


class Halves:
    """Points in a tree of halves.

    ``rooms`` is how wide boxes are in each column: a node is halved in the column in which it is widest beside that, so
    that most boxes go on in one half only.
    """

    def __init__(self, points: Codes, rooms: Floats) -> None:
        self.points = np.asfortranarray(points)
        n = len(points)
        self.order = np.arange(n)
        self.offsets = [np.array([0, n], np.int64)]
        self.least: list[Codes] = []
        self.most: list[Codes] = []
        self.halved: list[Ints] = []  # the column in which each node of a level is halved
        while True:
            offsets = self.offsets[-1]
            ordered = points[self.order]
            self.least.append(np.minimum.reduceat(ordered, offsets[:-1]))
            self.most.append(np.maximum.reduceat(ordered, offsets[:-1]))
            sizes = np.diff(offsets)
            if sizes.max() <= _LEAF or sizes.min() < 2:
                return
            wide = ((self.most[-1].astype(np.int64) - self.least[-1]) / (rooms + 1)).argmax(axis=1)
            self.halved.append(wide)
            node = np.repeat(np.arange(len(sizes)), sizes)
            value = ordered[np.arange(n), wide[node]].astype(np.int64)
            value -= value.min()
            self.order = self.order[np.argsort(node * (int(value.max()) + 1) + value)]
            middle = offsets[:-1] + sizes // 2
            self.offsets.append(np.append(np.stack([offsets[:-1], middle], axis=1).ravel(), n))

    def inside(self, lo: Codes, hi: Codes) -> tuple[Ints, Ints]:
        """Return all pairs of a point and a box that holds it."""
        found = [self._inside(lo[at : at + _BOXES], hi[at : at + _BOXES], at) for at in range(0, len(lo), _BOXES)]
        none = np.zeros(0, np.int64)
        return (
            np.concatenate([none, *(point for point, _ in found)]),
            np.concatenate([none, *(box for _, box in found)]),
        )

    def _inside(self, lo: Codes, hi: Codes, first: int) -> tuple[Ints, Ints]:
        lo, hi = np.asfortranarray(lo), np.asfortranarray(hi)
        box, node = np.arange(len(lo)), np.zeros(len(lo), np.int64)
        last = len(self.least) - 1
        for level, (least, most) in enumerate(zip(self.least, self.most, strict=True)):
            if level:
                wide = np.repeat(self.halved[level - 1][node], 2)
                box, node = np.repeat(box, 2), np.stack([2 * node, 2 * node + 1], axis=1).ravel()
                meet = (most[node, wide] >= lo[box, wide]) & (least[node, wide] <= hi[box, wide])
                box, node = box[meet], node[meet]
            if level % _ALL_COLUMNS == 0 or level == last:
                for column in range(lo.shape[1]):
                    meet = (most[:, column][node] >= lo[:, column][box]) & (
                        least[:, column][node] <= hi[:, column][box]
                    )
                    if not meet.all():
                        box, node = box[meet], node[meet]
        begin, end = self.offsets[-1][node], self.offsets[-1][node + 1]
        many = end - begin
        starts = np.cumsum(many) - many
        place = np.arange(int(many.sum())) - np.repeat(starts - begin, many)
        point, box = self.order[place], np.repeat(box, many)
        for column in range(lo.shape[1]):
            value = self.points[:, column][point]
            good = (value >= lo[:, column][box]) & (value <= hi[:, column][box])
            point, box = point[good], box[good]
        return point, box + first


def points_in_boxes(points: Codes, lo: Codes, hi: Codes) -> tuple[Ints, Ints]:
    """Return all pairs of a point and a box that holds it; equal points are looked for once."""
    none = np.zeros(0, np.int64)
    if not len(points) or not len(lo):
        return none, none
    if not points.shape[1]:
        return np.tile(np.arange(len(points)), len(lo)), np.repeat(np.arange(len(lo)), len(points))
    rooms = np.maximum(hi.astype(np.int64) - lo, 0).mean(axis=0)
    return Halves(points, rooms).inside(lo, hi)


def innermost(release: Release, lines: Sequence[QuasiColumn]) -> Codes | None:
    """Return, where boxes are nested, the level of the innermost box that holds each record; -1 where none does.

    Boxes that overlap without one being inside the other, or whose levels do not grow inwards, are refused.
    """
    if release.levels is None:
        return None
    cells = {line.name: release.cells[line.name].index for line in lines}
    _check_nesting(release, cells)
    columns, _ = distinct_rows([line.codes for line in lines])
    distinct = np.stack(columns, axis=1).astype(np.int32)
    lo = np.stack([line.hull[0][cells[line.name]] for line in lines], axis=1)
    hi = np.stack([line.hull[1][cells[line.name]] for line in lines], axis=1)
    point, box = points_in_boxes(distinct, lo, hi)
    good = np.ones(len(point), np.bool_)
    for at, line in enumerate(lines):
        good &= line.admits(cells[line.name][box], distinct[point, at])
    level = np.full(len(distinct), -1, np.int32)
    np.maximum.at(level, point[good], release.levels[box[good]])
    return level[_places(lines, distinct)]


def _places(lines: Sequence[QuasiColumn], distinct: Codes) -> Ints:
    """Return the place of each record among the distinct points, which are in order."""
    both = np.vstack([distinct, np.stack([line.codes for line in lines], axis=1)])
    _, inverse = np.unique(both, axis=0, return_inverse=True)
    return inverse.reshape(-1)[len(distinct) :]


def _check_nesting(release: Release, index: Mapping[str, Codes]) -> None:
    """Refuse boxes that are no nesting: found from the published cells alone."""
    levels = release.levels
    if levels is None or not len(levels):
        return
    axes = {name: _CellEnds(release.cells[name].distinct, release.cells[name].form) for name in index}
    lo = np.stack([axes[name].lo[index[name]] for name in index], axis=1)
    hi = np.stack([axes[name].hi[index[name]] for name in index], axis=1)
    # A box as a point of twice the columns: those meet it that begin before its end and end behind its beginning.
    ends, width = np.hstack([lo, hi]), lo.shape[1]
    least, most = np.broadcast_to(ends.min(axis=0), ends.shape), np.broadcast_to(ends.max(axis=0), ends.shape)
    one, other = points_in_boxes(ends, np.hstack([least[:, :width], lo]), np.hstack([hi, most[:, width:]]))
    one, other = one[one < other], other[one < other]
    inside, around = np.ones(len(one), np.bool_), np.ones(len(one), np.bool_)
    for name, cells in index.items():
        meet, within, outside = axes[name].compared(cells[one], cells[other])
        one, other = one[meet], other[meet]
        inside, around = (inside & within)[meet], (around & outside)[meet]
    if not (inside | around).all():
        raise VerificationError("two published boxes overlap, and neither is inside the other", hint=_HINT)
    inner, outer = np.where(inside, one, other), np.where(inside, other, one)
    if (inside & around).any() or (levels[inner] <= levels[outer]).any():
        raise VerificationError("a published box inside another has no higher level", hint=_HINT)


class _CellEnds:
    """The distinct cells of a column: where they begin and end among all published ends, and what two have in common.

    A missing value is one more place behind all others.
    """

    def __init__(self, cells: pl.Series, form: Form) -> None:
        from scipy.sparse import csr_array

        self.sets: csr_array | None = None
        if form is Form.INTERVAL:
            lo, hi, null = (cells.struct.field(name) for name in ("lo", "hi", "null"))
            self.null, self.only_null = null.to_numpy(), lo.is_null().to_numpy()
            ends = pl.concat([lo, hi]).drop_nulls().unique().sort()
            behind = len(ends)
            begin = ends.search_sorted(lo.fill_null(strategy="zero"), side="left").to_numpy().astype(np.int32)
            end = ends.search_sorted(hi.fill_null(strategy="zero"), side="left").to_numpy().astype(np.int32)
            self.begin, self.end = np.where(self.only_null, behind + 1, begin), np.where(self.only_null, -1, end)
            self.lo = np.where(self.only_null, behind, begin).astype(np.int32)
            self.hi = np.where(self.null, behind, end).astype(np.int32)
            return
        if form is not Form.SET:
            raise VerificationError("a nested box has cells that cannot be nested", column=cells.name, hint=_HINT)
        members = pl.DataFrame({"cell": np.arange(len(cells)), "value": cells}).explode("value")
        word = members["value"].rank("dense").fill_null(0).to_numpy().astype(np.int64)
        cell = members["cell"].to_numpy()
        shape = (len(cells), int(word.max(initial=0)) + 1)
        self.sets = csr_array((np.ones(len(cell), np.int64), (cell, word)), shape=shape)
        self.sizes = np.bincount(cell, minlength=len(cells)).astype(np.int64)
        self.lo, self.hi = np.full(len(cells), shape[1], np.int32), np.full(len(cells), -1, np.int32)
        np.minimum.at(self.lo, cell, word.astype(np.int32))
        np.maximum.at(self.hi, cell, word.astype(np.int32))

    def compared(self, one: AnyInts, other: AnyInts) -> tuple[Bools, Bools, Bools]:
        """Return which pairs of cells meet, where the first is inside the second, and the other way round."""
        if self.sets is not None:
            pair, place = np.unique(one.astype(np.int64) * len(self.sizes) + other, return_inverse=True)
            first, second = pair // len(self.sizes), pair % len(self.sizes)
            common = np.asarray((self.sets[first] * self.sets[second]).sum(axis=1)).reshape(-1)
            found = (common > 0, common == self.sizes[first], common == self.sizes[second])
            return found[0][place], found[1][place], found[2][place]
        meet = np.maximum(self.begin[one], self.begin[other]) <= np.minimum(self.end[one], self.end[other])
        meet |= self.null[one] & self.null[other]
        return meet, self._within(one, other), self._within(other, one)

    def _within(self, one: AnyInts, other: AnyInts) -> Bools:
        values = self.only_null[one] | ((self.begin[one] >= self.begin[other]) & (self.end[one] <= self.end[other]))
        return np.asarray(values & (~self.null[one] | self.null[other]), np.bool_)
