"""Random permutations of the places of each bucket, of which no two agree anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import IntArray, ranks_in_rows
from reveil.core.kernels import permutations

if TYPE_CHECKING:
    from reveil.core.randomness import Dice

Permutations = npt.NDArray[np.int32]


def drawn(starts: IntArray, l: int, rng: Dice, *, first: int = 0) -> Permutations:
    """Draw permutations of the places, a row for each, that stay inside the buckets and keep both conditions.

    *Range*: permutation i sends the place h of a bucket to one of h + first, .., h + l - 1, cyclically. *Diversity*:
    no two agree at any place. Together they are a decomposition of a circulant graph into l - first perfect matchings.

    They start as the shifts by first .. l - 1. The union of two of them falls apart into cycles, along each of which
    the two may be exchanged and keep both conditions; each cycle is exchanged with probability 1/2, for one random
    pair after another, one fewer than there are permutations. Linear in their size, nothing is ever taken back. How
    likely each outcome is matters to no claim.
    """
    sizes = np.diff(starts)
    base = np.repeat(starts[:-1], sizes)
    inside = ranks_in_rows(sizes)
    shifts = np.arange(first, l)[:, None]
    found: Permutations = (base + (inside + shifts) % np.repeat(sizes, sizes)).astype(np.int32)
    everywhere = np.arange(len(base))[::-1]
    pairs = np.triu_indices(len(found), 1)
    for turn in range(len(found) - 1):
        pair = rng.child("pair", turn).below(len(pairs[0]))
        one, other = int(pairs[0][pair]), int(pairs[1][pair])
        labels, many = permutations.cycles(found[one], found[other])
        first_place = np.empty(many, np.int64)
        first_place[labels[::-1]] = everywhere  # the last one written is the first place
        swap = rng.child("exchange", turn).coins(first_place)[labels]
        found[one], found[other] = np.where(swap, found[other], found[one]), np.where(swap, found[one], found[other])
    return found


def conditions_hold(found: npt.NDArray[np.integer], starts: IntArray, l: int) -> bool:
    """Return whether rows are permutations of the places that keep the range (up to l - 1 ahead) and the diversity."""
    sizes = np.diff(starts)
    base, size = np.repeat(starts[:-1], sizes), np.repeat(sizes, sizes)
    n = int(starts[-1])
    if found.shape[1:] != (n,) or found.min(initial=0) < 0 or found.max(initial=-1) >= n:
        return False
    if (np.sort(found, axis=1) != np.arange(n)).any() or (found < base).any() or (found >= base + size).any():
        return False
    ahead = (found - base - (np.arange(n) - base)) % size
    different = np.sort(found, axis=0)
    return bool((ahead < l).all() and (different[1:] != different[:-1]).all())
