"""What a release in shards tells the vault: bucket by bucket, from files, while one transaction is open."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.engines.scratch import written
from reveil.series.in_shards.comparing import gone_path, records_path
from reveil.series.in_shards.ordered import BUCKET, HIGH, LOW, read_bucket
from reveil.series.in_shards.recalled import PERSONS
from reveil.series.judging import ledger_of
from reveil.series.signatures import TOLD_SIGNATURES
from reveil.vault.changes import Portion, Records
from reveil.vault.protocol import Entries
from reveil.verification.series_in_shards import entry_of_bucket, shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from reveil.core.arrays import IntArray
    from reveil.engines.shards import Shards
    from reveil.series.in_shards.ordered import OrderedTable
    from reveil.series.in_shards.recalled import RecalledShards
    from reveil.tables.snapshot import Snapshot
    from reveil.verification import Promised
    from reveil.verification.record import Kept

_NEWLY_TOLD = pl.Schema({BUCKET: pl.Int32, "number": pl.Int64, "set": pl.Int32})
_WRITTEN = pl.Schema({BUCKET: pl.Int32})


@dataclass(frozen=True)
class TakeTold:
    """Work: which set the people of rows are told whom nobody told it before, and their buckets."""

    starts: tuple[int, ...]
    number: str
    sign: str
    kept: str

    @property
    def returns(self) -> pl.Schema:
        """The columns of the result."""
        return _NEWLY_TOLD

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Take a shard."""
        new = table.filter((pl.col(self.number) >= 0) & (pl.col(self.kept) > 0))
        numbers = new[self.number].to_numpy()
        bucket = np.searchsorted(np.array(self.starts), numbers, side="right") - 1
        return pl.DataFrame({BUCKET: bucket, "number": numbers, "set": new[self.sign]}, schema=_NEWLY_TOLD)


@dataclass(frozen=True)
class WriteTold:
    """Work: what the people of a bucket are told, as a file."""

    folder: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Write the rows of a bucket, all of which are here."""
        if not table.height:
            return _WRITTEN.to_frame()
        bucket = int(table[BUCKET][0])
        written(table.drop(BUCKET).sort("number"), told_path(Path(self.folder), bucket))
        return pl.DataFrame({BUCKET: [bucket]}, schema=_WRITTEN)


def told_path(folder: Path, bucket: int) -> Path:
    """Return where lies what the people of a bucket are told that nobody told them before."""
    return folder / f"told-{bucket:05d}.arrow"


def write_told(rows: Shards, take: TakeTold, folder: Path) -> None:
    """Write for each bucket which set its people are told."""
    rows.map(take, take.returns).each(BUCKET, WriteTold(str(folder)), _WRITTEN).collect()


@dataclass(frozen=True)
class BucketsOfPeople:
    """The people of buckets as the judge asks for them.

    ``kept`` is what it recorded of people; ``texts`` has the ``code`` and ``value`` of all the values of the sensitive
    column, which is number ``attribute``.
    """

    ordered: OrderedTable
    recalled: RecalledShards
    kept: Kept
    texts: pl.DataFrame = field(repr=False)
    attribute: int

    def snapshot(self, bucket: int) -> Snapshot:
        """Return the records of a bucket."""
        return read_bucket(self.ordered.table.row(bucket, named=True), self.ordered.example)[0]

    def recorded(self, bucket: int) -> pl.DataFrame:
        """Return what the judge recorded of the people of a bucket."""
        return self._numbered(self.kept.name, bucket).cast(self.kept.schema)  # type: ignore[arg-type]

    def signatures(self, bucket: int) -> pl.DataFrame:
        """Return ``who`` was told which ``signature``."""
        return self._numbered(TOLD_SIGNATURES.name, bucket)

    def last(self, bucket: int) -> pl.DataFrame:
        """Return ``who``, ``present`` and the ``value`` with which each was seen last."""
        rows = self._numbered(PERSONS, bucket).select("who", "present", code=f"a{self.attribute}")
        return rows.join(self.texts, on="code", how="left").select("who", "present", "value")

    def _numbered(self, name: str, bucket: int) -> pl.DataFrame:
        """Return the rows of those who are in the table, with the numbers of their records."""
        known = self.recalled.read(PERSONS, bucket).select("person", HIGH, LOW)
        first = int(self.ordered.table["number"][bucket])
        given = pl.read_ipc(self.ordered.table["path"][bucket], columns=[HIGH, LOW])
        given = given.with_columns(who=pl.Series(np.arange(first, first + given.height, dtype=np.int64)))
        here = known.join(given, on=[HIGH, LOW]).select("person", "who")
        return self.recalled.read(name, bucket).join(here, on="person").drop("person")


@dataclass(frozen=True)
class ToldPortions:
    """Everything that a release changes of the people of a table, bucket by bucket; it may be gone through once more.

    ``columns`` are the names of the columns whose codes are kept, ``signatures`` (sets) the numbers by which the vault
    knows sets; they are all that people were told where they ``replace`` what was told before.
    """

    folder: Path
    table: pl.DataFrame = field(repr=False)
    columns: tuple[str, ...]
    signatures: IntArray = field(repr=False)
    replace: bool
    asked: Promised
    release: int
    archived: bool

    def __iter__(self) -> Iterator[Portion]:
        return (self._portion(bucket) for bucket in self.table.iter_rows(named=True))

    def _portion(self, bucket: Mapping[str, int]) -> Portion:
        number, first = int(bucket[BUCKET]), int(bucket["number"])
        rows = pl.read_ipc(records_path(self.folder, number))
        records = Records(
            high=rows[HIGH].to_numpy(),
            low=rows[LOW].to_numpy(),
            person=rows["person"].to_numpy(),
            changed=rows["stale"].to_numpy(),
            codes={name: rows[f"x{at}"].to_numpy() for at, name in enumerate(self.columns)},
            gone=pl.read_ipc(gone_path(self.folder, number))["person"].to_numpy(),
        )
        entries: list[Entries] = []
        if (path := told_path(self.folder, number)).exists():
            told = pl.read_ipc(path)
            record = (told["number"].to_numpy() - first).astype(np.int32)
            signature = self.signatures[told["set"].to_numpy()].astype(np.int32)
            rows_told = pl.DataFrame({"record": record, "signature": signature})
            entries.append(Entries(TOLD_SIGNATURES, rows_told, rows_told.select("record") if self.replace else None))
        placements = None
        if (path := shown_path(self.folder, number)).exists():
            shown = pl.read_ipc(path)
            record = (shown["number"].to_numpy() - first).astype(np.int32)
            new = shown.filter(pl.col("new")).select("value", who="number", now="mark")
            entry = entry_of_bucket(new, self.asked, self.release)
            place = (pl.col("who") - first).cast(pl.Int32).alias("record")
            cleared = None if entry.cleared is None else entry.cleared.select(place)
            entries.append(Entries(ledger_of(entry.kept), entry.rows.with_columns(place).drop("who"), cleared))
            if self.archived:
                places = {"place": shown["row"].to_numpy().astype(np.int32), "grp": shown["group"].to_numpy()}
                placements = pl.DataFrame({"record": record, **places})
        return Portion(records, tuple(entries), placements)
