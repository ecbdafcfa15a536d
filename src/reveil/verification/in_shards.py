"""The judge of a release in parts whose table lies in pieces: shard by shard, and what adds up added up.

Rows are brought to the records they publish: every piece of the table must find each of its records once (nothing is
counted that could make up for something else), each inside its box and with its own values. Then rows are brought
together by their box, and the groups are judged where all their rows are. The publisher says which row is whose, and
nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.core.json_values import thawed
from reveil.core.levels import worst
from reveil.engines.shards import COUNTED
from reveil.releases.files import read_table
from reveil.releases.folders import check_folder, part_name
from reveil.releases.parsing import assemble
from reveil.releases.parts import numbers_path
from reveil.releases.release import Release, release_of
from reveil.tables.formats import find_format
from reveil.tables.pieces import read_piece
from reveil.tables.schema import Role
from reveil.tables.snapshot import Snapshot, canonical_text
from reveil.verification.arrays import renumbered
from reveil.verification.cells import line_of
from reveil.verification.counting import (
    GroupCounts,
    PublishedGroups,
    Tally,
    ValueRelations,
    coded_values,
    counterfeits_in,
)
from reveil.verification.promised import Promised, same_levels, together
from reveil.verification.raw_rows import check_raw
from reveil.verification.rows import check_rows
from reveil.verification.shape import check_description, check_domains
from reveil.verification.surface import check_order, check_sets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.engines.shards import Engine, Shards
    from reveil.releases.manifest import Manifest
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.verification.arrays import Codes, Ints

_PART = pl.Schema({"part": pl.Int32})
_REACHED = pl.Schema({"groups": pl.Int64, "levels": pl.String, "apart": pl.Float64})
_FEW = 16  # groups whose rows lie together by chance
_DEVIATIONS = 9.0  # of so many groups whose rows dice put anywhere: less than once in 10**18
NUMBER, PIECE = "number", "piece"


def verify_in_shards(
    engine: Engine, folder: Path, manifest: Manifest, pieces: TablePieces, example: Snapshot, asked: Promised
) -> Release:
    """Raise :class:`VerificationError` unless the parts in a folder are a sound publication of a table in pieces.

    ``example`` has the columns of the table, as they were read. Returns the release without its rows.
    """
    check_folder(folder, manifest)
    told = Promised.told(manifest.promise.guarantee())
    first = read_table(folder / part_name(0)).clear()
    release = release_of(assemble(first, [], manifest), manifest)
    _check_counts(release, pieces, example)
    parts = manifest.parts or ()
    listed = engine.scatter((pl.DataFrame({"part": [n]}, schema=_PART) for n in range(len(parts))), _PART)
    rows = _Columns.of(first, pieces.schema)
    starts = tuple(pieces.table["number"].to_list())
    before = tuple(accumulate((part.rows for part in parts), initial=0))
    read = listed.map(ReadPart(str(folder), str(engine.scratch), starts, before, rows), rows.read)
    buckets = 2 * -(-pieces.rows // engine.shard_rows)
    checked = read.each(PIECE, CheckRecords(pieces, manifest, rows, buckets), rows.checked)
    if int(checked.count(_rows_of)[COUNTED].sum()) != pieces.rows:
        raise VerificationError("a record of the snapshot is not published")
    _check_members(read, pieces, engine, rows)
    values = asked.reads_values or told.reads_values
    scales = [_scale_of(checked, pieces.schema, name, s) for s, name in enumerate(rows.sensitive)] if values else []
    reached = checked.each("bucket", JudgeGroups(told, asked, tuple(scales)), _REACHED).collect()
    checked.drop()
    groups = int(reached["groups"].sum())
    _check_dealt(float(reached["apart"].sum()), groups)
    levels = [worst(level) for level in zip(*map(json.loads, reached["levels"]), strict=True)]
    achieved = together(levels)
    empty = replace(example, frame=example.frame.clear())
    check_description(release, empty, PublishedGroups(np.arange(groups), *[np.zeros(0, np.int64)] * 3))  # type: ignore[arg-type]
    check_domains(release, pieces.schema)
    told.judge.check_manifest(manifest, told, asked, pieces.schema, pieces.rows)
    if not same_levels(achieved, {key: thawed(level) for key, level in manifest.achieved.items()}):
        raise VerificationError("the manifest claims another level than the table", hint=f"The table has {achieved}.")
    return replace(release, source=folder)


def _check_counts(release: Release, pieces: TablePieces, example: Snapshot) -> None:
    """Check the columns, and that all records are published and nothing else."""
    manifest, schema = release.manifest, example.schema
    published = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    if release.columns != tuple(name for name in example.frame.columns if schema[name].role in published):
        raise VerificationError("the published columns are not those of the schema")
    if manifest.rows != pieces.rows or sum(part.rows for part in manifest.parts or ()) != pieces.rows:
        raise VerificationError(f"the snapshot has {pieces.rows:,} records, and the parts have not as many rows")
    if manifest.counterfeits.total or counterfeits_in(manifest.counterfeits) or manifest.dirty or manifest.withheld:
        raise VerificationError("the manifest counts rows that are no records of the snapshot")


@dataclass(frozen=True)
class _Columns:
    """The columns of parts and what they are called on their way."""

    names: tuple[str, ...]
    types: tuple[pl.DataType, ...]
    sensitive: tuple[str, ...]

    @classmethod
    def of(cls, table: pl.DataFrame, schema: Schema) -> _Columns:
        return cls(tuple(table.columns), tuple(table.dtypes), schema.sensitive)

    @property
    def read(self) -> pl.Schema:
        """The columns of rows as they were read."""
        types = {f"c{at}": dtype for at, dtype in enumerate(self.types)}
        return pl.Schema({NUMBER: pl.Int64(), PIECE: pl.Int32(), "place": pl.Float64(), **types})

    @property
    def checked(self) -> pl.Schema:
        """The columns of rows that were compared with their records: the marks of their boxes, and their values."""
        values = {f"s{at}": self.types[self.names.index(name)] for at, name in enumerate(self.sensitive)}
        marks = {"high": pl.Int64(), "low": pl.Int64(), "bucket": pl.Int32(), "place": pl.Float64()}
        return pl.Schema({**marks, **values})

    def table(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows as they stand in a part."""
        return rows.select(pl.col(f"c{at}").alias(name) for at, name in enumerate(self.names))


