"""Plain twin of :mod:`reveil.core.kernels.bang`: keys and regions are texts of 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def interleave(cells: Sequence[int], bits: Sequence[int]) -> str:
    """Return the first bit of each coordinate in turn, then the second of those that have one, and so on."""
    texts = [format(cell, f"0{own}b") if own else "" for cell, own in zip(cells, bits, strict=True)]
    return "".join(text[turn] for turn in range(max(bits, default=0)) for text in texts if turn < len(text))


def find(regions: Sequence[str], key: str) -> int:
    """Return the place of the longest region that the key begins with."""
    return max((place for place, own in enumerate(regions) if key.startswith(own)), key=lambda p: len(regions[p]))


def parents(regions: Sequence[str]) -> list[int]:
    """Return for each region the place of the innermost other one around it, -1 for the whole space."""
    return [
        find([other if other != own else "-" for other in regions], own) if own else -1 for own in regions
    ]  # "-" begins no key


def box(region: str, bits: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the last cell of a region in each dimension, by halving the space bit by bit."""
    bounds = [(0, 2**own - 1) for own in bits]
    turns = [a for turn in range(max(bits, default=0)) for a, own in enumerate(bits) if turn < own]
    for bit, a in zip(region, turns, strict=False):
        lo, hi = bounds[a]
        middle = (lo + hi) // 2
        bounds[a] = (middle + 1, hi) if bit == "1" else (lo, middle)
    return bounds
