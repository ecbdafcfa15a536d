"""What the judge keeps of earlier releases, derived from their bytes and placements by the judge alone.

Reading every earlier file again for each release would cost more with each of them. So the judge writes down what its
rules need. Whoever calls it stores that (in ledgers of a vault that nobody else writes or reads), and hands it back.
A person is a number ``who``, whose only meaning is that it stays the same while a release is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.verification.arrays import AnyInts


@dataclass(frozen=True)
class Kept:
    """A table that is kept: whole numbers below 2**31, or real ones; a row is known by its keys, and its person."""

    name: str
    keys: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    real: tuple[str, ...] = ()
    personal: bool = True
    outlives: bool = True  # whether it stays when somebody is erased with a tombstone

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, beside the person."""
        return (*self.keys, *self.whole, *self.real)

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """The types of all columns, that of the person first."""
        owner: dict[str, type[pl.DataType]] = {"who": pl.Int64} if self.personal else {}
        return {**owner, **{name: pl.Float64 if name in self.real else pl.Int64 for name in self.columns}}

    def frame(self, **columns: object) -> pl.DataFrame:
        """Return rows with the columns in their order."""
        return pl.DataFrame(columns, schema_overrides=self.schema).select(self.schema.keys()).cast(self.schema)  # type: ignore[arg-type]

    def none(self) -> pl.DataFrame:
        """Return no rows."""
        return pl.DataFrame(schema=self.schema)


@dataclass(frozen=True)
class Entry:
    """Rows to be written, each in the place of one with the same keys; ``cleared`` rows end before, by their keys."""

    kept: Kept
    rows: pl.DataFrame = field(repr=False)
    cleared: pl.DataFrame | None = field(default=None, repr=False)


Update = tuple[Entry, ...]


class Record(Protocol):
    """What was kept, as it is handed back."""

    def of(self, kept: Kept, who: AnyInts) -> pl.DataFrame:
        """Return the rows of some persons."""

    def rows(self, kept: Kept, column: str | None = None, among: AnyInts | None = None) -> pl.DataFrame:
        """Return all rows, or those whose column is among some numbers."""

    def texts(self, attribute: str) -> pl.Series:
        """Return the texts that values of a sensitive column ever had, in any order."""


class Books(Record, Protocol):
    """What the vault's own books say was told: its ledgers, by the same door, and its signatures."""

    def signatures(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return ``who`` and ``signature``, and the ``value`` (a text) of each member of each ``signature``."""

    def last(self) -> pl.DataFrame:
        """Return ``who``, ``present`` and the ``value`` (a text) with which each was seen last."""

    def first_sensitive(self) -> str:
        """Return the name of the sensitive column that signatures and budgets are about."""

    def codes(self, attribute: str) -> pl.DataFrame:
        """Return ``code`` and ``text`` of the values of a column in these books."""

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a ledger of whole numbers, in their order."""

    def sensitive(self) -> tuple[str, ...]:
        """Return the names of the sensitive columns."""

    def attribute(self, name: str) -> int:
        """Return the number that a column has in these books."""

    def of_column(self, name: str) -> Books:
        """Return the books of one of several columns that have signatures."""


class ReleaseBooks(Books, Protocol):
    """The books while a release is judged, beside which the record is read by the same door."""

    def parts(self) -> Iterable[ReleaseBooks]:
        """Return the books of some people each, and of everybody together; what is of nobody is in all of them."""


class MemoryRecord:
    """A record in memory: for replaying a series from its files."""

    def __init__(self) -> None:
        self.kept: dict[str, pl.DataFrame] = {}
        self.known: dict[str, pl.Series] = {}

    def of(self, kept: Kept, who: AnyInts) -> pl.DataFrame:
        """Return the rows of some persons."""
        wanted = pl.DataFrame({"who": np.unique(who).astype(np.int64)})
        return self.rows(kept).join(wanted, on="who", how="semi")

    def rows(self, kept: Kept, column: str | None = None, among: AnyInts | None = None) -> pl.DataFrame:
        """Return all rows, or those whose column is among some numbers."""
        rows = self.kept.get(kept.name)
        rows = kept.none() if rows is None else rows
        if column is None or among is None:
            return rows
        return rows.join(pl.DataFrame({column: np.unique(among).astype(np.int64)}), on=column, how="semi")

    def texts(self, attribute: str) -> pl.Series:
        """Return the texts that were seen."""
        return self.known.get(attribute, pl.Series([], dtype=pl.String))

    def learn(self, attribute: str, texts: pl.Series) -> None:
        """Remember texts."""
        self.known[attribute] = pl.concat([self.texts(attribute), texts.alias("")]).unique()

    def apply(self, update: Update) -> None:
        """Write what a release adds."""
        for entry in update:
            kept, rows = entry.kept, self.rows(entry.kept)
            owner = ["who"] if kept.personal else []
            if entry.cleared is not None and entry.cleared.height:
                keys = owner or list(kept.keys)
                rows = rows.join(entry.cleared.select(pl.col(keys).cast(pl.Int64)).unique(), on=keys, how="anti")
            added = entry.rows.select(rows.columns).cast(dict(rows.schema))  # type: ignore[arg-type]
            keys = [*owner, *kept.keys]
            rows = rows.join(added, on=keys, how="anti") if keys else rows
            self.kept[kept.name] = pl.concat([rows, added])
