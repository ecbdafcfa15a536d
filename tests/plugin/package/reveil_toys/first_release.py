"""An attack by somebody who kept the first release only."""

from __future__ import annotations

from reveil.adversary.attacks.base import Attack
from reveil.adversary.beliefs import believed, shares_of


class FirstRelease(Attack):
    """Belief in the most frequent value of the group in the first release."""

    name = "first"

    def run(self, evidence, rng):
        view = evidence.views[0]
        shares = shares_of(view)
        return believed(evidence, view, shares.each, shares.best, shares.value)
