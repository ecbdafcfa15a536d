"""Groups of near records with different values, where cuts leave large ones.

If no value may have more than one in l records, a cut often leaves a half with too many of one value, and nodes stay
large. Inside such a node groups need not be divided by a line. A node of n records in which no value has more than
n/l is divided into g = n // l groups of l records with different values, one of each column: the records are ordered
by their value, the most frequent first, and cut into l columns of g. A value is in at most two columns, next to each
other, so of the records of a column only those of its first value are barred from any group; therefore each column
can be assigned to groups whole. It is assigned so that the boxes become least wide (a linear assignment).

So cuts by lines end early, at nodes of about :data:`NODE` records. What the nodes set apart comes together again: the
groups of all of them, in chunks of near ones that are others in each round, are assigned anew
(:mod:`reveil.core.kernels.rematching`). In the end the n - g l records left over of each node go to near groups that
lack their value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reveil.core.arrays import offsets_of, ranks_in_rows
from reveil.core.kernels import assigning, exchange, hilbert, rematching, widening

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.kernels.cuts import CodedRecords
    from reveil.core.kernels.widening import Attributes
    from reveil.grouping.groupers._exchange import Exchange

    FloatArray = npt.NDArray[np.float64]

NODE = 128  # records that a half of a cut has at least, where nodes are divided afterwards
_AT_ONCE = 640  # records among which groups are looked for; the work grows with the square
_LEAF = 8  # groups that lie so near that their order does not matter
_NEAR_GROUPS = 64  # groups among which a record left over looks for the best
_BITS = 63  # of a place on the curve
_APART = 1e3  # farther than any two groups of one cell
_TURN = 0.6180339887498949  # each round weighs the columns in another way when it looks for near groups


class _Dealt(NamedTuple):
    """Groups of equally many records and the cell of each, and the records left over with the cell of each."""

    groups: IntArray  # (groups, members)
    cell: IntArray
    left: IntArray
    cell_left: IntArray


def least_dealt(plan: Exchange) -> int:
    """Return how many different values a group has at least where groups are dealt; 0: they are not."""
    least = int(np.ceil(plan.bound - 1e-6))
    return least if plan.rule == exchange.SHARE and least >= 2 else 0


def divisible(plan: Exchange, records: CodedRecords, starts: IntArray, ends: IntArray) -> BoolArray:
    """Return which nodes can be divided into groups of different values.

    Others have too many records of one value: l is no whole number and the proof is about the next one, or the table
    has too many itself.
    """
    least = least_dealt(plan)
    large = ends - starts >= 2 * max(least, plan.least)
    most = [
        int(np.bincount(records.values[start:end, 0]).max()) if wanted else 0
        for start, end, wanted in zip(starts.tolist(), ends.tolist(), large.tolist(), strict=True)
    ]
    return np.asarray(large & (least * np.array(most, np.int64) <= ends - starts))


def dealt(
    plan: Exchange, records: CodedRecords, starts: IntArray, ends: IntArray, cells: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Divide large groups further where the share of a value is bounded; return the groups and the cell of each.

    The records of a cell are permuted in their places.
    """
    if not least_dealt(plan):
        return starts, ends, cells
    large = divisible(plan, records, starts, ends)
    if not large.any():
        return starts, ends, cells
    found = _divided(plan, records, starts[large], ends[large], cells[large])
    _rematched(plan, records, found)
    groups, owner = _filled_up(plan, records, found)
    sizes = np.concatenate([(ends - starts)[~large], [len(members) for members in groups]]).astype(np.int64)
    units = [np.arange(start, end) for start, end in zip(starts[~large], ends[~large], strict=True)] + groups
    owner = np.concatenate([cells[~large], owner])
    order = np.argsort(owner, kind="stable")
    # Between two cells there may be records that are not ours.
    places = np.repeat(starts, ends - starts) + ranks_in_rows(ends - starts)
    source = np.concatenate([units[unit] for unit in order.tolist()])
    for column in records:
        column[places] = column[source]
    first = offsets_of(sizes[order])
    made = places[first[:-1]]
    return made, made + sizes[order], owner[order]


