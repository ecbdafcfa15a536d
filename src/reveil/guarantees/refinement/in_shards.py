"""Refinement for tables in shards: cells are worked on bucket by bucket, with all of their people.

Shards have rows of people (:attr:`~reveil.guarantees.refinement.bucket_book.KeptColumns.members`): everybody in the
table, and whoever is absent and shares a cell with others. Groups lie inside cells, so that a bucket of whole cells is
decided and grouped by itself. What is decided about all is little, and follows from counts:

1. whether the people who are new are valid together;
2. which values dirty records bring into the table, because what a column means follows from all published values; and
   in which versions of cells somebody had another value (:func:`~reveil.guarantees.refinement.plan.steps_told`);
3. where the people who are new are cut first, until their parts fit one worker (:mod:`reveil.grouping.top_cuts`).

The groups are those of memory, with dice keyed by record and by person.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.levels import worst
from reveil.core.numbering import Scattered
from reveil.engines.shards import COUNTED, with_column
from reveil.grouping.cut_tree import CutTree, quasi_column, sensitive_column
from reveil.grouping.top_cuts import top_cells
from reveil.guarantees.refinement.bucket_book import BUCKET, CELL, quasi_code, value_code
from reveil.guarantees.refinement.making import nobody_published
from reveil.guarantees.refinement.plan import valid_group
from reveil.guarantees.refinement.units import (
    COUNTED_BY_UNIT,
    DIRTY,
    FIRST_NEW,
    LOCAL,
    NOW,
    NUMBERED,
    SAID,
    STEP,
    UNIT,
    CountDecided,
    CutUnit,
    published_schema,
)
from reveil.guarantees.static.in_shards import Shape
from reveil.models.base import told_together
from reveil.models.domains import ValueCounts
from reveil.models.encoding import Domains
from reveil.models.k_anonymity import KAnonymity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.engines.shards import Engine, Shards
    from reveil.guarantees.refinement.bucket_book import KeptColumns
    from reveil.guarantees.refinement.plan import Steps
    from reveil.guarantees.refinement.units import Common, Noting
    from reveil.tables.notation import Form
    from reveil.tables.schema import Schema

_MOST_COUNTS = 50_000_000
_VALUES = pl.Schema({"column": pl.Int32, "code": pl.Int32, COUNTED: pl.Int64})
_EVERYBODY = -1  # in the place of a column: how many people there are


@dataclass(frozen=True)
class CountedTable:
    """Which values the columns of a table have, and how often; ``declared`` are those of declared columns, as texts."""

    values: Mapping[str, ValueCounts] = field(repr=False)
    declared: Mapping[str, pl.Series] = field(repr=False)
    codes: Mapping[str, IntArray] = field(repr=False)  # the lasting ones of quasi columns


@dataclass(frozen=True)
class CountNew:
    """Work: how often people who are new have which values."""

    sensitive: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        new = table.filter(pl.col(CELL) < 0)
        found = [pl.DataFrame([(_EVERYBODY, 0, new.height)], schema=_VALUES, orient="row")]
        for s in range(self.sensitive):
            counts = new.group_by(code=value_code(s)).agg(pl.len().cast(pl.Int64).alias(COUNTED))
            found.append(counts.select(pl.lit(s, pl.Int32).alias("column"), "code", COUNTED))
        return pl.concat(found)


@dataclass(frozen=True)
class CellsInBins:
    """Work: the people of cells, in buckets that have all people of a cell."""

    buckets: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Place a shard."""
        known = table.filter(pl.col(CELL) >= 0)
        return known.with_columns((pl.col(CELL) % self.buckets).cast(pl.Int32).alias(BUCKET))


@dataclass(frozen=True)
class CodeNew:
    """Work: the codes of people who are new, as the first cuts count them; ``places`` leads to them, by column."""

    quasi: tuple[CodeArray, ...] = field(repr=False)
    sensitive: tuple[CodeArray, ...] = field(repr=False)

    @property
    def returns(self) -> pl.Schema:
        """The columns of the result."""
        names = [*map(quasi_column, range(len(self.quasi))), *map(sensitive_column, range(len(self.sensitive)))]
        return pl.Schema(dict.fromkeys(names, pl.Int32()))

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Code a shard."""
        new = table.filter(pl.col(CELL) < 0)
        found = {quasi_column(a): place[new[quasi_code(a)].to_numpy()] for a, place in enumerate(self.quasi)}
        found |= {sensitive_column(s): place[new[value_code(s)].to_numpy()] for s, place in enumerate(self.sensitive)}
        return pl.DataFrame(found, schema=self.returns)


@dataclass(frozen=True)
class InUnits:
    """Work: people by the unit in which they are worked on: the bucket of their cell, or behind them a first cut."""

    buckets: int
    tree: CutTree | None  # None: people who are new wait
    quasi: tuple[CodeArray, ...] = field(repr=False)

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Place a shard."""
        cell = table[CELL].to_numpy()
        unit = cell % max(self.buckets, 1)
        if self.tree is not None:
            new = np.flatnonzero(cell < 0)
            codes = [place[table[quasi_code(a)].to_numpy()[new]] for a, place in enumerate(self.quasi)]
            unit[new] = self.buckets + self.tree.cells(codes)
            return table.with_columns(pl.Series(UNIT, unit, pl.Int32))
        return table.with_columns(pl.Series(UNIT, unit, pl.Int32)).filter(pl.col(CELL) >= 0)


