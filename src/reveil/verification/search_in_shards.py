"""The judge of a release in parts of which nobody says which row is whose: rows and records are searched cell by cell.

Space is cut into cells (:mod:`reveil.releases.spaces`). A record is in one cell, a row in all that its box touches, so
that in a cell every record meets all the rows that it may be. Who fits one kind of rows only is there; that decides
nearly all of them. What is left, after all cells, is a maximum flow as in memory, over the records that fit several.
(A box that was missing in a cell would make a release look worse, never better: fewer rows could be filled.)

The search is exact where every record is published: then each has to be in some row, and all rows are filled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.engines.shards import TooLargeError, with_column
from reveil.releases.files import read_table
from reveil.releases.folders import check_folder, part_name
from reveil.releases.release import Release, release_of_part
from reveil.releases.spaces import SpaceCells
from reveil.tables.pieces import read_piece
from reveil.tables.snapshot import canonical_text
from reveil.verification.groups_in_shards import buckets_of, check_groups
from reveil.verification.in_shards import PartColumns, box_marks, check_counts
from reveil.verification.matching import fillable
from reveil.verification.promised import Promised
from reveil.verification.raw_rows import check_ends, check_raw
from reveil.verification.read_in_shards import Sources, known_values, lines_of
from reveil.verification.search import ANOTHER_SNAPSHOT, NOT_THE_RECORDS, candidates, numbered_alike
from reveil.verification.surface import check_sets

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.engines.shards import Engine
    from reveil.releases.manifest import Manifest
    from reveil.tables.pieces import TablePieces
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import Codes, Ints
    from reveil.verification.cells import QuasiColumn

CELL, ROWS, BUCKET = "cell", "rows", "bucket"
_FIT = pl.Schema({"high": pl.Int64, "low": pl.Int64, "kind": pl.Int64, "records": pl.Int64, ROWS: pl.Int64})
_LEFT = with_column(_FIT, "left", pl.Int64())
_SAMPLE = 1 << 16  # records by which space is cut
_MOST_PAIRS = 20_000_000  # records and rows that may go together, where records fit several
_PLACED = -1  # the kind of records that have found their rows


def verify_alone_in_shards(
    engine: Engine, folder: Path, manifest: Manifest, pieces: TablePieces, example: Snapshot, asked: Promised, held: int
) -> Release:
    """Raise :class:`VerificationError` unless the parts in a folder are a sound publication of a table in pieces.

    ``example`` has the columns of the table, as they were read; ``held`` is how many bytes of different values one
    process holds. Returns the release without its rows.
    """
    check_folder(folder, manifest)
    told = Promised.told(manifest.promise.guarantee())
    first = read_table(folder / part_name(0))
    release = release_of_part(first.clear(), manifest, folder)
    check_counts(release, pieces, example)
    columns = PartColumns.of(first, pieces.schema)
    sources = Sources(
        str(folder), tuple(part.rows for part in manifest.parts or ()), manifest, columns, pieces, example
    )
    marked = sources.parts(engine).map(MarkRows(sources, buckets_of(pieces.rows, engine)), columns.checked)
    known = known_values(pieces, example, engine, held)
    space = _space(sources, engine, known, release_of_part(first, manifest, folder))
    _check_filled(sources, engine, space, known)
    check_groups(marked, release, pieces, example, told, asked)
    return replace(release, source=folder)


@dataclass(frozen=True)
class MarkRows:
    """Work: the rows of the parts that a shard lists, by the marks of their boxes."""

    sources: Sources
    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        sources = self.sources
        found = [sources.columns.checked.to_frame()]
        before = np.concatenate([[0], np.cumsum(sources.part_rows)])
        for part in table["part"].to_list():
            rows = sources.rows(part)
            release = sources.release(rows)
            check_sets(release, sources.pieces.schema)
            place = pl.Series((before[part] + np.arange(rows.height) + 0.5) / max(int(before[-1]), 1))
            found.append(sources.columns.marked(release, place, self.buckets))
        return pl.concat(found)


def _points(lines: list[QuasiColumn], rows: int) -> Codes:
    return np.stack([line.codes for line in lines], axis=1).astype(np.int32) if lines else np.zeros((rows, 0), np.int32)


def _hulls(release: Release, lines: list[QuasiColumn]) -> tuple[Codes, Codes]:
    """Return the ends of the box of each class."""
    many = int(release.classes.max(initial=-1)) + 1
    ends = []
    for end in (0, 1):
        columns = [line.hull[end][release.cells[line.name].index] for line in lines]
        ends.append(np.stack(columns, axis=1).astype(np.int32) if columns else np.zeros((many, 0), np.int32))
    return ends[0], ends[1]


@dataclass(frozen=True)
class SamplePoints:
    """Work: every so many-th record of the pieces that a shard lists, as a point."""

    sources: Sources
    known: Mapping[str, pl.Series] = field(repr=False)
    step: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Sample a shard."""
        found = [self.returns.to_frame()]
        none = self.sources.release(self.sources.nobody)
        for piece in table.iter_rows(named=True):
            frame = read_piece(piece, self.sources.pieces.schema).frame
            frame = frame[int(-piece["number"] % self.step) :: self.step]
            lines = lines_of(none, frame, self.known, self.sources)
            columns = {f"p{at}": line.codes for at, line in enumerate(lines)}
            found.append(pl.DataFrame(columns, schema=self.returns))
        return pl.concat(found)

    @property
    def returns(self) -> pl.Schema:
        """The columns of points."""
        return pl.Schema({f"p{at}": pl.Int32() for at in range(len(self.sources.pieces.schema.quasi))})


