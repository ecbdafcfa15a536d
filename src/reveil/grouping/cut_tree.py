"""Cuts of a table in shards, and the work that counts by them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.kernels import cells
from reveil.engines.shards import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from reveil.core.arrays import CodeArray, IntArray

CELL = "cell"
_COUNTS = pl.Schema({CELL: pl.Int32, "attribute": pl.Int32, "code": pl.Int32, COUNTED: pl.Int64})
_HALVES = pl.Schema(
    {CELL: pl.Int32, "turn": pl.Int32, "right": pl.Int32, "sensitive": pl.Int32, "code": pl.Int32, COUNTED: pl.Int64}
)
_DENSE = 8  # cells of a table of counts for each record, up to which counting in it is faster than sorting


def quasi_column(a: int) -> str:
    """Return the name of the column of codes of a quasi attribute."""
    return f"q{a}"


def sensitive_column(s: int) -> str:
    """Return the name of the column of codes of a sensitive attribute."""
    return f"s{s}"


def narrow(codes: int) -> pl.DataType:
    """Return the type in which so many codes are laid down: the narrowest, for each is written and read many times."""
    if codes <= np.iinfo(np.int8).max:
        return pl.Int8()
    return pl.Int16() if codes <= np.iinfo(np.int16).max else pl.Int32()


def wide(codes: pl.Series) -> CodeArray:
    """Return codes as kernels take them, however narrow they were laid down."""
    return codes.to_numpy().astype(np.int32, copy=False)


@dataclass(frozen=True)
class CellCut:
    """Records of a cell go left whose code of an attribute is at most ``code``; ``left`` of them do."""

    attribute: int
    code: int
    left: int


@dataclass(frozen=True)
class CutTree:
    """The cuts so far. Node i is cut at ``code[i]`` along ``attribute[i]``, into nodes ``below[i]`` and the next one.

    A node that is not cut is a cell (attribute -1).
    """

    attribute: IntArray = field(repr=False)
    code: CodeArray = field(repr=False)
    below: IntArray = field(repr=False)

    @classmethod
    def uncut(cls) -> CutTree:
        """Return the tree of one cell."""
        return cls(np.array([-1]), np.array([-1], np.int32), np.array([-1]))

    def with_cuts(self, made: Mapping[int, CellCut]) -> tuple[CutTree, list[int]]:
        """Cut some cells; return the new tree and the cells that came of them, two for each."""
        attribute, code, below = self.attribute.copy(), self.code.copy(), self.below.copy()
        new = []
        for at, cell in enumerate(sorted(made)):
            first = len(self.attribute) + 2 * at
            attribute[cell], code[cell], below[cell] = made[cell].attribute, made[cell].code, first
            new += [first, first + 1]
        more = len(new)
        return (
            CutTree(
                np.append(attribute, np.full(more, -1)),
                np.append(code, np.full(more, -1)).astype(np.int32),
                np.append(below, np.full(more, -1)),
            ),
            new,
        )

    def cells(self, codes: Sequence[CodeArray]) -> CodeArray:
        """Return the cell of each record, given its codes column by column."""
        node = np.empty(len(codes[0]), np.int32)
        cells.descend(np.stack(codes), self.attribute, self.code, self.below, node)
        return node


@dataclass(frozen=True)
class CountCodes:
    """Work: how often each code of each attribute occurs in some cells."""

    tree: CutTree
    cells: tuple[int, ...]
    sizes: tuple[int, ...]  # codes of each attribute

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        codes = _codes(table, len(self.sizes))
        place = _places(self.tree, self.cells, codes)
        found = [_COUNTS.to_frame()]
        for a, (column_codes, size) in enumerate(zip(codes, self.sizes, strict=True)):
            at, code, many = _counted(place, column_codes, len(self.cells), size)
            columns = {CELL: np.array(self.cells, np.int32)[at], "code": code, COUNTED: many}
            counts = pl.DataFrame(columns).with_columns(pl.lit(a, pl.Int32).alias("attribute"))
            found.append(counts.select(_COUNTS.names()).cast(dict(_COUNTS)))  # type: ignore[arg-type]
        return pl.concat(found)


@dataclass(frozen=True)
class CountHalves:
    """Work: how often each sensitive value occurs in both halves that cuts of some cells would leave."""

    tree: CutTree
    tried: Mapping[int, tuple[CellCut, ...]]
    quasi: int
    sizes: tuple[int, ...]  # codes of each sensitive attribute

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        codes = _codes(table, self.quasi)
        asked = tuple(sorted(self.tried))
        place = _places(self.tree, asked, codes)
        values = [wide(table[sensitive_column(s)]) for s in range(len(self.sizes))]
        found = [_HALVES.to_frame()]
        for attribute, turn, at, cut in self._together(asked):
            tried, limit = np.append(at, np.int32(-1))[place], np.append(cut, np.int32(0))
            side = np.where(tried < 0, np.int32(-1), 2 * tried + (codes[attribute] > limit[tried])).astype(np.int32)
            cells_tried = np.array(asked)[at >= 0]
            for s, size in enumerate(self.sizes):
                half, code, many = _counted(side, values[s], 2 * len(cut), size)
                columns = {CELL: cells_tried[half // 2], "right": half % 2, "code": code, COUNTED: many}
                halves = pl.DataFrame(columns).with_columns(pl.lit(turn).alias("turn"), pl.lit(s).alias("sensitive"))
                found.append(halves.select(_HALVES.names()).cast(dict(_HALVES)))  # type: ignore[arg-type]
        return pl.concat(found)

    def _together(self, asked: tuple[int, ...]) -> Iterator[tuple[int, int, CodeArray, CodeArray]]:
        """Return the cuts that are counted together: their attribute and turn, who of the cells has one, and where."""
        turns = [(self.tried[cell][turn].attribute, turn) for cell in asked for turn in range(len(self.tried[cell]))]
        for attribute, turn in sorted(set(turns)):
            at = np.full(len(asked), -1, np.int32)
            cut: list[int] = []
            for place, cell in enumerate(asked):
                proposals = self.tried[cell]
                if turn < len(proposals) and proposals[turn].attribute == attribute:
                    at[place] = len(cut)
                    cut.append(proposals[turn].code)
            yield attribute, turn, at, np.array(cut, np.int32)


@dataclass(frozen=True)
class PlaceInCells:
    """Work: the cell of each record, as a column beside the others."""

    tree: CutTree
    quasi: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Place a shard."""
        return table.with_columns(pl.Series(CELL, self.tree.cells(_codes(table, self.quasi)), pl.Int32))


def _codes(table: pl.DataFrame, many: int) -> list[CodeArray]:
    return [wide(table[quasi_column(a)]) for a in range(many)]


def _places(tree: CutTree, cells: Sequence[int], codes: Sequence[CodeArray]) -> CodeArray:
    """Return the place of each record's cell among some, -1 where it is none of them."""
    place = np.full(len(tree.attribute), -1, np.int32)
    place[list(cells)] = np.arange(len(cells), dtype=np.int32)
    return place[tree.cells(codes)]


def _counted(place: CodeArray, codes: CodeArray, places: int, size: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the different pairs of a place and a code below ``size``, in order, and how often each occurs."""
    if places * size <= _DENSE * len(codes) + 1024:
        counts = np.zeros((places, size), np.int64)
        cells.count(place, codes, counts)
        at, code = np.nonzero(counts)
        return at, code, counts[at, code]
    inside = place >= 0
    key, many = np.unique(place[inside].astype(np.int64) * size + codes[inside], return_counts=True)
    return key // size, key % size, many.astype(np.int64)
