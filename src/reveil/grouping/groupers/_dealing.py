"""Groups of near records with different values, where cuts leave large ones.

If no value may have more than one in l records, a cut often leaves a half with too many of one value, and nodes stay
large. Inside such a node groups need not be divided by a line. A node of n records in which no value has more than
n/l is divided into g = n // l groups of l records with different values, one of each column: the records are ordered
by their value, the most frequent first, and cut into l columns of g. A value is in at most two columns, next to each
other, so of the records of a column only those of its first value are barred from any group; therefore each column
can be assigned to groups whole. It is assigned so that the boxes become least wide (a linear assignment), and then
again, column by column, with all the others in place; then columns may be any, because to leave everything as it is
is always allowed. The n - g l records left over go to near groups that lack their
value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import offsets_of
from reveil.core.kernels import assignment, exchange, hilbert, widening

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.kernels.cuts import CodedRecords
    from reveil.core.kernels.widening import Attributes
    from reveil.grouping.groupers._exchange import Exchange

_AT_ONCE = 640  # records among which groups are looked for; the work grows with the square
_BITS = 63  # of a place on the curve
_BARRED = 1e6


def dealt(
    plan: Exchange, records: CodedRecords, starts: IntArray, ends: IntArray, cells: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Divide large groups further where the share of a value is bounded; return the groups and the cell of each.

    The records of a group are permuted in their places.
    """
    least = int(np.ceil(plan.bound - 1e-6))
    if plan.rule != exchange.SHARE or least < 2:
        return starts, ends, cells
    first: list[IntArray] = []
    owner: list[IntArray] = []
    for start, end, cell in zip(starts.tolist(), ends.tolist(), cells.tolist(), strict=True):
        sizes = np.array([end - start], np.int64)
        values = records.values[start:end, 0]
        # Too many of one value: l is no whole number and the proof is about the next one, or the table has too many.
        even = least * int(np.bincount(values).max()) <= end - start
        if even and end - start >= 2 * max(least, plan.least):
            order, sizes = _divided(plan, records.rows[start:end], values, least)
            for column in records:
                column[start:end] = column[start:end][order]
        first.append(start + offsets_of(sizes)[:-1])
        owner.append(np.full(len(sizes), cell, np.int64))
    made = np.concatenate(first)
    behind = np.append(made[1:], ends[-1])
    # Between two nodes there may be records that are not ours.
    own_end = ends[np.searchsorted(starts, made, side="right") - 1]
    return made, np.minimum(behind, own_end), np.concatenate(owner)


def _divided(plan: Exchange, rows: CodeArray, values: CodeArray, least: int) -> tuple[IntArray, IntArray]:
    """Divide the records of one node; return them group by group, and the sizes of the groups."""
    where = _curve(rows, plan.attributes)
    orders: list[IntArray] = []
    sizes: list[IntArray] = []
    for part in _parts(values, where, least):
        groups = _groups(rows[part], values[part], where[part], least, plan.attributes, plan.search.sweeps // 2)
        if plan.least > least:
            groups = _joined(groups, where[part], -(-plan.least // least))
        orders += [part[members] for members in groups]
        sizes.append(np.array([len(members) for members in groups], np.int64))
    return np.concatenate(orders), np.concatenate(sizes)


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


def _groups(
    rows: CodeArray, values: CodeArray, where: IntArray, least: int, attributes: Attributes, sweeps: int
) -> list[IntArray]:
    """Form groups of ``least`` records with different values."""
    size = len(values) // least
    counts = np.bincount(values)
    order = np.lexsort((where, values, -counts[values])).astype(np.int64)
    columns = np.ascontiguousarray(order[: size * least].reshape(least, size).T)
    if len(values) <= 2 * _AT_ONCE:
        columns = _assigned(rows, values, columns, attributes, min(sweeps, 4))
    groups = [list(members) for members in columns.tolist()]
    for record in order[size * least :].tolist():
        lacking = np.flatnonzero(~(values[columns] == values[record]).any(axis=1))
        lacking = np.array([g for g in lacking.tolist() if values[record] not in values[groups[g][least:]]])
        inside = np.ascontiguousarray(columns[lacking])
        boxes = _boxes(rows, inside, attributes)
        cost = widening.costs(rows, boxes, inside, least, np.arange(len(inside)), np.array([record]), attributes)
        groups[int(lacking[int(np.argmin(cost[:, 0]))])].append(record)
    return [np.array(members, np.int64) for members in groups]


def _assigned(rows: CodeArray, values: CodeArray, columns: IntArray, attributes: Attributes, sweeps: int) -> IntArray:
    """Assign each column to the groups of those before it, then each again to all the others."""
    least = columns.shape[1]
    placed = columns[:, :1]
    for c in range(1, least):
        placed = np.hstack([placed, _matched(rows, values, placed, columns[:, c], attributes)[:, None]])
    for turn in range(sweeps):
        before = placed
        # Columns of one value each give every group the same mixture. Sorted by an attribute, the lowest members of all
        # groups are one column, the highest another, whatever their values: those who stretch groups change places.
        along = rows[placed][:, :, turn % rows.shape[1]]
        placed = np.take_along_axis(placed, np.argsort(along, axis=1, kind="stable"), axis=1)
        for c in range(least):
            others = np.delete(placed, c, axis=1)
            placed = np.insert(others, c, _matched(rows, values, others, placed[:, c], attributes), axis=1)
        if np.array_equal(before, placed):
            break
    return placed


def _matched(
    rows: CodeArray, values: CodeArray, placed: IntArray, column: IntArray, attributes: Attributes
) -> IntArray:
    """Assign one record to each group so that the boxes become least wide and no value is in a group twice."""
    inside = np.ascontiguousarray(placed)
    boxes = _boxes(rows, inside, attributes)
    many = np.arange(len(inside))
    cost = widening.costs(rows, boxes, inside, inside.shape[1], many, np.ascontiguousarray(column), attributes)
    barred: BoolArray = (values[inside][:, :, None] == values[column][None, None, :]).any(axis=1)
    chosen = np.empty(len(column), np.int64)
    assignment.cheapest(cost + _BARRED * barred, chosen)
    return np.asarray(column[chosen], np.int64)


def _boxes(rows: CodeArray, inside: IntArray, attributes: Attributes) -> widening.RowBoxes:
    """Return the boxes of groups of equally many records."""
    codes = rows[inside]
    null = codes == attributes.nulls
    lo = np.where(null, np.iinfo(np.int32).max, codes).min(axis=1).astype(np.int32)
    hi = np.where(null, -1, codes).max(axis=1).astype(np.int32)
    return widening.RowBoxes(lo, hi, null.any(axis=1))


def _joined(groups: list[IntArray], where: IntArray, many: int) -> list[IntArray]:
    """Put so many groups together, neighbours along the curve; the last one takes what is left."""
    order = np.argsort([float(where[members].mean()) for members in groups], kind="stable")
    chunks = [order[first : first + many] for first in range(0, len(order), many)]
    if len(chunks) > 1 and len(chunks[-1]) < many:
        last = chunks.pop()
        chunks[-1] = np.concatenate([chunks[-1], last])
    return [np.concatenate([groups[g] for g in chunk.tolist()]) for chunk in chunks]


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
