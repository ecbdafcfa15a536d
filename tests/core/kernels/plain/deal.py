"""Plain twin of :mod:`reveil.core.kernels.deal`, for one segment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def deal(values: Sequence[int], least: int) -> list[int]:
    """Give each record a group of different values, -1 where there is none."""
    labels = [-1] * len(values)
    left = {value: [i for i, v in enumerate(values) if v == value] for value in sorted(set(values))}
    groups = 0
    while sum(bool(places) for places in left.values()) >= least:
        for value in sorted(left, key=lambda v: (-len(left[v]), v))[:least]:
            labels[left[value].pop(0)] = groups
        groups += 1
    for value in sorted(left, key=lambda v: (-len(left[v]), v)):
        for i in left[value]:
            near = sorted((j for j in range(len(values)) if j != i), key=lambda j: (abs(j - i), j))
            has = {labels[j] for j in range(len(values)) if values[j] == value}
            labels[i] = next((labels[j] for j in near if labels[j] >= 0 and labels[j] not in has), -1)
    return labels
