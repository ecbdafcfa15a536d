"""Records in shards, divided into regions of a curve through their quasi values: exactly, by counting.

A region has about as many records as a shard. Where it ends is a quantile of the places of all records along the curve,
found a few bits at a time; records that are equal in all quasi values stay together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.engines.shards import COUNTED

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.engines.shards import Shards

PLACE, REGION = "place", "region"
_BITS = 16  # of a place that are counted at once
_TIMES = 3
_PREFIXES = pl.Schema({"prefix": pl.UInt64, COUNTED: pl.Int64})


@dataclass(frozen=True)
class CountPrefixes:
    """Work: how many records there are in some intervals of the curve, part by part of these.

    ``known`` are the first bits of the intervals, which are divided by the next :data:`_BITS`.
    """

    known: tuple[int, ...] | None
    bits: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        places = table[PLACE].to_numpy()
        if self.known is not None:
            above = places >> np.uint64(64 - self.bits + _BITS)
            places = places[np.isin(above, np.array(self.known, np.uint64))]
        prefix, many = np.unique(places >> np.uint64(64 - self.bits), return_counts=True)
        return pl.DataFrame({"prefix": prefix, COUNTED: many}, schema=_PREFIXES)


def ends_of_regions(records: Shards, regions: int, most: int) -> npt.NDArray[np.uint64]:
    """Return where the regions but the last one end: the first place of the next one."""
    if regions <= 1:
        return np.zeros(0, np.uint64)
    known: tuple[int, ...] | None = None
    wanted = below = np.zeros(0, np.int64)
    prefixes = np.zeros(0, np.uint64)
    for turn in range(_TIMES):
        counted = records.count(CountPrefixes(known, _BITS * (turn + 1)), most)
        prefix, many = counted["prefix"].to_numpy(), counted[COUNTED].to_numpy()
        if known is None:
            total = int(many.sum())
            wanted = np.arange(1, regions, dtype=np.int64) * total // regions
            below, inside = np.zeros(regions - 1, np.int64), np.zeros(regions - 1, np.uint64)
        else:
            inside = prefixes
        found = np.empty(regions - 1, np.uint64)
        for r in range(regions - 1):
            mine = slice(None) if known is None else (prefix >> np.uint64(_BITS)) == inside[r]
            before = np.cumsum(many[mine])
            at = min(int(np.searchsorted(before, wanted[r] - below[r], side="right")), len(before) - 1)
            found[r] = prefix[mine][at]
            below[r] += int(before[at] - many[mine][at])
        prefixes = found
        known = tuple(sorted({int(one) for one in found}))
    return np.unique(prefixes << np.uint64(64 - _BITS * _TIMES))


def region_of(places: npt.NDArray[np.uint64], ends: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """Return the region of each place."""
    return np.searchsorted(ends, places, side="right").astype(np.int32)


@dataclass(frozen=True)
class InRegions:
    """Work: the region of each record, as a column beside the others."""

    ends: npt.NDArray[np.uint64] = field(repr=False)

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Place a shard."""
        return table.with_columns(pl.Series(REGION, region_of(table[PLACE].to_numpy(), self.ends), pl.Int32))
