"""The judge of a release of a series whose people are not in one memory: groups by group, people by person.

Rows are brought to the records they publish, then to their groups, and what is known of a group (its set of values) is
brought back to its people, beside whom lies what the judge recorded of them and what the vault's books say was told.
What is compared is what is compared in memory, by the same judge of the guarantee.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.core.json_values import thawed
from reveil.core.levels import worst
from reveil.engines.scratch import written
from reveil.releases.files import read_table
from reveil.releases.folders import check_folder, part_name
from reveil.releases.parsing import assemble
from reveil.releases.release import Release, release_of
from reveil.releases.table import GROUP
from reveil.tables.schema import Role
from reveil.tables.snapshot import canonical_text
from reveil.verification.arrays import counted_pairs, marks_of, renumbered, set_marks
from reveil.verification.counting import GroupCounts, PublishedGroups, Tally, counterfeits_in
from reveil.verification.groups_in_shards import ScaleOfColumn, check_dealt, check_numbered, scale_of_column
from reveil.verification.in_shards import (
    NUMBER,
    PIECE,
    PartColumns,
    ReadPart,
    box_marks,
    check_members,
    compare_rows,
    placements_of,
)
from reveil.verification.judges.signatures import judge_of_signatures
from reveil.verification.promised import Promised, same_levels, together
from reveil.verification.record import MemoryRecord
from reveil.verification.shape import check_description, check_domains
from reveil.verification.surface import check_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.engines.shards import Engine
    from reveil.releases.manifest import Manifest
    from reveil.tables.pieces import TablePieces
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import Ints
    from reveil.verification.record import Entry, Update

_PART = pl.Schema({"part": pl.Int32})
_RULED = pl.Schema({PIECE: pl.Int32, "broken": pl.Int64, "sets": pl.String})
_ROW = "row"
_ABOUT = {NUMBER: pl.Int64, PIECE: pl.Int32, _ROW: pl.Int64, "group": pl.Int32, "mark": pl.Int64, "value": pl.Int64}
_MARKED = pl.Schema({**_ABOUT, "said": pl.String})
_VALUES_OF_SETS = pl.Schema({"now": pl.Int64, "value": pl.Int64})


class PeopleOfBuckets(Protocol):
    """The people of a table bucket by bucket; their numbers are those of their records. It can be pickled."""

    def snapshot(self, bucket: int) -> Snapshot:
        """Return the records of a bucket."""

    def recorded(self, bucket: int) -> pl.DataFrame:
        """Return what the judge recorded of the people of a bucket: the rows of its table of people."""

    def signatures(self, bucket: int) -> pl.DataFrame:
        """Return ``who`` was told which ``signature``, as the vault's books say."""

    def last(self, bucket: int) -> pl.DataFrame:
        """Return ``who``, ``present`` and the ``value`` (a text) with which each was seen last."""


@dataclass(frozen=True)
class SeriesSoFar:
    """What is known of the releases before: of people by bucket, of sets all together.

    ``members`` is the judge's table of the values of sets, if it has one; ``signatures`` has ``signature`` and
    ``value`` (a text) of the vault's books. ``starts`` are the numbers of the first records of buckets.
    """

    people: PeopleOfBuckets
    members: pl.DataFrame | None = field(repr=False)
    signatures: pl.DataFrame = field(repr=False)
    starts: tuple[int, ...]
    rows: int
    number: int  # of the release that is judged

    def numbers(self, bucket: int) -> tuple[int, int]:
        """Return the number of the first record of a bucket, and that behind its last one."""
        ends = (*self.starts[1:], self.rows)
        return self.starts[bucket], ends[bucket]


