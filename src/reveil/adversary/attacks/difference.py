"""Difference: a group of one release minus the groups of another that lie inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reveil.adversary.attacks.base import ONE, Attack, Findings, joined, strongest_of
from reveil.adversary.cells import LOOKS, Pair, compared, containing, pair_of, pairs_of, runs_of
from reveil.adversary.remainders import beliefs_in_remainder

if TYPE_CHECKING:
    import numpy as np

    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray

AT_ONCE = 3_000_000  # findings, beyond which only the strongest of each person and release are kept


class Difference(Attack):
    """What is left of a group for those whom another release does not show.

    Where the persons of whole groups of one release are all in one group of another, with the same values, their
    rows can be taken away: the others have the rest. This is integer arithmetic on known persons; nothing is estimated
    where counterfeits or unknown members could stand for a row. Any two releases are compared, as long as that is no
    more than a thousand million looks at somebody whose group is known: whether a group lies in another is seen at a
    few looks for each, and only where one does is anything counted.
    """

    name: ClassVar[str] = "difference"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return findings about the rest of groups that contain other groups."""
        if len(evidence.views) < 2:
            return Findings.not_made(ONE)
        runs = runs_of(evidence)
        found, contained = Findings.nothing(), 0
        pairs = pairs_of([int((view.only >= 0).sum()) for view in evidence.views], rows=LOOKS)
        for number, other in pairs:
            around = containing(evidence, runs, number, other)
            if not around.any():
                continue
            pair = pair_of(evidence, runs, number, other, around)
            contained += int(groups_inside(pair).sum())
            found = joined([found, beliefs_in_remainder(evidence, pair, around)])
            if len(found.person) > AT_ONCE:
                found = strongest_of(found)
        return joined([found], {"contained_groups": contained, **compared(len(evidence.views), pairs)})


def groups_inside(pair: Pair) -> BoolArray:
    """Return which of the pairs are a whole group of the other release inside a group of this one."""
    other = pair.other
    whole: BoolArray = (pair.stays == other.sizes[pair.into]) & (pair.stays < pair.view.sizes[pair.group])
    return whole
