"""The rows of a release in shards cell by cell: their groups, and the rule of the series as memory has it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.verification.arrays import halves, number_of_name, renumbered
from reveil.verification.counting import GroupCounts, PublishedGroups, Tally, ValueRelations
from reveil.verification.groups_in_shards import check_numbered
from reveil.verification.in_shards import (
    NUMBER,
    PIECE,
)
from reveil.verification.judges.refinement import Refinement
from reveil.verification.refinement.cells import CELL, COUNTS, NEW, NEXT, SIZES, VALUE
from reveil.verification.refinement.so_far import (
    BUCKET,
    FIRST_NEW,
    NOW,
    ROW,
    SAID,
    CellsSoFar,
    NotingCells,
    RecordOfBucket,
    first_told,
    mark_column,
)
from reveil.verification.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.releases.release import Release
    from reveil.verification.arrays import Codes, Ints
    from reveil.verification.promised import Promised
    from reveil.verification.record import Entry


@dataclass(frozen=True, kw_only=True)
class ShownRows(Shown):
    """Rows without their release: the groups and the marks of values are all that the rule looks at."""

    in_groups: PublishedGroups
    value_marks: Mapping[str, Ints] = field(repr=False)

    @cached_property
    def groups(self) -> PublishedGroups:
        """The groups of the rows."""
        return self.in_groups

    def marks(self, name: str) -> Ints:
        """Return the mark of each published value of a column."""
        return self.value_marks[name]

    def row_marks(self, name: str) -> Ints:
        """Return the mark of the value of each row, all of which are about somebody."""
        return self.value_marks[name]


@dataclass(frozen=True)
class JudgeRowsOfCells:
    """Work: the rows of the cells of a bucket, and the groups that they are in.

    Returns every row with what is new of its person, and a row about nobody that says what is to be added up.
    """

    before: CellsSoFar
    release: Release  # without rows
    told: Promised
    asked: Promised
    noting: NotingCells

    @property
    def names(self) -> tuple[str, ...]:
        """The sensitive columns."""
        return self.release.manifest.sensitive

    @property
    def returns(self) -> pl.Schema:
        """The columns of rows that were judged."""
        types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), PIECE: pl.Int32(), ROW: pl.Int64(), "group": pl.Int32()}
        types |= {BUCKET: pl.Int32(), NOW: pl.Int64(), SAID: pl.String()}
        for s in range(len(self.names)):
            types |= {mark_column(s): pl.Int64(), first_told(s): pl.Boolean()}
        return pl.Schema(types)

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Judge the cells of a bucket, all of whose rows are here."""
        if not table.height:
            return self.returns.to_frame()
        rows, bucket = table.sort(NUMBER), int(table[BUCKET][0])
        numbers, group = renumbered(rows["group"].to_numpy())
        many = len(numbers)
        sizes = np.bincount(group, minlength=many).astype(np.int64)
        if rows.select(pl.struct("group", "high", "low").n_unique()).item() != many:
            raise VerificationError("a group has different cells in its rows")
        if rows.select(pl.struct("group", "cell").n_unique()).item() != many:
            raise VerificationError("a group has people of several cells")
        levels = self._levels(rows, group, numbers, sizes)
        update = self._ruled(rows, group, numbers, sizes, bucket)
        fresh = 0
        for entry in update:
            if entry.kept in (SIZES, COUNTS):
                self.noting.record(bucket, entry)
            elif entry.kept == NEXT:
                fresh = int(entry.rows["next_cell"][0]) - FIRST_NEW
        apart = np.bincount(group, weights=rows["place"].to_numpy() - 0.5, minlength=many) ** 2 / sizes
        said = {
            BUCKET: bucket,
            "groups": many,
            "rows": rows.height,
            "dirty": int(rows["dirty"].sum()),
            "late": int(rows["late"].sum()),
            "apart": float(apart.sum()),
            "levels": levels,
            "fresh": fresh,
        }
        new = self._with_new(rows, update)
        about_all = pl.DataFrame({NUMBER: [-1], PIECE: [-1], SAID: [json.dumps(said)]}).cast({PIECE: pl.Int32})
        return pl.concat([new, about_all], how="diagonal").select(self.returns.names())

    def _levels(self, rows: pl.DataFrame, group: Codes, numbers: Ints, sizes: Ints) -> list[Mapping[str, JSON]]:
        """Refuse a group that does not keep the promise; return the levels of all of them."""
        tallies = {}
        for s, name in enumerate(self.names):
            marks, code = np.unique(rows[mark_column(s)].to_numpy(), return_inverse=True)
            tallies[name] = Tally.of(group, code.astype(np.int32), len(numbers), ValueRelations(len(marks)))
        counts = GroupCounts(sizes, tallies)
        check_numbered(self.asked, self.told, counts, numbers)
        return [demand.achieved(counts) for demand in self.told.demands]

    def _ruled(self, rows: pl.DataFrame, group: Codes, numbers: Ints, sizes: Ints, bucket: int) -> tuple[Entry, ...]:
        """Refuse pieces of cells that do not keep the promise in some release; return what is to be recorded."""
        record = RecordOfBucket()
        known = rows.filter(pl.col("cell") != NEW)
        values = [VALUE.none()]
        for s, name in enumerate(self.names):
            told = known.select(NUMBER, release=f"r{s}", mark=f"t{s}").filter(pl.col("release").list.len() > 0)
            told = told.explode("release", "mark")
            high, low = halves(told["mark"].to_numpy())
            column = np.full(told.height, number_of_name(name))
            values.append(VALUE.frame(who=told[NUMBER], attribute=column, release=told["release"], high=high, low=low))
        record.kept = {
            CELL.name: CELL.frame(who=known[NUMBER], cell=known["cell"]),
            VALUE.name: pl.concat(values),
            NEXT.name: NEXT.frame(release=[self.before.number - 1], next_cell=[FIRST_NEW]),
        }
        if bucket < self.before.cell_buckets:
            for kept in (SIZES, COUNTS):
                read = self.before.cells.read(kept.name, bucket).select(kept.schema.keys())
                record.kept[kept.name] = read.cast(kept.schema)  # type: ignore[arg-type]
        shown = ShownRows(
            release=self.release,
            number=self.before.number,
            who=rows[NUMBER].to_numpy(),
            dirty=rows["dirty"].to_numpy(),
            in_groups=PublishedGroups(numbers, group, sizes, np.zeros(len(numbers), np.int64)),
            value_marks={name: rows[mark_column(s)].to_numpy() for s, name in enumerate(self.names)},
        )
        return Refinement.rule(shown, self.asked, record)

    def _with_new(self, rows: pl.DataFrame, update: tuple[Entry, ...]) -> pl.DataFrame:
        """Return the rows with the new cell of their person, -1 where it stays, and which values are new."""
        of = {entry.kept.name: entry.rows for entry in update}
        moved = of[CELL.name].select(pl.col("who").alias(NUMBER), pl.col("cell").alias(NOW))
        found = rows.join(moved, on=NUMBER, how="left", maintain_order="left").with_columns(pl.col(NOW).fill_null(-1))
        for s, name in enumerate(self.names):
            new = of[VALUE.name].filter(pl.col("attribute") == number_of_name(name))["who"]
            found = found.with_columns(pl.col(NUMBER).is_in(new.implode()).alias(first_told(s)))
        return found.with_columns(pl.lit(None, pl.String).alias(SAID)).select(self.returns.names())
