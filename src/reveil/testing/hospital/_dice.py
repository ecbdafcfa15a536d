"""Chance that falls the same on every machine.

NumPy promises the raw stream of a bit generator for ever, but not what its distributions make of it, and
``exp`` differs in the last bit between processors. So only raw words of PCG64 are drawn, and all that follows
is integer arithmetic and table lookup. Each use has a stream of its own, named by seed, month and purpose:
a new use never moves the others, and a month does not care who looked at which month before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from zlib import crc32

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.integer]
RandomBits = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

SLOT_BITS = 12
OUTCOMES = 1 << SLOT_BITS


@dataclass(frozen=True)
class MonthDice:
    """The streams of one month."""

    seed: int
    month: int

    def random_bits(self, purpose: str, count: int) -> RandomBits:
        """Draw raw words of 64 bits from the stream of this purpose."""
        key = (self.month, crc32(purpose.encode()))
        return np.asarray(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)).random_raw(count))

    def below(self, purpose: str, count: int, bound: int) -> Ints:
        """Draw numbers from 0 to bound - 1 (bound up to 2**31)."""
        return scaled(self.random_bits(purpose, count), bound)

    def chance(self, purpose: str, count: int, per_mille: int) -> Flags:
        """Throw for each whether something happens to it."""
        return self.random_bits(purpose, count) < np.uint64((per_mille << 64) // 1000)

    def shuffled(self, purpose: str, items: AnyInts) -> AnyInts:
        """Return the items in random order."""
        bits = np.uint64(max(1, len(items).bit_length()))
        # The position rides in the low bits: one plain sort, and ties cannot depend on the sorting algorithm.
        keys = (self.random_bits(purpose, len(items)) >> bits) << bits | np.arange(len(items), dtype=np.uint64)
        keys.sort()
        return items[(keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)]


class Wheel:
    """Weighted outcomes, one distribution per cell, drawn by table lookup for any number of rows at once.

    Weights are rounded to shares of 1/4096. That makes a draw one lookup, and a draw of *another* outcome
    than a given one exact: the slots of the old outcome are skipped.
    """

    def __init__(self, weights: Ints) -> None:
        table = np.atleast_2d(weights)
        total = table.sum(axis=1, keepdims=True)
        ends = np.cumsum(table, axis=1) * OUTCOMES // total
        self._width = np.diff(ends, axis=1, prepend=0)
        self._start = ends - self._width
        outcomes = np.arange(table.shape[1], dtype=np.uint8 if table.shape[1] <= 256 else np.uint16)
        self._slots = np.concatenate([np.repeat(outcomes, widths) for widths in self._width])

    def draw(self, words: RandomBits, cell: AnyInts | int = 0) -> AnyInts:
        """Draw one outcome for each word, given its cell."""
        slot = (words >> np.uint64(64 - SLOT_BITS)).astype(np.int64)
        slot += np.asarray(cell, dtype=np.int64) << SLOT_BITS
        return self._slots[slot]

    def draw_other(self, words: RandomBits, old: AnyInts, cell: AnyInts | int = 0) -> AnyInts:
        """Draw one outcome for each word that is not the old one, in the proportions of the rest."""
        at = np.broadcast_to(np.asarray(cell, dtype=np.int64), old.shape)
        width = self._width[at, old]
        slot = scaled(words, OUTCOMES - width)
        slot += np.where(slot >= self._start[at, old], width, 0)
        return self._slots[slot + (at << SLOT_BITS)]


def scaled(words: RandomBits, bound: Ints | int) -> Ints:
    """Bring words to the range from 0 to bound - 1."""
    return ((words >> np.uint64(32)).astype(np.int64) * bound) >> 32


def log_normal(words: RandomBits) -> Ints:
    """Turn words into factors in thousandths, log-normal with median 1 and sigma 1/2."""
    table = _log_normal_table()
    slot = (words >> np.uint64(64 - SLOT_BITS)).astype(np.int64)
    between = (words & np.uint64(0xFFFF)).astype(np.int64)
    low = table[slot]
    return low + ((table[slot + 1] - low) * between >> 16)


@cache
def _log_normal_table() -> Ints:
    # Rounded to whole thousandths: no last bit of exp survives.
    normal = NormalDist()
    at = [min(max(i, 0.5), OUTCOMES - 0.5) / OUTCOMES for i in range(OUTCOMES + 1)]
    return np.array([round(1000 * math.exp(normal.inv_cdf(p) / 2)) for p in at], dtype=np.int64)
