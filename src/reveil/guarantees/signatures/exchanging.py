"""Who changes places with whom, until cells do not get narrower: groups by what is published.

Within a signature, the records of one value may be in its groups in any way; and newcomers with the same value may
change their signatures with each other. Both leave every group with one record of each value of its signature, and
everybody who was told a signature with that one. So the proof of tau-safety, which takes the groups as given, holds as
it is. What somebody learns who asks why the groups are so is not bounded in the counted grade, before or after; it is
measured (``benchmarks/utility/telling.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import offsets_of, offsets_of_sorted
from reveil.core.effort import Effort
from reveil.core.kernels import assigning

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.kernels.assigning import CellWidths
    from reveil.guarantees.signatures.machine import Groups

SHARD_ROWS = 500_000  # records are exchanged inside cells of so many, which lie one behind the other on the curve
_LEAF = 8  # groups that lie so near that their order does not matter
_TURN = 0.6180339887498949  # each sweep weighs the columns in another way when it looks for near groups


@dataclass(frozen=True)
class Sweeps:
    """How long exchanging goes on: records of a value that are assigned at once, and how often all are gone through.

    It ends before that where a pair of sweeps makes cells narrower by less than ``least`` of their width. Before it,
    signatures are looked for in so many ``rounds``.
    """

    together: int
    times: int
    least: float
    rounds: int


SWEEPS = {Effort.NORMAL: Sweeps(192, 28, 0.001, 12), Effort.THOROUGH: Sweeps(256, 48, 0.0005, 40)}


def exchanged(groups: Groups, free: BoolArray, shape: CellWidths, sweeps: Sweeps) -> Groups:
    """Exchange records between groups as long as that makes cells narrower; ``free`` records may change signature."""
    record = groups.record.astype(np.int32, copy=True)
    owner = groups.group.astype(np.int64)
    starts = offsets_of_sorted(owner, groups.size)
    inside = groups.signature[owner] * (int(groups.value.max(initial=0)) + 1) + groups.value
    shard = _shards(record, starts, shape)
    total = float(assigning.widths(record, starts, shape))
    fell = 0.0
    for turn in range(sweeps.times):
        classes = inside
        if turn % 2 == 0:  # newcomers and holes by value, whatever the signature
            if not free.any():
                continue
            movable = np.append(free, True)[record]
            classes = np.where(movable, groups.value, -1)
        near = _near(record, starts, shape, turn) + shard * np.int64(groups.size)
        runs, bounds = _runs(classes.astype(np.int64), near[owner], shard[owner], sweeps.together, shifted=turn % 4 > 1)
        fell += float(assigning.exchange(record, owner, starts, runs, bounds, shape))
        if turn % 2:
            if fell <= sweeps.least * total:
                break
            total, fell = total - fell, 0.0
    return replace(groups, record=record)


def _shards(record: CodeArray, starts: IntArray, shape: CellWidths) -> IntArray:
    """Return the top cell of each group: runs of groups along the curve, by quasi values alone."""
    cells = -(-int((record >= 0).sum()) // SHARD_ROWS)
    if cells <= 1:
        return np.zeros(len(starts) - 1, np.int64)
    return _near(record, starts, shape, 0) * cells // (len(starts) - 1)


def _near(record: CodeArray, starts: IntArray, shape: CellWidths, turn: int) -> IntArray:
    """Return the place of each group in an order in which near groups stand near; each turn has another one."""
    columns = shape.places.shape[1]
    factor = 1 + (np.arange(1, columns + 1) * _TURN * turn) % 1
    centres = assigning.centres(record, starts, shape.places) * factor
    order = np.arange(len(starts) - 1)
    assigning.curve(centres, order, _LEAF)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def _runs(classes: IntArray, near: IntArray, shard: IntArray, most: int, *, shifted: bool) -> tuple[IntArray, IntArray]:
    """Cut the rows of each class (-1: none) and shard into runs of about equal length, at most ``most``.

    Runs that are ``shifted`` begin in the middle of others, so that the ends of runs are not always the same.
    """
    rows = np.flatnonzero(classes >= 0)
    rows = rows[np.lexsort((near[rows], classes[rows]))]  # the order of places goes shard by shard
    key = np.stack([classes[rows], shard[rows]])
    first = np.flatnonzero(np.append(True, (key[:, 1:] != key[:, :-1]).any(axis=0)))[: len(rows)]
    lengths = np.diff(np.append(first, len(rows)))
    pieces = np.maximum(-(-lengths // most), 1)
    size = -(-lengths // pieces)
    begin = np.where(shifted & (pieces > 1), size // 2, 0)
    inside = np.arange(len(rows)) - np.repeat(first, lengths)
    piece = (inside + np.repeat(begin, lengths)) // np.repeat(np.maximum(size, 1), lengths)
    lengths_of = np.bincount(np.repeat(np.cumsum(pieces + 1) - pieces - 1, lengths) + piece)
    return rows.astype(np.int64), offsets_of(lengths_of[lengths_of > 0])
