"""The tables of an audit as shards read them: parts of releases, and pieces of the snapshots they were made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import FileError
from reveil.engines.shards import COUNTED
from reveil.models.encoding import Attribute
from reveil.releases.files import read_table
from reveil.releases.folders import check_folder, part_name
from reveil.releases.linking import boxes_of
from reveil.releases.manifest_files import read_manifest
from reveil.releases.parsing import assemble
from reveil.releases.release import release_of
from reveil.tables.notation import SUPPRESSED_VALUE, Form
from reveil.tables.pieces import each_piece
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reveil.adversary.in_shards.regions import PeopleRegions
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.engines.shards import Engine, Shards
    from reveil.models.domains import Domain
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

PART = pl.Schema({"part": pl.Int32, "rows": pl.Int64})
TEXTS = pl.Schema({"column": pl.Int32, "text": pl.String, COUNTED: pl.Int64})
HISTOGRAM = pl.Schema({"g": pl.Int64, "low": pl.Int64, "column": pl.Int32, "code": pl.Int32, COUNTED: pl.Int64})
ROWS = -1  # for a column: the rows of a group, whatever their values


@dataclass(frozen=True)
class ReleaseFolder:
    """A release in a folder, of which parts are read one by one."""

    number: int
    folder: str
    manifest: Manifest
    columns: tuple[str, ...]  # the quasi columns that it shows

    @classmethod
    def at(cls, number: int, path: Path, schema: Schema) -> ReleaseFolder:
        """Check the folder against its manifest."""
        manifest = read_manifest(path)
        check_folder(path.parent, manifest)
        shown = [c.name for c in manifest.columns if c.table is None and Form(c.form) is not Form.VALUE]
        return cls(number, str(path.parent), manifest, tuple(name for name in schema.quasi if name in shown))

    def parts(self, engine: Engine) -> Shards:
        """Lay the list of parts out; work reads them."""
        parts = self.manifest.parts or ()
        return engine.scatter(
            (pl.DataFrame({"part": [n], "rows": [part.rows]}, schema=PART) for n, part in enumerate(parts)), PART
        )

    def read(self, part: int, rows: int | None = None) -> tuple[pl.DataFrame, Release]:
        """Read a part: as it lies there, and as a release."""
        path = Path(self.folder) / part_name(part)
        try:
            frame = read_table(path)
            if rows is not None and frame.height != rows:
                raise ValueError("a part has not as many rows as its manifest says")
            return frame, release_of(assemble(frame, [], self.manifest), self.manifest)
        except (ValueError, LookupError, TypeError, AttributeError, pl.exceptions.PolarsError):
            raise FileError(
                "this release cannot be read", file=path.parent, hint="Its cells do not match its manifest."
            ) from None

    def nobody(self) -> Release:
        """Return the release without its rows."""
        frame, _ = self.read(0)
        return release_of(assemble(frame.clear(), [], self.manifest), self.manifest)

    def of_cells(self, frame: pl.DataFrame) -> Release:
        """Return a table of generalised cells alone as a release."""
        described = tuple(self.manifest.column(name) for name in frame.columns)
        manifest = replace(self.manifest, columns=described)
        return release_of(assemble(frame, [], manifest), manifest)


def groups_in(release: Release) -> tuple[IntArray, IntArray]:
    """Return the group of each row as a number, and another number that tells two of one number apart.

    A release without a column ``group`` has its classes for groups, which have their cells for names.
    """
    if release.groups is not None:
        numbers = release.groups.astype(np.int64)
        return numbers, np.zeros(len(numbers), np.int64)
    high, low = (class_marks(release, seed)[release.classes] for seed in (3, 4))
    return high, low


def class_marks(release: Release, seed: int) -> IntArray:
    """Return a number for each class, by the texts of its cells."""
    many = int(release.classes.max(initial=-1)) + 1
    cells = {name: c.text.hash(seed=seed).to_numpy()[c.index] for name, c in sorted(release.cells.items())}
    if not cells or not many:
        return np.zeros(many, np.int64)
    marks: IntArray = pl.DataFrame(cells).hash_rows(seed=seed).to_numpy().view(np.int64)
    return marks


def with_codes(domains: Sequence[Domain], codes: Sequence[CodeArray] | None = None) -> tuple[Attribute, ...]:
    """Return attributes of nobody, or of persons with these codes."""
    nobody = np.zeros(0, np.int32)
    return tuple(Attribute(domain, nobody if codes is None else codes[a]) for a, domain in enumerate(domains))


@dataclass(frozen=True)
class SampleBoxes:
    """Work: the hulls of some boxes of parts, in the codes of all quasi columns."""

    release: ReleaseFolder
    domains: tuple[Domain, ...]
    share: int  # every so many-th class, by a number that its cells have

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        found = [self.returns.to_frame()]
        for part, rows in table.iter_rows():
            _, release = self.release.read(part, rows)
            _, lo, hi = hulls(release, self.domains)
            chosen = np.flatnonzero(class_marks(release, 3) % self.share == 0)
            ends = {f"l{a}": lo[chosen, a] for a in range(lo.shape[1])} | {
                f"h{a}": hi[chosen, a] for a in range(lo.shape[1])
            }
            found.append(pl.DataFrame(ends, schema=self.returns))
        return pl.concat(found)

    @property
    def returns(self) -> pl.Schema:
        """The columns of the result."""
        many = range(len(self.domains))
        return pl.Schema({**{f"l{a}": pl.Int32() for a in many}, **{f"h{a}": pl.Int32() for a in many}})


def hulls(release: Release, domains: Sequence[Domain]) -> tuple[CodeArray, CodeArray, CodeArray]:
    """Return the first row of each class, and the hulls of classes over all quasi columns (classes, columns)."""
    many = int(release.classes.max(initial=-1)) + 1
    shown = [a for a, domain in enumerate(domains) if domain.name in release.cells]
    lo = np.zeros((many, len(domains)), np.int32)
    hi = np.tile(np.array([domain.null_code for domain in domains], np.int32), (many, 1))
    if shown and many:
        boxes = boxes_of(release, with_codes([domains[a] for a in shown]))
        lo[:, shown], hi[:, shown] = boxes.lo[boxes.of_class], boxes.hi[boxes.of_class]
    first = np.zeros(many, np.int32)
    first[release.classes[::-1]] = np.arange(len(release.classes) - 1, -1, -1, dtype=np.int32)
    return first, lo, hi


@dataclass(frozen=True)
class ReadBoxes:
    """Work: the classes of parts with their groups, once for each bundle of regions that they touch."""

    release: ReleaseFolder
    domains: tuple[Domain, ...]
    regions: PeopleRegions
    bundle: CodeArray  # of each region
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        found = [self.returns.to_frame()]
        for part, rows in table.iter_rows():
            frame, release = self.release.read(part, rows)
            first, lo, hi = hulls(release, self.domains)
            numbers, _ = groups_in(release)
            pairs = pl.DataFrame({"class": release.classes, "g": numbers}).unique(maintain_order=True)
            box, region = self.regions.of_boxes(lo, hi)
            bundles = pl.DataFrame({"class": box.astype(np.int32), "bundle": self.bundle[region]}).unique()
            touched = bundles.join(pairs, on="class")
            classes = touched["class"].to_numpy()
            cells = frame[first[classes]].select(
                pl.col(name).alias(f"c{at}") for at, name in enumerate(self.release.columns)
            )
            marks = pl.Series("mark", class_marks(release, 4)[classes], pl.Int64)
            found.append(_filled(touched.select("bundle", "g").with_columns(marks).hstack(cells), self.returns))
        return pl.concat(found)


@dataclass(frozen=True)
class ReadPeople:
    """Work: the persons of pieces with their codes and regions; ``values`` has the code of each sensitive text."""

    schema: Schema
    domains: tuple[Domain, ...]
    regions: PeopleRegions
    bundle: CodeArray  # of each region
    values: tuple[pl.DataFrame, ...]  # text, code; column by column
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the pieces."""
        found = [self.returns.to_frame()]
        for snapshot, numbers in each_piece(table, self.schema):
            frame, ids = snapshot.frame, persons_of(snapshot, numbers)
            codes = [domain.code(frame[domain.name]) for domain in self.domains]
            region = self.regions.of_points(codes, frame.height)
            columns: dict[str, object] = {"person": ids, "region": region, "bundle": self.bundle[region]}
            columns |= {f"q{a}": column for a, column in enumerate(codes)}
            for s, (name, texts) in enumerate(zip(self.schema.sensitive, self.values, strict=True)):
                columns[f"v{s}"] = coded(canonical_text(frame[name]), texts)
            found.append(_filled(pl.DataFrame(columns), self.returns))
        return pl.concat(found)


