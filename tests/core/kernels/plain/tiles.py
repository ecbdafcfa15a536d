"""Plain twin of :mod:`reveil.core.kernels.tiles`, for one tile that is a list of codes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def arrange(codes: Sequence[int], index: Sequence[int]) -> list[int]:
    """Sort records by their code, equal ones in the order they have."""
    return sorted(index, key=lambda record: codes[record])


def _depth(paths: Sequence[Sequence[int]] | None, one: int, other: int) -> int:
    """Return the depth of the lowest common node; ``paths`` has the nodes over each code, root first."""
    if paths is None or max(one, other) >= len(paths):
        return 0
    common = [a == b for a, b in zip(paths[one], paths[other], strict=True)]
    return common.index(False) - 1


def _best(
    codes: Sequence[int], paths: Sequence[Sequence[int]] | None, places: Iterable[int], target: int
) -> int | None:
    changes = [place for place in places if codes[place - 1] != codes[place]]
    return min(
        changes, key=lambda place: (_depth(paths, codes[place - 1], codes[place]), abs(place - target)), default=None
    )


def _rounded(number: int, by: int) -> int:
    return (2 * number + by) // (2 * by)


def slabs(codes: Sequence[int], paths: Sequence[Sequence[int]] | None, least: int, dimensions: int) -> list[int]:
    """Return where the slabs of a sorted tile start."""
    start, end, found = 0, len(codes), [0]
    whole = max(len(codes) // least, 1)
    wanted = math.ceil(whole ** (1 / dimensions) - 1e-9)
    while end - start >= 2 * least:
        inside = (end - start) // least
        left = _rounded(inside * wanted, whole)
        if left < 2:
            break
        size = (end - start) * _rounded(inside, left) // inside
        target = start + size
        allowed = range(start + least, end - least + 1)
        near = [place for place in allowed if abs(place - target) <= size // 2]
        place = _best(codes, paths, near, target)
        if place is None:
            place = _best(codes, None, allowed, target)
        if place is None:
            break
        found.append(place)
        start = place
    return found


def leaves(codes: Sequence[int], paths: Sequence[Sequence[int]] | None, least: int) -> list[int]:
    """Return where the leaves of a sorted tile start."""
    start, end, found = 0, len(codes), [0]
    while end - start >= 2 * least:
        target = start + (end - start) // ((end - start) // least)
        allowed = range(start + least, min(start + 2 * least - 1, end - least) + 1)
        place = _best(codes, paths, allowed, target)
        start = target if place is None else place
        found.append(start)
    return found
