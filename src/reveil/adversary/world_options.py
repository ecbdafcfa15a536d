"""What the appearances of some components may take, laid out for those who count or draw their worlds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged, offsets_of_sorted
from reveil.core.kernels import worlds

if TYPE_CHECKING:
    from reveil.adversary.appearances import Appearances
    from reveil.adversary.chains import Possible

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class WorldOptions:
    """The appearances of some components in the order of lives, and what each may take."""

    appearances: Ragged[np.int64]  # of each component
    component: IntArray
    appearance: IntArray  # of each option
    options: worlds.Options

    @classmethod
    def of(cls, appearances: Appearances, possible: Possible, label: IntArray, chosen: BoolArray) -> WorldOptions:
        """Lay out the chosen components, the appearances of a person behind each other."""
        members = np.flatnonzero(chosen[label])
        members = members[np.lexsort((appearances.release[members], appearances.person[members], label[members]))]
        starts = np.flatnonzero(np.diff(label[members], prepend=-1))
        there = chosen[label]
        edges = np.flatnonzero(possible.alive)
        appearance = appearances.candidates.owners()[edges]
        edges, appearance = edges[there[appearance]], appearance[there[appearance]]
        group = appearances.candidates.items[edges].astype(np.int64)
        which, row = appearances.values.places(group)
        appearance, group, value = appearance[which], group[which], appearances.values.items[row]
        bit = np.uint64(1) << (value % 64).astype(np.uint64)
        good = (possible.masks[appearance, value // 64] & bit) != 0
        appearance, group, value, row = appearance[good], group[good], value[good], row[good]
        options = offsets_of_sorted(appearance, appearances.n)
        distinct, place = np.unique(appearance * appearances.domain + value, return_inverse=True)
        rank = place - np.searchsorted(distinct, appearance * appearances.domain)
        listed = Ragged(np.append(starts, len(members)).astype(np.int64), members)
        laid = worlds.Options(listed.offsets, members, options, group, value, row, rank)
        return cls(listed, label[members[starts]], appearance, laid)

    def best(self, appearances: Appearances, weight: FloatArray) -> tuple[IntArray, FloatArray, CodeArray]:
        """Return the appearances, the largest weight of a value of each, and that value."""
        keys, place = np.unique(self.appearance * appearances.domain + self.options.value, return_inverse=True)
        summed = np.bincount(place, weight, len(keys))
        appearance, value = keys // appearances.domain, (keys % appearances.domain).astype(np.int32)
        order = np.lexsort((-summed, appearance))
        first = order[np.flatnonzero(np.diff(appearance[order], prepend=-1))]
        return appearance[first], summed[first].astype(np.float64), value[first]


def known_lives(appearances: Appearances) -> tuple[worlds.Lives, worlds.Free]:
    """Return what is known of lives, and the rows and the room that there are."""
    kept = appearances.kept & (appearances.rule == "kept")
    lives = worlds.Lives(appearances.before, appearances.changed, appearances.rule == "apart", kept, appearances.sets)
    return lives, worlds.Free(appearances.counts.copy(), appearances.room.copy())
