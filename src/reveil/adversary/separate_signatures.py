"""Releases whose signatures are kept apart: who has which signature, and what follows from it without any chaining.

Where every group has each of its values equally often and any two signatures of a person are equal or share nothing,
the values of a signature can be renamed into each other in all the releases at once, and every world stays one. So a
person whose signature S is settled has each of its values in exactly 1/|S| of the worlds, and one who may have several
signatures has a mixture of such shares: at most that of the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.kernels import chains

if TYPE_CHECKING:
    from reveil.adversary.appearances import Slots
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray, IntArray

ROUNDS = 10


@dataclass(frozen=True, repr=False)
class Settled:
    """For each slot: how many groups are left, the least values of one, a group of them, and whether all agree.

    ``broken``: slots that the rule leaves no group.
    """

    many: IntArray
    least: IntArray
    group: IntArray
    settled: BoolArray
    broken: BoolArray


def settle(evidence: Evidence, slots: Slots) -> Settled:
    """Find everybody's signatures, as far as the other releases settle them; candidates are read view by view."""
    many, least, group = (np.zeros(slots.n, np.int64) for _ in range(3))
    settled = np.zeros(slots.n, np.bool_)
    told = np.full((len(evidence.persons), len(evidence.views)), -1, np.int32)
    sets = chains.GroupSets(slots.sets, slots.distinct, slots.signature)
    known = -1
    for _ in range(ROUNDS):
        for number, view in enumerate(evidence.views):
            own = slice(slots.slot_starts[number], slots.slot_starts[number + 1])
            if not len(view.codes):
                continue
            placed = chains.ReleaseCandidates(
                view.candidates.offsets, view.candidates.items, slots.group_starts[number], view.present, number
            )
            chains.settle(placed, told, sets, chains.Settled(many[own], least[own], group[own], settled[own]))
            if slots.unplaced[number]:
                settled[own] = False  # anybody may be one of those who were not published
            sure = settled[own]
            told[view.present[sure], number] = group[own][sure]
        # Only what is settled now and was not before can settle more.
        if settled.sum() == known:
            break
        known = int(settled.sum())
    had = np.concatenate([view.candidates.lengths > 0 for view in evidence.views])
    tells = np.array([len(view.codes) > 0 for view in evidence.views])
    broken = had & (many == 0) & (slots.unplaced == 0)[slots.release] & tells[slots.release]
    return Settled(many, least, group, settled, broken)
