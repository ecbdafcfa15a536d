"""Difference: a group of one release minus the groups of another that lie inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.adversary.attacks.base import ONE, Attack, Findings, joined
from reveil.adversary.cells import Pair, pair_of, pairs_of, runs_of
from reveil.adversary.remainders import beliefs_in_remainder

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray


class Difference(Attack):
    """What is left of a group for those whom another release does not show.

    Where the persons of whole groups of one release are all in one group of another, with the same values, their
    rows can be taken away: the others have the rest. This is integer arithmetic on known persons; nothing is estimated
    where counterfeits or unknown members could stand for a row.
    """

    name: ClassVar[str] = "difference"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return findings about the rest of groups that contain other groups."""
        if len(evidence.views) < 2:
            return Findings.not_made(ONE)
        runs = runs_of(evidence)
        parts, contained = [], 0
        for number, other in pairs_of(evidence):
            pair = pair_of(evidence, runs, number, other)
            inside = _contained(pair)
            contained += int(inside.sum())
            taken = np.zeros(pair.view.n_groups, np.bool_)
            taken[pair.group[inside]] = True
            parts.append(beliefs_in_remainder(evidence, pair, taken))
        return joined(parts, {"contained_groups": contained})


def _contained(pair: Pair) -> BoolArray:
    """Return which of the pairs are a whole group of the other release inside a group of this one."""
    other = pair.other
    whole: BoolArray = (pair.stays == other.sizes[pair.into]) & (pair.stays < pair.view.sizes[pair.group])
    return whole
