"""Plain twins of :mod:`reveil.core.kernels.cuts`: the definitions, one node at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

Row = Sequence[int]


def spans(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Smallest and largest code of each attribute."""
    return [(min(column), max(column)) for column in zip(*rows, strict=True)]


def propose(codes: Sequence[int], depths: Sequence[int], least: int) -> tuple[int, int]:
    """Find the cut between two codes: highest boundary, then best balance, then first; (-1, 0) if there is none."""
    present = sorted(set(codes))
    options = []
    for before, after in pairwise(present):
        left = sum(code <= before for code in codes)
        if min(left, len(codes) - left) >= least:
            options.append((min(depths[before:after]), abs(2 * left - len(codes)), before, left))
    return min(options)[2:] if options else (-1, 0)


def median(codes: Sequence[int]) -> tuple[int, int]:
    """Return the code in the middle and how many records go left of it."""
    half = len(codes) // 2
    return sorted(codes)[half - 1], half


def mode(codes: Sequence[int]) -> int:
    """Return how often the most frequent code occurs."""
    return max(Counter(codes).values())
