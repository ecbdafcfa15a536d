"""What the values of a table in shards mean, before anybody is looked at: in this release, and in the vault's words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.engines.shards import COUNTED
from reveil.models.encoding import Domains
from reveil.series.in_shards.ordered import read_bucket
from reveil.series.stable_codes import stable_meanings
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import BoolArray
    from reveil.guarantees.base import Guarantee
    from reveil.models.domains import ValueCounts
    from reveil.series.in_shards.reading import OpenedTable
    from reveil.series.stable_codes import StableMeanings
    from reveil.tables.snapshot import Snapshot
    from reveil.vault import Vault

_TEXTS = pl.Schema({"column": pl.Int32, "text": pl.String, COUNTED: pl.Int64})


@dataclass(frozen=True)
class CountDeclared:
    """Work: which values of a declared order or of a hierarchy occur in some buckets."""

    example: Snapshot
    names: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count the buckets that a shard lists."""
        found = [_TEXTS.to_frame()]
        for bucket in table.iter_rows(named=True):
            frame = read_bucket(bucket, self.example)[0].frame
            for at, name in enumerate(self.names):
                texts = canonical_text(frame[name]).drop_nulls().unique().cast(pl.String)
                columns = {"column": [at] * len(texts), "text": texts, COUNTED: [1] * len(texts)}
                found.append(pl.DataFrame(columns, schema=_TEXTS))
        return pl.concat(found)


@dataclass(frozen=True)
class Meanings:
    """Which values the columns have and how often, what their codes mean, and which codes last.

    ``declared`` are those values of columns with a declared order or a hierarchy that somebody has, as texts.
    """

    counts: Mapping[str, ValueCounts] = field(repr=False)
    declared: Mapping[str, pl.Series] = field(repr=False)
    domains: Domains
    stable: StableMeanings

    @classmethod
    def of(cls, vault: Vault, table: OpenedTable, guarantee: Guarantee) -> Meanings:
        """Count the values of a table, and look them up."""
        example, counts = table.ordered.example, table.counts()
        schema = example.schema
        domains = Domains.of(schema, [counts])
        names = (*schema.quasi, *schema.sensitive)
        listed = [n for n in names if schema[n].taxonomy is not None or schema[n].order is not None]
        declared: dict[str, pl.Series] = {}
        if listed:
            found = table.ordered.shards(table.engine).count(CountDeclared(example, tuple(listed)))
            for at, name in enumerate(listed):
                declared[name] = found.filter(pl.col("column") == at)["text"]
        occurring: dict[str, BoolArray] = {}
        for domain in domains.quasi:
            occurs = np.zeros(domain.null_code + 1, np.bool_)
            values = declared.get(domain.name, counts[domain.name].values)
            occurs[domain.code(values.alias(domain.name))] = True
            occurs[domain.null_code] = counts[domain.name].nulls > 0
            occurring[domain.name] = occurs
        texts = {}
        for name in schema.sensitive:
            distinct = canonical_text(declared.get(name, counts[name].values)).cast(pl.String).unique()
            missing = pl.Series([None] if counts[name].nulls else [], dtype=pl.String)
            texts[name] = pl.concat([distinct.rename("value"), missing.rename("value")])
        first = guarantee.traits.declared_by(schema)
        values_of = {domain.name: domain.values for domain in domains.quasi}
        stable = stable_meanings(vault, example, values_of, occurring, texts, first)
        return cls(counts, declared, domains, stable)
