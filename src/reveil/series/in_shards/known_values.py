"""What values and signatures mean to a release in shards, before anybody is looked at; and what of it is new."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import polars as pl

from reveil.core.arrays import Ragged
from reveil.guarantees.base import Memory
from reveil.guarantees.signatures.sets import Sets
from reveil.models.encoding import Domains
from reveil.series.book import VaultBook
from reveil.series.events import Events
from reveil.series.release_context import ReleaseContext
from reveil.series.signatures import SIGNATURES
from reveil.series.stable_codes import StableCodes, stable_meanings, texts_of
from reveil.tables.snapshot import canonical_text
from reveil.vault import Recall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.guarantees.base import Guarantee
    from reveil.series.in_shards.reading import OpenedTable
    from reveil.series.stable_codes import StableMeanings
    from reveil.vault import Vault


class _NoBook:
    """The book of a bucket: what was told of its people is in their memory already."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(name)


@dataclass(frozen=True)
class KnownValues:
    """What is known of values and signatures before anybody is looked at, and what of it is new."""

    domains: Domains
    stable: StableMeanings
    memory: Memory
    signatures: IntArray = field(repr=False)
    known_types: Mapping[str, str]

    @classmethod
    def of(cls, vault: Vault, table: OpenedTable, guarantee: Guarantee) -> KnownValues:
        """Count the values of a table, and look them up."""
        example, counts = table.ordered.example, table.counts()
        schema = example.schema
        domains = Domains.of(schema, [counts])
        occurring: dict[str, BoolArray] = {}
        for domain in domains.quasi:
            occurs = np.zeros(domain.null_code + 1, np.bool_)
            occurs[domain.code(counts[domain.name].values)] = True
            occurs[domain.null_code] = counts[domain.name].nulls > 0
            occurring[domain.name] = occurs
        texts = {}
        for name in schema.sensitive:
            distinct = canonical_text(counts[name].values).cast(pl.String).unique()
            missing = pl.Series([None] if counts[name].nulls else [], dtype=pl.String)
            texts[name] = pl.concat([distinct.rename("value"), missing.rename("value")])
        declared = guarantee.traits.declared_by(schema)
        values = {domain.name: domain.values for domain in domains.quasi}
        stable = stable_meanings(vault, example, values, occurring, texts, declared)
        known = vault.ledger(SIGNATURES).sort("signature", "code")
        numbers, sizes = np.unique(known["signature"].to_numpy(), return_counts=True)
        sets = Sets(Ragged.of_lengths(sizes, known["code"].to_numpy().astype(np.int32)))
        memory = _memory(vault, schema.sensitive[0], stable, sets)
        return cls(domains, stable, memory, numbers.astype(np.int64), vault.attributes())

    def context(self, vault: Vault, table: OpenedTable) -> ReleaseContext:
        """Return what a release needs to be remembered, of nobody: people come in portions."""
        nobody, none = np.zeros(0, np.bool_), np.zeros(0, np.int32)
        recall = Recall(none, nobody, {}, none)
        codes = StableCodes({}, self.stable.new, self.stable.declared)
        book = VaultBook(vault, recall, codes, tuple(self.known_types))
        return ReleaseContext(
            table.submission,
            recall,
            codes,
            Events(np.zeros(0, np.int8), {}, 0),
            replace(self.memory, book=book),
            self.known_types,
            table.ordered.example,
            nobody,
        )


def _memory(vault: Vault, sensitive: str, stable: StableMeanings, sets: Sets) -> Memory:
    """Return what a guarantee may know of nobody in particular."""
    none: CodeArray = np.zeros(0, np.int32)
    seen, more = vault.next_code(sensitive), len(stable.new.get(sensitive, ()))
    known = vault.values(sensitive)["code"].to_numpy()
    return Memory(
        release=vault.head() + 1,
        values=none,
        texts=texts_of(vault, sensitive, StableCodes({}, stable.new, stable.declared)),
        known=np.concatenate([known, np.arange(seen, seen + more)]).astype(np.int32),
        declared=stable.declared.get(sensitive, none),
        seen=seen,
        present=np.zeros(0, np.bool_),
        changed=np.zeros(0, np.bool_),
        sets=sets,
        block_records=none,
        block_sets=none,
        book=_NoBook(),
        stable_codes={},
    )
