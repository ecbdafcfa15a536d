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
from reveil.core.threads import each

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.kernels.assigning import CellWidths
    from reveil.guarantees.signatures.machine import Groups

    FloatArray = npt.NDArray[np.float64]
    ShapeOf = Callable[[CodeArray], CellWidths]

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


def exchanged(groups: Groups, free: BoolArray, shape_of: ShapeOf, sweeps: Sweeps) -> Groups:
    """Exchange records between groups as long as that makes cells narrower; ``free`` records may change signature.

    More than :data:`SHARD_ROWS` records are gone through shard by shard, each until it gets no narrower; what is needed
    to know the widths of cells (``shape_of`` some records, in their order) is there for one shard at a time.
    """
    record = groups.record.astype(np.int32, copy=True)
    starts = offsets_of_sorted(groups.group.astype(np.int64), groups.size)
    inside = groups.signature[groups.group] * (int(groups.value.max(initial=0)) + 1) + groups.value
    shards = _shards(record, starts, shape_of)

    def work(shard: IntArray) -> None:
        """Exchange the records of some groups; numbers of records, groups and rows are those of the shard."""
        mine = np.zeros(groups.size, np.bool_)
        mine[shard] = True
        rows = np.flatnonzero(mine[groups.group]) if len(shard) < groups.size else None
        held = record if rows is None else record[rows]
        real = np.flatnonzero(held >= 0)
        numbers = np.full(len(held), -1, np.int32)
        numbers[real] = np.arange(len(real), dtype=np.int32)
        free_here, owner = free[held[real]], np.repeat(np.arange(len(shard)), np.diff(starts)[shard])
        value = groups.value if rows is None else groups.value[rows]
        classes = inside if rows is None else inside[rows]
        _exchange(numbers, owner, value, classes, free_here, shape_of(held[real]), sweeps)
        moved = np.append(held[real], np.int32(-1))[numbers]
        if rows is None:
            record[:] = moved
        else:
            record[rows] = moved

    each(work, shards)
    return replace(groups, record=record)


def _exchange(
    record: CodeArray,
    owner: IntArray,
    value: CodeArray,
    inside: IntArray,
    free: BoolArray,
    shape: CellWidths,
    sweeps: Sweeps,
) -> None:
    """Exchange the records of the rows of some groups: ``owner`` is the group of each, ``inside`` its set and value."""
    starts = offsets_of_sorted(owner, int(owner.max(initial=-1)) + 1)
    total = float(assigning.widths(record, starts, shape))
    fell = 0.0
    for turn in range(sweeps.times):
        classes = inside
        if turn % 2 == 0:  # newcomers and holes by value, whatever the signature
            if not free.any():
                continue
            movable = np.append(free, True)[record]
            classes = np.where(movable, value, -1)
        near = _along_curve(assigning.centres(record, starts, shape.places), turn)
        runs, bounds = _runs(classes.astype(np.int64), near[owner], sweeps.together, shifted=turn % 4 > 1)
        fell += float(assigning.exchange(record, owner, starts, runs, bounds, shape))
        if turn % 2:
            if fell <= sweeps.least * total:
                break
            total, fell = total - fell, 0.0


def _shards(record: CodeArray, starts: IntArray, shape_of: ShapeOf) -> list[IntArray]:
    """Return the groups of each top cell: runs of groups along the curve, by quasi values alone."""
    groups = len(starts) - 1
    cells = min(-(-int((record >= 0).sum()) // SHARD_ROWS), groups)
    if cells <= 1:
        return [np.arange(groups)]
    # The middles of groups, some groups at a time.
    middles = []
    for part in np.array_split(np.arange(groups), cells):
        first, last = starts[part[0]], starts[part[-1] + 1]
        held = record[first:last]
        real = np.flatnonzero(held >= 0)
        numbers = np.full(len(held), -1, np.int32)
        numbers[real] = np.arange(len(real), dtype=np.int32)
        places = shape_of(held[real]).places
        middles.append(assigning.centres(numbers, starts[part[0] : part[-1] + 2] - first, places))
    cell = _along_curve(np.concatenate(middles), 0) * cells // groups
    return [np.flatnonzero(cell == one) for one in range(cells)]


def _along_curve(centres: FloatArray, turn: int) -> IntArray:
    """Return the place of each group in an order in which near groups stand near; each turn has another one."""
    factor = 1 + (np.arange(1, centres.shape[1] + 1) * _TURN * turn) % 1
    order = np.arange(len(centres))
    assigning.curve(centres * factor, order, _LEAF)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def _runs(classes: IntArray, near: IntArray, most: int, *, shifted: bool) -> tuple[IntArray, IntArray]:
    """Cut the rows of each class (-1: none) into runs of about equal length, at most ``most``.

    Runs that are ``shifted`` begin in the middle of others, so that the ends of runs are not always the same.
    """
    rows = np.flatnonzero(classes >= 0)
    rows = rows[np.lexsort((near[rows], classes[rows]))]
    key = classes[rows]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))[: len(rows)]
    lengths = np.diff(np.append(first, len(rows)))
    pieces = np.maximum(-(-lengths // most), 1)
    size = -(-lengths // pieces)
    begin = np.where(shifted & (pieces > 1), size // 2, 0)
    inside = np.arange(len(rows)) - np.repeat(first, lengths)
    piece = (inside + np.repeat(begin, lengths)) // np.repeat(np.maximum(size, 1), lengths)
    lengths_of = np.bincount(np.repeat(np.cumsum(pieces + 1) - pieces - 1, lengths) + piece)
    return rows.astype(np.int64), offsets_of(lengths_of[lengths_of > 0])
