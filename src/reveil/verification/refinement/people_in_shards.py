"""The rows of a release in shards beside the people they are about, bucket by bucket: compared, and noted."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.engines.shards import COUNTED
from reveil.releases.parsing import assemble
from reveil.releases.release import Release, release_of
from reveil.releases.table import GROUP
from reveil.tables.snapshot import canonical_text
from reveil.verification.arrays import number_of_name, whole
from reveil.verification.in_shards import (
    NUMBER,
    PIECE,
    PartColumns,
    ReadPart,
    box_marks,
    compare_rows,
)
from reveil.verification.judges.refinement import Refinement
from reveil.verification.refinement.cells import CELL, NEW, VALUE
from reveil.verification.refinement.so_far import (
    BUCKET,
    ROW,
    SAID,
    CellsSoFar,
    PeopleInBuckets,
    RecordOfBucket,
    mark_column,
)
from reveil.verification.shown import Shown

if TYPE_CHECKING:
    from reveil.releases.manifest import Manifest
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import Ints

_PAIRS = pl.Schema({"cell": pl.Int64, "cell_told": pl.Int64, COUNTED: pl.Int64})
_TEXTS = pl.Schema({"column": pl.Int32, "text": pl.String, COUNTED: pl.Int64})
WRITTEN = pl.Schema({PIECE: pl.Int32})


@dataclass(frozen=True)
class CountPairs:
    """Work: which cells of the judge and of the vault's books the people of some buckets are in."""

    people: PeopleInBuckets

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count the buckets that a shard lists."""
        found = [_PAIRS.to_frame()]
        for bucket in table[BUCKET].to_list():
            recorded, told = self.people.recorded(CELL, bucket), self.people.cells_told(bucket)
            both = recorded.join(told.rename({"cell": "cell_told"}), on="who", how="left")
            pairs = both.group_by("cell", pl.col("cell_told").fill_null(NEW)).agg(pl.len().alias(COUNTED))
            found.append(pairs.cast(dict(_PAIRS)))  # type: ignore[arg-type]
        return pl.concat(found)


@dataclass(frozen=True)
class ReadRowsOfPeople:
    """Work: the rows of parts, each with its place in the release and the bucket of whom it is about."""

    reading: ReadPart
    before: CellsSoFar

    @property
    def returns(self) -> pl.Schema:
        """The columns of rows as they were read."""
        return pl.Schema({**self.reading.columns.read, ROW: pl.Int64()})

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        found = [self.returns.to_frame()]
        for n in range(table.height):
            rows = self.reading(table[n : n + 1])
            first = self.reading.before[int(table["part"][n])]
            numbers = rows[NUMBER].to_numpy()
            if (numbers < 0).any():
                raise VerificationError("a row is about nobody")
            piece, beyond = rows[PIECE].to_numpy().copy(), numbers >= self.before.rows
            piece[beyond] = self.before.people.bucket_of(numbers[beyond] - self.before.rows)
            if (piece < 0).any():
                raise VerificationError("the placement names somebody whom nobody knows")
            row = pl.Series(ROW, np.arange(first, first + rows.height, dtype=np.int64))
            found.append(rows.with_columns(row, pl.Series(PIECE, piece, pl.Int32)))
        return pl.concat(found)


@dataclass(frozen=True)
class CountStrangers:
    """Work: which texts people who are not in the table have in some columns."""

    before: CellsSoFar
    names: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard of rows."""
        found = [_TEXTS.to_frame()]
        strange = table.filter(pl.col(NUMBER) >= self.before.rows)
        for (bucket,), rows in strange.partition_by(PIECE, as_dict=True).items():
            last = self.before.people.strangers(int(bucket), rows[NUMBER].to_numpy() - self.before.rows)
            for at, name in enumerate(self.names):
                texts = canonical_text(last[name]).drop_nulls().unique().cast(pl.String)
                columns = {"column": [at] * len(texts), "text": texts, COUNTED: [1] * len(texts)}
                found.append(pl.DataFrame(columns, schema=_TEXTS))
        return pl.concat(found)