@dataclass(frozen=True)
class ReadPart:
    """Work: the rows of the parts that a shard lists, each with the record that it publishes and where that is."""

    folder: str
    private: str
    starts: tuple[int, ...]
    before: tuple[int, ...]  # rows in the parts before each, and in all of them
    columns: _Columns

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        found = [self.columns.read.to_frame()]
        for part in table["part"].to_list():
            path = Path(self.folder) / part_name(part)
            rows = read_table(path)
            numbers = pl.read_ipc(numbers_path(Path(self.private), part)).to_series().to_numpy()
            if find_format(path).says_more(path):
                raise VerificationError("this file carries more than its table", file=path)
            if len(numbers) != rows.height or dict(rows.schema) != dict(
                zip(self.columns.names, self.columns.types, strict=True)
            ):
                raise VerificationError("this part is not what was written", file=path)
            check_order(numbers)
            piece = np.searchsorted(np.array(self.starts), numbers, side="right") - 1
            selected = {f"c{at}": rows[name] for at, name in enumerate(self.columns.names)}
            place = (self.before[part] + np.arange(rows.height) + 0.5) / max(self.before[-1], 1)
            found.append(pl.DataFrame({NUMBER: numbers, PIECE: piece.astype(np.int32), "place": place, **selected}))
        return pl.concat(found)


@dataclass(frozen=True)
class CheckRecords:
    """Work: the rows of a piece against its records, read again from the table."""

    pieces: TablePieces
    manifest: Manifest
    columns: _Columns
    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Check the rows of one piece, all of which are here."""
        if not table.height:
            return self.columns.checked.to_frame()
        n = int(table[PIECE][0])
        piece = self.pieces.table.row(n, named=True)
        rows = table.sort(NUMBER)
        if not np.array_equal(rows[NUMBER], np.arange(piece["number"], piece["number"] + piece["rows"])):
            raise VerificationError("a record of the snapshot is published twice, or not at all")
        snapshot = read_piece(piece, self.pieces.schema)
        release = release_of(assemble(self.columns.table(rows), [], self.manifest), self.manifest)
        lines = [
            line_of(snapshot.frame[name], snapshot.schema[name], release.cells[name], beyond=True)
            for name in snapshot.schema.quasi
        ]
        check_sets(release, snapshot.schema)
        check_raw(release, snapshot)
        none = PublishedGroups(np.zeros(0, np.int64), release.classes, np.zeros(0, np.int64), np.zeros(0, np.int64))
        check_rows(release, snapshot, lines, np.arange(rows.height), none)
        high, low = (self._marks(release, seed)[release.classes] for seed in (3, 4))
        values = {f"s{at}": release.values[name] for at, name in enumerate(self.columns.sensitive)}
        found = {"high": high, "low": low, "bucket": (high % self.buckets).astype(np.int32)}
        return pl.DataFrame({**found, "place": rows["place"], **values}, schema=self.columns.checked)

    @staticmethod
    def _marks(release: Release, seed: int) -> Ints:
        """Return a number for each class, by the texts of its cells."""
        cells = {
            name: column_cells.text.hash(seed=seed).to_numpy()[column_cells.index]
            for name, column_cells in release.cells.items()
        }
        if not cells:
            return np.zeros(int(release.classes.max(initial=0)) + 1, np.int64)
        return pl.DataFrame(cells).hash_rows(seed=seed).to_numpy().view(np.int64)


def _rows_of(table: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame({COUNTED: [table.height]}, schema={COUNTED: pl.Int64})


# Sets may have values that somebody has, and no others


@dataclass(frozen=True)
class CountMembers:
    """Work: which texts are members of the sets of some columns."""

    columns: _Columns
    asked: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        found = [_TEXTS.to_frame()]
        for at, name in enumerate(self.asked):
            cells = table[f"c{self.columns.names.index(name)}"].unique()
            found.append(_texts(at, cells.explode()))
        return pl.concat(found)


@dataclass(frozen=True)
class CountTexts:
    """Work: which texts records have in some columns."""

    schema: Schema
    asked: tuple[str, ...]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard of a list of pieces."""
        found = [_TEXTS.to_frame()]
        for piece in table.iter_rows(named=True):
            frame = read_piece(piece, self.schema).frame
            found += [_texts(at, canonical_text(frame[name])) for at, name in enumerate(self.asked)]
        return pl.concat(found)


