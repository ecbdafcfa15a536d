"""Correspondence: rows of two releases that must, or cannot, be of the same record (forward, cross, backward)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.adversary.attacks.base import ONE, Attack, Findings, joined
from reveil.adversary.cells import Pair, compared, count_of, pair_of, pairs_of, runs_of
from reveil.adversary.remainders import beliefs_in_remainder

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import IntArray


class Correspondence(Attack):
    """Rows of a group that cannot be a person's because the other release has no row for them.

    *Forward* and *cross*: a person was in a group of each of two releases with one value; of the rows of each group
    only as many per value can be theirs as the other group has. What is excluded is *cracked*; the summary has the
    fewest rows that remain. *Backward*: a person came later; the rows of their group that belong to those who were
    there before are not theirs. The values of those who stayed are the business of the intersection.
    """

    name: ClassVar[str] = "correspondence"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return findings of the backward attack; cracked rows are in the summary."""
        if len(evidence.views) < 2:
            return Findings.not_made(ONE)
        runs = runs_of(evidence)
        domain = max(len(evidence.values), 1)
        parts: list[Findings] = []
        cracked = {"forward_cracked": 0, "cross_cracked": 0}
        fewest: int | None = None
        pairs = pairs_of([len(view.present) for view in evidence.views])
        for number, other in pairs:
            pair = pair_of(evidence, runs, number, other)
            if len(pair.group):
                left = common(pair, domain)
                key = "forward_cracked" if number < other else "cross_cracked"
                cracked[key] = max(cracked[key], int((pair.view.sizes[pair.group] - left).max()))
                fewest = int(left.min()) if fewest is None else min(fewest, int(left.min()))
            told = np.zeros(pair.view.n_groups, np.bool_)
            told[pair.group] = True
            parts.append(beliefs_in_remainder(evidence, pair, told & (pair.remainder > 0)))
        return joined(parts, {**cracked, "fewest_rows_left": fewest, **compared(len(evidence.views), pairs)})


def common(pair: Pair, domain: int) -> IntArray:
    """Return how many rows the two groups of each pair have in common, value by value."""
    row, place = pair.view.values.places(pair.group)
    others = count_of(pair.other, pair.into[row], pair.view.codes[place], domain)
    common = np.minimum(pair.view.counts[place], others)
    return np.bincount(row, common, len(pair.group)).astype(np.int64)
