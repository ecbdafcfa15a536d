"""Plain twin of :mod:`reveil.core.kernels.fragments`, for one fragment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[int, ...]


def spread(rows: Sequence[Row], weights: Sequence[int], i: int, levels: Sequence[Sequence[int]]) -> int:
    """Most that the records can be moved in attribute i."""
    places = [row[i] for row in rows]
    if not levels:
        pairs = list(zip(places, weights, strict=True))
        return max(sum(w * (p - min(places)) for p, w in pairs), sum(w * (max(places) - p) for p, w in pairs))
    height = sum(level[min(places)] != level[max(places)] for level in levels)
    return (sum(weights) - 1) * height


def survey(
    rows: Sequence[Row], weights: Sequence[int], nodes: Sequence[Sequence[Sequence[int]]], scales: Sequence[float]
) -> list[tuple[int, list[int]]]:
    """For each axis the cut that spreads its own attribute least, and what all are spread after it; -1: none."""
    found: list[tuple[int, list[int]]] = []
    for j in range(len(scales)):
        choices = []
        for cut in sorted({row[j] for row in rows})[:-1]:
            parts = [[p for p, row in enumerate(rows) if (row[j] <= cut) is left] for left in (True, False)]
            after = [
                sum(spread([rows[p] for p in part], [weights[p] for p in part], i, levels) for part in parts)
                for i, levels in enumerate(nodes)
            ]
            rest = sum(after[i] / scale for i, scale in enumerate(scales) if i != j)
            off = abs(2 * sum(weights[p] for p in parts[0]) - sum(weights))
            choices.append((after[j], rest, off, cut, after))
        found.append(min(choices)[3:] if choices else (-1, []))
    return found


def divide(rows: Sequence[Row], axis: int, cut: int) -> list[int]:
    """Return the rows up to the cut, then the others, as places in the fragment."""
    return sorted(range(len(rows)), key=lambda p: rows[p][axis] > cut)
