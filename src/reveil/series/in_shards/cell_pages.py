"""What a vault remembers of cells, laid beside buckets of cells; and what a release changes of them, unit by unit.

Ledgers of cells are about nobody in particular. They are read in pages by the numbers of cells, as those of people are
(:mod:`.recalled`), and written with the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.engines.scratch import written
from reveil.series.judging import ledger_of
from reveil.vault.protocol import Entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reveil.core.arrays import IntArray, Integers
    from reveil.vault import Vault
    from reveil.vault.protocol import Ledger
    from reveil.verification.record import Entry

_PAGE = 1 << 17  # cells that are read at once


@dataclass(frozen=True)
class PagesOfCells:
    """Where lies what is remembered of the cells of each bucket: a list of files, by the name of a ledger."""

    files: dict[str, list[list[str]]] = field(repr=False)
    schemas: dict[str, pl.Schema]

    def read(self, name: str, bucket: int) -> pl.DataFrame:
        """Return the rows of a ledger that are about the cells of a bucket."""
        found = [pl.read_ipc(path) for path in self.files[name][bucket]]
        return pl.concat(found) if found else self.schemas[name].to_frame()


def pages_of_cells(vault: Vault, ledgers: Sequence[Ledger], next_cell: int, buckets: int, folder: Path) -> PagesOfCells:
    """Lay out what a vault remembers of cells whose numbers are below one; a bucket has every n-th of them."""
    none = np.zeros(0, np.int64)
    schemas = {ledger.name: pl.Schema(vault.ledger(ledger, "cell", none).schema) for ledger in ledgers}
    files: dict[str, list[list[str]]] = {ledger.name: [[] for _ in range(buckets)] for ledger in ledgers}
    for first in range(0, next_cell, _PAGE):
        for ledger in ledgers:
            rows = vault.ledger(ledger, "cell", np.arange(first, min(first + _PAGE, next_cell)))
            bucket = (rows["cell"] % max(buckets, 1)).alias("\x00bucket")
            for (number,), part in sorted(rows.with_columns(bucket).partition_by("\x00bucket", as_dict=True).items()):
                path = folder / f"cells-{ledger.name}-{number:05d}-{first // _PAGE:05d}.arrow"
                files[ledger.name][int(number)].append(str(written(part.drop("\x00bucket"), path)))
    return PagesOfCells(files, schemas)


@dataclass(frozen=True)
class NotedCells:
    """Takes what units change in ledgers of cells, as files; ``what`` keeps those of two writers apart."""

    folder: str
    what: str

    def note(self, unit: int, entries: Entries) -> None:
        """Note what changes in a ledger of cells."""
        written(entries.rows, self._path(unit, entries.ledger, "rows"))
        if entries.cleared is not None:
            written(entries.cleared, self._path(unit, entries.ledger, "cleared"))

    def record(self, bucket: int, entry: Entry) -> None:
        """Note what the judge changes in a table of cells."""
        self.note(bucket, Entries(ledger_of(entry.kept), entry.rows, entry.cleared))

    def read(self, unit: int, ledger: Ledger) -> Entries | None:
        """Return what was noted of a unit; None where nothing was."""
        path, cleared = self._path(unit, ledger, "rows"), self._path(unit, ledger, "cleared")
        if not path.exists():
            return None
        return Entries(ledger, pl.read_ipc(path), pl.read_ipc(cleared) if cleared.exists() else None)

    def _path(self, unit: int, ledger: Ledger, part: str) -> Path:
        return Path(self.folder) / f"{self.what}-{ledger.name}-{part}-{unit:05d}.arrow"


@dataclass(frozen=True)
class ChangedCells:
    """What all units change in some ledgers of cells.

    New cells have numbers from ``first_new`` on in the files, and get those from ``base`` (units) on.
    """

    noted: NotedCells
    ledgers: tuple[Ledger, ...]
    base: IntArray = field(repr=False)
    first_new: int

    def numbers(self, cell: Integers, unit: Integers) -> IntArray:
        """Return the numbers of cells of some units."""
        found: IntArray = np.where(cell >= self.first_new, cell - self.first_new + self.base[unit], cell)
        return found

    def entries(self) -> Iterator[Entries]:
        """Return what changes, one unit and ledger after the other."""
        for unit in range(len(self.base)):
            for ledger in self.ledgers:
                entries = self.noted.read(unit, ledger)
                if entries is not None:
                    cell = self.numbers(entries.rows["cell"].to_numpy().astype(np.int64), np.array([unit]))
                    yield Entries(ledger, entries.rows.with_columns(pl.Series("cell", cell)), entries.cleared)
