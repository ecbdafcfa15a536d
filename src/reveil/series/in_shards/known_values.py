"""What values and signatures mean to a release in shards, before anybody is looked at; and what of it is new."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import polars as pl

from reveil.core.arrays import Ragged
from reveil.guarantees.base import Memory
from reveil.guarantees.signatures.sets import Sets
from reveil.series.book import VaultBook
from reveil.series.events import Events
from reveil.series.in_shards.meanings import Meanings
from reveil.series.release_context import ReleaseContext
from reveil.series.signatures import SIGNATURES
from reveil.series.stable_codes import StableCodes, texts_of
from reveil.vault import Recall

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.guarantees.base import Guarantee
    from reveil.models.encoding import Domains
    from reveil.series.in_shards.reading import OpenedTable
    from reveil.series.stable_codes import StableMeanings
    from reveil.vault import Vault


class NoBook:
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

    @classmethod
    def of(cls, vault: Vault, table: OpenedTable, guarantee: Guarantee) -> KnownValues:
        """Count the values of a table, and look them up."""
        meanings, schema = Meanings.of(vault, table, guarantee), table.ordered.schema
        known = vault.ledger(SIGNATURES).sort("signature", "code")
        numbers, sizes = np.unique(known["signature"].to_numpy(), return_counts=True)
        sets = Sets(Ragged.of_lengths(sizes, known["code"].to_numpy().astype(np.int32)))
        memory = _memory(vault, schema.sensitive[0], meanings.stable, sets)
        return cls(meanings.domains, meanings.stable, memory, numbers.astype(np.int64))

    def context(self, vault: Vault, table: OpenedTable) -> ReleaseContext:
        """Return what a release needs to be remembered, of nobody: people come in portions."""
        return context_of_nobody(vault, table, self.stable, self.memory)


def context_of_nobody(vault: Vault, table: OpenedTable, stable: StableMeanings, memory: Memory) -> ReleaseContext:
    """Return what a release needs to be remembered, of nobody: people come in portions."""
    nobody, none = np.zeros(0, np.bool_), np.zeros(0, np.int32)
    recall, known_types = Recall(none, nobody, {}, none), vault.attributes()
    codes = StableCodes({}, stable.new, stable.declared)
    book = VaultBook(vault, recall, codes, tuple(known_types))
    return ReleaseContext(
        table.submission,
        recall,
        codes,
        Events(np.zeros(0, np.int8), {}, 0),
        replace(memory, book=book),
        known_types,
        table.ordered.example,
        nobody,
    )


def memory_of_nobody(release: int) -> Memory:
    """Return a memory in which nothing is."""
    none, nobody = np.zeros(0, np.int32), np.zeros(0, np.bool_)
    return Memory(
        release=release,
        values=none,
        texts=pl.Series([], dtype=pl.String),
        known=none,
        declared=none,
        seen=0,
        present=nobody,
        changed=nobody,
        sets=Sets(Ragged.of_lengths([], none)),
        block_records=none,
        block_sets=none,
        book=NoBook(),
        stable_codes={},
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
        book=NoBook(),
        stable_codes={},
    )
