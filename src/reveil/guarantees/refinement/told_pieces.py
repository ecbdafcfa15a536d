"""Of which pieces of cells a release from elsewhere tells the values.

A release of this series shows every piece by itself. One from elsewhere shows groups, and a group may hold pieces of
several cells and people who are new. Then nobody knows the values of each piece; but they are tied: the pieces of a
group add up to what it shows, and those of a cell, with who was not in the release, to what was told of the cell. So
the values of one piece, published later, tell those of another: of four people with b, b, c, e, three are in a group
with two who are new, and it shows b, b, c, c, e. Publish the three again with b, b, e, and the fourth has c.

A piece whose values follow from what was told is judged by them, and whatever becomes of it tells nothing more: given
its values it has nothing to do with the others. They follow where all the other pieces of its group, or of its cell,
are known; so pieces become known one after the other. What is left then goes round in circles, or hangs on somebody
who is new. All of it is closed, the rests of its cells included: whether one of these pieces is valid depends on who
has which value, and so may not decide, and none of them can be published without telling on others.

Values that changed since they were told tie nothing: of a cell that is cut, what its pieces showed earlier does not
follow from what they show today. A closed cell ties nothing, either: nobody was told the values of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.guarantees.refinement.ledgers import CLOSED

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.guarantees.refinement.past import Past


def told_apart(
    past: Past, cell: IntArray, group: IntArray, full: BoolArray, there: BoolArray, remain: IntArray
) -> tuple[BoolArray, BoolArray]:
    """Return of which pieces the values are known, and of the rests of which cells.

    Piece i is of the cell ``cell[i]``, -1 for people who are new, and in the group ``group[i]``; ``full`` are groups
    all rows of which are of people in its pieces. ``there`` are the records in the release, ``remain`` how many of each
    cell are not.
    """
    steady = _steady(past, there)
    cells = np.unique(cell[cell >= 0])
    rests = cells[remain[cells] > 0]
    # The rests are pieces in a group that shows nothing, and people who are new a cell of which nothing was told.
    of_cell = np.concatenate([np.where(cell >= 0, cell, past.n_cells), rests])
    of_group = np.concatenate([group, np.full(len(rests), len(full))])
    cut = np.bincount(of_cell, minlength=past.n_cells + 1) > 1
    cut[-1] = False
    adds_up = np.append(steady & (past.sealed != CLOSED), False)
    shows = np.append(full, False)
    # A piece that is all of its group and all of its cell is tied to nothing.
    single = (np.bincount(of_group, minlength=len(shows)) == 1)[of_group] & ~cut[of_cell]
    known = np.where(of_group < len(full), single, False)
    may_be = ~(cut & ~np.append(steady, True))[of_cell]
    while True:
        open_ = ~known
        in_cell = np.bincount(of_cell[open_], minlength=past.n_cells + 1)
        in_group = np.bincount(of_group[open_], minlength=len(shows))
        last = (adds_up & (in_cell == 1))[of_cell] | (shows & (in_group == 1))[of_group]
        found = open_ & may_be & last
        if not found.any():
            break
        known |= found
    rest_known = np.ones(past.n_cells, np.bool_)
    rest_known[rests] = known[len(cell) :]
    return known[: len(cell)], rest_known


def _steady(past: Past, there: BoolArray) -> BoolArray:
    """Return in which cells nobody's value was ever another than when it was told first."""
    steady = np.ones(past.n_cells, np.bool_)
    for versions in past.versions:
        before = np.bincount(versions.cell[versions.release != versions.today], minlength=past.n_cells)
        steady &= before <= 1
        moved = past.cell[there & versions.changed]
        steady[moved[moved >= 0]] = False
    return steady
