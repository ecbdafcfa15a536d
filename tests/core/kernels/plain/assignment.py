"""Plain twin of :mod:`reveil.core.kernels.assignment`: all assignments are tried."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def least(cost: Sequence[Sequence[float]]) -> float:
    """Return the least sum of costs that an assignment has."""
    return min(sum(cost[i][j] for i, j in enumerate(columns)) for columns in permutations(range(len(cost))))
