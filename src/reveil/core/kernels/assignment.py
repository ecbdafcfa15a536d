"""The cheapest assignment of rows to columns: shortest augmenting paths on a dense matrix of costs.

Source: Jonker and Volgenant 1987, with their reductions first, so that only few rows need a path.
"""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel


@kernel
def cheapest(cost, column_of):
    """Give each row of a square matrix the column such that the sum of costs is least; of equal ones, any.

    ``cost`` is (rows, columns), finite; ``column_of`` (rows) is overwritten.
    """
    size = cost.shape[0]
    price = np.full(size, np.inf)  # of each column, at first its least cost
    cheap = np.zeros(size, np.int64)  # the first row that has it
    for i in range(size):  # row by row, as the costs lie
        for j in range(size):
            if cost[i, j] < price[j]:
                price[j], cheap[j] = cost[i, j], i
    row_of = np.full(size, -1, np.int64)
    column_of[:] = -1
    for j in range(size - 1, -1, -1):
        best = cheap[j]
        if column_of[best] < 0:
            column_of[best] = j
            row_of[j] = best
    free = np.empty(size, np.int64)
    waiting = 0
    for i in range(size):
        if column_of[i] < 0:
            free[waiting] = i
            waiting += 1
    for _ in range(2):
        waiting = _reduce(cost, price, row_of, column_of, free, waiting)
    away, before = np.empty(size), np.empty(size, np.int64)
    order = np.empty(size, np.int64)
    for k in range(waiting):
        _augment(cost, price, row_of, column_of, free[k], away, before, order)


@kernel
def _reduce(cost, price, row_of, column_of, free, waiting):
    """Let each free row take its cheapest column and lower its price to that of the second; who is put out may go on.

    Returns how many rows are free afterwards; they stand at the front of ``free``. The number of steps is bounded:
    where prices fall by roundings only, a path finds the rest.
    """
    size = cost.shape[0]
    kept, k, steps = 0, 0, 0
    while k < waiting:
        i = free[k]
        k += 1
        steps += 1
        first, second, at, other = np.inf, np.inf, -1, -1
        for j in range(size):
            reduced = cost[i, j] - price[j]
            if reduced < second:
                if reduced < first:
                    second, other = first, at
                    first, at = reduced, j
                else:
                    second, other = reduced, j
        out = row_of[at]
        lower = second - first
        if lower > 1e-12 and size > 1:
            price[at] -= lower
        elif out >= 0 and other >= 0:
            at = other
            out = row_of[at]
        row_of[at], column_of[i] = i, at
        if out >= 0:
            column_of[out] = -1
            if lower > 1e-12 and steps < 8 * size:
                k -= 1
                free[k] = out
            else:
                free[kept] = out
                kept += 1
    return kept


@kernel
def _augment(cost, price, row_of, column_of, start, away, before, order):
    """Give a free row a column along the cheapest path of rows that move on to another column."""
    size = cost.shape[0]
    for j in range(size):
        away[j] = cost[start, j] - price[j]
        before[j] = start
        order[j] = j
    done, ready = 0, 0  # order: columns whose distance is final; those at the least distance; the others
    least = 0.0
    decided = 0
    end = -1
    while end < 0:
        if done == ready:
            decided = done
            least = away[order[ready]]
            ready += 1
            for k in range(ready, size):
                j = order[k]
                if away[j] <= least:
                    if away[j] < least:
                        least = away[j]
                        ready = done
                    order[k], order[ready] = order[ready], j
                    ready += 1
            for k in range(done, ready):
                if row_of[order[k]] < 0:
                    end = order[k]
                    break
        if end >= 0:
            break
        through = order[done]
        done += 1
        i = row_of[through]
        base = cost[i, through] - price[through] - least
        for k in range(ready, size):
            j = order[k]
            longer = cost[i, j] - price[j] - base
            if longer < away[j]:
                away[j] = longer
                before[j] = i
                if longer <= least:
                    if row_of[j] < 0:
                        end = j
                        break
                    order[k], order[ready] = order[ready], j
                    ready += 1
        if end >= 0:
            break
    for k in range(decided):
        j = order[k]
        price[j] += away[j] - least
    while True:
        i = before[end]
        row_of[end] = i
        column_of[i], end = end, column_of[i]
        if i == start:
            break
