"""Whether two published tables say the same, as they would stand in a text file; seen piece by piece.

The texts of whole tables are the largest thing there is while a release is written: cells are compared by numbers of
their distinct texts, and values some rows at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.releases.different_cells import places_in
from reveil.tables.notation import Form, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import CodeArray
    from reveil.releases.table import Cells, PublishedTable

PIECE_ROWS = 1 << 18  # rows whose text is made at once


def pieces(rows: int) -> list[slice]:
    """Return the rows of each piece of a table; a table without rows has one."""
    return [slice(start, start + PIECE_ROWS) for start in range(0, rows, PIECE_ROWS)] or [slice(0, 0)]


def same_content(one: PublishedTable, other: PublishedTable) -> bool:
    """Return whether two tables say the same."""
    if one.columns != other.columns or one.cells.keys() != other.cells.keys():
        return False
    if len(one.classes) != len(other.classes) or len(one.seconds) != len(other.seconds):
        return False
    seconds = list(zip(one.seconds, other.seconds, strict=True))
    if not all(mine.name == theirs.name and _equal(mine.groups, theirs.groups) for mine, theirs in seconds):
        return False
    batches = [(one.batch, other.batch), *((mine.batch, theirs.batch) for mine, theirs in seconds)]
    if not _equal(one.groups, other.groups) or not all(_equal_tables(*both) for both in batches):
        return False
    if (one.levels is None) != (other.levels is None):
        return False
    numbers = _numbers(one.cells, other.cells)
    return all(_same_rows(one, other, numbers, rows) for rows in pieces(len(one.classes)))


def _same_rows(
    one: PublishedTable, other: PublishedTable, numbers: dict[str, tuple[CodeArray, CodeArray]], rows: slice
) -> bool:
    """Compare the cells of some rows by their ``numbers``, and their values as texts."""
    mine, theirs = one.classes[rows], other.classes[rows]
    if not all(np.array_equal(first[mine], second[theirs]) for first, second in numbers.values()):
        return False
    if one.levels is not None and other.levels is not None and not _equal(one.levels[mine], other.levels[theirs]):
        return False
    return _texts(one.values[rows]).equals(_texts(other.values[rows]), null_equal=True)


def _numbers(one: Mapping[str, Cells], other: Mapping[str, Cells]) -> dict[str, tuple[CodeArray, CodeArray]]:
    """Return for each column a number for the cell of each class of two tables: equal ones have equal texts."""
    if not one:
        return {}
    both = [cells for name in one for cells in (one[name], other[name])]
    every = pl.concat([cells.text.alias("") for cells in both])  # all columns at once: most have few distinct cells
    number = places_in(every, every.unique(maintain_order=True))
    ends = np.cumsum([len(cells.text) for cells in both])
    found = [part[cells.index] for part, cells in zip(np.split(number, ends[:-1]), both, strict=True)]
    return dict(zip(one, zip(found[::2], found[1::2], strict=True), strict=True))


def _texts(values: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame([to_text(values[name], Form.VALUE) for name in values.columns])


def _equal(one: CodeArray | None, other: CodeArray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


def _equal_tables(one: pl.DataFrame | None, other: pl.DataFrame | None) -> bool:
    return one is other or (one is not None and other is not None and one.equals(other, null_equal=True))
