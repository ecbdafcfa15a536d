"""Plain twin of :mod:`reveil.core.kernels.bang_build`: keys and regions are texts of 0 and 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def way(keys: Sequence[str]) -> list[str]:
    """Return the regions towards the fuller half, the lower of equals; those that part nothing are passed over."""
    regions, region = [], ""
    while keys and len(region) < len(keys[0]):
        records = [key for key in keys if key.startswith(region)]
        ones = sum(key[len(region)] == "1" for key in records)
        region += "1" if 2 * ones > len(records) else "0"
        if max(ones, len(records) - ones) < len(records):
            regions.append(region)
    return regions


def candidates(keys: Sequence[str], least: int) -> list[str]:
    """Return the regions on the way that leave both parts enough records, nearest to half first, larger ones first."""
    sizes = [(region, sum(key.startswith(region) for key in keys)) for region in way(keys)]
    fitting = [(region, size) for region, size in sizes if least <= size <= len(keys) - least]
    return [region for region, size in sorted(fitting, key=lambda pair: abs(2 * pair[1] - len(keys)))]


def divide(region: str, keys: Sequence[str], capacity: int) -> dict[str, list[str]]:
    """Return the blocks that a block is split into, with their keys."""
    found = candidates(keys, capacity) if len(keys) > 2 * capacity else []
    if not found:
        return {region: list(keys)}
    inner = [key for key in keys if key.startswith(found[0])]
    outer = [key for key in keys if not key.startswith(found[0])]
    return {**divide(region, outer, capacity), **divide(found[0], inner, capacity)}
