"""What a group may hold where values have budgets: the items, the tally of a group, and whether it takes one more.

A group of n items is *allowed* if each of its values is in it at most ``most[n]`` times, and at most n divided by the
need of any of its items. ``points`` are positions, (items, attributes), in which a group should be small; ``labels`` is
the group of each item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from reveil.core.kernels import kernel

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Items(NamedTuple):
    """Records in the order of the curve. ``values[i]`` is what is bounded of item i, -1 for nothing.

    Item i has pairs at ``starts[i]:starts[i + 1]``: with the value of the pair, its group needs so many rows for each
    row with it.
    """

    values: npt.NDArray[np.int32]  # (items)
    starts: npt.NDArray[np.int64]  # (items + 1)
    pair_values: npt.NDArray[np.int32]  # (pairs)
    pair_needs: npt.NDArray[np.float64]  # (pairs)
    domain: int  # how many values there are


class ValueTally(NamedTuple):
    """What the members of a group have and need, by value; all zero between groups."""

    counts: npt.NDArray[np.int64]  # (values)
    needs: npt.NDArray[np.float64]  # (values)


@kernel
def accepts(item, size, items, most, tally):
    """Return whether an item may be in a group that will have so many members."""
    values, starts, pair_values, pair_needs, _ = items
    count, need = tally
    value = values[item]
    if value >= 0 and (count[value] + 1 > most[size] or (count[value] + 1) * need[value] > size):
        return False
    for k in range(starts[item], starts[item + 1]):
        times = count[pair_values[k]] + (pair_values[k] == value)
        if times > 0 and times * pair_needs[k] > size:
            return False
    return True


@kernel
def count_in(item, items, tally):
    """Count what an item has and what it needs."""
    values, starts, pair_values, pair_needs, _ = items
    count, need = tally
    if values[item] >= 0:
        count[values[item]] += 1
    for k in range(starts[item], starts[item + 1]):
        need[pair_values[k]] = max(need[pair_values[k]], pair_needs[k])


@kernel
def count_out(item, items, tally):
    """Forget an item, and everything of the others that has to do with its values: to begin a new group."""
    values, starts, pair_values, _, _ = items
    count, need = tally
    if values[item] >= 0:
        count[values[item]] = 0
    for k in range(starts[item], starts[item + 1]):
        need[pair_values[k]] = 0.0


@kernel
def widening_by(points, item, low, high):
    """Return how much wider a box becomes with an item, over all attributes."""
    total = 0.0
    for a in range(points.shape[1]):
        total += max(high[a], points[item, a]) - min(low[a], points[item, a]) - (high[a] - low[a])
    return total


@kernel
def extend(points, item, low, high):
    """Widen a box so that it holds an item."""
    for a in range(points.shape[1]):
        low[a], high[a] = min(low[a], points[item, a]), max(high[a], points[item, a])