_TEXTS = pl.Schema({"column": pl.Int32, "text": pl.String, COUNTED: pl.Int64})


def _texts(at: int, texts: pl.Series) -> pl.DataFrame:
    distinct = texts.drop_nulls().unique().cast(pl.String)
    return pl.DataFrame({"column": [at] * len(distinct), "text": distinct, COUNTED: [1] * len(distinct)}, schema=_TEXTS)


def _check_members(rows: Shards, pieces: TablePieces, engine: Engine, columns: _Columns) -> None:
    """Refuse sets with values that nobody has; declared values are checked piece by piece."""
    schema = pieces.schema
    asked = tuple(
        name
        for name in schema.quasi
        if schema[name].labels is None and columns.types[columns.names.index(name)] == pl.List(pl.String)
    )
    if not asked:
        return
    told = rows.count(CountMembers(columns, asked))
    known = pieces.shards(engine).count(CountTexts(schema, asked))
    strange = told.join(known, on=["column", "text"], how="anti")
    if strange.height:
        name = asked[int(strange["column"][0])]
        raise VerificationError(f"column {name!r} has values that the snapshot does not", column=name)


# Groups


@dataclass(frozen=True)
class ScaleOfColumn:
    """How the published values of a sensitive column are numbered, and how often each number occurs."""

    name: str
    values: pl.DataFrame = field(repr=False)  # value, code
    relations: ValueRelations
    table: Ints = field(repr=False)


@dataclass(frozen=True)
class CountPublished:
    """Work: how often each value of a sensitive column is published."""

    column: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        return table.group_by(pl.col(self.column).alias("value")).agg(pl.len().cast(pl.Int64).alias(COUNTED))


def _scale_of(checked: Shards, schema: Schema, name: str, at: int) -> ScaleOfColumn:
    counted = checked.count(CountPublished(f"s{at}"))
    many = counted[COUNTED].to_numpy().astype(np.int64)
    codes, relations = coded_values(counted["value"], many, schema[name])
    total = np.zeros(relations.size, np.int64)
    np.add.at(total, codes, many)
    values = pl.DataFrame({"value": counted["value"], "code": pl.Series(codes, dtype=pl.Int32)})
    return ScaleOfColumn(name, values, relations, total)


@dataclass(frozen=True)
class JudgeGroups:
    """Work: the groups of a bucket, which has all rows of each."""

    told: Promised
    asked: Promised
    scales: Sequence[ScaleOfColumn]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Judge the groups; return their number and the levels that they reach."""
        if not table.height:
            return _REACHED.to_frame()
        place = table.select(pl.struct("high", "low").rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()
        _, group = renumbered(place)
        many = int(group.max()) + 1
        sizes = np.bincount(group, minlength=many).astype(np.int64)
        tallies: dict[str, Tally] = {}
        for at, scale in enumerate(self.scales):
            rows = table[f"s{at}"].alias("value").to_frame()
            found = rows.join(scale.values, on="value", how="left", maintain_order="left", nulls_equal=True)["code"]
            codes: Codes = found.to_numpy()
            tallies[scale.name] = Tally.of(group, codes, many, scale.relations, scale.table)
        counts = GroupCounts(sizes, tallies)
        for promise in (self.asked, self.told):
            for demand in promise.demands:
                good = demand.holds(counts)
                if not demand.union_closed or not good.all():
                    raise VerificationError(
                        f"a group does not satisfy {demand!r}", hint=f"{int((~good).sum()):,} of {many:,} groups fail."
                    )
        levels: list[Mapping[str, object]] = [demand.achieved(counts) for demand in self.told.demands]
        apart = np.bincount(group, weights=table["place"].to_numpy() - 0.5, minlength=many) ** 2 / sizes
        return pl.DataFrame(
            {"groups": [many], "levels": [json.dumps(levels)], "apart": [float(apart.sum())]}, schema=_REACHED
        )


def _check_dealt(apart: float, groups: int) -> None:
    """Refuse a release in which rows of a group lie near each other: parts would show how the table was divided.

    Dice put each row anywhere, with places from 0 to 1. The squared distance of a group's rows from the middle, added
    up and divided by their number, is then 1/12 on average, whatever the group, with a variance of at most 1/72; rows
    that lie together have more.
    """
    if groups >= _FEW and apart - groups / 12 > _DEVIATIONS * np.sqrt(groups / 72):
        raise VerificationError(
            "the rows of groups lie near each other",
            hint="Whoever sees in which part a row is could tell which cuts were made first.",
        )
