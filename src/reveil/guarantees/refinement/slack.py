"""How large new cells should be, so that they can lose members without being lost.

A cell never grows. Of a cell of n in which a share q of the members leaves from release to release, n (1 - q)^h are
left after h releases. Who left is published as a dirty record until there are enough of them to be a valid piece of
their own, and when those who are left are fewer than the dirty, the cell is held back. A cell that is born as small as
the model allows can shed nobody: it is lost when half its members are gone. One that is born
``1 / (1 - q)^h`` times as large still has the smallest size after h releases (``roomy``).

Where dirty records may be published, twice the smallest size is the turning point (``lean``). Let k be that size. A
cell of fewer than 2k people can never be left by k while k stay, so it is published with all its members or not at
all, and is lost with the first half of them. In a cell of 2k or more, those who left are a valid piece once they are k,
and the others can be filled up with some of them: it is lost when fewer than k/2 are left. More room than that makes
boxes wider and adds less: from 2k to 4k a cell lasts ``log 2 / -log (1 - q)`` releases longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray

HORIZON = 12  # releases for which there should be room: a year of months, three of quarters
LARGEST_SLACK = 4.0  # a coarser table than that is a poorer bargain than losing cells
UNKNOWN = 0.1  # the share that is taken to leave before anything was seen
LATEST = 3  # releases from which the share is taken
TWICE = 2.0  # from there on a cell is not lost with half of its members

Room = Literal["lean", "roomy"]
LEAN: Room = "lean"
ROOMY: Room = "roomy"


def slack_for(asked: IntArray, stayed: IntArray, room: str, *, dirty: bool) -> float:
    """Return how many times the smallest size new cells should have.

    ``asked`` is the number of persons in each release so far and the present one, ``stayed`` how many of them had been
    in the release before.
    """
    before, after = asked[:-1][-LATEST:], stayed[1:][-LATEST:]
    filled = before > 0
    leaves = UNKNOWN if not filled.any() else 1 - float(after[filled].sum() / before[filled].sum())
    most = TWICE if room == LEAN and dirty else LARGEST_SLACK
    return float(np.clip((1 - min(leaves, 0.99)) ** -HORIZON, 1.0, most))
