"""Which record stands at which place, so that the true world is the one that it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import permutations

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray
    from reveil.core.randomness import Dice
    from reveil.guarantees.worlds.arrangement import Arrangement

RecordArray = npt.NDArray[np.int32]


def placed_at_random(
    bucket: npt.NDArray[np.integer],
    values: CodeArray,
    places: Arrangement,
    truth: npt.NDArray[np.integer],
    rng: Dice,
) -> RecordArray:
    """Return the record of each place, drawn uniformly among all the ways that make ``truth`` the true world.

    At place h stands a record of its bucket with the value z of the place ``truth[h]``. In a bucket of which n_v
    records have the value v, there are prod n_v! ways, whatever the records are.
    """
    records = rng.order_by(values, bucket)
    wanted = np.lexsort((places.values[truth], places.bucket))
    found = np.empty(len(values), np.int32)
    found[wanted] = records
    return found


def placed_greedily(
    bucket: npt.NDArray[np.integer],
    values: CodeArray,
    places: Arrangement,
    points: npt.NDArray[np.float64],
    l: int,
) -> RecordArray:
    """Return the record of each place as the source does: the one that widens the boxes so far least.

    The identity is the true world, and the record of a place minimises the sum of the widths of the boxes of the l - 1
    last records and itself (equation 7), boxes being measured by the positions of the values. Ties go to the first.

    For comparison only: who runs this for every table that may be finds that few could have led to this release.
    """
    order = np.lexsort((np.arange(len(values)), bucket)).astype(np.int32)
    found: RecordArray = permutations.nearest_first(order, places.starts, values, places.values, points, l)
    return found
