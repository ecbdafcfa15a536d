"""Groups of equally many records with different values, assigned anew: who goes with whom so that boxes are narrow.

Groups come in chunks of near ones. In each group the members are put in the order of one attribute, so that the lowest
of all groups are one column, the highest another, whatever their values: those who stretch groups change places. Then,
column by column, the records of a chunk are assigned to its groups as it is cheapest with all the others in place (a
linear assignment). A record is barred from groups that have its value; to leave everything as it is is always allowed.
"""

from __future__ import annotations

import numpy as np

from reveil.core.kernels import kernel
from reveil.core.kernels.assignment import cheapest
from reveil.core.kernels.gains import LISTED, TREE, tree_width

BARRED = 1e6


@kernel
def match(rows, values, groups, bounds, most, attributes):
    """Assign the second records of each chunk of groups to the first ones, the third to these, and so on.

    Chunks of more than ``most`` groups stay as they are: the work grows with the square.
    """
    for k in range(bounds.shape[0] - 1):
        if 1 < bounds[k + 1] - bounds[k] <= most:
            for c in range(1, groups.shape[1]):
                _assign(rows, values, groups, bounds[k], bounds[k + 1], c, c + 1, attributes)


@kernel
def rematch(rows, values, groups, bounds, along, attributes):
    """Assign the records of each chunk ``groups[bounds[k]:bounds[k + 1]]`` anew; ``along``: the attribute of the order.

    ``rows`` are (records, attributes), ``values`` (records), ``groups`` (groups, members) places of records.
    """
    least = groups.shape[1]
    for k in range(bounds.shape[0] - 1):
        start, size = bounds[k], bounds[k + 1] - bounds[k]
        for i in range(start, start + size):
            for m in range(1, least):
                moved, at = groups[i, m], m
                while at > 0 and rows[groups[i, at - 1], along] > rows[moved, along]:
                    groups[i, at] = groups[i, at - 1]
                    at -= 1
                groups[i, at] = moved
        if size > 1:
            for c in range(least):
                _assign(rows, values, groups, start, start + size, c, least, attributes)


@kernel
def _assign(rows, values, groups, start, end, c, filled, attributes):
    """Assign the records in the place ``c`` of some groups, of which ``filled`` places count, as it is cheapest."""
    column, chosen = groups[start:end, c].copy(), np.empty(end - start, np.int64)
    cost = np.empty((end - start, end - start))
    costs(rows, values, groups, start, c, filled, column, attributes, cost)
    cheapest(cost, chosen)
    for i in range(end - start):
        groups[start + i, c] = column[chosen[i]]


@kernel
def costs(rows, values, groups, start, c, filled, column, attributes, cost):
    """Write how wide each group is with each record of a column in its place ``c``: (groups, records).

    Of a group the first ``filled`` members count.
    """
    kinds, nulls, offsets, positions, steps, level_offsets, levels, nodes, widths = attributes
    size = column.shape[0]
    cost[:] = 0.0
    place, code = np.empty(size), np.empty(size, np.int32)
    seen = np.empty(filled, np.int32)
    for a in range(rows.shape[1]):
        nothing = np.int32(nulls[a])
        for j in range(size):
            code[j] = rows[column[j], a]
            place[j] = positions[offsets[a] + code[j]]
        for i in range(size):
            many, missing = 0, False
            low, high = nothing, np.int32(-1)
            for m in range(filled):
                if m == c:
                    continue
                other = rows[groups[start + i, m], a]
                if other == nothing:
                    missing = True
                    continue
                low, high = min(low, other), max(high, other)
                new = True
                for k in range(many):
                    new = new and seen[k] != other
                if new:
                    seen[many] = other
                    many += 1
            gap = steps[a, 1] if missing else 0.0
            if many == 0:
                for j in range(size):
                    if code[j] != nothing:
                        cost[i, j] += gap
            elif kinds[a] == LISTED:
                base = steps[a, 0] * (many - 1)
                for j in range(size):
                    new = True
                    for k in range(many):
                        new = new and seen[k] != code[j]
                    cost[i, j] += base + (steps[a, 1] if code[j] == nothing else gap + steps[a, 0] * new)
            elif kinds[a] == TREE:
                line = level_offsets[a] + (levels[a] - 1) * nothing
                for j in range(size):
                    one, other = low, high
                    if code[j] != nothing:
                        one, other = min(low, code[j]), max(high, code[j])
                    cost[i, j] += steps[a, 1] if code[j] == nothing else gap
                    if one < other:
                        cost[i, j] += tree_width(one, other, nothing, line, nodes, widths)
            else:
                first, last = positions[offsets[a] + low], positions[offsets[a] + high]
                for j in range(size):
                    if code[j] == nothing:
                        cost[i, j] += last - first + steps[a, 1]
                    else:
                        cost[i, j] += max(last, place[j]) - min(first, place[j]) + gap
    for i in range(size):
        for m in range(filled):
            if m == c:
                continue
            value = values[groups[start + i, m]]
            for j in range(size):
                if values[column[j]] == value:
                    cost[i, j] += BARRED
