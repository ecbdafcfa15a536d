"""What becomes of each cell that a snapshot touches: published, with the help of others, or held back.

For a cell of which some members are asked for (*present*) and others are not (*absent*), in this order:

1. the present are a valid piece, and so are the absent or there are none: the present are published;
2. the absent are valid but the present too few: some of the absent are published beside them (*dirty* records: real
   people, with the record that was last told), as few as make both pieces valid;
3. all the absent are published beside the present;
4. counterfeits stand in for those of the absent who may not be published;
5. the whole cell is held back: all of it is absent, in one piece, and valid.

2 to 4 only where the present are not outnumbered. Classes never join pieces of different cells (a finer class tells
more, and every piece must be valid anyway), so no decision about a cell changes another's.

Dirty records do not change, and who left is known to be one of the rows that did not. So where rows of the cell did
change, those that did not must be a valid piece; and the others too, where there are exactly as many unchanged rows as
dirty ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reveil.refining.judging import Judge
    from reveil.statistics import BoolArray, CodeArray


class Fate(IntEnum):
    """What becomes of a cell."""

    HELD_BACK = 0
    CLEAN = 1  # the present only
    SOME = 2  # the present and some of the absent
    ALL = 3  # all members


@dataclass(frozen=True)
class Fates:
    """One fate for each touched cell, and whether that of a whole cell needs counterfeits."""

    fate: CodeArray = field(repr=False)
    wanting: BoolArray = field(repr=False)  # cells that could be published if some of the absent were


def first_fates(judge: Judge, present: BoolArray) -> Fates:
    """Decide what can be decided by sizes and histograms: who is published alone, whole, or perhaps with some."""
    past = judge.past
    here = past.count(present)
    absent = past.sizes - here
    asked = here > 0
    alone, rest = judge.of_records(present), judge.without(present, absent=True)
    clean = asked & alone & rest
    # Rows that did not change are the absent and the present who did not; the others are the present who did.
    changed = past.changed & present
    moved = past.count(changed)
    still = past.sizes - moved
    whole = judge.whole() & ((moved == 0) | (judge.without(changed) & ((still != absent) | judge.of_records(changed))))
    few = absent <= here
    everybody = asked & ~clean & whole & few
    wanting = asked & ~clean & ~alone & rest & (absent > 0) & (moved == 0)
    fate = np.full(past.n_cells, Fate.HELD_BACK, np.int32)
    fate[everybody] = Fate.ALL
    fate[clean] = Fate.CLEAN
    return Fates(fate, wanting)
