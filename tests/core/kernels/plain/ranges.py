"""Plain twin of :mod:`reveil.core.kernels.ranges`."""

from __future__ import annotations

from collections.abc import Sequence

Point = Sequence[int]


def inside(points: Sequence[Point], lo: Sequence[Point], hi: Sequence[Point]) -> set[tuple[int, int]]:
    """Return all pairs (point, box) with the point inside the box."""
    return {
        (p, b)
        for p, point in enumerate(points)
        for b in range(len(lo))
        if all(low <= code <= high for low, code, high in zip(lo[b], point, hi[b], strict=True))
    }
