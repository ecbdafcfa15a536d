"""Linkage: how few rows could be a person's?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.adversary.attacks.base import Attack, Findings

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence


class Linkage(Attack):
    """The smallest class of candidate rows of each person: who is who, not who has what.

    ``prosecutor`` is the largest chance to find the row of somebody known to be in a release, ``journalist`` the
    largest chance to name the person behind a row among all who fit it, ``marketer`` the mean of the prosecutor's over
    persons. ``nowhere`` counts persons whom no group admits: they were not published, or the tables do not belong
    together. No belief in a value follows from this alone.
    """

    name: ClassVar[str] = "linkage"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return risks in the summary only."""
        releases: list[dict[str, float | None]] = []
        for view in evidence.views:
            filled = view.candidates.lengths > 0
            rows = view.candidates.reduce(np.add, view.sizes[view.candidates.items])
            chance = 1 / np.maximum(rows[filled], 1)
            fits = view.fits[view.fits > 0]
            releases.append(
                {
                    "prosecutor": float(chance.max(initial=0.0)),
                    "journalist": float((1 / fits).max(initial=0.0)),
                    "marketer": float(chance.sum() / max(int((filled | view.crowded).sum()), 1)),
                    "smallest": int(rows[filled].min(initial=np.iinfo(np.int64).max)) if filled.any() else None,
                    "nowhere": int((~filled & ~view.crowded).sum()),
                }
            )
        worst = {
            key: max(release[key] or 0.0 for release in releases) for key in ("prosecutor", "journalist", "marketer")
        }
        return Findings.nothing({**worst, "per_release": releases})
