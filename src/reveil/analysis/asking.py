"""An expression put to a release: for every row, which share of what it may be satisfies, whether all does, or any.

Parts of the expression over one column are put together; the values of each column fall into a few regions on which
these parts are constant (:mod:`reveil.tables.expressions.regions`); over the regions the expression is a truth table,
and all units of rows are sent through it at once as a decision diagram (:mod:`reveil.tables.expressions.diagram`).

Values of a second table belong to groups. There the truth table is cut into one for each *sort* of values (each
combination of regions of the columns of that table), every row is asked with each sort, and the group says how many of
its values are of which sort.

Where boxes are nested, a row stands for its *block*: the box without the boxes directly inside it. A point is in one
block only, that of the innermost box around it, and volumes inside are taken away from shares and bounds alike
(:mod:`reveil.tables.expressions.blocks`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import sums_of
from reveil.core.errors import InputError
from reveil.releases.nesting import Nesting, nesting_of, wide_type
from reveil.tables.expressions.binding import Missing, bind
from reveil.tables.expressions.blocks import BlockBoxes, block_outcomes, pieces_of
from reveil.tables.expressions.diagram import Diagram, Part, evaluated, every, joined, some
from reveil.tables.expressions.regions import ColumnRegions
from reveil.tables.expressions.syntax import Expression, Leaf, fold, parse
from reveil.tables.expressions.word_sets import WordSets

if TYPE_CHECKING:
    from reveil.analysis.reader import ReleaseReader, Units
    from reveil.core.arrays import BoolArray
    from reveil.tables.expressions.binding import BoundExpression
    from reveil.tables.expressions.regions import FloatArray, IndexArray

MOST_COMBINATIONS = 200_000  # of regions of different columns
Answers = tuple["FloatArray", "BoolArray", "BoolArray"]  # share, certain, possible; (sorts, units)


@dataclass(frozen=True)
class AskedRows:
    """An expression over the regions of its columns.

    ``table`` is true where the expression is; its axes are ``first``, the columns of rows, and before them ``second``,
    those of the second table. ``sort_of`` is the sort of the values of each line of the second table.
    """

    reader: ReleaseReader
    first: tuple[str, ...]
    second: tuple[str, ...]
    regions: dict[str, ColumnRegions]
    table: BoolArray
    units: Units

    @property
    def sorts(self) -> int:
        """How many sorts of values the second table has; 1 where it is not asked about."""
        return int(np.prod(self.table.shape[: len(self.second)], dtype=np.int64))

    def axis(self, name: str) -> int:
        """Return the axis of a column in the truth table."""
        return (*self.second, *self.first).index(name)

    def along(self, name: str, truth: BoolArray) -> BoolArray:
        """Return what holds of a column's regions as an array over all axes."""
        shape = [1] * self.table.ndim
        shape[self.axis(name)] = -1
        return truth.reshape(shape)

    def sort_of_lines(self) -> IndexArray:
        """Return the sort of the values of each line of the second table."""
        sort = np.zeros(len(self.reader.second.group), np.intp)
        for name in self.second:
            regions = self.regions[name]
            region = regions.spread().meets.argmax(axis=0)[self.reader.point_values(name)[1]]
            sort = sort * regions.number + region
        return sort

    def sorted_values(self, weights: FloatArray | None = None) -> FloatArray:
        """Return how many values of each sort (columns) each group (rows) has, or the sum of a weight over them."""
        second, groups = self.reader.second, len(self.reader.groups.rows)
        counts = second.counts if weights is None else second.counts * weights
        found = sums_of(second.group * self.sorts + self.sort_of_lines(), counts, groups * self.sorts)
        return found.reshape(groups, self.sorts)

    def answers(self, also: BoolArray | None = None) -> Answers:
        """Ask every row with every sort of values; ``also``: what must hold as well, over the same axes."""
        table = self.table if also is None else self.table & also
        table = np.broadcast_to(table, self.table.shape).reshape(self.sorts, *self.table.shape[len(self.second) :])
        found = [self._answer(np.ascontiguousarray(part)) for part in table]
        share, certain, possible = (np.stack(kind) for kind in zip(*found, strict=True))
        return share, certain, possible

    def reached(self, answers: Answers) -> tuple[BoolArray, BoolArray]:
        """Return which units are certain, and which possible, whatever values of their group their rows have."""
        _, certain, possible = answers
        if not self.second:
            return certain[0], possible[0]
        there = self.sorted_values()[self.units.group].T > 0
        sure: BoolArray = np.all(certain | ~there, axis=0)
        may: BoolArray = np.any(possible & there, axis=0)
        return sure, may

    def by_frequency(self) -> AskedRows:
        """Return the same with cells shared out by how frequent values are in the release, instead of evenly."""
        weighed = {
            name: region if name not in self.reader.release.cells else self.reader.by_frequency(name, region)
            for name, region in self.regions.items()
        }
        return replace(self, regions=weighed)

    def _answer(self, table: BoolArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        diagram, units = Diagram(table), self.units
        columns = [self.regions[name] for name in self.first]
        found = diagram.send(len(units), [units.index[name] for name in self.first], columns)
        nesting = nesting_of(self.reader.release)
        if nesting is not None:
            self._in_blocks(nesting, diagram, dict(zip(self.first, columns, strict=True)), found)
        return found

    def _in_blocks(
        self,
        nesting: Nesting,
        diagram: Diagram,
        columns: dict[str, ColumnRegions],
        outcomes: tuple[FloatArray, BoolArray, BoolArray],
    ) -> None:
        """Replace what was found for boxes by what holds of their blocks, where boxes lie inside them."""
        units, reader = self.units, self.reader
        children = nesting.children
        unsure = (children.lengths[units.owner] > 0) & outcomes[2] & ~outcomes[1]
        for name in columns:
            words = reader.column(name)
            if isinstance(words, WordSets) and words.open_cells is not None:
                unsure &= ~words.open_cells[units.index[name]]  # a suppressed value may be any, and counts as no one
        open_ = np.flatnonzero(unsure)
        if not len(open_):
            return
        owners = units.owner[open_]
        starts, place, box = pieces_of(owners, children)
        around = owners[place]
        counts, parts = [], []
        for name, regions in columns.items():
            cells = (units.index[name][open_][place],) * 2
            if name in reader.release.cells:
                cell_of_box = nesting.index[name].astype(np.intp)
                cells = cell_of_box[box], cell_of_box[around]
            counts.append(regions.counts()[:, cells[0]])
            parts.append(regions.within(*cells))
        others = [name for name in nesting.cells if name not in columns]
        beside = nesting.volumes(others)
        # All numbers of one count are of one type, in which the volume of the largest box fits.
        wide = wide_type([beside, *(counted.sum(axis=0) for counted in counts)])
        share = np.ones(len(box))
        for name in others:
            division = reader.column(name).divide([Missing()])
            everywhere = ColumnRegions(division, np.zeros(len(division.truths[0]), np.int64), 1)
            cell_of_box = nesting.index[name].astype(np.intp)
            share *= everywhere.within(cell_of_box[box], cell_of_box[around])[0]
        pieces = BlockBoxes(starts, [values.astype(wide) for values in counts], parts, beside[box].astype(wide), share)
        for known, found in zip(outcomes, block_outcomes(diagram, pieces), strict=True):
            known[open_] = found


def put(
    reader: ReleaseReader, expression: str | Expression | None, about: tuple[str, ...] = (), *, fine: bool = False
) -> AskedRows:
    """Put an expression to a release; None is satisfied by every record.

    ``about`` are columns that the question itself is about: they are part of the truth table, null apart from the rest,
    and ``fine``: every piece of them a region of its own.
    """
    parsed = parse(expression) if isinstance(expression, str) else expression
    bound = None if parsed is None else bind(parsed, reader.fields)
    reader.refuse_suppressed({*about, *(() if parsed is None else parsed.columns())})
    tree = None if bound is None else joined(bound.expression.root)
    parts: dict[str, dict[Part, None]] = {name: {} for name in about}

    def note(part: Part) -> None:
        parts.setdefault(part.column, {})[part] = None

    if tree is not None:
        fold(tree, note, _ignore, _ignore, _ignore)
    second = tuple(sorted(name for name in parts if name in reader.apart))
    # Columns with many cells come last: by then few classes are left.
    first = tuple(sorted((name for name in parts if name not in reader.apart), key=reader.cells_of))
    regions: dict[str, ColumnRegions] = {}
    values: dict[Part, BoolArray] = {}
    for axis, name in enumerate((*second, *first)):
        truths, regions[name] = _regions(reader, name, list(parts[name]), bound, apart=name in about, fine=fine)
        shape = [-1 if other == axis else 1 for other in range(len(parts))]
        values |= {part: truth.reshape(shape) for part, truth in zip(parts[name], truths, strict=True)}
    shape = [regions[name].number for name in (*second, *first)]
    if np.prod(shape, dtype=np.float64) > MOST_COMBINATIONS:
        raise InputError(
            f"the expression mixes its columns in more than {MOST_COMBINATIONS:,} ways",
            hint="Ask in several counts, or put together what is asked of a column: a in {1, 2} and b in {3, 4}.",
        )
    table = np.ones(shape, np.bool_) if tree is None else np.broadcast_to(evaluated(tree, values), shape)
    points = tuple(sorted(name for name in first if name not in reader.release.cells))
    return AskedRows(reader, first, second, regions, table, reader.units_of(points, by_group=bool(second)))


def _regions(
    reader: ReleaseReader, name: str, parts: list[Part], bound: BoundExpression | None, *, apart: bool, fine: bool
) -> tuple[BoolArray, ColumnRegions]:
    """Find the regions of a column: what each part says in each of them."""
    leaves: list[Leaf] = []
    for part in parts:
        fold(part.node, leaves.append, _ignore, _ignore, _ignore)
    tests = [] if bound is None else [bound.tests[leaf] for leaf in leaves]
    division = reader.column(name).divide([*tests, *([Missing()] if apart else [])])
    truth = dict(zip(leaves, division.truths, strict=False))
    pieces = len(division.truths[0])
    said = np.zeros((0, pieces), np.bool_)
    if parts:
        said = np.array([fold(part.node, truth.__getitem__, every, some, np.logical_not) for part in parts])
    if apart and fine:
        return said, ColumnRegions(division, np.arange(pieces), pieces)
    if len(parts) == 1 and not apart:
        return np.array([[False, True]]), ColumnRegions(division, said[0].astype(np.int64), 2)
    told_apart = np.vstack([said, division.truths[-1]]) if apart else said
    distinct, region = np.unique(told_apart, axis=1, return_inverse=True)
    return distinct[: len(parts)], ColumnRegions(division, region.reshape(-1).astype(np.int64), distinct.shape[1])


def _ignore(_: object) -> None:
    """Stand for what is of no interest to a walk over the leaves."""