@dataclass(frozen=True)
class CompareWithPeople:
    """Work: the rows of a bucket against the people they are about; ``buckets`` take groups of people who are new."""

    before: CellsSoFar
    manifest: Manifest
    columns: PartColumns
    buckets: int

    @property
    def returns(self) -> pl.Schema:
        """The columns of rows that were compared, with what was told of their people."""
        types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), PIECE: pl.Int32(), ROW: pl.Int64(), "group": pl.Int32()}
        types |= {"place": pl.Float64(), "high": pl.Int64(), "low": pl.Int64(), BUCKET: pl.Int32()}
        types |= {"cell": pl.Int64(), "dirty": pl.Boolean(), "late": pl.Boolean()}
        for s in range(len(self.columns.sensitive)):
            types |= {mark_column(s): pl.Int64(), f"r{s}": pl.List(pl.Int64), f"t{s}": pl.List(pl.Int64)}
        return pl.Schema(types)

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Check the rows of one bucket, all of which are here."""
        if not table.height:
            return self.returns.to_frame()
        bucket, rows, before = int(table[PIECE][0]), table.sort(NUMBER, ROW), self.before
        release = release_of(assemble(self.columns.table(rows), [], self.manifest), self.manifest)
        if release.groups is None:
            raise VerificationError(f"this table has no column {GROUP!r}")
        numbers = rows[NUMBER].to_numpy()
        if (np.diff(numbers) == 0).any():
            raise VerificationError("a record is published twice")
        first, end = before.numbers(bucket)
        here = numbers < before.rows
        if here.any() and (numbers[0] < first or numbers[here][-1] >= end):
            raise VerificationError("the placement names a record that the snapshot does not have")
        snapshot = before.people.snapshot(bucket)
        who = before.local(bucket, numbers)
        record = RecordOfBucket()
        value = before.people.recorded(VALUE, bucket)
        value = value.with_columns(who=pl.Series(before.local(bucket, value["who"].to_numpy()), dtype=pl.Int64))
        record.kept = {VALUE.name: value}
        shown = Shown(release, before.number, who, dirty=~here, snapshot=snapshot)
        same, late = Refinement.told_last(shown, record)
        truth = self._with_strangers(snapshot, release, bucket, numbers, here)
        places = np.where(here, who, snapshot.frame.height + np.cumsum(~here) - 1)
        compare_rows(release, truth, places, same if same.any() else None)
        return self._with_told(shown, rows, value, bucket, late)

    def _with_strangers(
        self, snapshot: Snapshot, release: Release, bucket: int, numbers: Ints, here: np.ndarray
    ) -> Snapshot:
        """Return the records, and behind them the last ones of people who are not in the table.

        Their sensitive values are taken as published: the rule compares them with what was recorded.
        """
        if here.all():
            return snapshot
        last = self.before.people.strangers(bucket, numbers[~here] - self.before.rows)
        frame, schema = snapshot.frame, snapshot.schema
        columns = []
        for name in frame.columns:
            dtype = frame.schema[name]
            if name in schema.quasi:
                columns.append(last[name].cast(dtype))
            elif name in schema.sensitive:
                columns.append(release.values[name].filter(pl.Series(~here)).cast(dtype).alias(name))
            else:
                columns.append(pl.Series(name, [None] * last.height, dtype))
        return replace(snapshot, frame=pl.concat([frame, pl.DataFrame(columns)]))

    def _with_told(
        self, shown: Shown, rows: pl.DataFrame, value: pl.DataFrame, bucket: int, late: np.ndarray
    ) -> pl.DataFrame:
        """Return the rows with their boxes, and what was told of their people."""
        release = shown.release
        cells = self.before.people.recorded(CELL, bucket)
        cells = cells.with_columns(who=pl.Series(self.before.local(bucket, cells["who"].to_numpy()), dtype=pl.Int64))
        people = pl.DataFrame({"who": shown.who})
        cell = people.join(cells, on="who", how="left", maintain_order="left")["cell"].fill_null(NEW).to_numpy()
        group = release.groups if release.groups is not None else release.classes
        high, low = (box_marks(release, seed)[release.classes] for seed in (3, 4))
        units = self.before.cell_buckets
        where = np.where(cell == NEW, units + group % self.buckets, cell % max(units, 1))
        found: dict[str, object] = {name: rows[name] for name in (NUMBER, PIECE, ROW, "place")}
        found |= {"group": group, "high": high, "low": low, BUCKET: where, "cell": cell, "late": late}
        found["dirty"] = shown.dirty
        for s, name in enumerate(self.columns.sensitive):
            mine = value.filter(pl.col("attribute") == number_of_name(name)).sort("who", "release")
            marks = pl.Series(whole(mine["high"].to_numpy(), mine["low"].to_numpy()), dtype=pl.Int64)
            lists = mine.select("who", "release", mark=marks).group_by("who", maintain_order=True)
            both = people.join(lists.agg("release", "mark"), on="who", how="left", maintain_order="left")
            found |= {mark_column(s): shown.row_marks(name), f"r{s}": both["release"], f"t{s}": both["mark"]}
        return pl.DataFrame(found).select(self.returns.names()).cast(dict(self.returns))  # type: ignore[arg-type]


def shown_path(folder: Path, bucket: int) -> Path:
    """Return where lies which row is about whom, their new cell if any, and the values that are new."""
    return folder / f"shown-{bucket:05d}.arrow"


@dataclass(frozen=True)
class WriteShown:
    """Work: what is new of the people of a bucket, as a file."""

    folder: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Write the rows of a bucket, all of which are here."""
        if not table.height:
            return WRITTEN.to_frame()
        bucket = int(table[PIECE][0])
        draft = Path(self.folder) / f".{secrets.token_hex(8)}"
        table.drop(SAID, PIECE).sort(NUMBER).write_ipc(draft)
        draft.replace(shown_path(Path(self.folder), bucket))
        return pl.DataFrame({PIECE: [bucket]}, schema=WRITTEN)
