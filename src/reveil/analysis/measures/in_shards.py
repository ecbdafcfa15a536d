"""Measures of a release in parts beside its table in pieces: what adds up is added up shard by shard.

Rows are brought together by their boxes, so that classes are whole; records and the boxes around them meet in cells of
space (:mod:`reveil.releases.spaces`). Each shard is measured by the code that measures a whole release
(:class:`~reveil.analysis.measures.base.SummedMeasure`), which is told what the whole table is like. A measure that does
not add up is none, with the reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from reveil.analysis.measures.base import Subject, SummedMeasure, Workload
from reveil.analysis.measures.divergence import hull
from reveil.analysis.measures.whole import Whole, known_of
from reveil.engines.shards import with_column
from reveil.releases.folders import check_folder
from reveil.releases.spaces import SpaceCells
from reveil.tables.pieces import each_piece

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from reveil.analysis.measures.base import Measure, Sum, Sums
    from reveil.analysis.measures.whole import PartSubject
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.engines.shards import Engine
    from reveil.models.encoding import Domains
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.tables.pieces import TablePieces
    from reveil.tables.snapshot import Snapshot

ROWS, CELL, BUCKET = "rows", "cell", "bucket"
What = Literal["classes", "records", "points"]
_SUMS = pl.Schema({"measure": pl.Int32, "name": pl.String, "sum": pl.String})
_SAMPLE = 1 << 16  # records by which space is cut


def measured_in_shards(
    engine: Engine,
    folder: Path,
    manifest: Manifest,
    pieces: TablePieces,
    domains: Domains,
    example: Snapshot,
    workload: Workload,
    measures: Sequence[Measure],
) -> tuple[PartSubject, list[Mapping[str, JSON]], dict[str, str]]:
    """Measure a release part by part: what is known of the whole, the figures of each measure, and what has none."""
    check_folder(folder, manifest)
    whole = known_of(engine, folder, manifest, pieces, domains, example)
    subject = whole.subject(whole.types.to_frame(), workload)
    summed: list[SummedMeasure] = []
    reasons: dict[str, str] = {}
    for each in measures:
        reason = "it reads the whole release at once"
        if isinstance(each, SummedMeasure):
            reason = each.reason_against_parts(subject) or ""
            summed += [] if reason else [each]
        if reason:
            reasons |= dict.fromkeys(each.meanings, reason)
    found: dict[int, dict[str, list[Sum]]] = {n: {} for n in range(len(summed))}
    for table in _sums(engine, whole, workload, tuple(summed)):
        for n, name, text in table.sort("measure", "name", "sum").iter_rows():
            said = json.loads(text)
            found[n].setdefault(name, []).append(np.array(said, np.float64) if isinstance(said, list) else said)
    told = []
    for n, one in enumerate(summed):
        told.append(one.figures({name: one.merged(sums) for name, sums in found[n].items()}, subject))
    told.append(dict.fromkeys(reasons))
    return subject, told, reasons


def _sums(engine: Engine, whole: Whole, workload: Workload, measures: tuple[SummedMeasure, ...]) -> list[pl.DataFrame]:
    """Have everything added up that measures ask for."""
    buckets = 2 * -(-max(whole.manifest.rows, whole.pieces.rows) // engine.shard_rows)
    bucketed = with_column(whole.types, BUCKET, pl.Int32())
    rows = whole.sources(engine, pieces=False).map(ByBox(whole, buckets), bucketed)
    classes = rows.each(BUCKET, MeasureClasses(whole, workload, measures), _SUMS)
    found = [classes.collect()]
    classes.drop()
    records = whole.sources(engine, parts=False).map(MeasureRecords(whole, workload, measures), _SUMS)
    found.append(records.collect())
    step = max(1, whole.pieces.rows // _SAMPLE)
    work = SampleRecords(whole, step)
    sampled = whole.pieces.shards(engine).map(work, work.returns).collect()
    points = sampled.to_numpy().astype(np.int32).reshape(sampled.height, sampled.width)
    lo, hi = _hulls(whole.subject(whole.rows(0), workload))
    rooms = np.maximum(hi.astype(np.int64) - lo, 0).mean(axis=0) if len(lo) else np.zeros(points.shape[1])
    space = SpaceCells.of(points, buckets, rooms)
    types: dict[str, pl.DataType] = {CELL: pl.Int32(), ROWS: pl.Int64(), "records": pl.Int64()}
    types |= {f"c{at}": dtype for at, dtype in enumerate(whole.types.dtypes())}
    types |= {f"q{at}": pl.Int32() for at in range(len(whole.domains.quasi))}
    met = pl.Schema(types)
    together = whole.sources(engine).map(Meet(whole, space, met), met)
    pointed = together.each(CELL, MeasurePoints(whole, workload, measures), _SUMS)
    found.append(pointed.collect())
    pointed.drop()
    return found


def _noted(measures: Sequence[SummedMeasure], what: What, subject: Subject) -> pl.DataFrame:
    """Return what measures add up over a part."""
    found = []
    for n, each in enumerate(measures):
        sums: Sums = {
            "classes": each.of_classes,
            "records": each.of_records,
            "points": each.of_points,
        }[what](subject)
        for name, added in sums.items():
            found.append((n, name, json.dumps(added.tolist() if isinstance(added, np.ndarray) else added)))
    return pl.DataFrame(found, schema=_SUMS, orient="row")


@dataclass(frozen=True)
class ByBox:
    """Work: the rows of the parts that a shard lists, with all rows of a box in one bucket."""

    whole: Whole
    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        found = [with_column(self.whole.types, BUCKET, pl.Int32()).to_frame()]
        for part in table["part"].to_list():
            rows = self.whole.rows(part)
            marks = _marks(self.whole.release(rows))
            found.append(rows.with_columns(pl.Series(BUCKET, marks % self.buckets, pl.Int32)))
        return pl.concat(found)


def _marks(release: Release) -> IntArray:
    """Return a number for each row, which is the same for equal boxes."""
    texts = [cells.text.hash(seed=7).to_numpy()[cells.index] for cells in release.cells.values()]
    if not texts:
        return np.zeros(len(release.classes), np.int64)
    columns = pl.DataFrame({f"x{at}": text for at, text in enumerate(texts)})
    return (columns.hash_rows(seed=7).to_numpy() >> np.uint64(1)).astype(np.int64)[release.classes]


@dataclass(frozen=True)
class MeasureClasses:
    """Work: what adds up over the classes of a bucket, all rows of which are here."""

    whole: Whole
    workload: Workload
    measures: tuple[SummedMeasure, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Measure the bucket."""
        if not table.height:
            return _SUMS.to_frame()
        return _noted(
            self.measures, "classes", self.whole.subject(table.select(self.whole.types.names()), self.workload)
        )


