"""A release that is judged alone, of a table in shards: cells of the table are grouped and recoded one by one.

The cells are those that the first cuts leave (:mod:`reveil.grouping.top_cuts`). Everything below is the code that
groups a table in memory. Rows leave a cell as they are published, each with two dice of its own: one decided ties, by
the other rows lie in the published order, over all cells, so that parts do not show which cell a row is from.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.arrays import numbered_pairs, offsets_of
from reveil.core.errors import InfeasibleError
from reveil.core.levels import worst
from reveil.engines.shards import with_column, with_columns_only
from reveil.grouping.bang.in_shards import group_blocks, note, noted_for, whole_table
from reveil.grouping.cut_tree import CELL, PlaceInCells, narrow, quasi_column, sensitive_column, wide
from reveil.grouping.groupers._cutting import Cell
from reveil.grouping.groupers.bang import BangA
from reveil.grouping.groupers.base import level_in_words
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.grouping.suppression import certainty_penalty
from reveil.grouping.top_cuts import top_cells
from reveil.models.base import told_together
from reveil.models.encoding import Attribute, Codes, SensitiveAttribute
from reveil.models.statistics import GroupStats, Histogram, Partition
from reveil.releases.table import PublishedTable
from reveil.tables.pieces import each_piece
from reveil.tables.schema import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.engines.shards import Engine, Shards
    from reveil.grouping.groupers.base import Grouper
    from reveil.models.base import Model
    from reveil.models.encoding import Domains
    from reveil.models.statistics import Reference
    from reveil.releases.table import Cells
    from reveil.tables.notation import Form
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

NUMBER, TIE, SEAT, HIGH, LOW, WIDTH, BUCKET = "number", "tie", "seat", "high", "low", "width", "bucket"
_REACHED = pl.Schema({"groups": pl.Int64, "levels": pl.String})
_MOST_COUNTS = 50_000_000  # counts of codes by cell that one memory holds


def cell_column(place: int) -> str:
    """Return how a published column is called on its way: names of people's columns may be anything."""
    return f"c{place}"


def value_column(place: int) -> str:
    """Return how the values of a column that is published as it is are called on their way."""
    return f"v{place}"


@dataclass(frozen=True)
class Shape:
    """The columns of a release, in their order, and what their codes mean."""

    published: tuple[str, ...]
    values: tuple[str, ...]  # those that are published as they are
    domains: Domains
    frame: pl.DataFrame = field(repr=False)  # the columns of the snapshot, without rows

    @classmethod
    def of(cls, snapshot: Snapshot, domains: Domains) -> Shape:
        """Return the shape of the release of a snapshot, of which a piece is enough."""
        schema = snapshot.schema
        names = [n for n in snapshot.frame.columns if schema[n].role in (Role.QUASI, Role.SENSITIVE, Role.PLAIN)]
        values = tuple(name for name in names if schema[name].role is not Role.QUASI)
        return cls(tuple(names), values, domains, snapshot.frame.clear())

    @property
    def coded(self) -> pl.Schema:
        """The columns of records in codes."""
        types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), TIE: pl.Int64(), SEAT: pl.Int64()}
        types |= {quasi_column(a): narrow(domain.null_code) for a, domain in enumerate(self.domains.quasi)}
        types |= {sensitive_column(s): narrow(domain.size) for s, domain in enumerate(self.domains.sensitive)}
        types |= {value_column(v): self.frame.schema[name] for v, name in enumerate(self.values)}
        return pl.Schema(types)

    def codes(self, table: pl.DataFrame) -> Codes:
        """Return records that were encoded."""
        quasi = (Attribute(domain, wide(table[quasi_column(a)])) for a, domain in enumerate(self.domains.quasi))
        sensitive = (
            SensitiveAttribute(domain, wide(table[sensitive_column(s)]))
            for s, domain in enumerate(self.domains.sensitive)
        )
        return Codes(tuple(quasi), tuple(sensitive), table.height)

    def example(self) -> tuple[pl.DataFrame, dict[str, Form]]:
        """Return the published columns without rows, and the forms of the generalised ones."""
        one = Codes(
            tuple(Attribute(domain, np.zeros(1, np.int32)) for domain in self.domains.quasi),
            tuple(SensitiveAttribute(domain, np.zeros(1, np.int32)) for domain in self.domains.sensitive),
            1,
        )
        values = pl.DataFrame({n: pl.Series(n, [None], dtype=self.frame.schema[n]) for n in self.values})
        everybody = Partition(np.zeros(1, np.int32), np.array([0, 1], np.int64), 1)
        recoded = BoxRecoder().recode(one, everybody)
        typed = PublishedTable(self.published, recoded.cells, recoded.classes, values).typed
        return typed.clear(), {name: column_cells.form for name, column_cells in recoded.cells.items()}

    def rows(self, typed: pl.DataFrame) -> pl.Schema:
        """The columns of published rows on their way."""
        types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), SEAT: pl.Int64(), HIGH: pl.Int64(), LOW: pl.Int64()}
        types |= {WIDTH: pl.Float64()}
        types |= {sensitive_column(s): narrow(domain.size) for s, domain in enumerate(self.domains.sensitive)}
        types |= {cell_column(c): typed.schema[name] for c, name in enumerate(self.published)}
        return pl.Schema(types)


