"""What the codes of a column mean, apart from the codes: small, and the same for every part of a table.

A table may lie in shards. Each shard counts the values of its columns (:class:`ValueCounts`), counts are added up
(:meth:`ValueCounts.merged`), a domain follows from the sum and the schema, and with it every shard gives its records
their codes by itself. A table that lies in one piece goes the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.tables.hierarchy import Taxonomy
    from reveil.tables.schema import Column

FloatArray = npt.NDArray[np.float64]

# Integers are looked up in a table over their range where that is not much larger than the number of records.
_DENSE_RANGE = 4
_SAFE = 2**62  # whole numbers below it can be subtracted


class Kind(StrEnum):
    """How the values of a quasi attribute relate, and so what its published cells look like."""

    INTERVAL = "interval"  # numbers, dates and times: [lo, hi]
    ORDERED = "ordered"  # a declared order: all the values from lo to hi
    TAXONOMY = "taxonomy"  # the label of a node
    SET = "set"  # the values that occur


@dataclass(frozen=True)
class ValueCounts:
    """Which values a column has, ascending, and how often; ``nulls`` records have none.

    Values of a declared order or a hierarchy are known without being counted, and are left out.
    """

    values: pl.Series = field(repr=False)
    counts: IntArray = field(repr=False)
    nulls: int

    @classmethod
    def of(cls, batch: pl.Series, column: Column) -> ValueCounts:
        """Count the values of some records."""
        nulls = batch.null_count()
        if column.taxonomy is not None or column.order is not None:
            return cls(pl.Series(batch.name, [], pl.String), np.zeros(0, np.int64), nulls)
        values = batch if is_ordered(batch.dtype) else canonical_text(batch)
        present = values.drop_nulls() if nulls else values
        dense = _dense_range(present)
        if dense is not None:
            least, most = dense
            counts = np.bincount(_numbers(present) - least, minlength=most - least + 1)
            seen = np.flatnonzero(counts)
            found = pl.Series(batch.name, seen + least).cast(_physical(present).dtype).cast(batch.dtype)
            return cls(found, counts[seen].astype(np.int64), nulls)
        plain = _plain(present)
        if plain is not None:
            numbers, often = np.unique(plain, return_counts=True)
            found = pl.Series(batch.name, numbers).cast(_physical(present).dtype).cast(batch.dtype)
            return cls(found, often.astype(np.int64), nulls)
        both = present.rename("value").value_counts(name="n").sort("value")
        return cls(both["value"].rename(batch.name), both["n"].cast(pl.Int64).to_numpy(), nulls)

    @classmethod
    def merged(cls, parts: Sequence[ValueCounts]) -> ValueCounts:
        """Add up the counts of several shards."""
        nulls = sum(part.nulls for part in parts)
        both = pl.concat(pl.DataFrame({"value": part.values, "n": part.counts}) for part in parts)
        summed = both.group_by("value").agg(pl.col("n").sum()).sort("value")
        return cls(summed["value"].rename(parts[0].values.name), summed["n"].to_numpy(), nulls)


@dataclass(frozen=True)
class Domain:
    """What the codes of a quasi column mean: code c stands for ``values[c]``, the one behind the last for no value.

    The width of the column counts ``weight`` times. ``tight``: a cell over a taxonomy holds just the leaves that occur.
    """

    name: str
    kind: Kind
    values: pl.Series = field(repr=False)
    taxonomy: Taxonomy | None = None
    weight: float = 1.0
    tight: bool = False

    @classmethod
    def of(cls, counted: ValueCounts, column: Column) -> Domain:
        """Return the domain of a column whose records, all of them, have these values."""
        weight = 1.0 if column.weight is None else float(column.weight)
        if column.taxonomy is not None:
            leaves = pl.Series(column.name, column.taxonomy.leaves, dtype=pl.String)
            return cls(column.name, Kind.TAXONOMY, leaves, column.taxonomy, weight, column.tight)
        if column.order is not None:
            return cls(column.name, Kind.ORDERED, pl.Series(column.name, column.order, dtype=pl.String), None, weight)
        if is_ordered(counted.values.dtype):
            return cls(column.name, Kind.INTERVAL, counted.values.rename(column.name), None, weight)
        by_count = pl.DataFrame({"value": counted.values, "n": counted.counts}).sort(
            "n", descending=True, maintain_order=True
        )
        return cls(column.name, Kind.SET, by_count["value"].rename(column.name), None, weight)

    @property
    def null_code(self) -> int:
        """The code of a missing value: the one behind the last value."""
        return len(self.values)

    def code(self, batch: pl.Series) -> CodeArray:
        """Give each of some records its code."""
        return _coded(batch, self.values, self.name)

    @cached_property
    def positions(self) -> FloatArray:
        """Where each code lies between 0 and 1, by value for intervals and by rank else; null lies one step beyond."""
        size = len(self.values)
        where = np.zeros(size + 1)
        if size > 1 and self.kind is Kind.INTERVAL:
            away = distances(self.values)
            where[:size] = away / away[-1] if away[-1] > 0 else np.arange(size) / (size - 1)
        elif size > 1:
            where[:size] = np.arange(size) / (size - 1)
        where[size] = 1 + 1 / max(size, 1)
        return where

    @cached_property
    def boundaries(self) -> CodeArray:
        """Depth of the taxonomy boundary behind each code; 0 where there is no taxonomy."""
        depths = np.zeros(len(self.values) + 1, np.int32)
        if self.taxonomy is not None:
            depths[: len(self.values) - 1] = self.taxonomy.boundary_depth
        return depths


@dataclass(frozen=True)
class SensitiveDomain:
    """What the codes of a sensitive column mean: how many there are and how they relate.

    ``values`` has the values in the order of their ranks, and ``bins`` the code of each rank where that is not the
    rank itself. Neither is there where codes come from elsewhere.
    """

    name: str
    size: int
    ordered: bool
    levels: CodeArray | None = field(default=None, repr=False)
    values: pl.Series | None = field(default=None, repr=False)
    bins: CodeArray | None = field(default=None, repr=False)

    @classmethod
    def of(cls, counted: ValueCounts, column: Column) -> SensitiveDomain:
        """Return the domain of a column whose records, all of them, have these values.

        Bins hold equally many records, as far as ties allow.
        """
        has_null = int(counted.nulls > 0)
        if column.taxonomy is not None:
            leaves = pl.Series(column.taxonomy.leaves, dtype=pl.String)
            return cls(column.name, len(leaves) + 1, ordered=False, levels=_with_null(column.taxonomy), values=leaves)
        if column.order is not None:
            order = pl.Series(column.order, dtype=pl.String)
            return cls(column.name, len(order) + has_null, ordered=True, values=order)
        ordered, size, bins = is_ordered(counted.values.dtype), len(counted.values), None
        if ordered and isinstance(column.bins, int):
            bins = _binned(counted.counts, column.bins)
            size = int(bins[-1])
        return cls(column.name, size + has_null, ordered=ordered, values=counted.values, bins=bins)

    def code(self, batch: pl.Series) -> CodeArray:
        """Give each of some records its code."""
        if self.values is None:
            raise ValueError(f"the codes of column {self.name!r} come from elsewhere")
        ranks = _coded(batch, self.values, self.name)
        return ranks if self.bins is None else self.bins[ranks]


def is_ordered(dtype: pl.DataType) -> bool:
    """Return whether values of this type have a natural order: numbers, dates and times."""
    return dtype.is_numeric() or dtype.is_temporal()


def distances(values: pl.Series) -> FloatArray:
    """Return how far each of some ascending numbers, dates or times lies from the first, on a common scale.

    Whole numbers are subtracted before they become floats, so that neighbours beyond 2**53 stay apart; floats are
    scaled first, so that a difference cannot overflow.
    """
    physical = _physical(values)
    if physical.dtype in (pl.Int128, pl.UInt128):
        numbers = physical.to_list()
        return np.array([float(number - numbers[0]) for number in numbers])
    if physical.dtype.is_integer():
        wrapped = physical.to_numpy().astype(np.uint64)  # modulo 2**64, in which ascending differences are exact
        return np.asarray(wrapped - wrapped[0], np.float64)
    floats = physical.cast(pl.Float64).to_numpy() * 0.25
    return np.asarray(floats - floats[0], np.float64)


def _coded(batch: pl.Series, values: pl.Series, name: str) -> CodeArray:
    """Return the place of each value of a batch among ``values``, nulls behind the last."""
    size = len(values)
    if size == 0:
        codes = np.zeros(len(batch), np.int32)
        known = batch.null_count() == len(batch)
    elif is_ordered(values.dtype):
        codes, known = _ranks(batch, values)
    else:
        text = canonical_text(batch)
        places = text.cast(pl.Enum(values), strict=False).to_physical().cast(pl.Int32)
        known = places.null_count() == text.null_count()
        codes = places.fill_null(size).to_numpy().astype(np.int32, copy=False)
    if not known:
        raise ValueError(f"column {name!r} has a value that is not in its domain")
    return codes


def _ranks(batch: pl.Series, values: pl.Series) -> tuple[CodeArray, bool]:
    """Return the place of each number, date or time among ascending ones, and whether all of them are there."""
    present = batch.drop_nulls() if batch.null_count() else batch
    dense = _dense_range(values, len(batch))
    if dense is not None:
        least, most = dense
        rank = np.full(most - least + 1, -1, np.int32)
        rank[_numbers(values) - least] = np.arange(len(values), dtype=np.int32)
        offsets = _numbers(present) - least
        if len(offsets) and (offsets.min() < 0 or offsets.max() >= len(rank)):
            return np.zeros(0, np.int32), False
        ranks = rank[offsets]
    elif (plain := _plain(values)) is not None and (wanted := _plain(present)) is not None:
        ranks = np.searchsorted(plain, wanted).astype(np.int32)
        if not np.array_equal(plain[np.minimum(ranks, len(plain) - 1)], wanted, equal_nan=plain.dtype.kind == "f"):
            return ranks, False
    else:
        places = pl.DataFrame({"value": values, "place": np.arange(len(values), dtype=np.int32)})
        found = pl.DataFrame({"value": present}).join(places, on="value", how="left", maintain_order="left")["place"]
        ranks = found.fill_null(-1).to_numpy()
    if len(ranks) and ranks.min() < 0:
        return ranks, False
    if len(present) < len(batch):
        codes = np.full(len(batch), len(values), np.int32)
        codes[batch.is_not_null().to_numpy()] = ranks
        return codes, True
    return ranks, True


def _physical(values: pl.Series) -> pl.Series:
    """Return the numbers that values are kept as; numbers are themselves, of which polars would make a query."""
    return values if values.dtype.is_integer() or values.dtype.is_float() else values.to_physical()


def _numbers(values: pl.Series) -> IntArray:
    return _physical(values).to_numpy().astype(np.int64)


def _plain(values: pl.Series) -> npt.NDArray[np.generic] | None:
    """Return numbers, dates or times as NumPy sorts them; None for those that it does not know."""
    physical = _physical(values)
    if physical.dtype in (pl.Int128, pl.UInt128) or not (physical.dtype.is_integer() or physical.dtype.is_float()):
        return None
    return physical.to_numpy()


def _dense_range(values: pl.Series, size: int | None = None) -> tuple[int, int] | None:
    """Return the least and the largest of some whole numbers if a table over their range is worth it.

    It is made for ``size`` numbers, by default for these.
    """
    physical = _physical(values)
    if not physical.dtype.is_integer() or physical.dtype in (pl.Int128, pl.UInt128) or not len(values):
        return None
    least, most = int(physical.min()), int(physical.max())  # type: ignore[arg-type]  # there are some
    room = _DENSE_RANGE * (len(values) if size is None else size) + 1024
    return (least, most) if most - least <= room and most < _SAFE and least > -_SAFE else None


def _binned(counts: IntArray, bins: int) -> CodeArray:
    """Return the bin of each rank, and behind them that of a missing value.

    Bins have about equally many records; equal values share a bin.
    """
    before = np.cumsum(counts) - counts
    bin_of = before * bins // max(int(counts.sum()), 1)
    used, place = np.unique(bin_of, return_inverse=True)
    return np.append(place, len(used)).astype(np.int32)


def _with_null(taxonomy: Taxonomy) -> CodeArray:
    """Return the levels of a taxonomy with a missing value directly under the root."""
    beside = np.full((taxonomy.levels.shape[0], 1), len(taxonomy.labels), np.int32)
    beside[0] = taxonomy.levels[0, 0]
    return np.hstack([taxonomy.levels, beside])
