"""Numbers in a random order that nobody has to hold: a permutation of which every place can be asked for by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.core.arrays import IntArray
    from reveil.core.randomness import Dice

_ROUNDS = 8


class Scattered:
    """A permutation of 0 .. ``size`` - 1: a Feistel network whose rounds are tables of dice (Luby and Rackoff 1988).

    The network permutes a power of four; who leaves the range goes on until they are back in it.
    """

    def __init__(self, size: int, rng: Dice) -> None:
        self.size = size
        self.half = max(1, -(-max(size - 1, 1).bit_length() // 2))
        room = 1 << self.half
        self._tables = [
            (rng.child("round", n).bits(room) >> np.uint64(64 - self.half)).astype(np.int64) for n in range(_ROUNDS)
        ]

    def __getitem__(self, places: npt.NDArray[np.integer]) -> IntArray:
        """Return the numbers at some places."""
        found = np.asarray(places, np.int64).copy()
        outside = np.arange(len(found))
        while len(outside):
            found[outside] = self._network(found[outside])
            outside = outside[found[outside] >= self.size]
        return found

    def _network(self, numbers: IntArray) -> IntArray:
        left, right = numbers >> self.half, numbers & ((1 << self.half) - 1)
        for table in self._tables:
            left, right = right, left ^ table[right]
        return (left << self.half) | right
