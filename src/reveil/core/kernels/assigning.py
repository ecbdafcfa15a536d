"""Exchange records between groups by the width that is published: for one place of each group at a time.

A *row* is a place for a record: ``cells`` (rows) has its record, -1 where there is none; the rows of group g are
``starts[g]:starts[g + 1]``, and ``owner`` (rows) is the group of each. A *run* is a list of rows of different groups
whose records may change places in any way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel
from reveil.core.kernels.assignment import cheapest

SPAN, NODE, SET = 0, 1, 2  # how a column is published
NOBODY = -2  # instead of a code
EMPTY = 1e6  # what it costs to leave a group without any record
GAIN = 1e-9  # less is a rounding


class CellWidths(NamedTuple):
    """What is needed to know how wide a cell is; weights of columns are in all of its widths.

    A column is a span of places on a line (numbers, dates, orders), a node of a taxonomy (``nodes`` has the width of
    the lowest node over the leaves lo..hi at ``starts + lo * size + hi``), or a set of values (``unit`` for each beyond
    the first). Null beside values adds ``null``; nothing is wider than ``most``.
    """

    kinds: npt.NDArray[np.int64]  # (columns)
    codes: npt.NDArray[np.int32]  # (records, columns), -1 for null
    places: npt.NDArray[np.float64]  # (records, columns)
    starts: npt.NDArray[np.int64]  # (columns)
    sizes: npt.NDArray[np.int64]  # (columns)
    nodes: npt.NDArray[np.float64]  # (pairs of leaves of all taxonomies)
    unit: npt.NDArray[np.float64]  # (columns)
    null: npt.NDArray[np.float64]  # (columns)
    most: npt.NDArray[np.float64]  # (columns)


class _Place(NamedTuple):
    """A row, and those of its group."""

    row: int
    first: int
    last: int


class _RunRecords(NamedTuple):
    """The records of a run, column by column, so that a row goes through them in the order of the memory."""

    codes: npt.NDArray[np.int32]  # (columns, records): as in CellWidths, NOBODY where there is no record
    places: npt.NDArray[np.float64]  # (columns, records)
    gaps: npt.NDArray[np.bool_]  # (columns): whether there is a code below 0


@kernel
def exchange(cells, owner, starts, runs, run_starts, shape):
    """Exchange the records of each run so that the widths of its groups, times their records, are least together.

    Returns by how much they fell.
    """
    largest = 0
    for r in range(run_starts.shape[0] - 1):
        largest = max(largest, run_starts[r + 1] - run_starts[r])
    column_of = np.empty(largest, np.int64)
    records = np.empty(largest, np.int32)
    columns = shape.kinds.shape[0]
    room = columns, largest
    among = _RunRecords(np.empty(room, np.int32), np.empty(room), np.empty(columns, np.bool_))
    costs, widths_of = np.empty(largest), np.empty(largest)
    seen = np.empty(_most_rows(starts), np.int32)
    fell = 0.0
    for r in range(run_starts.shape[0] - 1):
        run = runs[run_starts[r] : run_starts[r + 1]]
        size = run.shape[0]
        if size < 2:
            continue
        for i in range(size):
            records[i] = cells[run[i]]
        _gather(records[:size], shape, among)
        cost = np.empty((size, size))
        for j in range(size):
            place = _Place(run[j], starts[owner[run[j]]], starts[owner[run[j]] + 1])
            _costs(cells, place, among, shape, costs[:size], widths_of, seen)
            for i in range(size):
                cost[i, j] = costs[i]
        cheapest(cost, column_of[:size])
        before, after = 0.0, 0.0
        for i in range(size):
            before += cost[i, i]
            after += cost[i, column_of[i]]
        if after < before - GAIN:
            fell += before - after
            for i in range(size):
                cells[run[column_of[i]]] = records[i]
    return fell


@kernel
def _most_rows(starts):
    """Return how many rows the largest group has."""
    most = 0
    for g in range(starts.shape[0] - 1):
        most = max(most, starts[g + 1] - starts[g])
    return most


@kernel
def _gather(records, shape, among):
    """Write the codes and places of some records (-1: none) one behind the other."""
    for a in range(shape.kinds.shape[0]):
        among.gaps[a] = False
        for i in range(records.shape[0]):
            if records[i] >= 0:
                among.codes[a, i] = shape.codes[records[i], a]
                among.places[a, i] = shape.places[records[i], a]
            else:
                among.codes[a, i] = NOBODY
                among.places[a, i] = 0.0
            among.gaps[a] |= among.codes[a, i] < 0


@kernel
def _costs(cells, place, among, shape, out, widths_of, seen):
    """Write what the group of a row costs with each of some records in that row.

    ``widths_of`` has room for a width of each record, ``seen`` for a code of each row of the group.
    """
    row, first, last = place
    size = out.shape[0]
    others = 0
    for p in range(first, last):
        if p != row and cells[p] >= 0:
            others += 1
    out[:] = 0.0
    for a in range(shape.kinds.shape[0]):
        kind, most, null = shape.kinds[a], shape.most[a], shape.null[a]
        low, high = np.inf, -np.inf  # of the others, on the line
        left, right = np.int64(2147483647), np.int64(-1)  # of the others, as leaves
        many, missing = 0, False  # values of the others: all, or in a set the different ones
        for p in range(first, last):
            if p == row or cells[p] < 0:
                continue
            record = cells[p]
            code = shape.codes[record, a]
            if code < 0:
                missing = True
            elif kind == SPAN:
                low, high = min(low, shape.places[record, a]), max(high, shape.places[record, a])
                many += 1
            elif kind == NODE:
                left, right = min(left, np.int64(code)), max(right, np.int64(code))
                many += 1
            else:
                new = True
                for k in range(many):
                    new = new and seen[k] != code
                if new:
                    seen[many] = code
                    many += 1
        # With a null, or with nobody, the cell is that of the others; a null beside values adds to it.
        alone = 0.0
        if many > 0:
            if kind == SPAN:
                alone = high - low
            elif kind == NODE:
                alone = shape.nodes[shape.starts[a] + left * shape.sizes[a] + right]
            elif many > 1:
                alone = (many - 1) * shape.unit[a]
        beside = alone + null if many > 0 else alone
        with_null, without = min(beside, most), min(beside if missing else alone, most)
        more = null if missing else 0.0
        codes, places = among.codes[a], among.places[a]
        # Simple loops one after the other, which are compiled to work on several records at once.
        if kind == SPAN:
            for i in range(size):
                widths_of[i] = min(max(high, places[i]) - min(low, places[i]) + more, most)
        elif kind == NODE:
            base, leaves = shape.starts[a], shape.sizes[a]
            for i in range(size):
                code = np.int64(max(codes[i], 0))
                widths_of[i] = min(shape.nodes[base + min(left, code) * leaves + max(right, code)] + more, most)
        else:
            with_new = min(many * shape.unit[a] + more, most)
            for i in range(size):
                widths_of[i] = with_new
            for k in range(many):
                known = seen[k]
                for i in range(size):
                    widths_of[i] = without if codes[i] == known else widths_of[i]
        if among.gaps[a]:
            for i in range(size):
                if codes[i] < 0:
                    widths_of[i] = without if codes[i] == NOBODY else with_null
        for i in range(size):
            out[i] += widths_of[i]
    for i in range(size):
        if among.codes[0, i] != NOBODY:
            out[i] *= others + 1
        elif others > 0:
            out[i] *= others
        else:
            out[i] = EMPTY


@kernel
def curve(points, order, leaf):
    """Put groups into an order in which near ones stand near: cut at the middle of the widest side, again and again.

    ``points`` is (groups, columns); ``order`` (groups) lists them and is permuted. Cuts end at ``leaf`` groups.
    """
    columns = points.shape[1]
    keys = np.empty(order.shape[0])
    stack = np.empty((64, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, order.shape[0]
    top = 0
    while top >= 0:
        lo, hi = stack[top, 0], stack[top, 1]
        top -= 1
        if hi - lo <= leaf:
            continue
        widest, best = -1.0, 0
        for a in range(columns):
            mean = 0.0
            for k in range(lo, hi):
                mean += points[order[k], a]
            mean /= hi - lo
            spread = 0.0
            for k in range(lo, hi):
                spread += abs(points[order[k], a] - mean)
            if spread > widest:
                widest, best = spread, a
        for k in range(lo, hi):
            keys[k] = points[order[k], best]
        order[lo:hi] = order[lo:hi][np.argsort(keys[lo:hi], kind="mergesort")]
        middle = (lo + hi) // 2
        top += 1
        stack[top, 0], stack[top, 1] = lo, middle
        top += 1
        stack[top, 0], stack[top, 1] = middle, hi


@kernel
def widths(cells, starts, shape):
    """Return the widths of all groups, each times its records, added up."""
    total = 0.0
    out, widths_of, seen = np.empty(1), np.empty(1), np.empty(_most_rows(starts), np.int32)
    columns = shape.kinds.shape[0]
    among = _RunRecords(np.empty((columns, 1), np.int32), np.empty((columns, 1)), np.empty(columns, np.bool_))
    for g in range(starts.shape[0] - 1):
        for p in range(starts[g], starts[g + 1]):
            if cells[p] >= 0:
                _gather(cells[p : p + 1], shape, among)
                _costs(cells, _Place(p, starts[g], starts[g + 1]), among, shape, out, widths_of, seen)
                total += out[0]
                break
    return total


@kernel
def centres(cells, starts, places):
    """Return the middle of each group, column by column: between its ends, which no order of its rows changes."""
    found = np.zeros((starts.shape[0] - 1, places.shape[1]))
    for g in range(starts.shape[0] - 1):
        for a in range(places.shape[1]):
            low, high = np.inf, -np.inf
            for p in range(starts[g], starts[g + 1]):
                if cells[p] >= 0:
                    low = min(low, places[cells[p], a])
                    high = max(high, places[cells[p], a])
            if low <= high:
                found[g, a] = (low + high) / 2
    return found
