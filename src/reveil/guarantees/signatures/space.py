"""Where records lie, by their quasi values: points, an order along a curve, and keys of regions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.randomness import Dice
    from reveil.models.encoding import Codes

FloatArray = npt.NDArray[np.float64]
KeyArray = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class CodePoints:
    """The normalised positions of the quasi values of records: a row for each that is asked for."""

    codes: Codes = field(repr=False)

    def __getitem__(self, records: CodeArray | slice) -> FloatArray:
        """Return the points of some records."""
        quasi = self.codes.quasi
        points = np.empty((len(quasi[0].codes[records]) if quasi else 0, len(quasi)))
        for a, column in enumerate(quasi):
            points[:, a] = column.positions[column.codes[records]]
        return points


@dataclass(frozen=True)
class Space:
    """Where records lie: ``points[records]`` are their points, and ``ranks`` is their order along a curve through them.

    Points are made where they are needed, of the records that are looked at (see :class:`CodePoints`). ``keys`` are the
    keys of a BANG file, where groups are to follow its regions: equal keys from release to release are equal places.
    """

    points: FloatArray | CodePoints
    ranks: IntArray
    keys: KeyArray | None = None

    @classmethod
    def nowhere(cls, size: int, rng: Dice) -> Space:
        """Return a space in which nearness is chance: choices by distance become choices by dice."""
        ranks = rng.permutation(size).astype(np.int64)
        return cls(ranks.astype(np.float64)[:, None], ranks)