@dataclass(frozen=True)
class EncodeRecords:
    """Work: records in codes, with their dice, from the pieces that a shard lists.

    Ties are decided as in memory; by the other die, rows lie in the published order.
    """

    schema: Schema
    shape: Shape
    groups: Dice
    assembly: Dice

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Encode a shard."""
        found = [self.shape.coded.to_frame()]
        for snapshot, numbers in each_piece(table, self.schema):
            codes = self.shape.domains.code(snapshot)
            ties, seats = self.groups.child("ties").bits(numbers), self.assembly.child("seats").bits(numbers)
            columns: dict[str, Any] = {NUMBER: numbers, TIE: signed(ties), SEAT: signed(seats)}
            columns |= {quasi_column(a): column.codes for a, column in enumerate(codes.quasi)}
            columns |= {sensitive_column(s): column.codes for s, column in enumerate(codes.sensitive)}
            columns |= {value_column(v): snapshot.frame[name] for v, name in enumerate(self.shape.values)}
            found.append(pl.DataFrame(columns, schema=self.shape.coded))
        return pl.concat(found)


def signed(bits: npt.NDArray[np.uint64]) -> IntArray:
    """Return 63 of 64 bits, in the same order."""
    return (bits >> np.uint64(1)).astype(np.int64)


@dataclass(frozen=True)
class GroupCell:
    """Work: the published rows of a cell."""

    shape: Shape
    method: Mondrian
    model: Model
    dice: Dice
    occurring: tuple[int, ...]
    references: Mapping[str, Reference]
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Group the records of a cell, all of which are here."""
        if not table.height:
            return self.returns.to_frame()
        codes = self.shape.codes(table)
        cell = Cell(table[TIE].to_numpy(), self.occurring)
        partition = self.method.group_cell(codes, self.model, self.dice, cell, self.references)
        return published_rows(self.shape, table, codes, partition, self.occurring, self.returns)


def published_rows(
    shape: Shape,
    table: pl.DataFrame,
    codes: Codes,
    partition: Partition,
    occurring: tuple[int, ...],
    returns: pl.Schema,
) -> pl.DataFrame:
    """Return the rows that some records are published as, with the marks of their boxes."""
    recoded = BoxRecoder().recode(codes, partition)
    values = table.select(pl.col(value_column(v)).alias(name) for v, name in enumerate(shape.values))
    typed = PublishedTable(shape.published, recoded.cells, recoded.classes, values).typed
    width = np.zeros(table.height)
    width[0] = certainty_penalty(codes, partition, occurring)  # of all the rows, on one of them
    marks = marks_of_classes(recoded.cells, recoded.n_classes)
    beside = {NUMBER: table[NUMBER], SEAT: table[SEAT], WIDTH: width}
    beside |= {name: mark[recoded.classes] for name, mark in zip((HIGH, LOW), marks, strict=True)}
    beside |= {name: table[name] for name in map(sensitive_column, range(len(shape.domains.sensitive)))}
    renamed = {cell_column(c): typed[name] for c, name in enumerate(shape.published)}
    return pl.DataFrame({**beside, **renamed}).select(returns.names()).cast(dict(returns))  # type: ignore[arg-type]


