"""Plain twin of :mod:`reveil.core.kernels.bang_sort`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def order(keys: Sequence[Sequence[int]]) -> list[int]:
    """Return the places of the keys in ascending order, equal ones as they come."""
    return sorted(range(len(keys)), key=lambda i: tuple(keys[i]))
