"""Where records lie and how wide boxes are, as the kernels take it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import CodeArray, offsets_of
from reveil.core.kernels import hilbert
from reveil.core.kernels.widening import Attributes
from reveil.core.threads import each
from reveil.models.encoding import Codes, Kind

FloatArray = npt.NDArray[np.float64]

_KEY_BITS = 64
_MOST_BITS = 16
_THREADED = 20_000  # points
_SPAN, _SET, _TREE = 0, 1, 2


@dataclass(frozen=True)
class Space:
    """Where the records of a table lie, and its attributes side by side in flat arrays."""

    points: CodeArray = field(repr=False)  # (records, attributes): codes
    places: FloatArray = field(repr=False)  # (records, attributes): the same as positions, for the curve
    attributes: Attributes = field(repr=False)

    @classmethod
    def of(cls, codes: Codes) -> Space:
        """Lay the attributes of a table side by side."""
        quasi = codes.quasi
        places = np.empty((codes.n, len(quasi)))
        kinds = np.zeros(len(quasi), np.int64)
        levels = np.zeros(len(quasi), np.int64)
        level_offsets = np.zeros(len(quasi), np.int64)
        steps = np.zeros((len(quasi), 2))
        nodes, widths = [np.zeros(0, np.int32)], [np.zeros(0)]
        for a, attribute in enumerate(quasi):
            size = attribute.null_code
            places[:, a] = (attribute.positions / attribute.positions[-1])[attribute.codes]
            occurring = np.unique(attribute.codes)
            steps[a] = 1 / max(size - 1, 1), 1 / max(int((occurring < size).sum()), 1)
            kinds[a] = {Kind.SET: _SET, Kind.TAXONOMY: _TREE}.get(attribute.kind, _SPAN)
            if attribute.taxonomy is not None:
                tree = attribute.taxonomy
                level_offsets[a] = sum(map(len, nodes))
                levels[a] = len(tree.levels)
                nodes.append(tree.levels.ravel())
                widths.append(((tree.hi - tree.lo) / max(size - 1, 1))[tree.levels].ravel())
        lengths = [len(a.positions) for a in quasi]
        attributes = Attributes(
            kinds,
            np.array([a.null_code for a in quasi], np.int64),
            offsets_of(lengths),
            np.concatenate([np.zeros(0), *(a.positions for a in quasi)]),
            steps,
            level_offsets,
            levels,
            np.concatenate(nodes).astype(np.int32),
            np.concatenate(widths),
        )
        return cls(codes.matrix(), places, attributes)


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
