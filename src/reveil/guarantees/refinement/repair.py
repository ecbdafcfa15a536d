"""What becomes of each cell that a snapshot touches: published, with the help of others, or held back.

For a cell of which some members are asked for (*present*) and others are not (*absent*), in this order:

1. the present are a valid piece, with what was told of them and with the values of today, and the absent are valid or
   there are none: the present are published;
2. only the values of today are in the way: the present are published as they were told last;
3. the absent are valid but the present too few: some of the absent are published beside them (*dirty* records: real
   people, with the values that were last told), as few as make both pieces valid;
4. all the absent are published beside the present;
5. counterfeits stand in for those of the absent who may not be published;
6. the whole cell is held back: all of it is absent, in one piece, and valid.

3 to 5 only where the present are not outnumbered. Classes never join pieces of different cells (a finer class tells
more, and every piece must be valid anyway), so no decision about a cell changes another's.

Of a cell that is sealed as *whole*, all members are present or 4 and 5 apply; a *closed* one is always held back (see
:mod:`reveil.guarantees.refinement.adopted`).

Whoever knows who left knows that their record did not change. If rows beside it did, the others would be told apart
from it, and over several releases the patterns of changes would add up. So where somebody is published who was not
asked for, *nobody* of the cell changes: all are shown as they were told last. Then a permutation of the members of a
cell changes nothing that anybody can see or know of who was in the table when.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from reveil.guarantees.refinement.ledgers import CLOSED, WHOLE

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.guarantees.refinement.judging import Judge


class Fate(IntEnum):
    """What becomes of a cell."""

    HELD_BACK = 0
    CLEAN = 1  # the present, as they are
    STALE = 2  # the present, as they were told
    SOME = 3  # the present and some of the absent, as they were told
    ALL = 4  # all members, as they were told


def first_fates(judge: Judge, present: BoolArray) -> tuple[CodeArray, BoolArray]:
    """Decide what can be decided by sizes and histograms, and say which cells some of the absent might help.

    Their fate is the one without such help.
    """
    past = judge.past
    here = past.count(present)
    absent = past.sizes - here
    asked = here > 0
    told, others_stay = judge.of_records(present, today=False), judge.without(present)
    whole, closed = past.sealed == WHOLE, past.sealed == CLOSED
    suffice = asked & told & others_stay & ~(whole & (absent > 0))
    clean = suffice & judge.of_records(present)
    everybody = asked & ~suffice & judge.whole() & (absent <= here)
    fate = np.full(past.n_cells, Fate.HELD_BACK, np.int32)
    fate[everybody] = Fate.ALL
    fate[suffice] = Fate.STALE
    fate[clean] = Fate.CLEAN
    fate[closed] = Fate.HELD_BACK
    return fate, asked & ~told & others_stay & (absent > 0) & (past.sealed == 0)
