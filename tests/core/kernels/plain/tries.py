"""Plain twin of :mod:`reveil.core.kernels.tries`: keys are texts of bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Group = tuple[int | None, ...]


def nest(keys: Sequence[str], value: Sequence[int], values: int) -> list[Group]:
    """Split one bucket into groups of one record, or none, for each value; records are places in ``keys``."""
    groups, left = _inside("", keys, list(range(len(keys))), value, values)
    while any(left):
        groups.append(tuple(own.pop(0) if own else None for own in left))
    return groups


def _inside(
    prefix: str, keys: Sequence[str], records: list[int], value: Sequence[int], values: int
) -> tuple[list[Group], list[list[int]]]:
    """Return the groups of a region and what is left of each value."""
    groups: list[Group] = []
    left: list[list[int]] = [[] for _ in range(values)]
    if records and len(prefix) == len(keys[records[0]]):
        for record in records:
            left[value[record]].append(record)
    elif records:
        for bit in "01":
            own = [r for r in records if keys[r].startswith(prefix + bit)]
            formed, rest = _inside(prefix + bit, keys, own, value, values)
            groups += formed
            left = [before + more for before, more in zip(left, rest, strict=True)]
    while all(left):
        groups.append(tuple(own.pop(0) for own in left))
    return groups, left