def judge_in_shards(
    engine: Engine,
    folder: Path,
    manifest: Manifest,
    example: Snapshot,
    asked: Promised,
    before: SeriesSoFar,
    listed: TablePieces,
    shown: Path,
) -> tuple[Release, Update]:
    """Refuse a release in a folder that is not sound by itself, or breaks the rule of its series.

    ``shown`` is the folder for what is to be recorded of the people of each bucket (see :func:`shown_path`). Returns
    the release without its rows, and what is to be recorded of sets.
    """
    check_folder(folder, manifest)
    told = Promised.told(manifest.promise.guarantee())
    first = read_table(folder / part_name(0)).clear()
    release = release_of(assemble(first, [], manifest), manifest)
    _check_shape(release, example, before.rows)
    parts = manifest.parts or ()
    numbers = engine.scatter((pl.DataFrame({"part": [n]}, schema=_PART) for n in range(len(parts))), _PART)
    columns = PartColumns.of(first, example.schema)
    counted = tuple(accumulate((part.rows for part in parts), initial=0))
    reading = ReadRows(ReadPart(str(folder), str(engine.scratch), before.starts, counted, columns))
    read = numbers.map(reading, reading.returns)
    fakes = counterfeits_in(manifest.counterfeits)
    groups = 2 * -(-manifest.rows // engine.shard_rows)
    checking = CheckPeople(before, manifest, columns, groups)
    checked = read.each(PIECE, checking, checking.returns)
    check_members(read, listed, engine, columns)
    check_parts(placements_of(engine, len(parts)))
    scales = [scale_of_column(checked, example.schema, name, s) for s, name in enumerate(columns.sensitive)]
    judging = JudgeSignatures(told, asked, tuple(scales), fakes)
    marked = checked.each("bucket", judging, _MARKED)
    checked.drop()
    said = [json.loads(text) for text in marked.map(_summaries, pl.Schema({"said": pl.String})).collect()["said"]]
    many = sum(one["groups"] for one in said)
    check_dealt(sum(one["apart"] for one in said), many)
    _check_counted(manifest, said, fakes, before.rows)
    achieved = together([worst(level) for level in zip(*(one["levels"] for one in said), strict=True)])
    none = np.zeros(0, np.int64)
    check_description(release, example, PublishedGroups(np.arange(many), none.astype(np.int32), none, none))
    check_domains(release, example.schema)
    told.judge.check_manifest(manifest, told, asked, example.schema, before.rows)
    if not same_levels(achieved, {key: thawed(level) for key, level in manifest.achieved.items()}):
        raise VerificationError("the manifest claims another level than the table", hint=f"The table has {achieved}.")
    members = pl.DataFrame(
        [(mark, value) for one in said for mark, values in one["sets"] for value in values],
        schema=_VALUES_OF_SETS,
        orient="row",
    ).unique()
    ruled = marked.map(_people, _MARKED).each(PIECE, RulePeople(before, asked, members, str(shown)), _RULED).collect()
    marked.drop()
    judge = judge_of_signatures(asked)
    judge.refuse_broken(int(ruled["broken"].sum()))
    new = sorted({mark for text in ruled["sets"] for mark in json.loads(text)})
    return replace(release, source=folder), judge.recorded_of_sets(pl.Series(new, dtype=pl.Int64), members)


def entry_of_bucket(new: pl.DataFrame, asked: Promised, number: int) -> Entry:
    """Return what is to be recorded of the people (``who``) of a bucket, by their set (``now``) and ``value``."""
    return judge_of_signatures(asked).recorded(new, asked, number)


def shown_path(folder: Path, bucket: int) -> Path:
    """Return where lies which row shows which record of a bucket, its set and value, and whether that is recorded."""
    return folder / f"shown-{bucket:05d}.arrow"


def _people(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("said").is_null())


def _summaries(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("said").is_not_null()).select("said")


def _check_shape(release: Release, example: Snapshot, records: int) -> None:
    """Check the columns, and that rows without counterfeits and people who rest are all the records."""
    manifest, schema = release.manifest, example.schema
    published = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    if release.columns != tuple(name for name in example.frame.columns if schema[name].role in published):
        raise VerificationError("the published columns are not those of the schema")
    if release.groups is None:
        raise VerificationError(f"a table with counterfeits needs a column {GROUP!r}, for their number per group")
    if min(manifest.withheld, manifest.counterfeits.total) < 0 or manifest.dirty or manifest.suppressed:
        raise VerificationError("the manifest counts rows that are no records of the snapshot")
    rows = sum(part.rows for part in manifest.parts or ())
    if manifest.rows != rows or rows - manifest.counterfeits.total + manifest.withheld != records:
        raise VerificationError(f"the snapshot has {records:,} records, and the parts have not as many rows")


def _check_counted(
    manifest: Manifest, said: Sequence[Mapping[str, Any]], fakes: Mapping[int, int], records: int
) -> None:
    """Check what adds up over all groups: every record once, and the counterfeits that the manifest counts."""
    if sum(one["real"] for one in said) + manifest.withheld != records:
        raise VerificationError("a record of the snapshot is not published")
    total = manifest.counterfeits
    if (
        len(fakes) != len(total.per_group)
        or sum(one["faked"] for one in said) != len(fakes)
        or sum(fakes.values()) != total.total
    ):
        raise VerificationError(
            "the manifest does not count the counterfeits group by group",
            hint="It names every group that has any, with their number, and the total.",
        )


@dataclass(frozen=True)
class ReadRows:
    """Work: the rows of parts, each with its place in the release; rows about nobody are dealt behind the buckets."""

    reading: ReadPart

    @property
    def returns(self) -> pl.Schema:
        """The columns of rows as they were read."""
        return pl.Schema({**self.reading.columns.read, _ROW: pl.Int64()})

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the parts."""
        found = [self.returns.to_frame()]
        many = len(self.reading.starts)
        for n in range(table.height):
            rows = self.reading(table[n : n + 1])
            first = self.reading.before[int(table["part"][n])]
            row = pl.Series(_ROW, np.arange(first, first + rows.height, dtype=np.int64))
            piece = np.where(rows[NUMBER].to_numpy() < 0, many + row.to_numpy() % many, rows[PIECE].to_numpy())
            found.append(rows.with_columns(row, pl.Series(PIECE, piece, pl.Int32)))
        return pl.concat(found)


@dataclass(frozen=True)
class CheckPeople:
    """Work: the rows of a bucket against its records."""

    before: SeriesSoFar
    manifest: Manifest
    columns: PartColumns
    buckets: int

    @property
    def returns(self) -> pl.Schema:
        """The columns of rows that were compared: the marks of their boxes, and their values."""
        more = {NUMBER: pl.Int64(), PIECE: pl.Int32(), _ROW: pl.Int64(), "group": pl.Int32()}
        return pl.Schema({**self.columns.checked, **more})

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Check the rows of one bucket, all of which are here."""
        if not table.height:
            return self.returns.to_frame()
        bucket, rows = int(table[PIECE][0]), table.sort(NUMBER, _ROW)
        release = release_of(assemble(self.columns.table(rows), [], self.manifest), self.manifest)
        if release.groups is None:
            raise VerificationError(f"this table has no column {GROUP!r}")
        if bucket < len(self.before.starts):
            self._check(release, rows[NUMBER].to_numpy(), bucket)
        high, low = (box_marks(release, seed)[release.classes] for seed in (3, 4))
        found = {"high": high, "low": low, "bucket": (release.groups % self.buckets).astype(np.int32)}
        found |= {"group": release.groups.astype(np.int32)}
        found |= {f"s{at}": release.values[name] for at, name in enumerate(self.columns.sensitive)}
        beside = {name: rows[name] for name in ("place", NUMBER, PIECE, _ROW)}
        return pl.DataFrame({**found, **beside}).select(self.returns.names()).cast(dict(self.returns))  # type: ignore[arg-type]

    def _check(self, release: Release, numbers: Ints, bucket: int) -> None:
        first, end = self.before.numbers(bucket)
        if (np.diff(numbers) == 0).any():
            raise VerificationError("a record is published twice")
        if numbers[0] < first or numbers[-1] >= end:
            raise VerificationError("the placement names a record that the snapshot does not have")
        snapshot = self.before.people.snapshot(bucket)
        compare_rows(release, snapshot, numbers - first)


@dataclass(frozen=True)
class JudgeSignatures:
    """Work: the groups of a bucket of groups, and the set of values of each.

    Returns every row that is about somebody with the mark of its set, and a row about nobody that says what is to be
    added up over all buckets.
    """

    told: Promised
    asked: Promised
    scales: Sequence[ScaleOfColumn]
    fakes: Mapping[int, int]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Judge the groups, all of whose rows are here."""
        if not table.height:
            return _MARKED.to_frame()
        numbers, group = renumbered(table["group"].to_numpy())
        many = len(numbers)
        real = table[NUMBER].to_numpy() >= 0
        sizes = np.bincount(group, minlength=many).astype(np.int64)
        self._check_fakes(numbers, np.bincount(group[~real], minlength=many), sizes)
        boxes = table.select(pl.struct("group", "high", "low").n_unique()).item()
        if boxes != many:
            raise VerificationError("a group has different cells in its rows")
        tallies: dict[str, Tally] = {}
        for at, scale in enumerate(self.scales):
            rows = table[f"s{at}"].alias("value").to_frame()
            found = rows.join(scale.values, on="value", how="left", maintain_order="left", nulls_equal=True)["code"]
            tallies[scale.name] = Tally.of(group, found.to_numpy(), many, scale.relations, scale.table)
        counts = GroupCounts(sizes, tallies)
        check_numbered(self.asked, self.told, counts, numbers)
        marks = marks_of(canonical_text(table["s0"]))
        known, place = np.unique(marks, return_inverse=True)
        of, value, _ = counted_pairs(group, place, len(known))
        set_of_group = set_marks(of, known[value], many)
        apart = np.bincount(group, weights=table["place"].to_numpy() - 0.5, minlength=many) ** 2 / sizes
        different, first = np.unique(set_of_group, return_index=True)
        ends = np.searchsorted(of, np.arange(many + 1))
        said = {
            "groups": many,
            "real": int(real.sum()),
            "faked": int((np.bincount(group[~real], minlength=many) > 0).sum()),
            "apart": float(apart.sum()),
            "levels": [demand.achieved(counts) for demand in self.told.demands],
            "sets": [
                (int(mark), known[value[ends[g] : ends[g + 1]]].tolist())
                for mark, g in zip(different, first, strict=True)
            ],
        }
        shown = table.filter(pl.Series(real)).select(NUMBER, PIECE, _ROW, "group")
        of_row = {"mark": set_of_group[group[real]], "value": marks[real]}
        shown = shown.with_columns(pl.DataFrame(of_row)).with_columns(pl.lit(None, pl.String).alias("said"))
        everything = pl.DataFrame([(-1, -1, -1, -1, 0, 0, json.dumps(said))], schema=_MARKED, orient="row")
        return pl.concat([shown.select(_MARKED.names()), everything])

    def _check_fakes(self, numbers: Ints, fakes: Ints, sizes: Ints) -> None:
        counted = np.array([self.fakes.get(int(number), 0) for number in numbers], np.int64)
        if (counted != fakes).any():
            raise VerificationError("the rows without a record are not the counterfeits that the manifest counts")
        if (fakes >= sizes).any():
            raise VerificationError("a group has no record, only counterfeits")


@dataclass(frozen=True)
class _BooksOfBucket:
    """What the vault's books say of the people of a bucket, as judges read them."""

    before: SeriesSoFar
    bucket: int

    def signatures(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return ``who`` and ``signature``, and the ``value`` of each member of each ``signature``."""
        return self.before.people.signatures(self.bucket), self.before.signatures

    def last(self) -> pl.DataFrame:
        """Return who is in the last release, and the value with which each was seen last."""
        return self.before.people.last(self.bucket)


@dataclass(frozen=True)
class RulePeople:
    """Work: the people of a bucket beside what they were told before."""

    before: SeriesSoFar
    asked: Promised
    members: pl.DataFrame = field(repr=False)
    folder: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Apply the rule to the people of a bucket, all of whom are here."""
        if not table.height:
            return _RULED.to_frame()
        bucket, number = int(table[PIECE][0]), self.before.number
        judge, record = judge_of_signatures(self.asked), MemoryRecord()
        record.kept[judge.of_people.name] = self.before.people.recorded(bucket).select(judge.of_people.schema.keys())
        if judge.of_sets is not None and self.before.members is not None:
            record.kept[judge.of_sets.name] = self.before.members
        if number > 1:
            books: Any = _BooksOfBucket(self.before, bucket)
            judge.compare(record, judge.told_before(books, number - 1), number=number - 1)
        now = table.select("value", who=NUMBER, now="mark")
        broken, new = judge.rule_of_people(now, self.members, self.asked, record, number)
        fresh = new.select(pl.lit(value=True).alias("new"), pl.col("who").alias(NUMBER), pl.col("now").alias("mark"))
        shown = table.drop("said", PIECE).join(fresh, on=[NUMBER, "mark"], how="left")
        shown = shown.with_columns(pl.col("new").fill_null(value=False)).sort(NUMBER)
        written(shown, shown_path(Path(self.folder), bucket))
        sets = json.dumps(new["now"].unique().sort().to_list())
        return pl.DataFrame([(bucket, broken, sets)], schema=_RULED, orient="row")