@dataclass(frozen=True)
class MeasureRecords:
    """Work: what adds up over the records of the pieces that a shard lists."""

    whole: Whole
    workload: Workload
    measures: tuple[SummedMeasure, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Measure the pieces."""
        found, none = [_SUMS.to_frame()], self.whole.types.to_frame()
        for piece in table["piece"].to_list():
            snapshot = self.whole.snapshot(piece)
            points = _codes(self.whole, snapshot)
            subject = self.whole.subject(none, self.workload, snapshot=snapshot, points=points)
            found.append(_noted(self.measures, "records", subject))
        return pl.concat(found)


@dataclass(frozen=True)
class Meet:
    """Work: boxes and points that a shard lists, in the cells of space where they meet."""

    whole: Whole
    space: SpaceCells
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Deal a shard."""
        found = [self.returns.to_frame()]
        for part, piece in table.iter_rows():
            found.append(self._boxes(part) if part >= 0 else self._points(piece))
        return pl.concat(found, how="diagonal").select(self.returns.names())

    def _boxes(self, part: int) -> pl.DataFrame:
        whole = self.whole
        rows = whole.rows(part)
        subject = whole.subject(rows, Workload())
        classes = subject.release.classes
        first = np.zeros(subject.n_classes, np.int64)
        first[classes[::-1]] = np.arange(len(classes))[::-1]
        boxes = rows[first].rename({name: f"c{at}" for at, name in enumerate(whole.types.names())})
        boxes = boxes.with_columns(pl.Series(ROWS, subject.class_rows, pl.Int64), records=pl.lit(0, pl.Int64))
        box, cell = self.space.of_boxes(*_hulls(subject))
        return boxes[box].with_columns(pl.Series(CELL, cell, pl.Int32))

    def _points(self, piece: int) -> pl.DataFrame:
        codes = _codes(self.whole, self.whole.snapshot(piece))
        names = [f"q{at}" for at in range(len(codes))]
        points = (
            pl.DataFrame(dict(zip(names, codes, strict=True)))
            .group_by(names)
            .agg(pl.len().cast(pl.Int64).alias("records"))
        )
        cell = self.space.of_points(points.select(names).to_numpy().astype(np.int32))
        return points.with_columns(pl.Series(CELL, cell, pl.Int32), pl.lit(0, pl.Int64).alias(ROWS))


@dataclass(frozen=True)
class MeasurePoints:
    """Work: what adds up over the records of a cell of space, with all the boxes around them."""

    whole: Whole
    workload: Workload
    measures: tuple[SummedMeasure, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Measure the cell."""
        whole = self.whole
        there, boxes = table.filter(pl.col(ROWS) == 0), table.filter(pl.col(ROWS) > 0)
        if not there.height:
            return _SUMS.to_frame()
        often = there["records"].to_numpy()
        points = [np.repeat(there[f"q{at}"].to_numpy(), often) for at in range(len(whole.domains.quasi))]
        rows = boxes.select(pl.col(f"c{at}").alias(name) for at, name in enumerate(whole.types.names()))
        subject = whole.subject(rows, self.workload, points=points, often=boxes[ROWS])
        return _noted(self.measures, "points", subject)


@dataclass(frozen=True)
class SampleRecords:
    """Work: every so many-th record of the pieces that a shard lists, as a point."""

    whole: Whole
    step: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Sample a shard."""
        found = [self.returns.to_frame()]
        for snapshot, numbers in each_piece(table, self.whole.schema):
            some = np.flatnonzero(numbers % self.step == 0)
            codes = _codes(self.whole, replace(snapshot, frame=snapshot.frame[some], raw=None))
            columns = {f"p{at}": column_codes for at, column_codes in enumerate(codes)}
            found.append(pl.DataFrame(columns, schema=self.returns))
        return pl.concat(found)

    @property
    def returns(self) -> pl.Schema:
        """The columns of points."""
        return pl.Schema({f"p{at}": pl.Int32() for at in range(len(self.whole.domains.quasi))})


def _codes(whole: Whole, snapshot: Snapshot) -> list[CodeArray]:
    return [domain.code(snapshot.frame[domain.name]) for domain in whole.domains.quasi]


def _hulls(subject: Subject) -> tuple[CodeArray, CodeArray]:
    """Return the ends of the box of each class, the null code being the highest."""
    ends = [hull(column) for column in subject.columns]
    none = np.zeros((subject.n_classes, 0), np.int32)
    lo, hi = (np.stack([end[at] for end in ends], axis=1).astype(np.int32) if ends else none for at in (0, 1))
    return lo, hi
