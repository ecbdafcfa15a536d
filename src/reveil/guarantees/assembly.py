"""From what a guarantee decided to a release that nobody has seen yet: the one place where releases are put together.

Rows are shuffled and groups numbered by dice, so that neither says how they were made; boxes are written, columns
described, groups counted, and the manifest is made. Nothing is decided here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.randomness import shuffled
from reveil.guarantees.checks import check_names
from reveil.guarantees.counted import group_statistics, with_distances
from reveil.models.encoding import encode_sensitive
from reveil.releases.cell_types import dtype_name
from reveil.releases.domains import domains_of
from reveil.releases.manifest import SECOND, make_manifest
from reveil.releases.manifest_parts import Counterfeits, PublishedColumn
from reveil.releases.release import compact, release_of, taken
from reveil.releases.table import COUNT, GROUP, LEVEL, PublishedTable, SecondTable, group_column
from reveil.tables.notation import Form
from reveil.tables.schema import FOLDED, Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import CodeArray
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.recoders.base import Recoded
    from reveil.guarantees.draft import Draft, Rows, Witness
    from reveil.models.statistics import Reference
    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot


@dataclass(frozen=True)
class Heading:
    """What a manifest says of the place of a release in its series; see :class:`reveil.releases.manifest.Manifest`."""

    series: str | None = None
    release: int = 1
    series_id: str | None = None
    previous: str | None = None
    selection: tuple[str, ...] | None = None
    adopted: tuple[int, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A release that nobody has seen yet, the draft it was made of, and what verification needs: whose row each is.

    ``placement`` is the record of each row, -1 for counterfeits; ``witness`` has its rows in their published order.
    """

    release: Release
    placement: CodeArray = field(repr=False)
    draft: Draft
    witness: Witness | None = field(default=None, repr=False)


def assemble(draft: Draft, rng: Dice, heading: Heading | None = None) -> Prepared:
    """Put a release together; nothing is written."""
    heading = heading or Heading()
    order = shuffled(rng.child("rows"), np.arange(len(draft.rows), dtype=np.int32))
    recoded = draft.boxes.recode()
    rows = draft.rows
    numbers = None
    if rows.group is not None:
        # Group numbers are random, too.
        many = int(rows.group.max(initial=-1)) + 1
        numbers = (rng.child("group numbers").permutation(many) + 1).astype(np.int32)[rows.group[order]]
    table = _table(draft, recoded, order, numbers)
    made = seconds_of(draft, order, rng)
    if made:
        many = sum(int(column.group.max(initial=-1)) + 1 for column in draft.columns)
        table = replace(table, seconds=tuple(second for second, _ in made))
    manifest = make_manifest(
        series=heading.series,
        release=heading.release,
        promise=draft.promise,
        columns=describe_columns(
            draft.snapshot,
            {name: cells.form for name, cells in recoded.cells.items()},
            apart=draft.apart,
            groups=numbers is not None,
            nested=recoded.levels is not None,
            tables={column.name: column.parts for column in draft.columns},
        ),
        rows=len(rows),
        groups=recoded.n_classes if numbers is None and not made else many,
        achieved=_achieved(draft, table, order),
        suppressed=draft.left.suppressed,
        withheld=draft.left.withheld,
        dirty=draft.left.dirty,
        stale=draft.left.stale,
        counterfeits=_together([counted for _, counted in made])
        if made
        else _counterfeits(numbers, rows.record[order]),
        related=draft.snapshot.schema.relation is not None,
        domains=domains_of(draft.snapshot.schema[name] for name in (*published_names(draft.snapshot, apart=False),)),
    )
    manifest = replace(
        manifest,
        series_id=heading.series_id,
        previous=heading.previous,
        selection=heading.selection,
        adopted=heading.adopted,
        records=_rules(draft.snapshot),
    )
    witness = draft.witness
    if witness is not None:
        witness = replace(witness, rows=witness.rows[:, order])
    return Prepared(release_of(table, manifest), rows.record[order], draft, witness)


def _rules(snapshot: Snapshot) -> dict[str, str] | None:
    """Return by which rules the rows of a person became a record, of the columns that are published; None if none."""
    visits = None if snapshot.raw is None else snapshot.raw.visits
    if visits is None:
        return None
    return {name: text for name, text in visits.described().items() if name == "*" or name in snapshot.frame.columns}


def _table(draft: Draft, recoded: Recoded, order: CodeArray, numbers: CodeArray | None) -> PublishedTable:
    """Put the rows in their published order."""
    snapshot, rows = draft.snapshot, draft.rows
    if numbers is not None or recoded.levels is not None:
        check_names(snapshot.schema, two_tables=draft.apart, nested=recoded.levels is not None)
    names = published_names(snapshot, apart=draft.apart)
    classes = recoded.classes[_places(rows, order)]

    def column(name: str) -> pl.Series:
        column_values = rows.values[name]
        return taken(column_values.source, column_values.index[order]).alias(name)

    values = pl.DataFrame([column(name) for name in names if name not in recoded.cells])
    batch = None
    if draft.apart and numbers is not None:  # one table for all
        batch = second_table(numbers, pl.DataFrame([column(name) for name in snapshot.schema.sensitive]))
    return PublishedTable(names, recoded.cells, classes, values, snapshot.native, numbers, batch, recoded.levels)


