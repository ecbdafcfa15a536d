"""Keys: the bits of a record's cells, interleaved cyclically, so that every region of space is a range of keys."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import CodeArray, IntArray, offsets_of
from reveil.core.kernels import bang, bang_sort
from reveil.core.threads import each

if TYPE_CHECKING:
    from collections.abc import Sequence


KeyArray = npt.NDArray[np.uint64]

WORD = 64
_TWO_THREADS = 2**16  # records from which a second thread pays
_DIGIT = 11  # bits of a coordinate that are looked up at once: a table of 2,048 rows stays in the cache


def words_of(bits: Sequence[int]) -> int:
    """Return how many 64-bit words a key has; without any bit there is still one, all zero."""
    return max(1, -(-sum(bits) // WORD))


def dimension_of_bit(bits: Sequence[int]) -> CodeArray:
    """Return which dimension each bit of a key halves: in turns, without those whose bits are used up."""
    given = np.asarray(bits, np.int64)
    turn = np.concatenate([np.arange(b) for b in given]) if len(given) else np.zeros(0, np.int64)
    dimension = np.repeat(np.arange(len(given)), given)
    return dimension[np.lexsort((dimension, turn))].astype(np.int32)


def interleaved(cells: npt.NDArray[np.integer], bits: Sequence[int]) -> KeyArray:
    """Return the key of each row of cells, left-aligned: the first bit of each dimension in turn, then the second...

    A dimension drops out of the turns when its bits are used up. Cells must lie between 0 and ``2**bits - 1``.
    """
    digits, offsets, tables = _tables(tuple(bits))
    out = np.empty((len(cells), words_of(bits)), np.uint64)
    half = len(cells) // 2 if len(cells) > _TWO_THREADS else 0
    each(
        lambda part: bang.interleave(cells[part], tables, offsets, _DIGIT, digits, out[part]),
        [slice(half), slice(half, len(cells))] if half else [slice(None)],
    )
    return out


@lru_cache(maxsize=4)
def _tables(bits: tuple[int, ...]) -> tuple[IntArray, IntArray, KeyArray]:
    """Return how many digits each coordinate has, where their tables begin and which bits of a key each digit sets."""
    dimension = dimension_of_bit(bits)
    digits = np.array([max(1, -(-b // _DIGIT)) for b in bits], np.int64)
    offsets = offsets_of(digits << _DIGIT)
    tables = np.zeros((int(offsets[-1]), words_of(bits)), np.uint64)
    values = np.arange(1 << _DIGIT, dtype=np.uint64)
    for a, halvings in enumerate(bits):
        places = np.flatnonzero(dimension == a)  # of the coordinate's bits, highest first
        for below in range(halvings):
            place = int(places[halvings - 1 - below])
            first = int(offsets[a]) + (below // _DIGIT << _DIGIT)
            bit = (values >> np.uint64(below % _DIGIT)) & np.uint64(1)
            tables[first : first + len(values), place // WORD] |= bit << np.uint64(WORD - 1 - place % WORD)
    return digits, offsets, tables


def sort_keys(keys: KeyArray) -> tuple[CodeArray, KeyArray]:
    """Return the order of the keys, equal ones as they come, and the keys in it.

    Most significant byte first: the records of a bucket stay together in the cache, and few bytes of a long key are
    looked at. Time grows with the records and the distinguishing bytes, memory with the records.
    """
    order = np.arange(len(keys), dtype=np.int32)
    ordered = keys.copy()
    bang_sort.sort(ordered, order, np.empty_like(ordered), np.empty_like(order))
    return order, ordered
