"""Plain twin of :mod:`reveil.core.kernels.assigning`: widths by their definition, and one run by all its orders."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from reveil.core.kernels.assigning import NODE, SET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.kernels.assigning import CellWidths


def width(group: Sequence[int], shape: CellWidths) -> float:
    """Return the widths of a group's cells, all columns, times its records; infinite without records."""
    records = [record for record in group if record >= 0]
    if not records:
        return float("inf")
    total = 0.0
    for a, kind in enumerate(shape.kinds):
        codes = {int(shape.codes[r, a]) for r in records}
        known = codes - {-1}
        own = 0.0
        if known and kind == SET:
            own = (len(known) - 1) * float(shape.unit[a])
        elif known and kind == NODE:
            own = float(shape.nodes[shape.starts[a] + min(known) * shape.sizes[a] + max(known)])
        elif known:
            places = [float(shape.places[r, a]) for r in records if shape.codes[r, a] >= 0]
            own = max(places) - min(places)
        if known and -1 in codes:
            own += float(shape.null[a])
        total += min(own, float(shape.most[a]))
    return total * len(records)


def least(groups: Sequence[Sequence[int]], rows: Sequence[tuple[int, int]], shape: CellWidths) -> float:
    """Return the least width of all groups when the records of some rows (group, place) change places in any way."""
    records = [groups[g][p] for g, p in rows]
    best = float("inf")
    for order in permutations(records):
        tried = [list(group) for group in groups]
        for (g, p), record in zip(rows, order, strict=True):
            tried[g][p] = record
        best = min(best, sum(width(group, shape) for group in tried))
    return best
