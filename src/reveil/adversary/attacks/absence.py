"""Critical absence: a value is gone, and so are only some who could have had it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.adversary.attacks.base import ONE, Attack, Findings, joined
from reveil.adversary.cells import compared, pair_of, pairs_of, places_of, runs_of
from reveil.adversary.remainders import beliefs_in_remainder

if TYPE_CHECKING:
    from reveil.adversary.cells import Pair
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray


class Absence(Attack):
    """A value of a group that is in none of the groups of those who stayed with their value.

    Then it belonged to somebody who left, or whose value changed. Read the other way round in time: a value that was
    nowhere before belongs to somebody who came, or changed.
    """

    name: ClassVar[str] = "absence"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return findings about the rest of groups that lost, or gained, a value."""
        if len(evidence.views) < 2:
            return Findings.not_made(ONE)
        runs = runs_of(evidence)
        parts, groups = [], 0
        pairs = pairs_of([len(view.present) for view in evidence.views])
        for number, other in pairs:
            pair = pair_of(evidence, runs, number, other)
            lost = with_a_lost_value(pair, max(len(evidence.values), 1))
            groups += int(lost.sum())
            parts.append(beliefs_in_remainder(evidence, pair, lost))
        return joined(parts, {"groups_with_an_absent_value": groups, **compared(len(evidence.views), pairs)})


def with_a_lost_value(pair: Pair, domain: int) -> BoolArray:
    """Return the groups with members who stayed, and with a value that no group of these has."""
    view, other = pair.view, pair.other
    row, place = other.values.places(pair.into)
    at, found = places_of(view, pair.group[row], other.codes[place], domain)
    kept = np.zeros(len(view.counts), np.bool_)
    kept[at[found]] = True
    owners = view.values.owners()
    stayed, lost = np.zeros(view.n_groups, np.bool_), np.zeros(view.n_groups, np.bool_)
    stayed[pair.group] = True
    lost[owners[~kept]] = True
    return stayed & lost & (pair.remainder > 0)