@dataclass(frozen=True)
class GroupNoted:
    """Work: the published rows of a bucket, which has all records of each of its groups."""

    shape: Shape
    groups: str  # the file that has the group of each record
    occurring: tuple[int, ...]
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Put the groups of a bucket together."""
        if not table.height:
            return self.returns.to_frame()
        group = noted_for(Path(self.groups), table[NUMBER].to_numpy())
        order, (_, sizes) = np.argsort(group, kind="stable"), np.unique(group, return_counts=True)
        partition = Partition(order.astype(np.int32), offsets_of(sizes), table.height)
        return published_rows(self.shape, table, self.shape.codes(table), partition, self.occurring, self.returns)


@dataclass(frozen=True)
class ByGroup:
    """Work: records in buckets that have all records of a group."""

    groups: str
    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Place a shard."""
        group = noted_for(Path(self.groups), table[NUMBER].to_numpy())
        return table.with_columns(pl.Series(BUCKET, group % self.buckets, pl.Int32))


def marks_of_classes(cells: Mapping[str, Cells], n: int) -> tuple[IntArray, IntArray]:
    """Return two numbers for each class, in which two classes agree only if their boxes are equal."""
    marks = []
    for seed in (1, 2):
        texts = [column_cells.text.hash(seed=seed).to_numpy()[column_cells.index] for column_cells in cells.values()]
        columns = pl.DataFrame({f"x{at}": column for at, column in enumerate(texts)})
        marks.append(columns.hash_rows(seed=seed).to_numpy().view(np.int64) if texts else np.zeros(n, np.int64))
    return marks[0], marks[1]