def _divided(plan: Exchange, records: CodedRecords, starts: IntArray, ends: IntArray, cells: IntArray) -> _Dealt:
    """Divide the records of each node into groups."""
    least = least_dealt(plan)
    groups: list[IntArray] = []
    left: list[IntArray] = []
    owner: list[IntArray] = []
    owner_left: list[IntArray] = []
    for start, end, cell in zip(starts.tolist(), ends.tolist(), cells.tolist(), strict=True):
        rows, values = records.rows[start:end], records.values[start:end, 0]
        where = _curve(rows, plan.attributes)
        for part in _parts(values, where, least):
            columns, over = _columns(values[part], where[part], least)
            groups.append(start + part[columns])
            left.append(start + part[over])
            owner.append(np.full(len(columns), cell, np.int64))
            owner_left.append(np.full(len(over), cell, np.int64))
    bounds = offsets_of([len(columns) for columns in groups])
    found = _Dealt(*(np.concatenate(parts) for parts in (groups, owner, left, owner_left)))
    values = np.ascontiguousarray(records.values[:, 0])
    rematching.match(records.rows, values, found.groups, bounds, 2 * _AT_ONCE // least, plan.attributes)
    return found


def _parts(values: CodeArray, where: IntArray, least: int) -> list[IntArray]:
    """Divide records along the curve, each value by itself, so that every part has about the same shares of values.

    Where rounding gives one part too many of a value, nothing is divided.
    """
    many = -(-len(values) // _AT_ONCE)
    order = np.lexsort((where, values))
    if many == 1:
        return [order]
    counts = np.unique(values, return_counts=True)[1]
    rank = np.arange(len(order)) - np.repeat(offsets_of(counts)[:-1], counts)
    part = rank * many // np.repeat(counts, counts)
    parts = [order[part == number] for number in range(many)]
    if all(least * np.bincount(values[part]).max() <= len(part) for part in parts):
        return parts
    return [order]


def _columns(values: CodeArray, where: IntArray, least: int) -> tuple[IntArray, IntArray]:
    """Lay records out in ``least`` columns of which each row has different values; return also those left over."""
    size = len(values) // least
    counts = np.bincount(values)
    order = np.lexsort((where, values, -counts[values])).astype(np.int64)
    columns = np.ascontiguousarray(order[: size * least].reshape(least, size).T)
    return columns, order[size * least :]


def _boxes(rows: CodeArray, inside: IntArray, attributes: Attributes) -> widening.RowBoxes:
    """Return the boxes of groups of equally many records."""
    codes = rows[inside]
    null = codes == attributes.nulls
    lo = np.where(null, np.iinfo(np.int32).max, codes).min(axis=1).astype(np.int32)
    hi = np.where(null, -1, codes).max(axis=1).astype(np.int32)
    return widening.RowBoxes(lo, hi, null.any(axis=1))


def _rematched(plan: Exchange, records: CodedRecords, found: _Dealt) -> None:
    """Assign the records of all groups anew, those of each cell among themselves; each round has other chunks."""
    values = np.ascontiguousarray(records.values[:, 0])
    columns = records.rows.shape[1]
    for turn in range(plan.search.rounds):
        middles = _middles(records.rows, found.groups, plan.attributes)
        factor = 1 + (np.arange(1, columns + 1) * _TURN * turn) % 1
        near = np.arange(len(middles))
        assigning.curve(middles * factor, near, _LEAF)
        order = near[np.argsort(found.cell[near], kind="stable")]
        bounds = _chunks(found.cell[order], plan.search.together, shifted=turn % 2 > 0)
        groups = np.ascontiguousarray(found.groups[order])
        rematching.rematch(records.rows, values, groups, bounds, turn % columns, plan.attributes)
        found.groups[order] = groups


def _chunks(cell: IntArray, most: int, *, shifted: bool) -> IntArray:
    """Cut sorted groups into chunks of about equally many of one cell; shifted ones begin in the middle of others."""
    counts = np.unique(cell, return_counts=True)[1]
    pieces = np.maximum(-(-counts // most), 1)
    size = np.repeat(-(-counts // pieces), counts)
    begin = np.where(shifted & np.repeat(pieces > 1, counts), size // 2, 0)
    piece = (ranks_in_rows(counts) + begin) // size
    differs = (np.diff(cell) != 0) | (np.diff(piece) != 0)
    return np.concatenate([[0], np.flatnonzero(differs) + 1, [len(cell)]]).astype(np.int64)


def _middles(rows: CodeArray, groups: IntArray, attributes: Attributes) -> FloatArray:
    """Return the middle of each group, attribute by attribute."""
    found = np.empty((len(groups), rows.shape[1]))
    for a in range(rows.shape[1]):
        found[:, a] = attributes.positions[attributes.offsets[a] + rows[groups, a]].mean(axis=1)
    return found


def _filled_up(plan: Exchange, records: CodedRecords, found: _Dealt) -> tuple[list[IntArray], IntArray]:
    """Put the records left over into near groups of their cell that lack their value.

    There is one: of a value there are at most as many as groups in each node, and so in each cell.
    """
    from scipy.spatial import cKDTree

    values, least = records.values[:, 0], found.groups.shape[1]
    groups = list(found.groups)
    if len(found.left):
        middles = _middles(records.rows, found.groups, plan.attributes)
        alone = _middles(records.rows, found.left[:, None], plan.attributes)
        _, cell = np.unique(np.concatenate([found.cell, found.cell_left]), return_inverse=True)
        apart = cell * _APART * (1 + middles.max(initial=0.0))
        tree = cKDTree(np.column_stack([middles, apart[: len(groups)]]))
        where = np.column_stack([alone, apart[len(groups) :]])
        near = np.asarray(tree.query(where, min(_NEAR_GROUPS, len(groups)))[1]).reshape(len(where), -1)
        for record, inside, among in zip(found.left.tolist(), found.cell_left, near, strict=True):
            here = [g for g in among.tolist() if found.cell[g] == inside]
            lacking = [g for g in here if values[record] not in values[groups[g]]]
            if not lacking:
                here = np.flatnonzero(found.cell == inside).tolist()
                lacking = [g for g in here if values[record] not in values[groups[g]]]
            members = np.ascontiguousarray(found.groups[lacking])
            boxes, every = _boxes(records.rows, members, plan.attributes), np.arange(len(lacking))
            cost = widening.costs(records.rows, boxes, members, least, every, np.array([record]), plan.attributes)
            best = lacking[int(np.argmin(cost[:, 0]))]
            groups[best] = np.append(groups[best], record)
    if plan.least <= least:
        return groups, found.cell
    return _joined(plan, records, found, groups)


def _joined(
    plan: Exchange, records: CodedRecords, found: _Dealt, groups: list[IntArray]
) -> tuple[list[IntArray], IntArray]:
    """Put so many groups of a cell together that they are as large as they must be, neighbours along the curve."""
    many = -(-plan.least // found.groups.shape[1])
    near = np.arange(len(groups))
    assigning.curve(_middles(records.rows, found.groups, plan.attributes), near, 1)
    joined: list[IntArray] = []
    owner: list[int] = []
    for cell in np.unique(found.cell).tolist():
        order = near[found.cell[near] == cell]
        chunks = [order[first : first + many] for first in range(0, len(order), many)]
        if len(chunks) > 1 and len(chunks[-1]) < many:
            last = chunks.pop()
            chunks[-1] = np.concatenate([chunks[-1], last])
        joined += [np.concatenate([groups[g] for g in chunk.tolist()]) for chunk in chunks]
        owner += [cell] * len(chunks)
    return joined, np.array(owner, np.int64)


def _curve(rows: CodeArray, attributes: Attributes) -> IntArray:
    """Return where records lie on a Hilbert curve through the attributes."""
    columns = min(rows.shape[1], _BITS)
    bits = max(1, min(16, _BITS // columns))
    grid = np.empty((len(rows), columns), np.uint64)
    for a in range(columns):
        at = attributes.positions[attributes.offsets[a] + rows[:, a]]
        low, high = at.min(), at.max()
        grid[:, a] = ((at - low) / (high - low) * (2**bits - 1)).astype(np.uint64) if high > low else 0
    keys = np.empty(len(rows), np.uint64)
    hilbert.places(grid, bits, keys)
    return keys.astype(np.int64)
