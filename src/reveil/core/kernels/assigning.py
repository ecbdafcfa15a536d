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


@kernel
def exchange(cells, owner, starts, runs, run_starts, shape):
    """Exchange the records of each run so that the widths of its groups, times their records, are least together.

    Returns by how much they fell.
    """
    largest = 0
    for r in range(run_starts.shape[0] - 1):
        largest = max(largest, run_starts[r + 1] - run_starts[r])
    columns = shape.kinds.shape[0]
    column_of = np.empty(largest, np.int64)
    records = np.empty(largest, np.int32)
    codes, places = np.empty((columns, largest), np.int32), np.empty((columns, largest))
    fell = 0.0
    for r in range(run_starts.shape[0] - 1):
        run = runs[run_starts[r] : run_starts[r + 1]]
        size = run.shape[0]
        if size < 2:
            continue
        for i in range(size):
            records[i] = cells[run[i]]
        _gather(records[:size], shape, codes, places)
        by_row = np.empty((size, size))  # rows, records: each row is written in one go
        for j in range(size):
            first, last = starts[owner[run[j]]], starts[owner[run[j]] + 1]
            _costs(cells, run[j], first, last, records[:size], codes, places, shape, by_row[j])
        cost = np.empty((size, size))
        for i in range(size):
            for j in range(size):
                cost[i, j] = by_row[j, i]
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
def _gather(records, shape, codes, places):
    """Write codes and places of some records (-1: none), column by column."""
    for a in range(shape.kinds.shape[0]):
        for i in range(records.shape[0]):
            record = records[i]
            codes[a, i] = shape.codes[record, a] if record >= 0 else -1
            places[a, i] = shape.places[record, a] if record >= 0 else 0.0


@kernel
def _costs(cells, row, first, last, records, codes, places, shape, out):
    """Write what the group of a row costs with each of some records (-1: none) in that row.

    ``codes`` and ``places`` (columns, records) are theirs.
    """
    others = 0
    for p in range(first, last):
        if p != row and cells[p] >= 0:
            others += 1
    out[:] = 0.0
    seen = np.empty(last - first, np.int32)
    for a in range(shape.kinds.shape[0]):
        kind = shape.kinds[a]
        low, high = np.inf, -np.inf  # of the others, on the line; of nodes, as leaves
        many, missing = 0, False  # how many others there are, of a set: how many different ones; whether one is null
        for p in range(first, last):
            if p == row or cells[p] < 0:
                continue
            record = cells[p]
            code = shape.codes[record, a]
            if code < 0:
                missing = True
            elif kind == SET:
                new = True
                for k in range(many):
                    new = new and seen[k] != code
                if new:
                    seen[many] = code
                    many += 1
            else:
                many += 1
                x = shape.places[record, a] if kind == SPAN else float(code)
                low, high = min(low, x), max(high, x)
        if kind == SPAN:
            _add_spans(codes[a], places[a], records, low, high, many, missing, shape.null[a], shape.most[a], out)
        elif kind == NODE:
            _add_nodes(codes[a], records, low, high, many, missing, a, shape, out)
        else:
            _add_sets(codes[a], records, seen[:many], missing, shape.unit[a], shape.null[a], shape.most[a], out)
    for i in range(records.shape[0]):
        if records[i] >= 0:
            out[i] *= others + 1
        elif others > 0:
            out[i] *= others
        else:
            out[i] = EMPTY


@kernel
def _add_spans(codes, places, records, low, high, many, missing, null, most, out):
    """Add how wide a span becomes with each record; ``many`` others lie from ``low`` to ``high``."""
    for i in range(records.shape[0]):
        width, lost = 0.0, missing
        if codes[i] >= 0:
            x = places[i]
            width = (x if x > high else high) - (x if x < low else low)
        else:
            lost = lost or records[i] >= 0
            if many > 0:
                width = high - low
        if lost and (many > 0 or codes[i] >= 0):
            width += null
        out[i] += width if width < most else most


@kernel
def _add_nodes(codes, records, low, high, many, missing, a, shape, out):
    """Add how wide the lowest node becomes with each record; ``many`` others have leaves from ``low`` to ``high``."""
    base, size, null, most = shape.starts[a], shape.sizes[a], shape.null[a], shape.most[a]
    for i in range(records.shape[0]):
        width, count = 0.0, many
        lo, hi = low, high
        lost = missing or (records[i] >= 0 and codes[i] < 0)
        if codes[i] >= 0:
            lo, hi = min(lo, float(codes[i])), max(hi, float(codes[i]))
            count += 1
        if count > 0:
            width = shape.nodes[base + int(lo) * size + int(hi)]
            if lost:
                width += null
        out[i] += min(width, most)


@kernel
def _add_sets(codes, records, seen, missing, unit, null, most, out):
    """Add how wide a set becomes with each record; the others have the codes that were ``seen``."""
    many = seen.shape[0]
    for i in range(records.shape[0]):
        code = codes[i]
        count, lost = many, missing
        if code >= 0:
            more = 1
            for k in range(many):
                if seen[k] == code:
                    more = 0
            count += more
        else:
            lost = lost or records[i] >= 0
        width = 0.0
        if count > 1:
            width = (count - 1) * unit
        if lost and count > 0:
            width += null
        out[i] += width if width < most else most


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
    out = np.empty(1)
    columns = shape.kinds.shape[0]
    codes, places = np.empty((columns, 1), np.int32), np.empty((columns, 1))
    for g in range(starts.shape[0] - 1):
        for p in range(starts[g], starts[g + 1]):
            if cells[p] >= 0:
                _gather(cells[p : p + 1], shape, codes, places)
                _costs(cells, p, starts[g], starts[g + 1], cells[p : p + 1], codes, places, shape, out)
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
