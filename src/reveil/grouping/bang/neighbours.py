"""Which blocks may be merged: those that touch, as far as a bounded number of candidates per block can tell.

Two regions are neighbours when they share a face of one dimension less than the space, or when one encloses the other.
In n dimensions a block may have exponentially many neighbours. So each block has at most 2 * 16 + 6 candidates of its
own: the block around it, the siblings before and behind it in that block, the two blocks behind it in the order of
the keys, and for each of the 2n faces of its region the block on the other side of the middle of the face, in the 16
dimensions in which the region is narrowest. A neighbour may name a block, too; the number of pairs is linear in the
number of blocks all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.grouping.bang.keys import interleaved

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray
    from reveil.grouping.bang.regions import Regions

DIMENSIONS = 16
_NEXT = 2  # blocks behind in the order of the keys


def candidates(regions: Regions) -> tuple[CodeArray, CodeArray]:
    """Return pairs of neighbouring blocks; a pair may come twice and in both directions.

    Only regions are looked at: no record and no value.
    """
    m = len(regions)
    every = np.arange(m, dtype=np.int32)
    family = np.argsort(regions.parents, kind="stable").astype(np.int32)
    siblings = regions.parents[family[1:]] == regions.parents[family[:-1]]
    pairs = [
        (every[1:], regions.parents[1:]),
        (family[:-1][siblings], family[1:][siblings]),
        *((every[:-step], every[step:]) for step in range(1, _NEXT + 1) if step < m),
        *_across_faces(regions),
    ]
    return np.concatenate([a for a, _ in pairs]), np.concatenate([b for _, b in pairs])


def _across_faces(regions: Regions) -> list[tuple[CodeArray, CodeArray]]:
    """Return each region and the block behind the middle of each of its faces."""
    lo, hi = regions.box_cells()
    last = (np.int64(1) << np.array(regions.bits, np.int64)) - 1
    middle = (lo + hi) // 2
    every = np.arange(len(regions))
    dimensions = len(regions.bits)
    narrow = np.broadcast_to(np.arange(dimensions), lo.shape)
    if dimensions > DIMENSIONS:
        share = (hi - lo + 1) / (last + 1)
        narrow = np.argsort(share, axis=1, kind="stable")[:, :DIMENSIONS]
    pairs = []
    for turn in range(narrow.shape[1]):
        dimension = narrow[:, turn]
        for beyond in (lo[every, dimension] - 1, hi[every, dimension] + 1):
            inside = np.flatnonzero((beyond >= 0) & (beyond <= last[dimension]))
            points = middle[inside]
            points[np.arange(len(inside)), dimension[inside]] = beyond[inside]
            pairs.append((inside.astype(np.int32), regions.find(interleaved(points, regions.bits))))
    return pairs
