"""How large new cells should be, so that they can lose members without being lost.

A cell never grows. Of a cell of n in which a share q of the members leaves from release to release, n (1 - q)^h are
left after h releases. Who left is published as a dirty record until there are enough of them to be a valid piece of
their own, and when those who are left are fewer than the dirty, the cell is held back. A cell that is born as small as
the model allows can shed nobody: it is lost when half its members are gone. One that is born
``1 / (1 - q)^h`` times as large still has the smallest size after h releases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray

HORIZON = 12  # releases for which there should be room: a year of months, three of quarters
MOST = 4.0  # a coarser table than that is a poorer bargain than losing cells
UNKNOWN = 0.1  # the share that is taken to leave before anything was seen
LATEST = 3  # releases from which the share is taken


def slack_for(asked: IntArray, stayed: IntArray) -> float:
    """Return how many times the smallest size new cells should have.

    ``asked`` is the number of persons in each release so far and the present one, ``stayed`` how many of them had been
    in the release before.
    """
    before, after = asked[:-1][-LATEST:], stayed[1:][-LATEST:]
    filled = before > 0
    leaves = UNKNOWN if not filled.any() else 1 - float(after[filled].sum() / before[filled].sum())
    return float(np.clip((1 - min(leaves, 0.99)) ** -HORIZON, 1.0, MOST))