@dataclass(frozen=True)
class CountGroups:
    """Work: what the groups of a bucket reach, part by part of the model."""

    model: Model
    references: Mapping[str, Reference]

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count the groups, all rows of which are here; equal boxes of two cells are one group."""
        if not table.height:
            return _REACHED.to_frame()
        boxes, many = numbered_pairs(table[HIGH].to_numpy(), table[LOW].to_numpy())
        read = self.references if self.model.tags.reads_values else {}
        histograms = {
            name: Histogram.of(boxes, wide(table[sensitive_column(s)]), many, len(column_values.counts))
            for s, (name, column_values) in enumerate(read.items())
        }
        stats = GroupStats(np.bincount(boxes, minlength=many).astype(np.int64), histograms, dict(read))
        levels = [part.achieved(stats) for part in self.model.parts]
        return pl.DataFrame({"groups": [many], "levels": [json.dumps(levels)]}, schema=_REACHED)


@dataclass(frozen=True)
class GroupedShards:
    """The published rows in shards, and what a manifest tells of them."""

    rows: Shards
    typed: pl.DataFrame = field(repr=False)  # the published columns without rows
    forms: Mapping[str, Form]
    shape: Shape
    records: int
    groups: int
    achieved: Mapping[str, JSON]
    width: float


def group_in_shards(
    engine: Engine, pieces: TablePieces, shape: Shape, model: Model, method: Grouper, rng: Dice, assembly: Dice
) -> GroupedShards:
    """Group a table in shards; ``rng`` and ``assembly`` are the dice of a release in memory."""
    dice = rng.child("groups")
    encode = EncodeRecords(pieces.schema, shape, dice, assembly)
    coded = pieces.shards(engine).map(encode, shape.coded).kept()
    typed, forms = shape.example()
    returns = shape.rows(typed)
    if isinstance(method, BangA):
        n, references, rows = _by_blocks(engine, coded, shape, model, method, returns)
    elif isinstance(method, Mondrian):
        n, references, rows = _by_cells(engine, coded, shape, model, method, dice, returns)
    else:
        raise TypeError(f"the method {method.name!r} groups no tables in shards")
    coded.drop()
    groups, achieved = _reached(rows, model, references, buckets_for(n, engine.shard_rows))
    weights = sum(domain.weight for domain in shape.domains.quasi)
    widths = with_columns_only(rows, [WIDTH]).map(_widths, pl.Schema({WIDTH: pl.Float64})).collect()[WIDTH].to_numpy()
    width = float(np.sort(widths).sum()) / max(n * weights, 1)  # sorted: the sum does not depend on the shards
    return GroupedShards(rows, typed, forms, shape, n, groups, achieved, width)


def _by_cells(
    engine: Engine, coded: Shards, shape: Shape, model: Model, method: Mondrian, dice: Dice, returns: pl.Schema
) -> tuple[int, Mapping[str, Reference], Shards]:
    """Cut the table into cells, and group each."""
    domains = shape.domains
    top = top_cells(coded, domains.quasi, domains.sensitive, model, method, engine.shard_rows, _MOST_COUNTS)
    check_whole(top.n, top.references, model)
    work = GroupCell(shape, method, model, dice, top.occurring, top.references, returns)
    placed = coded.map(PlaceInCells(top.tree, len(domains.quasi)), with_column(shape.coded, CELL, pl.Int32()))
    return top.n, top.references, placed.each(CELL, work, returns)


def _by_blocks(
    engine: Engine, coded: Shards, shape: Shape, model: Model, method: BangA, returns: pl.Schema
) -> tuple[int, Mapping[str, Reference], Shards]:
    """File the keys of the records in blocks, and put together the groups of blocks."""
    domains = shape.domains
    whole = whole_table(coded, domains.quasi, domains.sensitive, _MOST_COUNTS)
    check_whole(whole.n, whole.references, model)
    labels = group_blocks(coded, whole, domains.quasi, domains.sensitive, method, model, NUMBER, engine.scratch)
    groups = str(note(engine.scratch / "groups.npy", labels))
    del labels
    placed = with_column(shape.coded, BUCKET, pl.Int32())
    dealt = coded.map(ByGroup(groups, buckets_for(whole.n, engine.shard_rows)), placed)
    return whole.n, whole.references, dealt.each(BUCKET, GroupNoted(shape, groups, whole.occurring, returns), returns)


def _widths(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(pl.col(WIDTH).sum())


def buckets_for(rows: int, shard_rows: int) -> int:
    """Return into how many buckets rows are dealt by their box, so that one holds less than a shard."""
    return 2 * -(-rows // shard_rows)


def _reached(
    rows: Shards, model: Model, references: Mapping[str, Reference], buckets: int
) -> tuple[int, dict[str, JSON]]:
    names = [HIGH, LOW, *map(sensitive_column, range(len(references)))]
    bucketed = with_column(pl.Schema({name: rows.schema[name] for name in names}), BUCKET, pl.Int32())
    found = (
        with_columns_only(rows, names)
        .map(InBuckets(tuple(names), buckets), bucketed)
        .each(BUCKET, CountGroups(model, references), _REACHED)
        .collect()
    )
    levels = [json.loads(level) for level in found["levels"]]
    return int(found["groups"].sum()), told_together([worst(parts) for parts in zip(*levels, strict=True)])


@dataclass(frozen=True)
class InBuckets:
    """Work: rows by their box, in buckets that have all rows of a box."""

    names: tuple[str, ...]
    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Place a shard."""
        return table.select(*self.names, (pl.col(HIGH) % self.buckets).cast(pl.Int32).alias(BUCKET))


def check_whole(n: int, references: Mapping[str, Reference], model: Model) -> None:
    """Refuse a table that does not satisfy the model even as one group."""
    read = references if model.tags.reads_values else {}
    histograms = {}
    for name, column_values in read.items():
        codes = np.flatnonzero(column_values.counts)
        histograms[name] = Histogram.of_counts(
            np.zeros(len(codes), np.int64), codes, column_values.counts[codes], 1, len(column_values.counts)
        )
    whole = GroupStats(np.array([n], np.int64), histograms, dict(read))
    for part in model.parts:
        if not part.verdict(whole)[0]:
            raise InfeasibleError(
                f"the whole table does not satisfy {part!r} ({part.sentence()})",
                hint=f"All {n:,} records together reach {level_in_words(part.achieved(whole))}. Ask for no more.",
            )
