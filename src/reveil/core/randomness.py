"""Dice: random streams, each a child of the seed of a release and keyed by what it is for.

A stream depends on its name and on nothing else: not on which other streams were asked for, nor in which order. So
parts of a release can be worked on in any order, by any number of workers, and the bytes are the same. Where many
items have a draw each (:meth:`Dice.order_by`, :meth:`Dice.coins`, :meth:`Dice.random`), the draw of an item depends on
its number alone, so that whoever has some of the items only makes the same draws for them.

Seeds of children are keyed digests (BLAKE2b): from a stream that became known, nothing follows for another one.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, TypeVar, overload

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import stable_order
from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray

    Item = TypeVar("Item", bound=np.generic)
    FloatArray = npt.NDArray[np.float64]

SIZE = 32  # bytes of a seed

_CACHED = 1 << 20  # up to so many numbers, an ordinary shuffle stays in a cache
_BUCKETS = 256
_BLOCK = 4  # words that Philox makes of one state of its counter


class Dice:
    """One random stream, and the parent of others.

    Dice are rolled once: who needs several draws asks for a child for each, by a name that says what the draw is for.
    ``rng.child("ties")`` is the same stream whenever it is asked for.
    """

    __slots__ = ("_rolled", "_seed")

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SIZE:
            raise ValueError(f"the seed of dice has {SIZE} bytes, not {len(seed)}")
        self._seed, self._rolled = seed, False

    @classmethod
    def of_seed(cls, seed: int | None) -> Dice:
        """Return the dice of a release: from the seed, or from the system's entropy."""
        if seed is None:
            return cls(secrets.token_bytes(SIZE))
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ConfigError(f"seed must be a whole number, not {seed!r}")
        # Hashed, so that neighbouring seeds have nothing in common.
        return cls(hashlib.sha256(f"reveil seed {seed}".encode()).digest())

    def child(self, purpose: str, *key: int | str) -> Dice:
        """Return the dice for a purpose and, where work is done part by part, for the part with this key."""
        digest = hashlib.blake2b(key=self._seed, digest_size=SIZE)
        for part in (purpose, *key):
            text = part.encode() if isinstance(part, str) else str(int(part)).encode()
            kind = b"s" if isinstance(part, str) else b"i"
            digest.update(b"%b%d:%b" % (kind, len(text), text))  # no two names are written alike
        return Dice(digest.digest())

    def generator(self) -> np.random.Generator:
        """Return a NumPy generator, for draws that have no method here."""
        return np.random.default_rng(int.from_bytes(self._roll()))

    @overload
    def permutation(self, x: int) -> IntArray: ...
    @overload
    def permutation(self, x: npt.NDArray[Item]) -> npt.NDArray[Item]: ...
    def permutation(self, x: int | npt.NDArray[Item]) -> IntArray | npt.NDArray[Item]:
        """Return a copy in any order; of a whole number n, the numbers 0 .. n - 1."""
        return self.generator().permutation(x)

    def below(self, end: int) -> int:
        """Choose one of 0, 1, .. ``end - 1``."""
        return int(self.generator().integers(end))

    def order_by(self, *labels: npt.NDArray[np.integer], numbers: npt.NDArray[np.integer] | None = None) -> IntArray:
        """Return the places of items sorted by their labels (the last ones count most); equal ones in any order.

        The die of an item is that of its number, by default of its place: the order of some of the items is their
        order among all of them. (Two of n items have equal dice with a chance below n**2 / 2**65; then the first
        comes first.)
        """
        order = stable_order(self.bits(labels[0].size if numbers is None else numbers))
        for label in labels:
            order = order[stable_order(label[order])]
        return order

    def coins(self, numbers: int | npt.NDArray[np.integer]) -> BoolArray:
        """Toss a coin for each number, or for each of 0 .. ``numbers - 1``."""
        return (self.bits(numbers) >> np.uint64(63)).astype(np.bool_)

    def random(self, numbers: int | npt.NDArray[np.integer]) -> FloatArray:
        """Draw from [0, 1) for each number, or for each of 0 .. ``numbers - 1``: a multiple of 2**-53."""
        return (self.bits(numbers) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def bits(self, numbers: int | npt.NDArray[np.integer]) -> npt.NDArray[np.uint64]:
        """Return 64 random bits for each number; each depends on the seed and on the number alone."""
        seed = self._roll()
        places = np.arange(numbers) if isinstance(numbers, int) else numbers
        if not places.size:
            return np.zeros(0, np.uint64)
        first, end = int(places.min()) // _BLOCK, int(places.max()) + 1
        counter = (int.from_bytes(seed[16:]) << 128) + first
        philox = np.random.Philox(counter=counter, key=int.from_bytes(seed[:16]))
        found: npt.NDArray[np.uint64] = philox.random_raw(end - first * _BLOCK)
        return found if isinstance(numbers, int) else found[places - first * _BLOCK]

    def _roll(self) -> bytes:
        if self._rolled:
            raise RuntimeError("these dice are rolled already: ask for a child by what this draw is for")
        self._rolled = True
        return self._seed


def shuffled(rng: Dice, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the numbers in an order drawn uniformly.

    Many numbers are first dealt into buckets, each number into any of them with the same chance, and each bucket is
    shuffled by itself: again every order is equally likely (Rao 1961, Sandelius 1962), and each bucket fits a cache.
    """
    if len(numbers) <= _CACHED:
        return rng.permutation(numbers)
    bucket = rng.child("bucket of each").generator().integers(0, _BUCKETS, len(numbers), dtype=np.uint8)
    dealt = numbers[np.argsort(bucket, kind="stable")]
    start = 0
    for at, end in enumerate(np.cumsum(np.bincount(bucket, minlength=_BUCKETS))):
        rng.child("bucket", at).generator().shuffle(dealt[start:end])
        start = end
    return dealt
