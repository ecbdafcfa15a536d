"""The book of some cells with all of their people, where nobody has the book of everybody.

A shard has rows of people: of those who are in the table, and of those who are absent and share a cell with others.
What the vault remembers of them is in their rows, and what it remembers of cells lies in files beside the bucket.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.guarantees.refinement.ledgers import CELLS, COUNTS, PACE, SIZES, TOLD_VALUES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import CodeArray, Integers
    from reveil.vault.protocol import Ledger

BUCKET, CELL, NUMBER, PERSON, HOME, TIE, SEAT = "bucket", "cell", "number", "person", "home", "tie", "seat"


def quasi_code(a: int) -> str:
    """Return the name of the column of lasting codes of a quasi column."""
    return f"q{a}"


def value_code(s: int) -> str:
    """Return the name of the column of lasting codes of a sensitive column."""
    return f"s{s}"


def told_in(s: int) -> str:
    """Return the name of the column of the releases in which somebody was told another value."""
    return f"r{s}"


def told_values(s: int) -> str:
    """Return the name of the column of the values that somebody was told in these releases."""
    return f"t{s}"


def plain_value(p: int) -> str:
    """Return the name of the column of the values of a plain column."""
    return f"p{p}"


@dataclass(frozen=True)
class KeptColumns:
    """The columns of a release, and what their lasting codes stand for: ``texts`` by code, and ``values`` of its type.

    ``numbers`` are those of columns in ledgers.
    """

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    plain: tuple[str, ...]
    texts: Mapping[str, pl.Series] = field(repr=False)
    values: Mapping[str, pl.Series] = field(repr=False)
    numbers: Mapping[str, int]
    plain_types: tuple[pl.DataType, ...]

    @property
    def members(self) -> pl.Schema:
        """The columns of rows of people.

        ``cell`` is -1 of who was never published, ``number`` that of the record, -1 of who is absent, ``person`` the
        number in the vault, -1 of who is new, and ``home`` the bucket of their pseudonym. Two dice decide ties and
        where the row lies.
        """
        types: dict[str, pl.DataType] = {CELL: pl.Int32(), NUMBER: pl.Int64(), PERSON: pl.Int32(), HOME: pl.Int32()}
        types |= {TIE: pl.Int64(), SEAT: pl.Int64()}
        types |= {quasi_code(a): pl.Int32() for a in range(len(self.quasi))}
        for s in range(len(self.sensitive)):
            types |= {value_code(s): pl.Int32(), told_in(s): pl.List(pl.Int32), told_values(s): pl.List(pl.Int32)}
        return pl.Schema(types | {plain_value(p): dtype for p, dtype in enumerate(self.plain_types)})


@dataclass(frozen=True)
class BucketBook:
    """The book of a bucket: people as :attr:`KeptColumns.members` has them, those with a record first, and cells.

    ``sizes`` and ``counts`` are of the ledgers of cells, ``next_cell`` is the number of the next new one.
    """

    words: KeptColumns
    people: pl.DataFrame = field(repr=False)
    sizes: pl.DataFrame = field(repr=False)
    counts: pl.DataFrame = field(repr=False)
    next_cell: int

    @cached_property
    def _people(self) -> pl.DataFrame:
        record = np.where(self.people[NUMBER].to_numpy() >= 0, np.arange(self.people.height), -1)
        return self.people.with_columns(pl.Series("record", record, pl.Int32))

    @cached_property
    def _cells(self) -> pl.DataFrame:
        known = self._people.filter(pl.col(CELL) >= 0)
        return known.select("record", PERSON, pl.col(CELL).alias("cell")).sort(PERSON)

    @cached_property
    def _values_told(self) -> pl.DataFrame:
        parts = []
        for s, name in enumerate(self.words.sensitive):
            rows = self._people.select("record", PERSON, release=told_in(s), value=told_values(s))
            rows = rows.filter(pl.col("release").list.len() > 0).explode("release", "value")
            attribute = pl.lit(self.words.numbers[name], pl.Int32).alias("attribute")
            parts.append(rows.select("record", PERSON, attribute, "release", "value"))
        types = dict.fromkeys(("record", PERSON, "attribute", "release", "value"), pl.Int32)
        return pl.concat(parts) if parts else pl.DataFrame(schema=types)

    def of_records(self, ledger: Ledger) -> pl.DataFrame:
        """Return the rows of those who have a record: ``record`` and the columns, ascending by record and keys."""
        rows = self._personal(ledger).filter(pl.col("record") >= 0)
        return rows.drop(PERSON).sort("record", *ledger.keys)

    def rows(self, ledger: Ledger, column: str | None = None, among: Integers | None = None) -> pl.DataFrame:
        """Return all rows, or those whose ``column`` is among some numbers, ascending by their keys."""
        if ledger.name == SIZES.name:
            rows = self.sizes
        elif ledger.name == COUNTS.name:
            rows = self.counts
        elif ledger.name == PACE.name:
            rows = pl.DataFrame({"release": [0], "asked": [0], "stayed": [0], "next_cell": [self.next_cell]})
        elif ledger.personal:
            rows = self._personal(ledger)
        else:
            rows = pl.DataFrame(schema=dict.fromkeys(ledger.columns, pl.Int32))
        if column is not None and among is not None:
            wanted = pl.DataFrame({column: np.unique(among).astype(np.int32)})
            rows = rows.join(wanted, on=column, how="semi")
        return rows.sort(*((PERSON,) if ledger.personal else ()), *ledger.keys)

    def _personal(self, ledger: Ledger) -> pl.DataFrame:
        if ledger.name == CELLS.name:
            return self._cells
        if ledger.name == TOLD_VALUES.name:
            return self._values_told
        raise ValueError(f"the ledger {ledger.name!r} is not read in shards")

    def last(self, persons: Integers) -> dict[str, CodeArray]:
        """Return the last record of each of some persons who are absent: lasting codes by column, -1 where none is."""
        wanted = pl.DataFrame({PERSON: persons.astype(np.int32)})
        names = [quasi_code(a) for a in range(len(self.words.quasi))]
        gone = self.people.filter(pl.col(NUMBER) < 0).select(PERSON, *names)
        found = wanted.join(gone, on=PERSON, how="left", maintain_order="left")
        columns = zip(self.words.quasi, names, strict=True)
        return {name: found[column].fill_null(-1).to_numpy().astype(np.int32) for name, column in columns}

    def texts(self, attribute: str) -> pl.Series:
        """Return what the codes of an attribute stand for, by code."""
        return self.words.texts[attribute]

    def values(self, attribute: str) -> pl.DataFrame:
        """Return ``code`` and ``value`` (a text) of an attribute."""
        texts = self.texts(attribute)
        return pl.DataFrame({"code": np.arange(len(texts), dtype=np.int32), "value": texts})

    def number(self, attribute: str) -> int:
        """Return the number of an attribute, as a column ``attribute`` of a ledger has it."""
        return self.words.numbers[attribute]
