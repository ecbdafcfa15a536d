"""Counts on a release: an estimate, and bounds that hold whatever the records are inside their boxes.

Every class (rows with the same box) contributes its rows times the share of its box that satisfies the expression:
values within a box are taken as equally likely, columns as independent. A row is *certain* when every point of its
box satisfies the expression and *possible* when some point does; columns published as they are are known row by
row. The number of records of the snapshot that satisfy the expression is never below ``lower`` nor above ``upper``:
records that the manifest counts as suppressed or withheld may all satisfy it, and counterfeits may be among the
certain rows. The manifest tells how many each group has: of a group's certain rows at most so many are no records, and
of its possible rows no more are records than it has. The estimate is of the published records: any row of a group is
as likely a counterfeit as any other, so each counts for the share of its group that is real. (Counterfeits that the
manifest does not place may be anywhere.)

Where boxes are nested, a row stands for its *block*: the box without the boxes directly inside it. A point is in one
block only, that of the innermost box around it, and volumes inside are taken away from estimate and bounds alike
(:mod:`reveil.tables.expressions.blocks`).

How: parts of the expression over one column are put together; the values of each column fall into a few regions on
which these parts are constant (:mod:`reveil.tables.expressions.regions`); over the regions, the expression is a
decision diagram, and all classes are sent through it at once with their shares
(:mod:`reveil.tables.expressions.diagram`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import DataError, ExpressionError, InputError
from reveil.releases.answers import Count
from reveil.releases.groups import groups_of
from reveil.releases.nesting import Nesting, nesting_of, wide_type
from reveil.releases.release import Release, classes_of, dtype_named
from reveil.releases.respelling import folded_values, folds
from reveil.tables.expressions.binding import BoundExpression, Field, Missing, bind, described
from reveil.tables.expressions.blocks import BlockBoxes, block_outcomes, pieces_of
from reveil.tables.expressions.diagram import FALSE, TRUE, Diagram, Part, evaluated, every, joined, some
from reveil.tables.expressions.lines import Intervals
from reveil.tables.expressions.regions import ColumnRegions, FloatArray, IndexArray
from reveil.tables.expressions.syntax import Expression, Leaf, fold, parse
from reveil.tables.expressions.word_sets import Labels, WordSets, members_of, points_of, runs_of
from reveil.tables.notation import SUPPRESSED_VALUE, Form, split_label
from reveil.tables.schema import Role, Schema
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray

PublishedColumn = Intervals | WordSets | Labels
Outcomes = tuple[FloatArray, "BoolArray", "BoolArray"]
MOST_COMBINATIONS = 200_000  # of regions of different columns


@dataclass(frozen=True)
class Units:
    """Rows that the asked columns do not tell apart: how many, and the cell that each unit has in each column.

    ``mixed`` is 0, or says which of the groups with counterfeits the unit belongs to, counted from 1. ``owner`` is the
    class of the unit.
    """

    sizes: FloatArray
    owner: IndexArray
    index: dict[str, IndexArray]
    mixed: IndexArray


@dataclass(frozen=True)
class Mixed:
    """The groups with counterfeits: which of them each row belongs to (0: none), and their rows and records.

    ``unplaced`` counterfeits are in no group that the manifest names. Group 0 has all the rows without a group here.
    """

    rows_of: IndexArray
    rows: FloatArray
    real: FloatArray
    unplaced: int


def count(release: Release, expression: str | Expression, schema: Schema | None = None) -> Count:
    """Count the records that satisfy an expression; the schema gives hierarchies and orders.

    What has been worked out about a release is kept with it, so that the next count is fast.
    """
    kept: dict[int, Counter] = vars(release).setdefault("_counters", {})
    if id(schema) not in kept:
        kept[id(schema)] = Counter(release, schema)  # it holds the schema, so that the id stays its own
    return kept[id(schema)].count(expression)


class Counter:
    """Answers counts on one release."""

    def __init__(self, release: Release, schema: Schema | None = None) -> None:
        self.release, self.schema = release, schema
        self._described = {column.name: column for column in release.manifest.columns}
        self._columns: dict[str, PublishedColumn] = {}
        self._points: dict[str, tuple[pl.Series, IndexArray]] = {}
        self._units: dict[tuple[str, ...], Units] = {}

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The columns that can be asked about."""
        return {name: self._field(name) for name in self.release.columns}

    def count(self, expression: str | Expression) -> Count:
        """Count the records that satisfy an expression."""
        parsed = parse(expression) if isinstance(expression, str) else expression
        try:
            bound = bind(parsed, self.fields)
        except ExpressionError as error:
            raise self._apart(error) from None
        self._refuse_suppressed(parsed)
        estimate, certain, possible = self._published(bound)
        manifest, real = self.release.manifest, int(self.mixed.real.sum())
        unplaced = self.mixed.unplaced
        lower, possible = max(certain - unplaced, 0), min(possible, max(real - unplaced, 0))
        estimate = min(max(estimate * (1 - unplaced / max(real, 1)), lower), possible)
        suppressed = manifest.suppressed
        upper = None if suppressed is None else possible + suppressed + manifest.withheld
        return Count(estimate, lower, upper)

    def _refuse_suppressed(self, expression: Expression) -> None:
        """Refuse to count by a column in which values were suppressed: they may be any."""
        if self.release.manifest.promise.settings.get("when_exhausted") != "suppress":
            return
        values = self.release.values
        for name in expression.columns():
            if name in values.columns and (values[name].cast(pl.String) == SUPPRESSED_VALUE).any():
                raise DataError(
                    f"some values of column {name!r} were suppressed, and may be any",
                    column=name,
                    hint="Ask about other columns.",
                )

    @cached_property
    def mixed(self) -> Mixed:
        """The groups in which some rows are counterfeit."""
        groups = groups_of(self.release)
        faked = groups.fakes > 0
        number = np.where(faked, np.cumsum(faked), 0)
        rows_of = number[groups.index].astype(np.intp)
        rows = np.bincount(rows_of, minlength=int(faked.sum()) + 1).astype(np.float64)
        fakes = np.concatenate([[0], groups.fakes[faked]])
        unplaced = max(self.release.manifest.counterfeits.total - int(fakes.sum()), 0)
        return Mixed(rows_of, rows, rows - fakes, unplaced)

    def _apart(self, error: ExpressionError) -> ExpressionError:
        """Say more where an unknown column is one of the second table."""
        apart = [] if self.release.batch is None else self.release.batch.columns[1:-1]
        for name in apart:
            if error.message.startswith(f"there is no column {name!r}"):
                return ExpressionError(
                    f"{name!r} is in the second table of this release: its values belong to groups, not to rows",
                    text=error.text,
                    position=error.position,
                    hint="Ask about the columns of the first table, or publish boxes.",
                )
        return error

    def _published(self, bound: BoundExpression) -> tuple[float, int, int]:
        """Return estimate, certain and possible records of the release."""
        tree = joined(bound.expression.root)
        parts: dict[str, dict[Part, None]] = {}

        def note(part: Part) -> None:
            parts.setdefault(part.column, {})[part] = None

        fold(tree, note, _ignore, _ignore, _ignore)
        units = self._units_of(tuple(sorted(name for name in parts if name not in self.release.cells)))
        # Columns with many cells come last: by then few classes are left.
        names = sorted(parts, key=self._cells)
        columns: list[ColumnRegions] = []
        values: dict[Part, BoolArray] = {}
        for axis, name in enumerate(names):
            truths, regions = self._regions(name, list(parts[name]), bound)
            shape = [-1 if other == axis else 1 for other in range(len(names))]
            values |= {part: truth.reshape(shape) for part, truth in zip(parts[name], truths, strict=True)}
            columns.append(regions)
        shape = [regions.number for regions in columns]
        if np.prod(shape, dtype=np.float64) > MOST_COMBINATIONS:
            raise InputError(
                f"the expression mixes its columns in more than {MOST_COMBINATIONS:,} ways",
                hint="Ask in several counts, or put together what is asked of a column: a in {1, 2} and b in {3, 4}.",
            )
        diagram = Diagram(np.broadcast_to(evaluated(tree, values), shape))
        indices = [units.index[name] for name in names]
        mixed = np.flatnonzero(units.mixed)
        nesting = nesting_of(self.release)
        if not len(mixed) and nesting is None:
            return diagram.send(units.sizes, indices, columns)
        whole = np.flatnonzero(units.mixed == 0)
        if nesting is None:
            found = diagram.send(units.sizes[whole], [index[whole] for index in indices], columns)
            outcomes = _outcomes(diagram, [index[mixed] for index in indices], columns, len(mixed))
            return _added(found, self._with_counterfeits(outcomes, units.sizes[mixed], units.mixed[mixed]))
        share, certain, possible = _outcomes(diagram, indices, columns, len(units.sizes))
        self._in_blocks(nesting, units, diagram, dict(zip(names, columns, strict=True)), (share, certain, possible))
        sizes = units.sizes[whole]
        found = (
            float((sizes * share[whole]).sum()),
            round(sizes[certain[whole]].sum()),
            round(sizes[possible[whole]].sum()),
        )
        rest = (share[mixed], certain[mixed], possible[mixed])
        return _added(found, self._with_counterfeits(rest, units.sizes[mixed], units.mixed[mixed]))

    def _in_blocks(
        self, nesting: Nesting, units: Units, diagram: Diagram, columns: dict[str, ColumnRegions], outcomes: Outcomes
    ) -> None:
        """Replace what was found for boxes by what holds of their blocks, where boxes lie inside them."""
        children = nesting.children
        unsure = (children.lengths[units.owner] > 0) & outcomes[2] & ~outcomes[1]
        for name in columns:
            words = self._column(name)
            if isinstance(words, WordSets) and words.open_cells is not None:
                unsure &= ~words.open_cells[units.index[name]]  # a suppressed value may be any, and counts as no one
        open_ = np.flatnonzero(unsure)
        if not len(open_):
            return
        owners = units.owner[open_]
        starts, place, box = pieces_of(owners, children)
        around = owners[place]
        counts, shares = [], []
        for name, regions in columns.items():
            cells = (units.index[name][open_][place],) * 2
            if name in self.release.cells:
                cell_of_box = nesting.index[name].astype(np.intp)
                cells = cell_of_box[box], cell_of_box[around]
            counts.append(regions.counts()[:, cells[0]])
            shares.append(regions.within(*cells))
        others = [name for name in nesting.cells if name not in columns]
        beside = nesting.volumes(others)
        # All numbers of one count are of one type, in which the volume of the largest box fits.
        wide = wide_type([beside, *(counted.sum(axis=0) for counted in counts)])
        share = np.ones(len(box))
        for name in others:
            division = self._column(name).divide([Missing()])
            everywhere = ColumnRegions(division, np.zeros(len(division.truths[0]), np.int64), 1)
            cell_of_box = nesting.index[name].astype(np.intp)
            share *= everywhere.within(cell_of_box[box], cell_of_box[around])[0]
        pieces = BlockBoxes(starts, [values.astype(wide) for values in counts], shares, beside[box].astype(wide), share)
        for known, found in zip(outcomes, block_outcomes(diagram, pieces), strict=True):
            known[open_] = found

    def _with_counterfeits(self, outcomes: Outcomes, sizes: FloatArray, group: IndexArray) -> tuple[float, int, int]:
        """Return estimate, certain and possible records of the groups with counterfeits."""
        share, certain, possible = (np.bincount(group, sizes * own, len(self.mixed.rows))[1:] for own in outcomes)
        rows, real = self.mixed.rows[1:], self.mixed.real[1:]
        estimate = float((share * real / rows).sum())
        return estimate, round(np.maximum(certain - (rows - real), 0).sum()), round(np.minimum(possible, real).sum())

    def _regions(self, name: str, parts: list[Part], bound: BoundExpression) -> tuple[BoolArray, ColumnRegions]:
        """Find the regions of a column: what each part says in each of them."""
        leaves: list[Leaf] = []
        for part in parts:
            fold(part.node, leaves.append, _ignore, _ignore, _ignore)
        division = self._column(name).divide([bound.tests[leaf] for leaf in leaves])
        truth = dict(zip(leaves, division.truths, strict=True))
        said = np.array([fold(part.node, truth.__getitem__, every, some, np.logical_not) for part in parts])
        if len(parts) == 1:
            return np.array([[False, True]]), ColumnRegions(division, said[0].astype(np.int64), 2)
        distinct, region = np.unique(said, axis=1, return_inverse=True)
        return distinct, ColumnRegions(division, region.reshape(-1).astype(np.int64), distinct.shape[1])

    def _units_of(self, points: tuple[str, ...]) -> Units:
        """Return the classes, told apart further by groups with counterfeits and the given columns of plain values."""
        if points not in self._units:
            classes, mixed = self.release.classes, self.mixed
            indices = {name: self._point_values(name)[1] for name in points}
            unit, first = classes, np.zeros(0, np.int32)
            owner: CodeArray = np.arange(int(classes.max(initial=-1)) + 1, dtype=np.int32)
            group = np.zeros(len(owner), np.intp)
            if points or len(mixed.rows) > 1:
                unit, first = classes_of([classes, mixed.rows_of, *indices.values()], len(classes))
                owner, group = classes[first], mixed.rows_of[first]
            index = {name: own.index[owner].astype(np.intp) for name, own in self.release.cells.items()}
            index |= {name: own[first] for name, own in indices.items()}
            sizes = np.bincount(unit, minlength=len(owner)).astype(np.float64)
            self._units[points] = Units(sizes, owner.astype(np.intp), index, group)
        return self._units[points]

    def _field(self, name: str) -> Field:
        column = self._described[name]
        field, form = described(name, dtype_named(column.type), self.schema), Form(column.form)
        if form is Form.INTERVAL:
            return Field(name, field.dtype)
        if form is Form.LABEL and field.taxonomy is None:
            labels, _ = split_label(self.release.cells[name].distinct)
            return Field(name, field.dtype, labels=frozenset(labels.drop_nulls()))
        if form is Form.SET and column.hierarchy is not None and field.taxonomy is None:
            # Nested boxes list leaves; what other labels stand for, only the hierarchy says.
            members = self.release.cells[name].distinct.explode().drop_nulls()
            return Field(name, field.dtype, labels=frozenset(members.to_list()))
        if form is Form.SET and not field.in_words:
            return Field(name, pl.String())  # numbers in a declared order that is not at hand
        if self.schema is None and folds(self.release.manifest, name):
            return replace(field, folds=True)
        return field

    def _cells(self, name: str) -> int:
        """Return how many distinct cells a column has."""
        column = self.release.cells.get(name)
        return len(self._point_values(name)[0] if column is None else column.distinct)

    def _column(self, name: str) -> PublishedColumn:
        if name not in self._columns:
            self._columns[name] = self._made(name, Form(self._described[name].form), self.fields[name])
        return self._columns[name]

    def _made(self, name: str, form: Form, field: Field) -> PublishedColumn:
        if form is Form.VALUE:
            values, _ = self._point_values(name)
            if not field.in_words:
                return Intervals(values, values, values.is_null().to_numpy())
            suppressed = self._described[name].role == Role.SENSITIVE.value
            texts = canonical_text(values)
            return points_of(folded_values(texts) if field.folds else texts, suppressed=suppressed)
        cells = self.release.cells[name].distinct
        if form is Form.INTERVAL:
            return Intervals(cells.struct.field("lo"), cells.struct.field("hi"), cells.struct.field("null").to_numpy())
        if form is Form.SET:
            return members_of(cells)
        labels, null = split_label(cells)
        if field.taxonomy is None:
            return Labels(labels.to_list(), null.to_numpy())
        return runs_of(labels, null.to_numpy(), field.taxonomy, name)

    def _point_values(self, name: str) -> tuple[pl.Series, IndexArray]:
        """Return the distinct values of a column published as it is, and which of them each row has."""
        if name not in self._points:
            values = self.release.values[name]
            values = values.fill_nan(None) if values.dtype.is_float() else values
            distinct = values.unique(maintain_order=True)
            place = pl.DataFrame({"value": distinct}).with_row_index("place")
            rows = pl.DataFrame({"value": values}).join(
                place, on="value", how="left", maintain_order="left", nulls_equal=True
            )
            self._points[name] = (distinct, rows["place"].to_numpy().astype(np.intp))
        return self._points[name]


def _outcomes(diagram: Diagram, indices: list[IndexArray], columns: list[ColumnRegions], units: int) -> Outcomes:
    """Send units down a diagram, each on its own: the share of it that satisfies, whether all does, whether any."""
    nothing = np.zeros(units), np.zeros(units, np.bool_)
    arrived = {diagram.root: (np.ones(units), np.ones(units, np.bool_))}
    for nodes, index, regions in zip(diagram.levels, indices, columns, strict=True):
        if not nodes:
            continue
        spread = regions.spread()
        for node, children in nodes.items():
            mass, met = arrived.pop(node)
            for child in set(children):
                ways = [region for region, own in enumerate(children) if own == child]
                before, meets = arrived.get(child, nothing)
                arrived[child] = before + mass * spread.share(ways)[index], meets | met & spread.possible(ways)[index]
    return arrived.get(TRUE, nothing)[0], ~arrived.get(FALSE, nothing)[1], arrived.get(TRUE, nothing)[1]


def _added(one: tuple[float, int, int], other: tuple[float, int, int]) -> tuple[float, int, int]:
    """Add estimate, certain and possible of different rows."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _ignore(_: object) -> None:
    """Stand for what is of no interest to a walk over the leaves."""
