"""Plain twin of :mod:`reveil.core.kernels.densities`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def weights_on(
    points: Sequence[Sequence[int]], boxes: Sequence[Sequence[Collection[int]]], weights: Sequence[float]
) -> list[float]:
    """Return for each point the sum of the weights of the boxes that hold it; a box is a set of codes per attribute."""
    return [
        sum(
            weight
            for box, weight in zip(boxes, weights, strict=True)
            if all(code in admitted for code, admitted in zip(point, box, strict=True))
        )
        for point in points
    ]
