"""Where records lie and how wide boxes are, as the kernels take it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import hilbert
from reveil.core.threads import each
from reveil.grouping.widths import attributes_of

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray
    from reveil.core.kernels.widening import Attributes
    from reveil.models.encoding import Codes

FloatArray = npt.NDArray[np.float64]

_KEY_BITS = 64
_MOST_BITS = 16
_THREADED = 20_000  # points


@dataclass(frozen=True)
class CodeSpace:
    """Where the records of a table lie, and its attributes side by side in flat arrays."""

    points: CodeArray = field(repr=False)  # (records, attributes): codes
    places: FloatArray = field(repr=False)  # (records, attributes): the same as positions, for the curve
    attributes: Attributes = field(repr=False)

    @classmethod
    def of(cls, codes: Codes) -> CodeSpace:
        """Lay the attributes of a table side by side."""
        quasi = codes.quasi
        places = np.empty((codes.n, len(quasi)))
        for a, attribute in enumerate(quasi):
            places[:, a] = (attribute.positions / attribute.positions[-1])[attribute.codes]
        return cls(codes.matrix(), places, attributes_of(quasi))


def curve_keys(places: FloatArray) -> npt.NDArray[np.uint64]:
    """Return where points with coordinates from 0 to 1 lie on a Hilbert curve; of very many the first 64 decide."""
    places = places[:, :_KEY_BITS]
    bits = max(1, min(_MOST_BITS, _KEY_BITS // places.shape[1]))
    grid = (places * (2**bits - 1)).astype(np.uint64)
    keys = np.empty(len(places), np.uint64)
    cuts = [0, len(places) // 2, len(places)] if len(places) > _THREADED else [0, len(places)]
    parts = [slice(one, other) for one, other in pairwise(cuts)]
    each(lambda part: hilbert.places(grid[part], bits, keys[part]), parts)
    return keys
