"""Plain twin of :mod:`reveil.core.kernels.hilbert`: not another computation of it, but what a Hilbert curve is.

An order of the grid points in which each is one step from the one before.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def adjacent(path: Sequence[Sequence[int]]) -> bool:
    """Return whether each point of a path is one step from the one before: what makes a curve of an order."""
    return all(sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1 for one, other in itertools.pairwise(path))
