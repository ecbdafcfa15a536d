"""What is counted over all the groups of a release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.attacks.skewness import from_table
from reveil.adversary.in_shards.merging import OfGroups
from reveil.core.arrays import Ragged
from reveil.engines.shards import COUNTED

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.engines.shards import Shards

    FloatArray = npt.NDArray[np.float64]

_COUNTS = pl.Schema({"what": pl.Int32, "code": pl.Int32, COUNTED: pl.Int64})
_ROWS, _FAKES, _MANY, _ALONE = -4, -3, -2, -1
_TOTALS = ((_ROWS, "size"), (_FAKES, "fakes"), (_ALONE, "alone"))
_STEPS = 1 << 32  # of a row: whole numbers add up to the same in any order
_AWAY = pl.Schema(
    {
        "farthest": pl.Float64,
        "away": pl.Int64,
        "rows": pl.Int64,
        "ratio": pl.Float64,
        "fewest": pl.Int64,
        "even": pl.Boolean,
    }
)


@dataclass(frozen=True)
class CountedGroups:
    """Rows, counterfeits and groups, and for each sensitive column the share of the rows that has each value.

    ``alone`` is how many persons may be in one group only.
    ``even``: whether all groups have each of their values equally often, and two values at least.
    """

    rows: int
    fakes: int
    many: int
    alone: int
    shares: tuple[FloatArray, ...] = field(repr=False)
    of_groups: tuple[OfGroups, ...]
    even: tuple[bool, ...]


@dataclass(frozen=True)
class CountAll:
    """Work: rows, counterfeits, groups, and values."""

    columns: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        totals = [(what, 0, int(table[name].sum())) for what, name in _TOTALS]
        found = [pl.DataFrame([*totals, (_MANY, 0, table.height)], schema=_COUNTS, orient="row")]
        for s in range(self.columns):
            both = table.select(pl.col(f"codes{s}").alias("code"), pl.col(f"counts{s}").alias(COUNTED))
            told = both.explode("code", COUNTED).drop_nulls().group_by("code").agg(pl.col(COUNTED).sum())
            found.append(told.select(pl.lit(s, pl.Int32).alias("what"), pl.col("code").cast(pl.Int32), COUNTED))
        return pl.concat(found)


@dataclass(frozen=True)
class MeasureGroups:
    """Work: how far the values of groups are from the table's."""

    column: int
    shares: FloatArray = field(repr=False)

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Measure a shard."""
        if not table.height:
            return _AWAY.to_frame()
        codes, counts = (table[f"{what}{self.column}"] for what in ("codes", "counts"))
        lengths = codes.list.len().to_numpy().astype(np.int64)
        values = Ragged.of_lengths(lengths, codes.explode().drop_nulls().to_numpy().astype(np.int32))
        many = counts.explode().drop_nulls().to_numpy().astype(np.int64)
        sizes = table["size"].to_numpy()
        share, base, away = from_table(values, many, sizes, self.shares)
        even = bool((values.reduce(np.maximum, many) == values.reduce(np.minimum, many)).all() and (lengths > 1).all())
        fits = table.filter(pl.col("fits") > 0)["fits"]
        return pl.DataFrame(
            {
                "farthest": [float(away.max(initial=0.0))],
                "away": [int(np.rint(away * sizes * _STEPS).astype(np.int64).sum())],
                "rows": [int(sizes.sum())],
                "ratio": [float((share / base).max(initial=0.0))],
                "fewest": pl.Series([fits.min()], dtype=pl.Int64),
                "even": [even],
            },
            schema=_AWAY,
        )


def counted_groups(groups: Shards, values: tuple[int, ...]) -> CountedGroups:
    """Count the groups of a release; ``values`` is how many values each sensitive column has."""
    counts = groups.count(CountAll(len(values)))

    def total(what: int) -> int:
        return int(counts.filter(pl.col("what") == what)[COUNTED].sum())

    shares, measured, even = [], [], []
    for s, size in enumerate(values):
        told = counts.filter(pl.col("what") == s)
        many = np.zeros(size)
        many[told["code"].to_numpy()] = told[COUNTED].to_numpy()
        shares.append(many / max(int(many.sum()), 1))
        found = groups.map(MeasureGroups(s, shares[-1]), _AWAY).collect()
        rows = int(found["rows"].sum())
        fewest = found["fewest"].min()
        measured.append(
            OfGroups(
                float(found["farthest"].max() or 0.0),  # type: ignore[arg-type]
                int(found["away"].sum()) / _STEPS / rows if rows else 0.0,
                float(found["ratio"].max() or 0.0),  # type: ignore[arg-type]
                None if fewest is None else int(fewest),  # type: ignore[arg-type]
                bool(told.height),
            )
        )
        even.append(bool(found["even"].all()))
    return CountedGroups(
        total(_ROWS), total(_FAKES), total(_MANY), total(_ALONE), tuple(shares), tuple(measured), tuple(even)
    )
