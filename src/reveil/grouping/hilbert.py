"""The order of records along a space-filling curve over the quasi codes: near in the order is near in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import stable_order
from reveil.core.kernels import hilbert
from reveil.core.threads import each

if TYPE_CHECKING:
    from reveil.models.encoding import Codes

_KEY_BITS = 64
_MOST_BITS = 16
_PIECE = 1 << 18  # records whose places on the grid are there at once


def along_curve(codes: Codes) -> npt.NDArray[np.int64]:
    """Return the records in the order in which a Hilbert curve visits them; equal ones in the order of the table."""
    return stable_order(curve_places(codes))


def curve_places(codes: Codes) -> npt.NDArray[np.uint64]:
    """Return how far along a Hilbert curve each record lies, in all the 64 bits.

    Coordinates are the normalised positions of the values. With more than 64 attributes the first 64 decide.
    """
    attributes = codes.quasi[:_KEY_BITS]
    bits = max(1, min(_MOST_BITS, _KEY_BITS // len(attributes)))
    grids = [
        (attribute.positions / attribute.positions[-1] * (2**bits - 1)).astype(np.uint64) for attribute in attributes
    ]
    keys = np.empty(codes.n, np.uint64)

    def work(part: slice) -> None:
        points = np.empty((len(keys[part]), len(attributes)), np.uint64)
        for a, attribute in enumerate(attributes):
            points[:, a] = grids[a][attribute.codes[part]]
        hilbert.places(points, bits, keys[part])

    each(work, [slice(start, start + _PIECE) for start in range(0, codes.n, _PIECE)], codes.n)
    return keys << np.uint64(_KEY_BITS - bits * len(attributes))
