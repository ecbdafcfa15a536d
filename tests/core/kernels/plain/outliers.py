"""Plain twin of :mod:`reveil.core.kernels.outliers`, for one group."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def worth(rows: Sequence[Sequence[int]], positions: Sequence[Sequence[float]], least: int) -> float:
    """Return what the leaving of the best record is worth, 0 if nothing."""
    if len(rows) <= least:
        return 0.0
    columns = list(zip(*rows, strict=True))

    def widths(records: Sequence[int]) -> list[float]:
        spans = [(min(c[i] for i in records), max(c[i] for i in records)) for c in columns]
        return [at[high] - at[low] for at, (low, high) in zip(positions, spans, strict=True)]

    everybody = range(len(rows))
    now = widths(everybody)
    narrower = max(
        before - after
        for out in everybody
        for before, after in zip(now, widths([i for i in everybody if i != out]), strict=True)
    )
    return max(0.0, (len(rows) - 1) * narrower - (len(columns) - sum(now)))
