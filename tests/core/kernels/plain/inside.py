"""Plain twin of :mod:`reveil.core.kernels.inside`."""

from __future__ import annotations

from collections.abc import Sequence

Point = Sequence[int]


def any_inside(points: Sequence[Point], lo: Sequence[Point], hi: Sequence[Point]) -> list[bool]:
    """Return, for each box, whether a point is inside it."""
    return [
        any(all(low <= code <= high for low, code, high in zip(lo[b], point, hi[b], strict=True)) for point in points)
        for b in range(len(lo))
    ]
