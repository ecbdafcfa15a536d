"""The book of a release: what a guarantee may read of the vault while it prepares the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.series.stable_codes import StableCodes, texts_of

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray, Integers
    from reveil.vault import Recall, Vault
    from reveil.vault.protocol import Ledger


class VaultBook:
    """The ledgers of a vault, in the words of one snapshot; ``attributes`` are those known after this release."""

    def __init__(self, vault: Vault, recall: Recall, stable: StableCodes, attributes: tuple[str, ...]) -> None:
        self._vault, self._stable, self._attributes = vault, stable, attributes
        self._persons = recall.person[recall.person >= 0]
        self._record = np.full(int(recall.person.max(initial=-1)) + 2, -1, np.int32)
        self._record[self._persons] = np.flatnonzero(recall.person >= 0)
        self._read: dict[str, pl.DataFrame] = {}

    @classmethod
    def of_nobody(cls, vault: Vault) -> VaultBook:
        """Return the book of no snapshot: all that is written, and whom it is about by number only."""
        none = np.zeros(0, np.int64)
        return cls(vault, vault.recall(none, none), StableCodes({}, {}), tuple(vault.attributes()))

    def of_records(self, ledger: Ledger) -> pl.DataFrame:
        """Return the rows of the persons of the snapshot: ``record`` and the columns, ascending by record and keys."""
        if ledger.name not in self._read:
            rows = self._vault.ledger(ledger, "person", self._persons)
            record = pl.Series("record", self._record[rows["person"].to_numpy()])
            self._read[ledger.name] = rows.drop("person").insert_column(0, record).sort("record", *ledger.keys)
        return self._read[ledger.name]

    def rows(self, ledger: Ledger, column: str | None = None, among: Integers | None = None) -> pl.DataFrame:
        """Return all rows, or those whose ``column`` is among some numbers, ascending by person and keys."""
        rows = self._vault.ledger(ledger, column, among)
        if not ledger.personal:
            return rows.sort(*ledger.keys) if ledger.keys else rows
        # Persons whom nobody asked for have numbers beyond, or no record.
        place = np.minimum(rows["person"].to_numpy(), len(self._record) - 1)
        return rows.insert_column(0, pl.Series("record", self._record[place])).sort("person", *ledger.keys)

    def last(self, persons: Integers) -> dict[str, CodeArray]:
        """Return the last record of each of some persons: dictionary codes by column, -1 where none is kept."""
        return self._vault.last(persons)

    def texts(self, attribute: str) -> pl.Series:
        """Return what the codes of an attribute stand for, by code; those of this snapshot included."""
        return texts_of(self._vault, attribute, self._stable)

    def values(self, attribute: str) -> pl.DataFrame:
        """Return ``code`` and ``value`` of an attribute, those of this snapshot included."""
        known, new = self._vault.values(attribute), self._stable.new.get(attribute)
        if new is None:
            return known
        first = self._vault.next_code(attribute)
        more = pl.DataFrame({"code": np.arange(first, first + len(new), dtype=np.int32), "value": new.rename("value")})
        return pl.concat([known, more])

    def number(self, attribute: str) -> int:
        """Return the number of an attribute, as a column ``attribute`` of a ledger has it."""
        return self._attributes.index(attribute)
