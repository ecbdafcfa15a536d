"""The people of a series under refinement by bucket: as the judge asks for them, and what is remembered of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.engines.scratch import written
from reveil.guarantees.refinement.bucket_book import HOME, NUMBER, KeptColumns
from reveil.guarantees.refinement.ledgers import CELLS, TOLD_VALUES
from reveil.guarantees.refinement.units import NOW, told_flag
from reveil.series.in_shards.comparing import gone_path, records_path
from reveil.series.in_shards.ordered import BUCKET, HIGH, LOW, read_bucket
from reveil.series.in_shards.recalled import PERSONS
from reveil.series.judging import ledger_of
from reveil.tables.notation import parsed
from reveil.vault.changes import Portion, Records
from reveil.vault.protocol import Entries
from reveil.verification.arrays import halves, number_of_name
from reveil.verification.refinement.cells import CELL, VALUE
from reveil.verification.refinement.people_in_shards import shown_path
from reveil.verification.refinement.so_far import BUCKET as JUDGED_BUCKET
from reveil.verification.refinement.so_far import NOW as JUDGED_CELL
from reveil.verification.refinement.so_far import ROW, first_told, mark_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reveil.core.arrays import IntArray
    from reveil.engines.shards import Shards
    from reveil.series.in_shards.cell_pages import ChangedCells
    from reveil.series.in_shards.ordered import OrderedTable
    from reveil.series.in_shards.recalled import RecalledShards
    from reveil.tables.snapshot import Snapshot
    from reveil.vault import Vault
    from reveil.verification.record import Kept

_WRITTEN = pl.Schema({HOME: pl.Int32})
_HOMES = "homes.npy"


def note_homes(vault: Vault, recalled: RecalledShards, buckets: int, folder: Path) -> None:
    """Note the bucket of everybody whom the vault knows, by their number."""
    homes = np.lib.format.open_memmap(folder / _HOMES, "w+", np.int32, (vault.next_person(),))
    homes[:] = -1
    for bucket in range(buckets):
        homes[recalled.read(PERSONS, bucket)["person"].to_numpy()] = bucket
    homes.flush()


@dataclass(frozen=True)
class PeopleOfCells:
    """The people of buckets: whoever is in the table by the number of the record, anybody else by one behind these."""

    ordered: OrderedTable
    recalled: RecalledShards
    words: KeptColumns
    folder: str

    def snapshot(self, bucket: int) -> Snapshot:
        """Return the records of a bucket."""
        return read_bucket(self.ordered.table.row(bucket, named=True), self.ordered.example)[0]

    def bucket_of(self, persons: IntArray) -> IntArray:
        """Return the bucket of each of some people who are not in the table, -1 of nobody."""
        path = Path(self.folder) / _HOMES
        if not len(persons) or not path.exists():
            return np.full(len(persons), -1, np.int64)
        homes = np.load(path, mmap_mode="r")
        known = persons < len(homes)
        return np.where(known, homes[np.where(known, persons, 0)], -1).astype(np.int64)

    def strangers(self, bucket: int, persons: IntArray) -> pl.DataFrame:
        """Return the quasi values of the last records of some people of a bucket who are not in the table."""
        wanted = pl.DataFrame({"person": persons.astype(np.int32)})
        known = self.recalled.read(PERSONS, bucket)
        found = wanted.join(known, on="person", how="left", maintain_order="left")
        columns = []
        for name in self.words.quasi:
            codes = found[f"a{self.recalled.attributes.index(name)}"].to_numpy()
            dtype = self.ordered.example.frame.schema[name]
            columns.append(parsed(self.words.texts[name].gather(codes), dtype).alias(name))
        return pl.DataFrame(columns)

    def recorded(self, kept: Kept, bucket: int) -> pl.DataFrame:
        """Return what the judge recorded of the people of a bucket."""
        return self._numbered(kept.name, bucket).select(kept.schema.keys()).cast(kept.schema)  # type: ignore[arg-type]

    def cells_told(self, bucket: int) -> pl.DataFrame:
        """Return in which ``cell`` the vault's books say that people (``who``) of a bucket are."""
        return self._numbered(CELLS.name, bucket).select("who", "cell").cast(pl.Int64)

    def _numbered(self, name: str, bucket: int) -> pl.DataFrame:
        known = self.recalled.read(PERSONS, bucket).select("person", HIGH, LOW)
        first = int(self.ordered.table["number"][bucket])
        given = pl.read_ipc(self.ordered.table["path"][bucket], columns=[HIGH, LOW])
        given = given.with_columns(record=pl.Series(np.arange(first, first + given.height, dtype=np.int64)))
        behind = pl.col("person").cast(pl.Int64) + self.ordered.rows
        people = known.join(given, on=[HIGH, LOW], how="left")
        people = people.select("person", pl.col("record").fill_null(behind).alias("who"))
        return self.recalled.read(name, bucket).join(people, on="person").drop("person")


