"""The judge of a release under refinement whose people are not in one memory: people by bucket, then cell by cell.

Rows are brought to the people they are about: those who are in the table, and those who are not and whose last record
the vault keeps. There they are compared, and get the cell that the judge recorded, with what was told of their person.
Then they are brought to their cells, all rows of a group among them, and the rule is that of memory, with a record of
these cells. In the end what is new of people is brought back to them.

A group that has people of several cells is refused: nobody who works in shards forms it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.core.json_values import thawed
from reveil.core.levels import worst
from reveil.releases.files import read_table
from reveil.releases.folders import check_folder, part_name
from reveil.releases.parsing import assemble
from reveil.releases.release import Release, release_of
from reveil.releases.table import GROUP
from reveil.tables.schema import Role
from reveil.verification.counting import PublishedGroups
from reveil.verification.groups_in_shards import check_dealt
from reveil.verification.in_shards import (
    PART_LIST,
    PIECE,
    PartColumns,
    ReadPart,
    check_members,
    listed_columns,
    placements_of,
)
from reveil.verification.judges.refinement import Refinement
from reveil.verification.promised import Promised, same_levels, together
from reveil.verification.record import Entry, MemoryRecord
from reveil.verification.refinement.cells import CELL, NEW, SIZES
from reveil.verification.refinement.cells_in_shards import JudgeRowsOfCells
from reveil.verification.refinement.people_in_shards import (
    WRITTEN,
    CompareWithPeople,
    CountPairs,
    CountStrangers,
    ReadRowsOfPeople,
    WriteShown,
)
from reveil.verification.refinement.so_far import (
    BUCKET,
    SAID,
    CellsSoFar,
    NotingCells,
)
from reveil.verification.shape import check_description, check_domains
from reveil.verification.surface import check_parts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.engines.shards import Engine, Shards
    from reveil.releases.manifest import Manifest
    from reveil.tables.pieces import TablePieces
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import Ints


def judge_cells(
    engine: Engine,
    folder: Path,
    manifest: Manifest,
    example: Snapshot,
    asked: Promised,
    before: CellsSoFar,
    buckets: Shards,
    listed: TablePieces,
    shown: Path,
    noting: NotingCells,
) -> tuple[Release, Ints]:
    """Refuse a release in a folder that is not sound by itself, or cuts a cell into pieces that are not.

    ``buckets`` is the list of buckets of people, and ``shown`` the folder for what is to be recorded of these (see
    :func:`shown_path`); what is to be recorded of cells is ``noting``'s. Returns the release without its rows, and how
    many new cells the buckets of cells have.
    """
    check_folder(folder, manifest)
    told = Promised.told(manifest.promise.guarantee())
    first = read_table(folder / part_name(0)).clear()
    release = release_of(assemble(first, [], manifest), manifest)
    check_shape_of_cells(release, example, before.rows)
    if before.number > 1:
        _compare(buckets.count(CountPairs(before.people)), before)
    parts = manifest.parts or ()
    numbers = engine.scatter((pl.DataFrame({"part": [n]}, schema=PART_LIST) for n in range(len(parts))), PART_LIST)
    columns = PartColumns.of(first, example.schema)
    counted = tuple(accumulate((part.rows for part in parts), initial=0))
    reading = ReadRowsOfPeople(ReadPart(str(folder), str(engine.scratch), before.starts, counted, columns), before)
    read = numbers.map(reading, reading.returns)
    groups = 2 * -(-manifest.rows // engine.shard_rows)
    checking = CompareWithPeople(before, manifest, columns, groups)
    checked = read.each(PIECE, checking, checking.returns)
    beyond = None
    if manifest.dirty and (names := listed_columns(example.schema, columns)):
        beyond = read.count(CountStrangers(before, names))
    check_members(read, listed, engine, columns, beyond)
    check_parts(placements_of(engine, len(parts)))
    judging = JudgeRowsOfCells(before, release, told, asked, noting)
    marked = checked.each(BUCKET, judging, judging.returns)
    checked.drop()
    said = [json.loads(text) for text in marked.map(_summaries, pl.Schema({SAID: pl.String})).collect()[SAID]]
    _check_counted(manifest, said, before.rows)
    achieved = together([worst(level) for level in zip(*(one["levels"] for one in said), strict=True)])
    none = np.zeros(0, np.int64)
    check_description(release, example, PublishedGroups(np.arange(manifest.groups), none.astype(np.int32), none, none))
    check_domains(release, example.schema)
    told.judge.check_manifest(manifest, told, asked, example.schema, before.rows)
    if not same_levels(achieved, {key: thawed(level) for key, level in manifest.achieved.items()}):
        raise VerificationError("the manifest claims another level than the table", hint=f"The table has {achieved}.")
    marked.map(_people, judging.returns).each(PIECE, WriteShown(str(shown)), WRITTEN).collect()
    marked.drop()
    fresh = np.zeros(before.cell_buckets + groups, np.int64)
    for one in said:
        fresh[one[BUCKET]] = one["fresh"]
    return replace(release, source=folder), fresh


def _people(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col(SAID).is_null())


def _summaries(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col(SAID).is_not_null()).select(SAID)


def check_shape_of_cells(release: Release, example: Snapshot, records: int) -> None:
    """Check the columns, and that rows without dirty records and people held back are all the records."""
    manifest, schema = release.manifest, example.schema
    published = (Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    if release.columns != tuple(name for name in example.frame.columns if schema[name].role in published):
        raise VerificationError("the published columns are not those of the schema")
    if release.groups is None:
        raise VerificationError(f"a release under refinement has a column {GROUP!r}")
    if min(manifest.withheld, manifest.dirty) < 0 or manifest.counterfeits.total or manifest.suppressed:
        raise VerificationError("the manifest counts rows that are no records of anybody")
    rows = sum(part.rows for part in manifest.parts or ())
    if manifest.rows != rows or rows - manifest.dirty + manifest.withheld != records:
        raise VerificationError(f"the snapshot has {records:,} records, and the parts have not as many rows")


def _check_counted(manifest: Manifest, said: list[Mapping[str, JSON]], records: int) -> None:
    """Check what adds up over all cells: every record once, and the rows that the manifest counts."""

    def total(key: str) -> float:
        return sum(float(str(one[key])) for one in said)

    if total("dirty") != manifest.dirty:
        raise VerificationError("the manifest counts other dirty records than there are")
    if total("rows") - manifest.dirty + manifest.withheld != records:
        raise VerificationError("a record of the snapshot is not published")
    if total("groups") != manifest.groups:
        raise VerificationError("the groups are not those that the manifest counts, or have people of several cells")
    Refinement.check_stale(manifest, int(total("late")))
    check_dealt(total("apart"), manifest.groups)


def _compare(pairs: pl.DataFrame, before: CellsSoFar) -> None:
    """Refuse books that say something else of cells than the judge recorded, as the judge in memory does."""
    record = MemoryRecord()
    who = np.arange(pairs.height)
    known = pairs["cell_told"].to_numpy() != NEW
    record.kept = {CELL.name: CELL.frame(who=who, cell=pairs["cell"]), SIZES.name: before.sizes}
    theirs = CELL.frame(who=who[known], cell=pairs["cell_told"].to_numpy()[known])
    Refinement.compare(record, (Entry(CELL, theirs), Entry(SIZES, before.sizes_told)))