def persons_of(snapshot: Snapshot, numbers: IntArray) -> pl.Series:
    """Return who the records of a piece are about; without a column that says so, records are numbered from 1."""
    person = snapshot.schema.person
    return pl.Series(numbers + 1).cast(pl.String) if person is None else canonical_text(snapshot.frame[person])


def _filled(table: pl.DataFrame, returns: pl.Schema) -> pl.DataFrame:
    """Return a table with all the columns of a result; those that it does not have are null."""
    return table.select(
        (pl.col(name) if name in table.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in returns.items()
    )


def coded(texts: pl.Series, values: pl.DataFrame) -> pl.Series:
    """Return the code of each text."""
    asked = texts.alias("text").to_frame()
    return asked.join(values, on="text", how="left", maintain_order="left", nulls_equal=True)["code"]


@dataclass(frozen=True)
class CountShownTexts:
    """Work: which texts the sensitive columns of parts have."""

    release: ReleaseFolder
    columns: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        read = (self.release.read(part, rows)[1].values for part, rows in table.iter_rows())
        return _texts_of(read, self.columns)


@dataclass(frozen=True)
class PublishedDistinct:
    """Work: the different values that a column of parts has."""

    release: ReleaseFolder
    column: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """List them, shard by shard."""
        _, nobody = self.release.read(0)
        found = [nobody.values.select(self.column).clear()]
        for part, rows in table.iter_rows():
            found.append(self.release.read(part, rows)[1].values.select(self.column).unique())
        return pl.concat(found).unique()


@dataclass(frozen=True)
class CountTrueTexts:
    """Work: which texts the sensitive columns of pieces have."""

    schema: Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        return _texts_of((snapshot.frame for snapshot, _ in each_piece(table, self.schema)), self.schema.sensitive)


def _texts_of(frames: Iterator[pl.DataFrame], columns: Sequence[str]) -> pl.DataFrame:
    found = [TEXTS.to_frame()]
    for frame in frames:
        for at, name in enumerate(columns):
            if name not in frame.columns:
                continue
            many = canonical_text(frame[name]).alias("text").to_frame().group_by("text").agg(pl.len().alias(COUNTED))
            found.append(_filled(many.with_columns(pl.lit(at).alias("column")), TEXTS))
    return pl.concat(found)


@dataclass(frozen=True)
class CountValuesOfGroups:
    """Work: the rows of each group in parts, and how many of them have each value."""

    release: ReleaseFolder
    sensitive: tuple[str, ...]
    values: tuple[pl.DataFrame, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        found = [HISTOGRAM.to_frame()]
        for part, rows in table.iter_rows():
            _, release = self.release.read(part, rows)
            high, low = groups_in(release)
            keys = pl.DataFrame({"g": high, "low": low})
            columns = [pl.Series("code", np.zeros(len(high), np.int32))]
            for name, texts in zip(self.sensitive, self.values, strict=True):
                if name in release.values.columns:
                    told = canonical_text(release.values[name])
                    hidden = (told == SUPPRESSED_VALUE).fill_null(value=False)
                    columns.append(coded(told, texts).set(hidden, -1))
                else:
                    columns.append(pl.Series("code", np.full(len(high), -1, np.int32)))
            for at, codes in enumerate(columns, start=ROWS):
                told_of = keys.with_columns(codes.alias("code")).filter(pl.col("code") >= 0)
                many = told_of.group_by("g", "low", "code").agg(pl.len().alias(COUNTED))
                found.append(_filled(many.with_columns(pl.lit(at).alias("column")), HISTOGRAM))
        return pl.concat(found)
