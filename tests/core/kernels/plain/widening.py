"""Plain twin of :mod:`reveil.core.kernels.widening`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

SPAN, SET, TREE = 0, 1, 2
Attribute: TypeAlias = "tuple[int, int, Sequence[float], tuple[float, float], Sequence[tuple[int, int]]]"


def width(
    codes: Sequence[int],
    kind: int,
    null: int,
    positions: Sequence[float],
    steps: tuple[float, float],
    nodes: Sequence[tuple[int, int]],
) -> float:
    """Return the width of the smallest cell over some codes; ``nodes`` are the spans of a taxonomy's nodes."""
    values = sorted({code for code in codes if code != null})
    if not values:
        return 0.0
    if kind == SET:
        wide = steps[0] * (len(values) - 1)
    elif kind == SPAN:
        wide = positions[values[-1]] - positions[values[0]]
    else:
        wide = steps[0] * min(hi - lo for lo, hi in nodes if lo <= values[0] and values[-1] <= hi)
    return min(wide + (steps[1] if null in codes else 0.0), 1.0)


def cost(records: Sequence[Sequence[int]], attributes: Sequence[Attribute]) -> float:
    """Return the width over all attributes of the box over some records."""
    return sum(width([r[a] for r in records], *own) for a, own in enumerate(attributes))