@dataclass(frozen=True)
class WriteNewlyTold:
    """Work: what the people of a bucket are told that nobody told them before, as a file."""

    folder: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Write the rows of a bucket, all of which are here."""
        if not table.height:
            return _WRITTEN.to_frame()
        bucket = int(table[HOME][0])
        written(table.drop(HOME).sort(NUMBER), _told_path(Path(self.folder), bucket))
        return pl.DataFrame({HOME: [bucket]}, schema=_WRITTEN)


@dataclass(frozen=True)
class TakeNewlyTold:
    """Work: whose cell is another one from now on, and whose value is told for the first time."""

    sensitive: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Take a shard."""
        flags = [told_flag(s) for s in range(self.sensitive)]
        new = pl.any_horizontal(pl.col(NOW) >= 0, *flags)
        return table.select(NUMBER, HOME, NOW, *flags).filter(new)


def write_told(rows: Shards, sensitive: int, folder: Path) -> None:
    """Write for each bucket what its people are told."""
    names = [NUMBER, HOME, NOW, *map(told_flag, range(sensitive))]
    schema = pl.Schema({name: rows.schema[name] for name in names})
    rows.map(TakeNewlyTold(sensitive), schema).each(HOME, WriteNewlyTold(str(folder)), _WRITTEN).collect()


def _told_path(folder: Path, bucket: int) -> Path:
    return folder / f"told-{bucket:05d}.arrow"


@dataclass(frozen=True)
class CellPortions:
    """Everything that a release changes of people, bucket by bucket, and of cells; it may be gone through once more.

    ``judged`` is what the judge records of cells, ``told`` what the publisher tells of them.
    """

    folder: Path
    ordered: OrderedTable
    words: KeptColumns
    release: int
    told: ChangedCells
    judged: ChangedCells
    archived: bool

    def __iter__(self) -> Iterator[Portion]:
        yield from (self._portion(bucket) for bucket in self.ordered.table.iter_rows(named=True))
        for changed in (self.told, self.judged):
            yield from (Portion(Records(), (entries,)) for entries in changed.entries())

    def _portion(self, bucket: Mapping[str, int]) -> Portion:
        number, first = int(bucket[BUCKET]), int(bucket["number"])
        rows = pl.read_ipc(records_path(self.folder, number))
        columns = (*self.words.quasi, *self.words.sensitive)
        records = Records(
            high=rows[HIGH].to_numpy(),
            low=rows[LOW].to_numpy(),
            person=rows["person"].to_numpy(),
            changed=rows["stale"].to_numpy(),
            codes={name: rows[f"x{at}"].to_numpy() for at, name in enumerate(columns)},
            gone=pl.read_ipc(gone_path(self.folder, number))["person"].to_numpy(),
        )
        entries: list[Entries] = []
        placements = None
        if (path := _told_path(self.folder, number)).exists():
            entries += self._newly_told(pl.read_ipc(path), records, first)
        if (path := shown_path(self.folder, number)).exists():
            shown = pl.read_ipc(path)
            entries += self._recorded(shown, first)
            if self.archived:
                place, group = shown[ROW].to_numpy().astype(np.int32), shown["group"].to_numpy()
                placements = self._owners(shown[NUMBER].to_numpy(), first).with_columns(
                    place=pl.Series(place), grp=pl.Series(group)
                )
        return Portion(records, tuple(entries), placements)

    def _newly_told(self, told: pl.DataFrame, records: Records, first: int) -> Iterator[Entries]:
        """Return what the publisher tells."""
        moved = told.filter(pl.col(NOW) >= 0)
        yield Entries(CELLS, self._owners(moved[NUMBER].to_numpy(), first).with_columns(cell=moved[NOW]))
        for s, name in enumerate(self.words.sensitive):
            record = (told.filter(pl.col(told_flag(s)))[NUMBER].to_numpy() - first).astype(np.int32)
            of = {"attribute": self.words.numbers[name], "release": self.release}
            values = {"record": record} | {key: np.full(len(record), n, np.int32) for key, n in of.items()}
            yield Entries(TOLD_VALUES, pl.DataFrame(values | {"value": records.codes[name][record]}))

    def _recorded(self, shown: pl.DataFrame, first: int) -> Iterator[Entries]:
        """Return what the judge records."""
        moved = shown.filter(pl.col(JUDGED_CELL) >= 0)
        cell = self.judged.numbers(moved[JUDGED_CELL].to_numpy(), moved[JUDGED_BUCKET].to_numpy())
        owners = self._owners(moved[NUMBER].to_numpy(), first)
        yield Entries(ledger_of(CELL), owners.with_columns(cell=pl.Series(cell)))
        for s, name in enumerate(self.words.sensitive):
            new = shown.filter(pl.col(first_told(s)))
            high, low = halves(new[mark_column(s)].to_numpy())
            numbers = {"attribute": number_of_name(name), "release": self.release}
            same = {key: np.full(new.height, n, np.int64) for key, n in numbers.items()}
            columns = {key: pl.Series(values) for key, values in {**same, "high": high, "low": low}.items()}
            yield Entries(ledger_of(VALUE), self._owners(new[NUMBER].to_numpy(), first).with_columns(**columns))

    def _owners(self, numbers: IntArray, first: int) -> pl.DataFrame:
        """Return the places of records in their bucket, and the numbers of people who have none."""
        here = numbers < self.ordered.rows
        record = np.where(here, numbers - first, -1).astype(np.int32)
        return pl.DataFrame(
            {"record": record, "person": np.where(here, -1, numbers - self.ordered.rows).astype(np.int32)}
        )
