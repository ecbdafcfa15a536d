"""The order of records along a space-filling curve over the quasi codes: near in the order is near in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import hilbert
from reveil.core.threads import each

if TYPE_CHECKING:
    from reveil.models.encoding import Codes

_KEY_BITS = 64
_MOST_BITS = 16


def along_curve(codes: Codes) -> npt.NDArray[np.int64]:
    """Return the records in the order in which a Hilbert curve visits them; equal ones in the order of the table.

    Coordinates are the normalised positions of the values. With more than 64 attributes the first 64 decide.
    """
    attributes = codes.quasi[:_KEY_BITS]
    bits = max(1, min(_MOST_BITS, _KEY_BITS // len(attributes)))
    points = np.empty((codes.n, len(attributes)), np.uint64)
    for a, attribute in enumerate(attributes):
        grid = attribute.positions / attribute.positions[-1] * (2**bits - 1)
        points[:, a] = grid.astype(np.uint64)[attribute.codes]
    keys = np.empty(codes.n, np.uint64)
    half = codes.n // 2
    each(lambda part: hilbert.places(points[part], bits, keys[part]), [slice(half), slice(half, codes.n)], codes.n)
    return np.argsort(keys, kind="stable")
