"""What a vault remembers, laid beside a table in the order of pseudonyms: files for each bucket.

The vault is read here, in pages by the numbers of persons; workers read the files of a bucket, which are in the private
folder of the engine. So no process holds what is remembered of everybody.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.engines.scratch import written
from reveil.series.in_shards.ordered import HIGH, LOW, bucket_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.vault import Vault
    from reveil.vault.protocol import Ledger

PERSONS = "persons"  # beside the names of ledgers
_PAGE = 1 << 19  # persons that are read at once


@dataclass(frozen=True)
class RecalledShards:
    """Where lies what is remembered of the people of each bucket: a list of files, by the name of a relation.

    ``attributes`` are the names of the columns whose last codes are kept, in the order of their numbers.
    """

    folder: str
    files: dict[str, list[list[str]]] = field(repr=False)
    schemas: dict[str, pl.Schema]
    attributes: tuple[str, ...]

    def read(self, name: str, bucket: int) -> pl.DataFrame:
        """Return the rows of a relation that are about the people of a bucket."""
        found = [pl.read_ipc(path) for path in self.files[name][bucket]]
        return pl.concat(found, rechunk=True) if found else self.schemas[name].to_frame()


@dataclass(frozen=True)
class Matched:
    """The people of a bucket beside what is remembered: as :class:`~reveil.vault.protocol.Recall` has it.

    ``persons`` has everybody whom the vault knows in this bucket; ``record`` is the place of each among the records of
    the bucket, -1 for who is not among them.
    """

    person: CodeArray = field(repr=False)
    present: np.ndarray = field(repr=False)
    last: dict[str, CodeArray] = field(repr=False)
    gone: CodeArray = field(repr=False)
    persons: pl.DataFrame = field(repr=False)

    def records_of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows of a personal ledger with ``record`` in the place of ``person``, of those who are there."""
        known = self.persons.filter(pl.col("record") >= 0).select("person", "record")
        return rows.join(known, on="person", how="inner").drop("person").sort("record")


def recalled_shards(vault: Vault, ledgers: Sequence[Ledger], buckets: int, folder: Path) -> RecalledShards:
    """Lay out what a vault remembers of everybody: their last records, and their rows in some ledgers."""
    names = [PERSONS, *(ledger.name for ledger in ledgers)]
    files: dict[str, list[list[str]]] = {name: [[] for _ in range(buckets)] for name in names}
    schemas = {PERSONS: pl.Schema(vault.page(0, 0).schema)}
    schemas |= {ledger.name: pl.Schema(vault.ledger_page(ledger, 0, 0).schema) for ledger in ledgers}
    for first in range(0, vault.next_person(), _PAGE):
        page = vault.page(first, first + _PAGE)
        bucket = bucket_of(page[HIGH].to_numpy(), buckets)
        place = np.full(_PAGE, -1, np.int32)
        place[page["person"].to_numpy() - first] = bucket
        _deal(page, bucket, PERSONS, first, files, folder)
        for ledger in ledgers:
            rows = vault.ledger_page(ledger, first, first + _PAGE)
            _deal(rows, place[rows["person"].to_numpy() - first], ledger.name, first, files, folder)
    return RecalledShards(str(folder), files, schemas, tuple(vault.attributes()))


def _deal(
    rows: pl.DataFrame, bucket: CodeArray, name: str, first: int, files: dict[str, list[list[str]]], folder: Path
) -> None:
    """Write rows to a file for each bucket that has some."""
    dealt = rows.with_columns(pl.Series("\x00bucket", bucket)).partition_by("\x00bucket", as_dict=True)
    for (number,), part in sorted(dealt.items()):
        path = folder / f"recalled-{name}-{number:05d}-{first // _PAGE:05d}.arrow"
        files[name][int(number)].append(str(written(part.drop("\x00bucket"), path)))


def matched(recalled: RecalledShards, bucket: int, high: IntArray, low: IntArray) -> Matched:
    """Join the records of a bucket with the persons that the vault knows there."""
    given = pl.DataFrame({HIGH: high, LOW: low, "record": np.arange(len(high), dtype=np.int32)})
    found = recalled.read(PERSONS, bucket).join(given, on=[HIGH, LOW], how="left")
    found = found.with_columns(pl.col("record").fill_null(-1))
    record, number = found["record"].to_numpy(), found["person"].to_numpy()
    seen = record >= 0
    person = np.full(len(high), -1, np.int32)
    person[record[seen]] = number[seen]
    present = np.zeros(len(high), np.bool_)
    there = found["present"].to_numpy()
    present[record[seen]] = there[seen]
    last: dict[str, CodeArray] = {}
    for n, name in enumerate(recalled.attributes):
        last[name] = np.full(len(high), -1, np.int32)
        last[name][record[seen]] = found[f"a{n}"].to_numpy()[seen]
    return Matched(person, present, last, np.sort(number[~seen & there]), found.select("person", "record"))
