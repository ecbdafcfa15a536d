"""Plain twin of :mod:`reveil.core.kernels.permutations`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def cycles(one: Sequence[int], other: Sequence[int]) -> tuple[list[int], int]:
    """Number the cycles of the union of two permutations."""
    labels: dict[int, int] = {}
    many = 0
    for h in range(len(one)):
        if h not in labels:
            while h not in labels:
                labels[h] = many
                h = list(other).index(one[h])  # noqa: PLW2901
            many += 1
    return [labels[h] for h in range(len(one))], many


def nearest_first(
    records: Sequence[int], values: Sequence[int], wanted: Sequence[int], points: Sequence[Sequence[float]], l: int
) -> list[int]:
    """Fill the places of one bucket one by one with the record that widens the boxes of the last ones least."""
    out: list[int] = []

    def cost(record: int) -> float:
        total = 0.0
        for j in range(1, min(len(out), l - 1) + 1):
            box = [points[r] for r in (record, *out[-j:])]
            total += sum(max(own) - min(own) for own in zip(*box, strict=True))
        return total

    for value in wanted:
        free = [record for record in records if record not in out and values[record] == value]
        out.append(min(free, key=cost))
    return out
