"""Findings about the persons of a group who are not in another release with the same value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.adversary.attacks.base import Findings, mask_of

if TYPE_CHECKING:
    from reveil.adversary.cells import Pair
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray


def beliefs_in_remainder(evidence: Evidence, pair: Pair, chosen: BoolArray) -> Findings:
    """Say what follows for the rest of the chosen groups.

    How many of the rest have a value is a matter of counting. That it is the same for each of them holds if the other
    release does not tell them apart: if all of them are absent from it. Else only what is certain is exact.
    """
    group = pair.view.sure[pair.persons]
    kept = chosen[group]
    group, persons = group[kept], pair.persons[kept]
    if not len(group):
        return Findings.nothing()
    said, value, belief, proven, exact = pair.bounds(max(len(evidence.values), 1)).best()
    certain = exact & (belief >= 1)
    exact = certain | (exact & pair.apart)
    lower = np.where(exact, np.nan, np.where(pair.apart, proven, 0.0))
    good = said[group]
    group, persons = group[good], persons[good]
    mask = np.full(len(group), mask_of(evidence, pair.view.number, pair.other.number), np.int64)
    at = np.full(len(group), pair.view.number, np.int32)
    who = pair.view.present[persons]
    return Findings(who, belief[group], value[group], exact[group], mask, lower=lower[group], at=at)