@dataclass(frozen=True)
class NumberGroups:
    """Work: published rows with the number of their group, and of the new cell of their person.

    ``groups`` (units) and ``cells`` (units) are how many groups, and which new cell, come before those of a unit.
    """

    groups: IntArray = field(repr=False)
    cells: IntArray = field(repr=False)
    numbers: Scattered

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Number a shard."""
        rows = table.filter(pl.col(SAID).is_null())
        unit, now = rows[UNIT].to_numpy(), rows[NOW].to_numpy().astype(np.int64)
        group = self.numbers[self.groups[unit] + rows[LOCAL].to_numpy()] + 1
        now = np.where(now >= FIRST_NEW, now - FIRST_NEW + self.cells[unit], now)
        more = (pl.Series(NUMBERED, group, pl.Int32), pl.Series(NOW, now, pl.Int32))
        return rows.drop(SAID, UNIT, LOCAL).with_columns(more)


@dataclass(frozen=True)
class RefinedShards:
    """The published rows in shards, and what there is to tell of them.

    ``first_cells`` (units) is the number of the first new cell of each unit, ``next_cell`` that behind the last one.
    ``source`` is where the rows come from: who drops it has done with them.
    """

    rows: Shards
    source: Shards
    forms: Mapping[str, Form]
    shape: Shape
    groups: int
    asked: int  # rows of people who were asked for
    dirty: int
    stale: int
    achieved: Mapping[str, JSON]
    width: float
    first_cells: IntArray = field(repr=False)
    next_cell: int


def refine_in_shards(
    engine: Engine, people: Shards, common: Common, table: CountedTable, next_cell: int, noting: Noting
) -> RefinedShards:
    """Decide about all cells of a table in shards, and group everybody who is published."""
    words, schema = common.words, common.example.schema
    dirty, steps = _decided(people, common)
    domains, places, occurring = _meanings(schema, words, table, dirty)
    tree = _first_cuts(engine, people, common, domains, places, occurring)
    shape = Shape.of(common.example, domains)
    typed, forms = shape.example()
    work = CutUnit(
        common,
        shape,
        domains,
        occurring,
        steps,
        noting,
        published_schema(shape, typed, len(words.sensitive)),
    )
    placed = people.map(InUnits(common.buckets, tree, places[0]), with_column(words.members, UNIT, pl.Int32()))
    rows = placed.each(UNIT, work, work.returns)
    told = rows.map(_about_all, pl.Schema({SAID: pl.String})).collect()[SAID]
    said = sorted((json.loads(text) for text in told), key=lambda one: one[UNIT])
    units = common.buckets + (0 if tree is None else len(tree.attribute))
    groups, fresh = np.zeros(units + 1, np.int64), np.zeros(units + 1, np.int64)
    for one in said:
        groups[one[UNIT] + 1], fresh[one[UNIT] + 1] = one["groups"], one["fresh"]
    first_cells = next_cell + np.cumsum(fresh)
    many = int(groups.sum())
    asked = sum(one["asked"] for one in said)
    if not asked:
        raise nobody_published()
    numbers = Scattered(many, common.assembly.child("group numbers"))
    numbered = with_column(work.returns, NUMBERED, pl.Int32())
    for name in (SAID, UNIT, LOCAL):
        del numbered[name]
    levels = [one["levels"] for one in said if one["levels"] is not None]
    waiting = common.records - sum(one["records"] for one in said)
    weight = sum(domain.weight for domain in domains.quasi)
    width = float(np.sort([one["width"] for one in said]).sum()) + waiting * weight
    return RefinedShards(
        rows.map(NumberGroups(np.cumsum(groups), first_cells, numbers), numbered),
        rows,
        forms,
        shape,
        many,
        asked,
        sum(one["dirty"] for one in said),
        sum(one["stale"] for one in said),
        told_together([worst(parts) for parts in zip(*levels, strict=True)]),
        width / max((common.records + sum(one["dirty"] for one in said)) * weight, 1),
        first_cells,
        int(first_cells[-1]),
    )


def _about_all(table: pl.DataFrame) -> pl.DataFrame:
    """Work: what units say that is to be added up."""
    return table.filter(pl.col(SAID).is_not_null()).select(SAID)


def _decided(people: Shards, common: Common) -> tuple[pl.DataFrame, Steps]:
    """Return how often dirty records have which values, and the steps that say something."""
    if not common.buckets:
        return COUNTED_BY_UNIT.to_frame(), frozenset()
    placed = people.map(CellsInBins(common.buckets), with_column(common.words.members, BUCKET, pl.Int32()))
    found = placed.each(BUCKET, CountDecided(common), COUNTED_BY_UNIT).collect()
    steps = found.filter(pl.col("what") == STEP).select("column", "code").unique()
    dirty = found.filter(pl.col("what") == DIRTY).group_by("column", "code").agg(pl.col("n").sum())
    return dirty.sort("column", "code"), frozenset(steps.iter_rows())


def _meanings(
    schema: Schema, words: KeptColumns, table: CountedTable, dirty: pl.DataFrame
) -> tuple[Domains, tuple[tuple[CodeArray, ...], tuple[CodeArray, ...]], tuple[int, ...]]:
    """Return what the codes of the release mean, which code each lasting one is, and how many values occur."""
    counts: dict[str, ValueCounts] = dict(table.values)
    occurring, used = [], {}
    for a, name in enumerate(words.quasi):
        column, more = schema[name], dirty.filter(pl.col("column") == a)
        values = words.values[name].gather(more["code"].to_numpy()).alias(name)
        counts[name] = ValueCounts.merged([counts[name], _counted(values, more["n"], ValueCounts.of(values, column))])
        used[name] = np.union1d(table.codes[name], more["code"].to_numpy()).astype(np.int64)
        declared = table.declared.get(name)
        if declared is None:
            occurring.append(len(counts[name].values))
        else:
            texts = words.texts[name].gather(more["code"].to_numpy()).drop_nulls()
            occurring.append(pl.concat([declared.alias(""), texts.alias("")]).n_unique())
    for name in words.sensitive:  # frozen values, and those of dirty records, may be any that were told
        told = ValueCounts.of(words.values[name].alias(name), schema[name])
        counts[name] = ValueCounts.merged([counts[name], told])
    domains = Domains.of(schema, [counts])
    quasi = tuple(_places(words.values[d.name], used[d.name], d.code) for d in domains.quasi)
    every = {name: np.arange(len(words.values[name])) for name in words.sensitive}
    sensitive = tuple(_places(words.values[d.name], every[d.name], d.code) for d in domains.sensitive)
    return domains, (quasi, sensitive), tuple(occurring)


def _counted(values: pl.Series, many: pl.Series, counted: ValueCounts) -> ValueCounts:
    """Return how often values occur, each of which was counted once."""
    nulls = int(many.filter(values.is_null()).sum())
    if not len(counted.values):
        return replace(counted, nulls=nulls)
    order = values.arg_sort(nulls_last=True).head(len(values) - values.null_count())
    return replace(counted, counts=many.gather(order).to_numpy(), nulls=nulls)


def _places(values: pl.Series, used: IntArray, code: object) -> CodeArray:
    """Return the code of each lasting one that is used, -1 of others."""
    places = np.full(len(values), -1, np.int32)
    assert callable(code)  # noqa: S101
    places[used] = code(values.gather(used))
    return places


def _first_cuts(
    engine: Engine,
    people: Shards,
    common: Common,
    domains: Domains,
    places: tuple[tuple[CodeArray, ...], tuple[CodeArray, ...]],
    occurring: tuple[int, ...],
) -> CutTree | None:
    """Cut the people who are new until their parts fit one worker; None where they wait, or there are none."""
    words = common.words
    counted = people.count(CountNew(len(words.sensitive)), _MOST_COUNTS)
    many = int(counted.filter(pl.col("column") == _EVERYBODY)[COUNTED].sum())
    values = {}
    for s, name in enumerate(words.sensitive):
        mine = counted.filter(pl.col("column") == s)
        values[name] = np.zeros(len(words.texts[name]), np.int64)
        values[name][mine["code"].to_numpy()] = mine[COUNTED].to_numpy()
    if not many or not valid_group(common.model, many, values):
        return None
    code = CodeNew(*places)
    least = common.rules.least
    model = common.model & KAnonymity(least) if least > 1 else common.model
    coded = people.map(code, code.returns)
    return top_cells(
        coded,
        domains.quasi,
        domains.sensitive,
        model,
        common.method,
        engine.shard_rows,
        _MOST_COUNTS,
        occurring,
    ).tree
