"""Plain twin of :mod:`reveil.core.kernels.windows`."""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[int]


def count(records: Sequence[Row], lo: Sequence[Row], hi: Sequence[Row], used: Sequence[Sequence[bool]]) -> list[int]:
    """Return how many records lie in each window."""
    return [
        sum(
            all(not u or low <= code <= high for code, low, high, u in zip(record, lows, highs, asked, strict=True))
            for record in records
        )
        for lows, highs, asked in zip(lo, hi, used, strict=True)
    ]
