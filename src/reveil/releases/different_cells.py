"""Which different cells a published column has, in the order in which they appear, and where each row's stands."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

CodeArray = npt.NDArray[np.int32]

_ENDS = ("lo", "hi", "null")  # of a typed interval
_DENSE = 4  # numbers for each row, up to which a table over all of them is faster than sorting
_LARGEST = 2**62  # of a number and its row together


def different_cells(cells: pl.Series) -> tuple[pl.Series, CodeArray]:
    """Return the different cells of a column, in order of appearance, and which of them each row has.

    An interval of whole numbers, dates or times is one number, which is faster to tell apart than three.
    """
    numbered = _intervals(cells)
    if numbered is None:
        different = cells.unique(maintain_order=True)
        return different, places_in(cells, different)
    numbers, room = numbered
    place = np.empty(len(numbers), np.int32)
    if room <= _DENSE * len(numbers) + 1024:
        row = np.full(room, -1, np.int32)
        row[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1, dtype=np.int32)
        found = np.flatnonzero(row >= 0)
        first = row[found]
        row[found] = _ranks(first)
        np.take(row, numbers, out=place)
    else:
        # Sorted with the row behind each: the first row of a number comes first.
        bits = len(numbers).bit_length()
        packed = (numbers << bits) | np.arange(len(numbers))
        packed.sort()
        row, new = (packed & ((1 << bits) - 1)).astype(np.int32), np.ones(len(numbers), np.bool_)
        np.not_equal(packed[1:] >> bits, packed[:-1] >> bits, out=new[1:])
        first = row[new]
        place[row] = _ranks(first)[np.cumsum(new) - 1]
    return cells.gather(np.sort(first)), place


def _ranks(first: npt.NDArray[np.integer]) -> CodeArray:
    """Return the rank of each of some different numbers among them."""
    ranks = np.empty(len(first), np.int32)
    ranks[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return ranks


def _intervals(cells: pl.Series) -> tuple[npt.NDArray[np.int64], int] | None:
    """Return a number for each interval, equal ones for equal intervals, and a bound on these numbers; else None."""
    shape = cells.dtype
    if not isinstance(shape, pl.Struct) or tuple(end.name for end in shape.fields) != _ENDS:
        return None
    low, high, null = (cells.struct.field(name) for name in _ENDS)
    if cells.null_count() or null.null_count() or null.dtype != pl.Boolean or not len(cells):
        return None
    numbers, room, end_of_room = null.to_numpy().astype(np.int64), 2, _LARGEST >> len(cells).bit_length()
    for end in (high, low):
        whole = end.to_physical()
        if not whole.dtype.is_integer() or whole.dtype in (pl.Int128, pl.UInt128):
            return None
        least, most = (int(edge) if isinstance(edge, int) else 0 for edge in (whole.min(), whole.max()))
        many = most - least + 2  # one for an end that is not there
        if room * many >= end_of_room or max(-least, most) >= _LARGEST:
            return None
        values = whole.fill_null(least).to_numpy().astype(np.int64) - (least - 1)
        if end.null_count():
            values[end.is_null().to_numpy()] = 0
        numbers += values * room
        room *= many
    return numbers, room


def places_in(cells: pl.Series, distinct: pl.Series) -> CodeArray:
    """Return where each cell stands in a column of distinct cells, -1 where it does not."""
    place = pl.DataFrame({"cell": distinct}).with_row_index("place")
    joined = pl.DataFrame({"cell": cells}).join(place, on="cell", how="left", maintain_order="left", nulls_equal=True)
    return joined["place"].cast(pl.Int32).fill_null(-1).to_numpy().copy()
