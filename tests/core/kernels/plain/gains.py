"""Plain twins of :mod:`reveil.core.kernels.gains`: widths of boxes from their records, and every cut tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Row = Sequence[int]


@dataclass(frozen=True)
class PlainAttribute:
    """An attribute of ``size`` codes; ``size`` is the code of null. ``nodes`` are ranges of leaves, if it is a tree."""

    kind: str
    size: int
    positions: Sequence[float]
    step: float
    null_step: float
    nodes: Sequence[tuple[int, int]] = ()


def width(codes: Sequence[int], attribute: PlainAttribute) -> float:
    """How wide the cell of some codes is."""
    values = {code for code in codes if code != attribute.size}
    if not values:
        return 0.0
    low, high = min(values), max(values)
    if attribute.kind == "listed":
        wide = attribute.step * (len(values) - 1)
    elif attribute.kind == "tree":
        over = [(b - a) * attribute.step for a, b in attribute.nodes if a <= low and high <= b]
        wide = min(over) if low < high else 0.0
    else:
        wide = attribute.positions[high] - attribute.positions[low]
    return wide + (attribute.null_step if attribute.size in codes else 0.0)


def box_width(rows: Sequence[Row], attributes: Sequence[PlainAttribute]) -> float:
    """How wide the box of some records is, over all attributes."""
    return sum(width([row[a] for row in rows], attribute) for a, attribute in enumerate(attributes))


def gains(
    rows: Sequence[Row], a: int, attributes: Sequence[PlainAttribute], least: int, *, whole: bool
) -> dict[int, float]:
    """The gain of every cut along attribute a, by the last code on the left."""
    found = {}
    counted = attributes if whole else [attributes[a]]
    taken = [row if whole else [row[a]] for row in rows]
    for code in sorted({row[a] for row in rows})[:-1]:
        left = [own for own, row in zip(taken, rows, strict=True) if row[a] <= code]
        right = [own for own, row in zip(taken, rows, strict=True) if row[a] > code]
        if min(len(left), len(right)) >= least:
            cost = len(left) * box_width(left, counted) + len(right) * box_width(right, counted)
            found[code] = len(rows) * box_width(taken, counted) - cost
    return found
