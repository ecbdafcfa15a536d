"""Codes: every column an array of integers whose order means something.

Quasi attributes become ``int32`` codes: numbers and dates by value, declared orders by position, taxonomies by
depth-first leaf number (so that every node is an interval of codes), other categories by frequency and then by
name. A missing value is a value of its own, with the last code. Sensitive attributes become codes in the same
way. Ranks are made for one release: nothing that lasts from release to release may be stored as a rank.

What codes mean (:mod:`reveil.models.domains`) is apart from them: domains are small and belong to the whole table,
codes are large and may lie in shards.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.threads import each
from reveil.models.domains import Domain, FloatArray, Kind, SensitiveDomain, ValueCounts, distances, is_ordered
from reveil.models.statistics import Reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    import polars as pl

    from reveil.core.arrays import CodeArray
    from reveil.tables.hierarchy import Taxonomy
    from reveil.tables.schema import Column, Schema
    from reveil.tables.snapshot import Snapshot

__all__ = [
    "Attribute",
    "Codes",
    "Domains",
    "FloatArray",
    "Kind",
    "SensitiveAttribute",
    "count_values",
    "distances",
    "encode",
    "encode_quasi",
    "encode_sensitive",
    "is_ordered",
]


@dataclass(frozen=True)
class Attribute:
    """One quasi attribute: a code for each record, and what the codes mean."""

    meaning: Domain
    codes: CodeArray = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.meaning.name

    @property
    def kind(self) -> Kind:
        """How its values relate."""
        return self.meaning.kind

    @property
    def domain(self) -> pl.Series:
        """The values in the order of their codes."""
        return self.meaning.values

    @property
    def taxonomy(self) -> Taxonomy | None:
        """The hierarchy of its values."""
        return self.meaning.taxonomy

    @property
    def weight(self) -> float:
        """How often its width counts."""
        return self.meaning.weight

    @property
    def tight(self) -> bool:
        """Whether a cell over a taxonomy holds just the leaves that occur, not all those under one node."""
        return self.meaning.tight

    @property
    def listed(self) -> bool:
        """Whether a published cell holds the values that occur and no others."""
        return self.kind is Kind.SET or (self.kind is Kind.TAXONOMY and self.tight)

    @property
    def null_code(self) -> int:
        """The code of a missing value: the one behind the last value."""
        return self.meaning.null_code

    @property
    def positions(self) -> FloatArray:
        """Where each code lies; see :attr:`reveil.models.domains.Domain.positions`."""
        return self.meaning.positions

    @property
    def boundaries(self) -> CodeArray:
        """Depth of the taxonomy boundary behind each code; 0 where there is no taxonomy."""
        return self.meaning.boundaries


@dataclass(frozen=True)
class SensitiveAttribute:
    """One sensitive attribute: a code for each record, and what the codes mean."""

    meaning: SensitiveDomain
    codes: CodeArray = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.meaning.name

    @property
    def domain(self) -> int:
        """How many codes there are."""
        return self.meaning.size

    @property
    def ordered(self) -> bool:
        """Whether the order of the codes is that of the values."""
        return self.meaning.ordered

    @property
    def levels(self) -> CodeArray | None:
        """The nodes above each code, level by level, where there is a hierarchy."""
        return self.meaning.levels

    def reference(self, records: npt.NDArray[np.integer] | None = None) -> Reference:
        """Return the table's distribution over all records, or over the published ones."""
        codes = self.codes if records is None else self.codes[records]
        return Reference(np.bincount(codes, minlength=self.domain).astype(np.int64), self.ordered, self.levels)


@dataclass(frozen=True)
class Domains:
    """What the codes of all columns mean."""

    quasi: tuple[Domain, ...]
    sensitive: tuple[SensitiveDomain, ...]

    @classmethod
    def of(cls, schema: Schema, shards: Sequence[Mapping[str, ValueCounts]]) -> Domains:
        """Return the domains of a table whose shards have these values; see :func:`count_values`."""

        def whole(name: str) -> ValueCounts:
            return ValueCounts.merged([shard[name] for shard in shards])

        quasi = tuple(Domain.of(whole(name), schema[name]) for name in schema.quasi)
        return cls(quasi, tuple(SensitiveDomain.of(whole(name), schema[name]) for name in schema.sensitive))

    def code(self, snapshot: Snapshot) -> Codes:
        """Turn a snapshot, or a shard of one, into codes."""
        frame = snapshot.frame
        quasi = tuple(each(lambda domain: Attribute(domain, domain.code(frame[domain.name])), self.quasi, frame.height))
        sensitive = tuple(SensitiveAttribute(domain, domain.code(frame[domain.name])) for domain in self.sensitive)
        return Codes(quasi, sensitive, frame.height)


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


def count_values(snapshot: Snapshot) -> dict[str, ValueCounts]:
    """Count the values of the columns that become codes, in a snapshot or in a shard of one."""
    schema, frame = snapshot.schema, snapshot.frame
    names = (*schema.quasi, *schema.sensitive)
    counted = each(lambda name: ValueCounts.of(frame[name], schema[name]), names, frame.height)
    return dict(zip(names, counted, strict=True))


def encode(snapshot: Snapshot) -> Codes:
    """Turn a snapshot into codes."""
    schema, frame = snapshot.schema, snapshot.frame
    quasi = tuple(each(lambda name: encode_quasi(frame[name], schema[name]), schema.quasi, frame.height))
    sensitive = tuple(encode_sensitive(frame[name], schema[name]) for name in schema.sensitive)
    return Codes(quasi, sensitive, frame.height)


def encode_quasi(values: pl.Series, column: Column) -> Attribute:
    """Give each value of a quasi column its code."""
    domain = Domain.of(ValueCounts.of(values, column), column)
    return Attribute(domain, domain.code(values))


def encode_sensitive(values: pl.Series, column: Column) -> SensitiveAttribute:
    """Give each value of a sensitive column its code; bins hold equally many records, as far as ties allow."""
    domain = SensitiveDomain.of(ValueCounts.of(values, column), column)
    return SensitiveAttribute(domain, domain.code(values))
