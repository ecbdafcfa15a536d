"""A release from elsewhere as a cut of the cells, whatever it did to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.refining.entries import Cut
from reveil.statistics import GroupStats, Histogram

if TYPE_CHECKING:
    from reveil.models.base import Model
    from reveil.refining.reading import Reading
    from reveil.statistics import BoolArray, CodeArray


def cut_of(reading: Reading, model: Model, groups: CodeArray, several: BoolArray) -> tuple[Cut, int, int]:
    """Return the pieces that the groups of a release make of cells, how many groups are not safe, and for how many.

    A piece that the model refuses is a cell that will never be published again, because nothing in it can be. Whoever
    could be in several groups is a piece alone: no group can count on them.
    """
    past = reading.past
    alone = np.flatnonzero(several & (groups >= 0))
    label = groups.astype(np.int64)
    label[alone] = groups.max(initial=0) + 1 + np.arange(len(alone))
    label[reading.rests] = -1
    there = np.flatnonzero(label >= 0)
    pairs = np.stack([past.cell[there].astype(np.int64), label[there]], axis=1)
    _, first, piece = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    group = np.full(len(groups), -1, np.int32)
    group[there] = piece.ravel()
    own = group[there]
    values = [word.attribute for word in reading.words]
    stats = GroupStats(
        np.bincount(own, minlength=len(first)).astype(np.int64),
        {a.name: Histogram.of(own, a.codes[there], len(first), a.domain) for a in values},
        {a.name: a.reference(there) for a in values},
    )
    bad = ~model.verdict(stats)
    cut = Cut(group, np.zeros(0, np.int32), np.zeros(len(first), np.int64))
    return cut, len(np.unique(label[there][bad[own]])), int(bad[own].sum())
