"""Dice: the one generator of a release, and shuffling with it."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np
import numpy.typing as npt

from reveil.core.errors import ConfigError

_CACHED = 1 << 20  # up to so many numbers, an ordinary shuffle stays in a cache
_BUCKETS = 256


def generator(seed: int | None) -> np.random.Generator:
    """Return the generator of a release: from the seed, or from the system's entropy."""
    if seed is None:
        return np.random.default_rng(secrets.randbits(256))
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ConfigError(f"seed must be a whole number, not {seed!r}")
    # Hashed, so that neighbouring seeds have nothing in common.
    return np.random.default_rng(int.from_bytes(hashlib.sha256(f"reveil seed {seed}".encode()).digest()))


def shuffled(rng: np.random.Generator, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the numbers in an order drawn uniformly.

    Many numbers are first dealt into buckets, each number into any of them with the same chance, and each bucket is
    shuffled by itself: again every order is equally likely (Rao 1961, Sandelius 1962), and each bucket fits a cache.
    """
    if len(numbers) <= _CACHED:
        return rng.permutation(numbers)
    bucket = rng.integers(0, _BUCKETS, len(numbers), dtype=np.uint8)
    dealt = numbers[np.argsort(bucket, kind="stable")]
    start = 0
    for end in np.cumsum(np.bincount(bucket, minlength=_BUCKETS)):
        rng.shuffle(dealt[start:end])
        start = end
    return dealt
