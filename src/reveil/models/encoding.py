"""Codes: every column an array of integers whose order means something.

Quasi attributes become ``int32`` codes: numbers and dates by value, declared orders by position, taxonomies by
depth-first leaf number (so that every node is an interval of codes), other categories by frequency and then by
name. A missing value is a value of its own, with the last code. Sensitive attributes become codes in the same
way. Ranks are made for one release: nothing that lasts from release to release may be stored as a rank.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.threads import each
from reveil.models.statistics import Reference
from reveil.tables.snapshot import Snapshot, canonical_text

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.tables.hierarchy import Taxonomy
    from reveil.tables.schema import Column

FloatArray = npt.NDArray[np.float64]

# Integers are ranked by a table over their range where that is not much larger than the number of records.
_DENSE_RANGE = 4


class Kind(StrEnum):
    """How the values of a quasi attribute relate, and so what its published cells look like."""

    INTERVAL = "interval"  # numbers, dates and times: [lo, hi]
    ORDERED = "ordered"  # a declared order: all the values from lo to hi
    TAXONOMY = "taxonomy"  # the label of a node
    SET = "set"  # the values that occur


@dataclass(frozen=True)
class Attribute:
    """One quasi attribute: a code per record and what the codes stand for."""

    name: str
    kind: Kind
    codes: CodeArray = field(repr=False)
    domain: pl.Series = field(repr=False)
    taxonomy: Taxonomy | None = None

    @property
    def null_code(self) -> int:
        """The code of a missing value: the one behind the last value."""
        return len(self.domain)

    @cached_property
    def positions(self) -> FloatArray:
        """Where each code lies between 0 and 1, by value for intervals and by rank else; null lies one step beyond."""
        size = len(self.domain)
        where = np.zeros(size + 1)
        if size > 1 and self.kind is Kind.INTERVAL:
            away = distances(self.domain)
            where[:size] = away / away[-1] if away[-1] > 0 else np.arange(size) / (size - 1)
        elif size > 1:
            where[:size] = np.arange(size) / (size - 1)
        where[size] = 1 + 1 / max(size, 1)
        return where

    @cached_property
    def boundaries(self) -> CodeArray:
        """Depth of the taxonomy boundary behind each code; 0 where there is no taxonomy."""
        depths = np.zeros(len(self.domain) + 1, np.int32)
        if self.taxonomy is not None:
            depths[: len(self.domain) - 1] = self.taxonomy.boundary_depth
        return depths


@dataclass(frozen=True)
class SensitiveAttribute:
    """One sensitive attribute: a code per record, how many codes there are and how they relate."""

    name: str
    codes: CodeArray = field(repr=False)
    domain: int
    ordered: bool
    levels: CodeArray | None = field(default=None, repr=False)

    def reference(self, records: npt.NDArray[np.integer] | None = None) -> Reference:
        """Return the table's distribution over all records, or over the published ones."""
        codes = self.codes if records is None else self.codes[records]
        return Reference(np.bincount(codes, minlength=self.domain).astype(np.int64), self.ordered, self.levels)


@dataclass(frozen=True)
class Codes:
    """A snapshot in integers."""

    quasi: tuple[Attribute, ...]
    sensitive: tuple[SensitiveAttribute, ...]
    n: int

    def matrix(self) -> CodeArray:
        """Return the quasi codes as a fresh array with one row per record."""
        out = np.empty((self.n, len(self.quasi)), np.int32)
        for a, attribute in enumerate(self.quasi):
            out[:, a] = attribute.codes
        return out

    def columns(self, records: npt.NDArray[np.integer]) -> CodeArray:
        """Return the quasi codes of some records, one row per record, stored column by column.

        Columns are gathered one by one: each fits a cache where the whole table does not.
        """
        out = np.empty((len(self.quasi), len(records)), np.int32)
        each(
            lambda a: np.take(self.quasi[a].codes, records, out=out[a], mode="clip"),
            range(len(self.quasi)),
            len(records),
        )
        return out.T

    def values(self) -> CodeArray:
        """Return the sensitive codes as a fresh array with one row per record."""
        out = np.empty((self.n, len(self.sensitive)), np.int32)
        for s, attribute in enumerate(self.sensitive):
            out[:, s] = attribute.codes
        return out

    def take(self, records: npt.NDArray[np.integer]) -> Codes:
        """Return some of the records by themselves."""
        quasi = tuple(replace(attribute, codes=attribute.codes[records]) for attribute in self.quasi)
        sensitive = tuple(replace(attribute, codes=attribute.codes[records]) for attribute in self.sensitive)
        return Codes(quasi, sensitive, len(records))

    def references(self, records: npt.NDArray[np.integer] | None = None) -> dict[str, Reference]:
        """Return what models compare groups with."""
        return {attribute.name: attribute.reference(records) for attribute in self.sensitive}


def encode(snapshot: Snapshot) -> Codes:
    """Turn a snapshot into codes."""
    schema, frame = snapshot.schema, snapshot.frame
    quasi = tuple(each(lambda name: encode_quasi(frame[name], schema[name]), schema.quasi, frame.height))
    sensitive = tuple(encode_sensitive(frame[name], schema[name]) for name in schema.sensitive)
    return Codes(quasi, sensitive, frame.height)


