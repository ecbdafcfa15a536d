"""Homogeneity: in one release alone, the group gives the value away or makes it likely."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from reveil.adversary.attacks.base import Attack, Findings, joined
from reveil.adversary.beliefs import believed, group_beliefs

if TYPE_CHECKING:
    import numpy as np

    from reveil.adversary.evidence import Evidence


class Homogeneity(Attack):
    """Belief in the most frequent value of the group, for each person in each release."""

    name: ClassVar[str] = "homogeneity"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return one finding for each person and release."""
        parts, per_release = [], []
        for view in evidence.views:
            shares = group_beliefs(view)
            found = believed(evidence, view, shares.each, shares.best, shares.value)
            parts.append(found)
            per_release.append(float(found.proven.max(initial=0.0)))
        return joined(parts, {"highest_per_release": per_release})
