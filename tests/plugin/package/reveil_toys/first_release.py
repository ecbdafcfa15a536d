"""An attack by somebody who kept the first release only."""

from __future__ import annotations

from reveil.adversary.attacks.base import Attack
from reveil.adversary.beliefs import believed, group_beliefs


class FirstRelease(Attack):
    """Belief in the most frequent value of the group in the first release."""

    name = "first"

    def run(self, evidence, rng):
        view = evidence.views[0]
        shares = group_beliefs(view)
        return believed(evidence, view, shares.each, shares.best, shares.value)