def _space(sources: Sources, engine: Engine, known: Mapping[str, pl.Series], some: Release) -> SpaceCells:
    """Cut space by some of the records, beside the boxes of some of the rows."""
    pieces = sources.pieces
    step = max(1, pieces.rows // _SAMPLE)
    work = SamplePoints(sources, known, step)
    found = pieces.shards(engine).map(work, work.returns).collect()
    points = found.to_numpy().astype(np.int32).reshape(found.height, found.width)
    lines = lines_of(some, sources.example.frame, known, sources)
    lo, hi = _hulls(some, lines)
    rooms = np.maximum(hi.astype(np.int64) - lo, 0).mean(axis=0) if len(lo) else np.zeros(lo.shape[1])
    return SpaceCells.of(points, buckets_of(pieces.rows, engine), rooms)


@dataclass(frozen=True)
class DealIntoCells:
    """Work: rows and records that a shard lists, in the cells of space where they meet."""

    sources: Sources
    space: SpaceCells
    known: Mapping[str, pl.Series] = field(repr=False)
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Deal a shard."""
        found = [self.returns.to_frame()]
        for part, piece in table.iter_rows():
            found.append(self._rows(part) if part >= 0 else self._records(piece))
        return pl.concat(found, how="diagonal").select(self.returns.names())

    def _rows(self, part: int) -> pl.DataFrame:
        sources = self.sources
        rows = sources.rows(part)
        release, none = sources.release(rows), sources.example.frame
        check_ends(release, sources.example)
        box, cell = self.space.of_boxes(*_hulls(release, lines_of(release, none, self.known, sources)))
        alike = [f"c{at}" for at in range(len(sources.columns.names))]
        renamed = rows.rename(dict(zip(sources.columns.names, alike, strict=True)))
        values = [f"c{sources.columns.names.index(name)}" for name in sources.values]
        counted = renamed.with_columns(pl.Series("box", release.classes, pl.Int64))
        counted = counted.group_by("box", *values).agg(
            pl.exclude("box", *values).first(), pl.len().cast(pl.Int64).alias(ROWS)
        )
        cells = pl.DataFrame({"box": box, CELL: cell}, schema={"box": pl.Int64, CELL: pl.Int32})
        return counted.join(cells, on="box").drop("box")

    def _records(self, piece: int) -> pl.DataFrame:
        sources = self.sources
        snapshot, none = sources.records(piece), sources.release(sources.nobody)
        check_raw(none, snapshot)
        frame = snapshot.frame
        cell = self.space.of_points(_points(lines_of(none, frame, self.known, sources), frame.height))
        columns = {f"r{at}": frame[name] for at, name in enumerate(sources.asked)}
        return pl.DataFrame({CELL: cell, ROWS: np.zeros(frame.height, np.int64), **columns})


@dataclass(frozen=True)
class FitRecords:
    """Work: which records of a cell of space may be which rows."""

    sources: Sources
    known: Mapping[str, pl.Series] = field(repr=False)

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Compare what is in a cell: all of its records, and all rows that they may be."""
        sources = self.sources
        there, here = table.filter(pl.col(ROWS) == 0), table.filter(pl.col(ROWS) > 0)
        if not there.height:
            return _FIT.to_frame()
        if not here.height:
            raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)
        records = there.select(pl.col(f"r{at}").alias(name) for at, name in enumerate(sources.asked))
        release = sources.release(sources.columns.table(here))
        raw, told = np.zeros(records.height, np.int64), np.zeros(here.height, np.int64)
        if sources.values:
            raw, told = numbered_alike(records.select(sources.values), release.values)
        slots = (
            pl.DataFrame({"box": release.classes.astype(np.int64), "value": told, ROWS: here[ROWS]})
            .with_row_index("row")
            .group_by("box", "value")
            .agg(pl.col(ROWS).sum(), pl.col("row").first())
            .sort("box", "value")
            .with_row_index("slot")
        )
        fits, many = candidates(release, lines_of(release, records, self.known, sources), raw, slots, None)
        kind, slot = fits["kind"].to_numpy().astype(np.int64), fits["slot"].to_numpy().astype(np.int64)
        ways = np.bincount(kind, minlength=len(many))
        if (ways == 0).any():
            raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)
        high, low = (self._marks(release, slots["row"].to_numpy(), seed) for seed in (5, 6))
        number = (np.int64(table[CELL][0]) << 32) + kind
        found = pl.DataFrame(
            {
                "high": high[slot],
                "low": low[slot],
                "kind": np.where(ways[kind] == 1, _PLACED, number),
                "records": many[kind],
                ROWS: slots[ROWS].to_numpy()[slot],
            },
            schema=_FIT,
        )
        placed = pl.col("kind") == _PLACED
        taken = found.filter(placed).group_by("high", "low", "kind").agg(pl.col("records").sum(), pl.col(ROWS).first())
        return pl.concat([taken.select(_FIT.names()), found.filter(~placed)])

    def _marks(self, release: Release, rows: Ints, seed: int) -> Ints:
        """Return a number for what some rows say: their boxes and their values."""
        texts = {name: canonical_text(release.values[name]).gather(rows) for name in self.sources.values}
        box = pl.Series("box", box_marks(release, seed)[release.classes[rows]])
        return (
            pl.DataFrame([box, *(text.rename(f"v{at}") for at, text in enumerate(texts.values()))])
            .hash_rows(seed=seed)
            .to_numpy()
            .view(np.int64)
        )


