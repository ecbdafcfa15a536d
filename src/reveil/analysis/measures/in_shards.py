"""Measures of a release in parts beside its table in pieces: what adds up is added up shard by shard.

Rows are brought together by their boxes, so that classes are whole; records and the boxes around them meet in cells of
space (:mod:`reveil.releases.spaces`). Each shard is measured by the code that measures a whole release
(:class:`~reveil.analysis.measures.base.SummedMeasure`), which is told what the whole table is like. A measure that does
not add up is none, with the reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from reveil.analysis.measures.base import RawValues, Subject, SummedMeasure, Workload
from reveil.analysis.measures.columns import MeasuredColumn
from reveil.analysis.measures.divergence import hull
from reveil.core.errors import DataError
from reveil.engines.shards import COUNTED, with_column
from reveil.models.encoding import Attribute, Domains
from reveil.models.statistics import Reference
from reveil.releases.files import read_table
from reveil.releases.folders import check_folder, part_name
from reveil.releases.parsing import assemble
from reveil.releases.release import release_of
from reveil.releases.respelling import respelled
from reveil.releases.spaces import SpaceCells
from reveil.tables.pieces import each_piece, read_piece
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.analysis.measures.base import Measure, Sum, Sums
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.engines.shards import Engine, Shards
    from reveil.models.domains import SensitiveDomain
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

ROWS, CELL, BUCKET = "rows", "cell", "bucket"
What = Literal["classes", "records", "points"]
_SOURCE = pl.Schema({"part": pl.Int32, "piece": pl.Int32})  # a part of the release, or a piece of the table; else -1
_SUMS = pl.Schema({"measure": pl.Int32, "name": pl.String, "sum": pl.String})
_CODE = pl.Schema({"column": pl.Int32, "code": pl.Int32, COUNTED: pl.Int64})
_TOLD = pl.Schema({"column": pl.Int32, "text": pl.String, COUNTED: pl.Int64})
_POINT = pl.Schema({"point": pl.List(pl.Int32)})
_SAMPLE = 1 << 16  # records by which space is cut


@dataclass(frozen=True)
class Whole:
    """What is known of a whole table and its release."""

    folder: str
    manifest: Manifest
    pieces: TablePieces
    example: Snapshot  # without records
    types: pl.Schema  # of a part
    domains: Domains
    counts: Mapping[str, IntArray] = field(repr=False)  # records of each code, null last
    raw: Mapping[str, RawValues] = field(repr=False)
    told: Mapping[str, tuple[SensitiveDomain, Reference]] = field(repr=False)

    @property
    def schema(self) -> Schema:
        """The roles of the columns."""
        return self.pieces.schema

    def rows(self, part: int) -> pl.DataFrame:
        """Read the rows of a part."""
        return read_table(Path(self.folder) / part_name(part)).select(self.types.names())

    def release(self, rows: pl.DataFrame) -> Release:
        """Return some rows as a release."""
        return respelled(release_of(assemble(rows, [], self.manifest), self.manifest), self.example)

    def sources(self, engine: Engine, *, parts: bool = True, pieces: bool = True) -> Shards:
        """Lay out the lists of parts and of pieces."""
        listed = [(-1, n) for n in range(self.pieces.table.height)] if pieces else []
        listed += [(n, -1) for n in range(len(self.manifest.parts or ()))] if parts else []
        return engine.scatter((pl.DataFrame([one], schema=_SOURCE, orient="row") for one in listed), _SOURCE)

    def snapshot(self, piece: int) -> Snapshot:
        """Read the records of a piece."""
        return read_piece(self.pieces.table.row(piece, named=True), self.schema)

    def subject(
        self,
        rows: pl.DataFrame,
        workload: Workload,
        *,
        snapshot: Snapshot | None = None,
        points: Sequence[CodeArray] = (),
        often: pl.Series | None = None,
    ) -> PartSubject:
        """Return some rows and some records as a part; ``often``: how often each row, all of which differ, is there."""
        release = self.release(rows)
        class_rows = None
        if often is not None:
            many = int(release.classes.max(initial=-1)) + 1
            class_rows = np.bincount(release.classes, often.to_numpy(), many).astype(np.int64)
        return PartSubject(snapshot or self.example, release, workload, self, tuple(points), class_rows)


@dataclass(frozen=True)
class PartSubject(Subject):
    """Some rows and some records, and what is known of the whole."""

    whole: Whole | None = field(default=None, repr=False)
    points: tuple[CodeArray, ...] = field(default=(), repr=False)
    often: IntArray | None = field(default=None, repr=False)

    @property
    def _known(self) -> Whole:
        assert self.whole is not None  # noqa: S101  (a part is never made without)
        return self.whole

    @property
    def records(self) -> int:
        """Records of the raw table."""
        return self._known.pieces.rows

    @property
    def rows(self) -> int:
        """Published rows, of all parts."""
        return self._known.manifest.rows

    @cached_property
    def columns(self) -> tuple[MeasuredColumn, ...]:
        """The generalised columns, in the order of the schema."""
        whole, cells, none = self._known, self.release.cells, np.zeros(0, np.int32)
        codes = self.points or (none,) * len(whole.domains.quasi)
        return tuple(
            MeasuredColumn(Attribute(domain, own), cells[domain.name], self.class_rows, known=whole.counts[domain.name])
            for domain, own in zip(whole.domains.quasi, codes, strict=True)
            if domain.name in cells
        )

    @cached_property
    def class_rows(self) -> IntArray:
        """Published rows per class."""
        if self.often is not None:
            return self.often
        return np.bincount(self.release.classes, minlength=self.n_classes).astype(np.int64)

    def raw_values(self, name: str) -> RawValues:
        """Return what values the records of the whole table have."""
        return self._known.raw[name]

    def published_domain(self, name: str) -> tuple[SensitiveDomain, Reference] | None:
        """Return what the published values are in the whole release."""
        return self._known.told[name]


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
    whole = _known(engine, folder, manifest, pieces, domains, example)
    subject = whole.subject(whole.rows(0).clear(), workload)
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
        told.append(one.told({name: one.merged(sums) for name, sums in found[n].items()}, subject))
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
    sampled = whole.pieces.shards(engine).map(SamplePoints(whole, step), _POINT).collect()["point"]
    points = np.array(sampled.to_list(), np.int32).reshape(len(sampled), len(whole.domains.quasi))
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
        for name, own in sums.items():
            found.append((n, name, json.dumps(own.tolist() if isinstance(own, np.ndarray) else own)))
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
        found, none = [_SUMS.to_frame()], self.whole.rows(0).clear()
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
class SamplePoints:
    """Work: every so many-th record of the pieces that a shard lists, as a point."""

    whole: Whole
    step: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Sample a shard."""
        found = [_POINT.to_frame()]
        for snapshot, numbers in each_piece(table, self.whole.schema):
            some = np.flatnonzero(numbers % self.step == 0)
            codes = _codes(self.whole, replace(snapshot, frame=snapshot.frame[some], raw=None))
            points = np.stack(codes, axis=1) if codes else np.zeros((len(some), 0), np.int32)
            found.append(pl.DataFrame({"point": points.tolist()}, schema=_POINT))
        return pl.concat(found)


