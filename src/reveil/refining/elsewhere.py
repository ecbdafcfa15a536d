"""A release from elsewhere as a cut of the cells, whatever it did to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.models.base import ValueModel
from reveil.models.t_closeness import TCloseness
from reveil.refining.entries import Cut
from reveil.refining.judging import Judge
from reveil.statistics import GroupStats, Histogram

if TYPE_CHECKING:
    from reveil.models.base import Model
    from reveil.refining.reading import Reading
    from reveil.statistics import BoolArray, CodeArray, IntArray


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
    bad = ~_valid(reading, model, group, len(first), there)
    held = bad[own]
    # Who was not in it is a piece, too.
    left = np.zeros(len(groups), np.bool_)
    left[there] = True
    judge = Judge(model, past, tables=reading.tables)
    torn = (past.count(left) > 0) & ~judge.without(left)
    rest = int((past.sizes - past.count(left))[torn].sum())
    cut = Cut(group, np.zeros(0, np.int32), np.zeros(len(first), np.int64))
    return cut, len(np.unique(label[there][held])), int(held.sum()) + rest


def _valid(reading: Reading, model: Model, group: CodeArray, n_groups: int, there: IntArray) -> BoolArray:
    """Return which pieces are valid, with the values of today and of every release they were in."""
    sizes = np.bincount(group[there], minlength=n_groups).astype(np.int64)
    valid = np.ones(n_groups, np.bool_)
    for part in model.parts:
        if not isinstance(part, ValueModel):
            valid &= part.verdict(GroupStats(sizes))
    for said in reading.past.said:
        own = said.attribute
        today = Histogram.of(group[there], own.codes[there], n_groups, own.domain)
        shown = group[said.record] >= 0
        pairs = group[said.record[shown]].astype(np.int64) * (len(said.cell) + 1) + said.version[shown]
        keys, place = np.unique(pairs, return_inverse=True)
        then = Histogram.of(place, said.value[shown], len(keys), own.domain)
        for owner, counts in ((np.arange(n_groups), today), (keys // (len(said.cell) + 1), then)):
            stats = GroupStats(sizes[owner], {own.name: counts}, {own.name: own.reference(there)})
            for part in model.parts:
                if isinstance(part, ValueModel) and part.concerns(own.name):
                    if isinstance(part, TCloseness) and counts is then:
                        continue  # the judge compares it with the tables of then when it is published next
                    valid[owner[~part.verdict(stats)]] = False
    return valid
