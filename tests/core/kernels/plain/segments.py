"""Plain twins of :mod:`reveil.core.kernels.segments`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def histogram(codes: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Count the codes of each segment: pairs of code and count, codes ascending."""
    return [sorted(Counter(codes[s:e]).items()) for s, e in zip(starts, ends, strict=True)]


def box(codes: Sequence[int], null_code: int) -> tuple[int, int, bool]:
    """Return smallest and largest non-null code (null code and -1 if there is none) and whether null occurs."""
    present = [code for code in codes if code != null_code]
    return min(present, default=null_code), max(present, default=-1), null_code in codes