def _codes(whole: Whole, snapshot: Snapshot) -> list[CodeArray]:
    return [domain.code(snapshot.frame[domain.name]) for domain in whole.domains.quasi]


def _hulls(subject: Subject) -> tuple[CodeArray, CodeArray]:
    """Return the ends of the box of each class, the null code being the highest."""
    ends = [hull(column) for column in subject.columns]
    none = np.zeros((subject.n_classes, 0), np.int32)
    lo, hi = (np.stack([end[at] for end in ends], axis=1).astype(np.int32) if ends else none for at in (0, 1))
    return lo, hi


# What is known of the whole


@dataclass(frozen=True)
class CountCodes:
    """Work: how often each code occurs, of quasi columns and then of sensitive ones."""

    schema: Schema
    quasi: Domains
    sensitive: tuple[SensitiveDomain, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard of a list of pieces."""
        found = [_CODE.to_frame()]
        for snapshot, _ in each_piece(table, self.schema):
            codes = [domain.code(snapshot.frame[domain.name]) for domain in self.quasi.quasi]
            codes += [domain.code(snapshot.frame[domain.name]) for domain in self.sensitive]
            for at, own in enumerate(codes):
                counts = np.bincount(own)
                seen = np.flatnonzero(counts)
                columns = {"column": np.full(len(seen), at), "code": seen, COUNTED: counts[seen]}
                found.append(pl.DataFrame(columns).cast(dict(_CODE)))  # type: ignore[arg-type]
        return pl.concat(found)


@dataclass(frozen=True)
class CountTold:
    """Work: how often each value of sensitive columns is published, by its text."""

    whole: Whole

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard of a list of parts."""
        found = [_TOLD.to_frame()]
        for part in table["part"].to_list():
            release = self.whole.release(self.whole.rows(part))
            for at, name in enumerate(self.whole.schema.sensitive):
                if name in release.values.columns:
                    texts = canonical_text(release.values[name]).alias("text").to_frame()
                    counts = texts.group_by("text").agg(pl.len().cast(pl.Int64).alias(COUNTED))
                    found.append(counts.with_columns(column=pl.lit(at, pl.Int32)).select(_TOLD.names()))
        return pl.concat(found)


def _known(
    engine: Engine, folder: Path, manifest: Manifest, pieces: TablePieces, domains: Domains, example: Snapshot
) -> Whole:
    """Count what measures ask of the whole table and of the whole release."""
    types = read_table(folder / part_name(0)).schema
    whole = Whole(str(folder), manifest, pieces, example, types, domains, {}, {}, {})
    schema, listed = pieces.schema, pieces.shards(engine)
    apart = tuple(replace(domain, bins=None) for domain in domains.sensitive)
    counted = listed.count(CountCodes(schema, domains, apart))
    many = [counted.filter(pl.col("column") == at) for at in range(len(domains.quasi) + len(apart))]
    counts = {
        domain.name: _laid_out(own, domain.null_code + 1) for domain, own in zip(domains.quasi, many, strict=False)
    }
    raw = {domain.name: _raw(domain, own) for domain, own in zip(apart, many[len(domains.quasi) :], strict=True)}
    published = whole.sources(engine, pieces=False).count(CountTold(whole))
    told = {}
    for at, domain in enumerate(apart):
        own, declared = published.filter(pl.col("column") == at), schema[domain.name].labels is not None
        told[domain.name] = _told(domain, raw[domain.name], own, declared=declared)
    return replace(whole, counts=counts, raw=raw, told=told)


def _laid_out(counted: pl.DataFrame, size: int) -> IntArray:
    found = np.zeros(size, np.int64)
    found[counted["code"].to_numpy()] = counted[COUNTED].to_numpy()
    return found


def _values(domain: SensitiveDomain) -> pl.Series:
    assert domain.values is not None  # noqa: S101  (the codes of a table are of its values)
    return domain.values


def _raw(domain: SensitiveDomain, counted: pl.DataFrame) -> RawValues:
    """Return what values records have, by how often each code occurs; that of a null is behind the last."""
    values = _values(domain)
    many = _laid_out(counted, len(values) + 1)
    null = domain.levels is not None or bool(many[-1])
    counts = np.append(many[:-1], np.zeros(int(null), np.int64))
    known = pl.DataFrame({"text": canonical_text(values), "code": np.arange(len(values), dtype=np.int32)})
    return RawValues(domain.ordered, len(counts), counts, known)


def _told(
    domain: SensitiveDomain, raw: RawValues, counted: pl.DataFrame, *, declared: bool
) -> tuple[SensitiveDomain, Reference]:
    """Return what published values are, by how often each text is published."""
    values, nulls = _values(domain), int(counted.filter(pl.col("text").is_null())[COUNTED].sum())
    texts = counted.drop_nulls("text")
    codes = raw.coded(texts["text"])
    if (codes >= len(values)).any():
        raise DataError(
            f"column {domain.name!r} has published values that the snapshot does not",
            column=domain.name,
            hint="Measure a release against the snapshot it came from.",
        )
    many = np.zeros(len(values), np.int64)
    many[codes] = texts[COUNTED].to_numpy()
    kept = np.ones(len(values), np.bool_) if declared else many > 0
    null = domain.levels is not None or nulls > 0
    counts = np.append(many[kept], np.full(int(null), nulls, np.int64))
    published = replace(domain, size=len(counts), values=values.filter(pl.Series(kept)))
    return published, Reference(counts, domain.ordered, domain.levels)
