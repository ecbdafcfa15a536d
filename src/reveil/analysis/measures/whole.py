"""What is known of a whole table and its release, and a part of them that knows it: what measures in shards read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.analysis.measures.base import RawValues, Subject
from reveil.analysis.measures.columns import MeasuredColumn
from reveil.core.errors import DataError, FileError
from reveil.engines.shards import COUNTED
from reveil.models.encoding import Attribute
from reveil.models.statistics import Reference
from reveil.releases.files import read_table
from reveil.releases.folders import part_name
from reveil.releases.release import release_of_part
from reveil.releases.respelling import respelled
from reveil.tables.pieces import each_piece, read_piece
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.analysis.measures.base import Workload
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.engines.shards import Engine, Shards
    from reveil.models.domains import SensitiveDomain
    from reveil.models.encoding import Domains
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

_SOURCE = pl.Schema({"part": pl.Int32, "piece": pl.Int32})  # a part of the release, or a piece of the table; else -1
_CODE = pl.Schema({"column": pl.Int32, "code": pl.Int32, COUNTED: pl.Int64})
_PUBLISHED = pl.Schema({"column": pl.Int32, "text": pl.String, COUNTED: pl.Int64})


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
        rows, listed = read_table(Path(self.folder) / part_name(part)), self.manifest.parts or ()
        if rows.schema != self.types or rows.height != listed[part].rows:
            raise FileError(
                "this release cannot be read",
                file=Path(self.folder) / part_name(part),
                hint="A part has other columns or rows than its manifest says.",
            )
        return rows

    def release(self, rows: pl.DataFrame) -> Release:
        """Return some rows as a release."""
        return respelled(release_of_part(rows, self.manifest, Path(self.folder)), self.example)

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
        return sum(part.rows for part in self._known.manifest.parts or ())

    @cached_property
    def columns(self) -> tuple[MeasuredColumn, ...]:
        """The generalised columns, in the order of the schema."""
        whole, cells, none = self._known, self.release.cells, np.zeros(0, np.int32)
        codes = self.points or (none,) * len(whole.domains.quasi)
        return tuple(
            MeasuredColumn(
                Attribute(domain, column_codes), cells[domain.name], self.class_rows, known=whole.counts[domain.name]
            )
            for domain, column_codes in zip(whole.domains.quasi, codes, strict=True)
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


@dataclass(frozen=True)
class CountWholeCodes:
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
            for at, column_codes in enumerate(codes):
                counts = np.bincount(column_codes)
                seen = np.flatnonzero(counts)
                columns = {"column": np.full(len(seen), at), "code": seen, COUNTED: counts[seen]}
                found.append(pl.DataFrame(columns).cast(dict(_CODE)))  # type: ignore[arg-type]
        return pl.concat(found)


@dataclass(frozen=True)
class CountPublishedTexts:
    """Work: how often each value of sensitive columns is published, by its text."""

    whole: Whole

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard of a list of parts."""
        found = [_PUBLISHED.to_frame()]
        for part in table["part"].to_list():
            release = self.whole.release(self.whole.rows(part))
            for at, name in enumerate(self.whole.schema.sensitive):
                if name in release.values.columns:
                    texts = canonical_text(release.values[name]).alias("text").to_frame()
                    counts = texts.group_by("text").agg(pl.len().cast(pl.Int64).alias(COUNTED))
                    found.append(counts.with_columns(column=pl.lit(at, pl.Int32)).select(_PUBLISHED.names()))
        return pl.concat(found)


def known_of(
    engine: Engine, folder: Path, manifest: Manifest, pieces: TablePieces, domains: Domains, example: Snapshot
) -> Whole:
    """Count what measures ask of the whole table and of the whole release."""
    types = read_table(folder / part_name(0)).schema
    whole = Whole(str(folder), manifest, pieces, example, types, domains, {}, {}, {})
    schema, listed = pieces.schema, pieces.shards(engine)
    apart = tuple(replace(domain, bins=None) for domain in domains.sensitive)
    counted = listed.count(CountWholeCodes(schema, domains, apart))
    many = [counted.filter(pl.col("column") == at) for at in range(len(domains.quasi) + len(apart))]
    counts = {
        domain.name: _laid_out(column_counts, domain.null_code + 1)
        for domain, column_counts in zip(domains.quasi, many, strict=False)
    }
    behind = many[len(domains.quasi) :]
    raw = {domain.name: _raw(domain, column_counts) for domain, column_counts in zip(apart, behind, strict=True)}
    published = whole.sources(engine, pieces=False).count(CountPublishedTexts(whole))
    told = {}
    for at, domain in enumerate(apart):
        column_counts, declared = published.filter(pl.col("column") == at), schema[domain.name].labels is not None
        told[domain.name] = _published_of(domain, raw[domain.name], column_counts, declared=declared)
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


def _published_of(
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
