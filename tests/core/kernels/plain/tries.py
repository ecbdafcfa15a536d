"""Plain twin of :mod:`reveil.core.kernels.tries`: keys are texts of bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Group = tuple[int | None, ...]


def nest(keys: Sequence[str], slot: Sequence[int], slots: int) -> list[Group]:
    """Split one bucket into groups of one record, or none, for each slot; records are places in ``keys``."""
    groups, left = _inside("", keys, list(range(len(keys))), slot, slots)
    while any(left):
        groups.append(tuple(own.pop(0) if own else None for own in left))
    return groups


def _inside(
    prefix: str, keys: Sequence[str], records: list[int], slot: Sequence[int], slots: int
) -> tuple[list[Group], list[list[int]]]:
    """Return the groups of a region and what is left of each slot."""
    groups: list[Group] = []
    left: list[list[int]] = [[] for _ in range(slots)]
    if records and len(prefix) == len(keys[records[0]]):
        for record in records:
            left[slot[record]].append(record)
    elif records:
        for bit in "01":
            own = [r for r in records if keys[r].startswith(prefix + bit)]
            formed, rest = _inside(prefix + bit, keys, own, slot, slots)
            groups += formed
            left = [before + more for before, more in zip(left, rest, strict=True)]
    while all(left):
        groups.append(tuple(own.pop(0) for own in left))
    return groups, left
