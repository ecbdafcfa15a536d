"""Sequential linkage: one table, released several times with different columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.adversary.appearances import appearances_of
from reveil.adversary.attacks.base import Attack, Findings
from reveil.adversary.attacks.tau import findings
from reveil.adversary.chains import narrowed
from reveil.adversary.counting import HOW, believed

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.core.json_values import JSON


class Sequential(Attack):
    """Which values has a person in some world that every release agrees with, and in how many worlds?

    The releases are of one table in which nothing changes, each with other columns. A world gives everybody one value
    for good, so that the persons can be matched with the rows of every release: the cells admit the person, the
    values are the same. What lies on no such matching is excluded, release by release, until nothing changes; then the
    worlds are counted, each once, however the persons may be placed (drawn worlds: once for each placement).

    It runs where releases differ in their quasi columns and no value is known to have changed. A series published as
    possible worlds promises that everybody keeps l values, and that its own set of l worlds cannot be told from
    others: that is the ``belief`` of the summary. The share of *all* consistent worlds is no part of the promise, and
    is in the summary as ``share_of_worlds`` only. A person left with fewer than l values is a breach.
    Source: 003, sections 3 and 4.
    """

    name: ClassVar[str] = "sequential"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Match, and count."""
        columns = {frozenset(view.release.cells) for view in evidence.views}
        worlds = any(limit.attack == self.name for limit in evidence.limits)
        if len(columns) < 2 and not worlds:
            return Findings.not_made("all releases have the same quasi columns")
        if any((changed == 1).any() for changed in evidence.changed):
            return Findings.not_made("values are known to have changed between the releases")
        if evidence.known == "nothing":
            return Findings.not_made("who is in the table is not known")
        appearances = appearances_of(evidence, one_table=True)
        possible = narrowed(appearances, np.ones(len(appearances.candidates.items), np.bool_))
        found = believed(appearances, possible, rng, once=True, asked=evidence.sample)
        told = (found.how > 0) & ~found.impossible
        # Where worlds were drawn, what their share is at least.
        shares = np.where(found.exact, found.belief, np.nan_to_num(found.lower))
        linked = appearances.candidates.lengths > 0
        summary: dict[str, JSON] = {
            "ran": True,
            "fewest_values": int(possible.sizes[told & linked].min(initial=appearances.domain)),
            "share_of_worlds": float(shares[told].max(initial=0.0)),
        }
        if worlds and evidence.bound is not None:
            kept = told & (possible.sizes * evidence.bound >= 1 - 1e-9)
            found.tell(kept, HOW.index("at most"), evidence.bound, found.value[kept], np.full(int(kept.sum()), np.nan))
        summary["belief"] = float(found.belief[told].max(initial=0.0))
        return findings(evidence, appearances, possible, found, summary)