@dataclass(frozen=True)
class FitsInBuckets:
    """Work: what fits, with all that fits some row in one bucket."""

    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Place a shard."""
        return table.with_columns((pl.col("high") % self.buckets).cast(pl.Int32).alias(BUCKET))


def not_placed(table: pl.DataFrame) -> pl.DataFrame:
    """Work: take away who fits one kind of rows only; return what may go together of the others."""
    known = table.filter(pl.col("kind") == _PLACED).group_by("high", "low").agg(pl.col("records").sum().alias("taken"))
    both = table.join(known, on=["high", "low"], how="left").with_columns(
        (pl.col(ROWS) - pl.col("taken").fill_null(0)).alias("left")
    )
    if (both["left"] < 0).any():
        raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)
    return both.filter(pl.col("kind") != _PLACED).select(_LEFT.names())


def _check_filled(sources: Sources, engine: Engine, space: SpaceCells, known: Mapping[str, pl.Series]) -> None:
    """Refuse rows that the records of the table cannot fill."""
    columns, example = sources.columns, sources.example.frame
    types: dict[str, pl.DataType] = {CELL: pl.Int32(), ROWS: pl.Int64()}
    types |= {f"c{at}": dtype for at, dtype in enumerate(columns.types)}
    types |= {f"r{at}": example.schema[name] for at, name in enumerate(sources.asked)}
    met = pl.Schema(types)
    everything = sources.everything(engine).map(DealIntoCells(sources, space, known, met), met)
    fitted = everything.each(CELL, FitRecords(sources, known), _FIT)
    bucketed = with_column(_FIT, BUCKET, pl.Int32())
    buckets = buckets_of(sources.pieces.rows, engine)
    left = fitted.map(FitsInBuckets(buckets), bucketed).each(BUCKET, not_placed, _LEFT)
    try:
        pairs = left.collect(_MOST_PAIRS)
    except TooLargeError:
        raise TooLargeError(
            "too many records fit several rows: what may go together does not fit one memory",
            hint="Verify it at once, on a machine that holds it: with shard_rows above the number of rows.",
        ) from None
    fitted.drop()
    left.drop()
    if not pairs.height:
        return
    pairs = pairs.with_columns(
        pl.struct("high", "low").rank("dense").cast(pl.Int64).alias("slot") - 1,
        pl.col("kind").rank("dense").cast(pl.Int64) - 1,
    )
    records, rows = (
        pairs.unique(key).sort(key)[what].to_numpy().astype(np.int64)
        for key, what in (("kind", "records"), ("slot", "left"))
    )
    # Everybody has to be somewhere: what is left of the records are all that can fill what is left of the rows.
    if records.sum() != rows.sum() or not fillable(pairs.select("kind", "slot"), records, rows):
        raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)
