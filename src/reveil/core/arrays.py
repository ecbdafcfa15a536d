"""The shapes of numbers that pass between modules, and rows of different lengths in one array.

Where a docstring gives the shape of an array, it names what each axis counts: (records, attributes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

IntArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.integer]  # of any width

Item = TypeVar("Item", bound=np.generic)
Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Ragged(Generic[Item]):
    """Rows of different lengths, one behind the other: row i is ``items[offsets[i]:offsets[i + 1]]``.

    ``offsets`` is (rows + 1), begins with 0, never falls and ends with the number of items; ``items`` is (items).
    Further arrays of (items) may go with the same rows: :meth:`reduce` and :meth:`places` serve them as well.
    """

    offsets: IntArray = field(repr=False)
    items: npt.NDArray[Item] = field(repr=False)

    @classmethod
    def of_lengths(cls, lengths: npt.ArrayLike, items: npt.NDArray[Item]) -> Ragged[Item]:
        """Cut items that lie row by row, given how many each row has."""
        return cls(offsets_of(lengths), items)

    @classmethod
    def of_sorted_owners(cls, owners: npt.NDArray[np.integer], n: int, items: npt.NDArray[Item]) -> Ragged[Item]:
        """Cut items that lie row by row into n rows, given the row of each."""
        return cls(offsets_of_sorted(owners, n), items)

    @classmethod
    def grouped(cls, owners: npt.NDArray[np.integer], n: int, items: npt.NDArray[Item]) -> Ragged[Item]:
        """Sort items in any order into n rows, given the row of each; within a row they keep their order."""
        order = np.argsort(owners, kind="stable")
        return cls(offsets_of(np.bincount(owners, minlength=n)), items[order])

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[object] | npt.NDArray[Item]], dtype: type[Item]) -> Ragged[Item]:
        """Build from the rows themselves."""
        items = np.concatenate([np.zeros(0, dtype), *(np.asarray(row, dtype) for row in rows)])
        return cls(offsets_of([len(row) for row in rows]), items)

    @classmethod
    def concatenate(cls, parts: Sequence[Ragged[Item]]) -> Ragged[Item]:
        """Return the rows of all parts (of one at least), one part behind the other."""
        return cls(
            offsets_of(np.concatenate([part.lengths for part in parts])),
            np.concatenate([part.items for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int | np.integer) -> npt.NDArray[Item]:
        """Return one row, from 0 up to before ``len``."""
        if not 0 <= row < len(self):
            raise IndexError(f"there is no row {row} of {len(self)}")
        return self.items[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[Item]]:
        return (self[row] for row in range(len(self)))

    @property
    def starts(self) -> IntArray:
        """Where each row starts."""
        return self.offsets[:-1]

    @property
    def lengths(self) -> IntArray:
        """How many items each row has."""
        return np.diff(self.offsets)

    def owners(self) -> IntArray:
        """Return the row of each item."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    def places(self, rows: npt.NDArray[np.integer]) -> tuple[IntArray, IntArray]:
        """List the items of some rows: by which of the rows given (not: which row), and where the item stands."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        return np.repeat(np.arange(len(rows)), lengths), spans(self.offsets[rows], lengths)

    def take(self, rows: npt.NDArray[np.integer]) -> Ragged[Item]:
        """Return some rows, in the order given and as often as given."""
        lengths = self.offsets[rows + 1] - self.offsets[rows]
        return Ragged(offsets_of(lengths), self.items[spans(self.offsets[rows], lengths)])

    def select(self, kept: BoolArray) -> Ragged[Item]:
        """Keep only some items, given as (items); the rows stay, shorter."""
        return Ragged(offsets_of(kept)[self.offsets], self.items[kept])

    def reduce(self, ufunc: np.ufunc, numbers: npt.NDArray[Number], empty: float = 0) -> npt.NDArray[Number]:
        """Reduce numbers (items) to one for each row, say to sums; rows without items get ``empty``."""
        out = np.full(len(self), empty, numbers.dtype)
        filled = self.lengths > 0
        if len(numbers):
            out[filled] = ufunc.reduceat(numbers, self.starts[filled])
        return out


_FEW = 1 << 12  # numbers that are sorted in whatever way
_DIGITS = 1 << 16  # numbers below this are sorted digit by digit, which takes a third of the time


def stable_order(numbers: Integers) -> IntArray:
    """Return the places of numbers in ascending order; equal ones in the order in which they stand.

    Sorting that keeps no order among equals takes a fifth of the time: it is done first, and equal ones are put in
    their order afterwards.
    """
    if len(numbers) < _FEW:
        return np.argsort(numbers, kind="stable")
    if numbers.min() >= 0 and numbers.max() < _DIGITS:
        return np.argsort(numbers.astype(np.uint16), kind="stable")
    order: IntArray = np.argsort(numbers)
    ascending = numbers[order]
    new = ascending[1:] != ascending[:-1]
    if new.all():
        return order
    bits = len(numbers).bit_length()
    runs = np.zeros(len(numbers), np.int64)
    np.cumsum(new, out=runs[1:])
    packed = (runs << bits) | order
    packed.sort()
    return packed & ((1 << bits) - 1)


def sums_of(index: npt.NDArray[np.integer], amounts: npt.ArrayLike, n: int) -> npt.NDArray[np.float64]:
    """Return n sums: of the amounts whose index each is."""
    return np.bincount(index, np.asarray(amounts, np.float64), n).astype(np.float64, copy=False)


def offsets_of(lengths: npt.ArrayLike) -> IntArray:
    """Return where rows of these lengths start when they lie one behind the other, and at last where they end."""
    sizes = np.asarray(lengths)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def offsets_of_sorted(owners: npt.NDArray[np.integer], n: int) -> IntArray:
    """Return where each of n rows starts, and at last where they end, given the row of each item, ascending."""
    return np.searchsorted(owners, np.arange(n + 1)).astype(np.int64, copy=False)


def spans(starts: npt.NDArray[np.integer], lengths: npt.NDArray[np.integer]) -> IntArray:
    """Return the numbers from each start on, so many as its length, one start after another."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places: IntArray = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return places


def ranks_in_rows(lengths: npt.NDArray[np.integer]) -> IntArray:
    """Return the place of each item within its row, from 0, for rows of these lengths one behind the other."""
    return spans(np.zeros(len(lengths), np.int64), lengths)


def numbered_pairs(high: Integers, low: Integers) -> tuple[CodeArray, int]:
    """Return the place of each pair of numbers among the different ones, ascending, and how many these are."""
    order = np.argsort(high)
    new = high[order][1:] != high[order][:-1]
    if ((low[order][1:] != low[order][:-1]) & ~new).any():
        order = np.lexsort((low, high))
        new = (high[order][1:] != high[order][:-1]) | (low[order][1:] != low[order][:-1])
    places = np.zeros(len(high), np.int32)
    places[order[1:]] = np.cumsum(new)
    return places, int(new.sum()) + (len(high) > 0)