def encode_quasi(values: pl.Series, column: Column) -> Attribute:
    """Give each value of a quasi column its code."""
    if column.taxonomy is not None:
        domain = pl.Series(column.name, column.taxonomy.leaves, dtype=pl.String)
        return Attribute(column.name, Kind.TAXONOMY, _places(canonical_text(values), domain), domain, column.taxonomy)
    if column.order is not None:
        domain = pl.Series(column.name, column.order, dtype=pl.String)
        return Attribute(column.name, Kind.ORDERED, _places(canonical_text(values), domain), domain)
    if is_ordered(values.dtype):
        codes, domain = _ranks(values)
        return Attribute(column.name, Kind.INTERVAL, codes, domain)
    text = canonical_text(values)
    counts = text.rename("value").drop_nulls().value_counts(name="n").sort(["n", "value"], descending=[True, False])
    domain = counts["value"].rename(column.name)
    return Attribute(column.name, Kind.SET, _places(text, domain), domain)


def encode_sensitive(values: pl.Series, column: Column) -> SensitiveAttribute:
    """Give each value of a sensitive column its code; bins hold equally many records, as far as ties allow."""
    has_null = int(values.null_count() > 0)
    if column.taxonomy is not None:
        codes = _places(canonical_text(values), pl.Series(column.taxonomy.leaves, dtype=pl.String))
        return SensitiveAttribute(
            column.name, codes, len(column.taxonomy.leaves) + 1, False, _with_null(column.taxonomy)
        )
    if column.order is not None:
        codes = _places(canonical_text(values), pl.Series(column.order, dtype=pl.String))
        return SensitiveAttribute(column.name, codes, len(column.order) + has_null, True)
    if is_ordered(values.dtype):
        codes, domain = _ranks(values)
        size = len(domain)
        if column.bins is not None:
            codes, size = _binned(codes, size, column.bins)
        return SensitiveAttribute(column.name, codes, size + has_null, True)
    text = canonical_text(values)
    domain = text.drop_nulls().unique().sort()
    return SensitiveAttribute(column.name, _places(text, domain), len(domain) + has_null, False)


def is_ordered(dtype: pl.DataType) -> bool:
    """Return whether values of this type have a natural order: numbers, dates and times."""
    return dtype.is_numeric() or dtype.is_temporal()


def distances(values: pl.Series) -> FloatArray:
    """Return how far each of some ascending numbers, dates or times lies from the first, on a common scale.

    Whole numbers are subtracted before they become floats, so that neighbours beyond 2**53 stay apart; floats are
    scaled first, so that a difference cannot overflow.
    """
    physical = values.to_physical()
    if physical.dtype in (pl.Int128, pl.UInt128):
        numbers = physical.to_list()
        return np.array([float(number - numbers[0]) for number in numbers])
    if physical.dtype.is_integer():
        wrapped = physical.to_numpy().astype(np.uint64)  # modulo 2**64, in which ascending differences are exact
        return np.asarray(wrapped - wrapped[0], np.float64)
    floats = physical.cast(pl.Float64).to_numpy() * 0.25
    return np.asarray(floats - floats[0], np.float64)


def _places(text: pl.Series, domain: pl.Series) -> CodeArray:
    """Return the place of each text in the domain, nulls behind the last."""
    if len(domain) == 0:
        return np.zeros(len(text), np.int32)
    places = text.cast(pl.Enum(domain)).to_physical().cast(pl.Int32)
    return places.fill_null(len(domain)).to_numpy().astype(np.int32, copy=False)


def _ranks(values: pl.Series) -> tuple[CodeArray, pl.Series]:
    """Return dense ranks by value, nulls last, and the distinct values in order."""
    size = len(values)
    present = values if values.null_count() == 0 else values.drop_nulls()
    physical = present.to_physical()
    if physical.dtype.is_integer() and physical.dtype != pl.Int128 and len(present):
        numbers = physical.to_numpy()
        least, most = int(numbers.min()), int(numbers.max())
        if most - least <= _DENSE_RANGE * size + 1024 and most < 2**62 and least > -(2**62):
            offsets = numbers.astype(np.int64) - least
            seen = np.zeros(most - least + 1, np.bool_)
            seen[offsets] = True
            rank = np.cumsum(seen, dtype=np.int32) - np.int32(1)
            domain = pl.Series(values.name, np.flatnonzero(seen) + least).cast(physical.dtype).cast(values.dtype)
            return _spread(rank[offsets], values, len(domain)), domain
    domain = present.unique().sort()
    ranks = present.rank("dense").cast(pl.Int32).to_numpy() - np.int32(1) if len(present) else np.zeros(0, np.int32)
    return _spread(ranks, values, len(domain)), domain


def _spread(ranks: CodeArray, values: pl.Series, null_code: int) -> CodeArray:
    """Put the ranks of the non-null values back in their places."""
    if values.null_count() == 0:
        return ranks
    codes = np.full(len(values), null_code, np.int32)
    codes[values.is_not_null().to_numpy()] = ranks
    return codes


def _binned(codes: CodeArray, size: int, bins: int) -> tuple[CodeArray, int]:
    """Put ranks into bins of about equally many records; equal values share a bin, nulls stay apart."""
    counts: IntArray = np.bincount(codes, minlength=size + 1)[:size].astype(np.int64)
    before = np.cumsum(counts) - counts
    bin_of = before * bins // max(int(counts.sum()), 1)
    used, place = np.unique(bin_of, return_inverse=True)
    return np.append(place, len(used)).astype(np.int32)[codes], len(used)


def _with_null(taxonomy: Taxonomy) -> CodeArray:
    """Return the levels of a taxonomy with a missing value directly under the root."""
    beside = np.full((taxonomy.levels.shape[0], 1), len(taxonomy.labels), np.int32)
    beside[0] = taxonomy.levels[0, 0]
    return np.hstack([taxonomy.levels, beside])