def seconds_of(draft: Draft, order: CodeArray, rng: Dice) -> list[tuple[SecondTable, Counterfeits]]:
    """Put the tables of sensitive columns together; group numbers are random, and no two columns share one."""
    many = [int(column.group.max(initial=-1)) + 1 for column in draft.columns]
    if not many:
        return []
    numbers = (rng.child("group numbers").permutation(sum(many)) + 1).astype(np.int32)
    found = []
    for column, first, size in zip(draft.columns, np.cumsum([0, *many]), many, strict=False):
        of_value = numbers[first : first + size][column.group]
        group = np.full(int(column.record.max(initial=-1)) + 1, -1, np.int32)
        group[column.record[column.record >= 0]] = of_value[column.record >= 0]
        values = pl.DataFrame([taken(column.source[name], column.value).alias(name) for name in column.source.columns])
        batch = second_table(of_value, values)
        second = SecondTable(column.name, column.parts, group[draft.rows.record[order]], batch)
        found.append((second, _counterfeits(of_value, column.record)))
    return found


def _together(counted: list[Counterfeits]) -> Counterfeits:
    """Add up the counterfeits of several columns, whose groups have different numbers."""
    per_group = {number: many for column_counts in counted for number, many in column_counts.per_group.items()}
    return Counterfeits(sum(column_counts.total for column_counts in counted), per_group)


def _places(rows: Rows, order: CodeArray) -> CodeArray:
    """Return a place that has the box of each row; a counterfeit may borrow that of a record, drawn by dice."""
    place = rows.box[order]
    lost = place < 0
    if rows.group is not None and lost.any():
        group = rows.group[order]
        lender = np.full(int(rows.group.max()) + 1, -1, np.int32)
        lender[group[~lost]] = place[~lost]
        place = np.where(lost, lender[group], place).astype(np.int32)
    return place


def _achieved(draft: Draft, table: PublishedTable, order: CodeArray) -> dict[str, JSON]:
    """Return the levels that the groups have; nothing is counted that nobody asks for."""
    if draft.columns:
        return dict(draft.reached)
    model, schema = draft.model, draft.snapshot.schema
    shown: dict[str, CodeArray] = {}
    references: dict[str, Reference] = {}
    for name in schema.sensitive if model.tags.reads_values or draft.distances else ():
        column_values = draft.rows.values[name]
        attribute = column_values.attribute or encode_sensitive(column_values.source.alias(name), schema[name])
        shown[name] = attribute.codes[column_values.index[order]]
        references[name] = attribute.reference(column_values.index)
    stats = group_statistics(table, shown, references, placed=True)
    return {**with_distances(model.achieved(stats), stats, shown if draft.distances else ()), **draft.reached}


def _counterfeits(numbers: CodeArray | None, record: CodeArray) -> Counterfeits:
    """Count counterfeits, in all and per group, by the published number of the group of each."""
    if numbers is None:
        return Counterfeits()
    groups, counts = np.unique(numbers[record < 0], return_counts=True)
    per_group = {str(number): int(count) for number, count in zip(groups, counts, strict=True)}
    return Counterfeits(int(counts.sum()), per_group)


def published_names(snapshot: Snapshot, *, apart: bool) -> tuple[str, ...]:
    """Return the columns of the first table, in the order of the snapshot."""
    roles = (Role.QUASI, Role.PLAIN) if apart else (Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    return tuple(name for name in snapshot.frame.columns if snapshot.schema[name].role in roles)


def second_table(groups: CodeArray, values: pl.DataFrame) -> pl.DataFrame:
    """Return the sensitive values of each group with their counts, in an order that says nothing of the rows."""
    told = values.insert_column(0, pl.Series(GROUP, groups))
    batch = told.group_by(told.columns).agg(pl.len().cast(pl.Int64).alias(COUNT)).sort(told.columns)
    return batch.with_columns(compact(batch[name]) for name in values.columns[1:]).rechunk()


def describe_columns(
    snapshot: Snapshot,
    forms: Mapping[str, Form],
    *,
    apart: bool,
    groups: bool,
    nested: bool = False,
    tables: Mapping[str, tuple[str, ...]] | None = None,
) -> list[PublishedColumn]:
    """Describe the published columns, table by table; ``forms`` are those of the generalised ones.

    ``tables``: what is in the table of each sensitive column, where each has one.
    """
    table_of = {part: f"{SECOND}/{name}" for name, parts in (tables or {}).items() for part in parts}
    schema, frame = snapshot.schema, snapshot.frame
    first: list[PublishedColumn] = []
    second: list[PublishedColumn] = []
    for name in frame.columns:
        role = schema[name].role
        if role in (Role.PERSON, Role.IDENTIFIER):
            continue
        form = forms.get(name, Form.VALUE)
        leaves = name in forms and form is Form.SET and schema[name].taxonomy is not None
        column = PublishedColumn(
            name,
            role.value,
            form.value,
            dtype_name(frame.schema[name]),
            compare=FOLDED if schema[name].folds and frame.schema[name] == pl.String else None,
            hierarchy="leaves" if leaves else None,
            table=table_of.get(name, SECOND) if apart and role is Role.SENSITIVE else None,
            coarse=None if (coarse := schema[name].coarse) is None else coarse.to_json(),
        )
        (first if column.table is None else second).append(column)
    beside = {**({GROUP: GROUP} if groups else {}), **({LEVEL: LEVEL} if nested else {})}
    beside |= {group_column(name, len(tables or {})): GROUP for name in tables or {}}
    columns = [PublishedColumn(name, what, Form.VALUE.value, "Int32") for name, what in beside.items()]
    order = list(table_of)
    return [*first, *columns, *(sorted(second, key=lambda column: order.index(column.name)) if order else second)]
