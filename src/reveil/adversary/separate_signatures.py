"""Releases whose signatures are kept apart: who has which signature, and what follows from it without any chaining.

Where every group has each of its values equally often and any two signatures of a person are equal or share nothing,
the values of a signature can be renamed into each other in all the releases at once, and every world stays one. So a
person whose signature S is known has each of its values in exactly 1/|S| of the worlds, and one who may have several
signatures has a mixture of such shares: at most that of the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.kernels import chains

if TYPE_CHECKING:
    from reveil.adversary.appearances import Appearances
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray, IntArray

ROUNDS = 10


@dataclass(frozen=True, repr=False)
class KnownSignatures:
    """For each appearance: how many groups are left, the least values of one, a group of them, and whether all agree.

    ``broken``: appearances that the rule leaves no group.
    """

    many: IntArray
    least: IntArray
    group: IntArray
    agreed: BoolArray
    broken: BoolArray


def known_signatures(evidence: Evidence, appearances: Appearances) -> KnownSignatures:
    """Find everybody's signatures, as far as the other releases tell them; candidates are read view by view."""
    many, least, group = (np.zeros(appearances.n, np.int64) for _ in range(3))
    agreed = np.zeros(appearances.n, np.bool_)
    told = np.full((len(evidence.persons), len(evidence.views)), -1, np.int32)
    sets = chains.GroupSets(appearances.sets, appearances.distinct, appearances.signature)
    known = -1
    for _ in range(ROUNDS):
        for number, view in enumerate(evidence.views):
            of_release = slice(appearances.appearance_starts[number], appearances.appearance_starts[number + 1])
            if not len(view.codes):
                continue
            placed = chains.ReleaseCandidates(
                view.candidates.offsets, view.candidates.items, appearances.group_starts[number], view.present, number
            )
            chains.signatures_left(
                placed,
                told,
                sets,
                chains.SignaturesLeft(many[of_release], least[of_release], group[of_release], agreed[of_release]),
            )
            if appearances.unplaced[number]:
                agreed[of_release] = False  # anybody may be one of those who were not published
            sure = agreed[of_release]
            told[view.present[sure], number] = group[of_release][sure]
        # Only what is known now and was not before can tell more.
        if agreed.sum() == known:
            break
        known = int(agreed.sum())
    had = np.concatenate([view.candidates.lengths > 0 for view in evidence.views])
    tells = np.array([len(view.codes) > 0 for view in evidence.views])
    broken = had & (many == 0) & (appearances.unplaced == 0)[appearances.release] & tells[appearances.release]
    return KnownSignatures(many, least, group, agreed, broken)
