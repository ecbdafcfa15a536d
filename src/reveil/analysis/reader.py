"""A release as questions read it: its columns, what is declared about them, and rows that nobody can tell apart.

What a column's values mean (their order, their hierarchy) comes from the schema that is handed over; without one, from
the declared domains that the manifest carries. Columns of the second table of a release belong to groups, not to rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.analysis.frequencies import weighed
from reveil.core.errors import DataError
from reveil.releases.cell_types import dtype_named
from reveil.releases.domains import declared_columns, with_told_edges
from reveil.releases.groups import ReleaseGroups, groups_of
from reveil.releases.parsing import classes_of
from reveil.releases.respelling import folded_values, folds
from reveil.releases.table import COUNT, GROUP
from reveil.tables.coarsening import Coarsening
from reveil.tables.expressions.binding import Field, described_by
from reveil.tables.expressions.lines import Intervals
from reveil.tables.expressions.word_sets import Labels, WordSets, members_of, points_of, runs_of
from reveil.tables.notation import SUPPRESSED_VALUE, Form, split_label
from reveil.tables.schema import Role, Schema
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.core.arrays import CodeArray
    from reveil.releases.release import Release
    from reveil.tables.binning import Edges
    from reveil.tables.expressions.regions import ColumnRegions, FloatArray, IndexArray

ColumnCells = Intervals | WordSets | Labels


@dataclass(frozen=True)
class Units:
    """Rows that the asked columns do not tell apart: how many, and the cell that each unit has in each column.

    ``owner`` is the class of the unit, ``group`` its group where groups are told apart, else -1 for groups without
    counterfeits; ``of_row`` is the unit of each row.
    """

    of_row: IndexArray
    sizes: FloatArray
    owner: IndexArray
    index: dict[str, IndexArray]
    group: IndexArray

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True)
class Second:
    """The second table of a release: the group of each line, how often its values occur there, and where they are."""

    group: IndexArray
    counts: FloatArray


def reader_of(release: Release, schema: Schema | None) -> ReleaseReader:
    """Return the reader of a release; what has been worked out is kept with it, so that the next answer is fast."""
    kept: dict[int, ReleaseReader] = vars(release).setdefault("_readers", {})
    if id(schema) not in kept:
        kept[id(schema)] = ReleaseReader(release, schema)  # it holds the schema, so that the id stays its own
    return kept[id(schema)]


class ReleaseReader:
    """Reads one release for questions."""

    def __init__(self, release: Release, schema: Schema | None = None) -> None:
        self.release, self.given = release, schema
        told = None if schema is None else with_told_edges(schema, release.manifest).in_bins()
        self._declared = (
            declared_columns(release.manifest) if told is None else {column.name: column for column in told.columns}
        )
        self._described = {column.name: column for column in release.manifest.columns}
        self._columns: dict[str, ColumnCells] = {}
        self._points: dict[str, tuple[pl.Series, IndexArray]] = {}
        self._rows: dict[str, FloatArray] = {}
        self._weighed: dict[int, object] = {}
        self._units: dict[tuple[bool, tuple[str, ...]], Units] = {}

    @cached_property
    def fields(self) -> dict[str, Field]:
        """The columns that can be asked about, those of the second table last."""
        return {name: self._field(name) for name in (*self.release.columns, *self.apart)}

    def edges(self, name: str) -> Edges | None:
        """Return between which numbers the bins of a column lie; None where it has none."""
        column = self._declared.get(name)
        return None if column is None else column.cut

    @cached_property
    def apart(self) -> tuple[str, ...]:
        """The columns of the second table."""
        return () if self.release.batch is None else tuple(self.release.batch.columns[1:-1])

    @cached_property
    def groups(self) -> ReleaseGroups:
        """The groups, their rows and their counterfeits."""
        return groups_of(self.release)

    @cached_property
    def real(self) -> FloatArray:
        """The share of each group's rows that are records."""
        share: FloatArray = self.groups.real / np.maximum(self.groups.rows, 1)
        return share

    @cached_property
    def unplaced(self) -> int:
        """Rows that nobody asked for, in no group that the manifest names: dirty records, counterfeits."""
        manifest = self.release.manifest
        return max(manifest.counterfeits.total - int(self.groups.fakes.sum()), 0) + manifest.dirty

    @cached_property
    def placed(self) -> float:
        """The share of the rows that are somebody's who was asked for, of those that are no counterfeits of a group."""
        return 1 - min(self.unplaced / max(int(self.groups.real.sum()), 1), 1.0)

    def stale(self, names: Iterable[str]) -> int:
        """Rows that may show another value than the snapshot has, where one of these columns is sensitive."""
        sensitive = {*self.release.manifest.sensitive}
        return (self.release.manifest.stale or 0) if sensitive & {*names} else 0

    @property
    def left_out(self) -> int | None:
        """Records of the table that are not in the release; None where that is kept secret."""
        manifest = self.release.manifest
        return None if manifest.suppressed is None else manifest.suppressed + manifest.withheld

    @cached_property
    def sampled(self) -> float | None:
        """The chance with which each record was taken, where the release is a sample that says so."""
        beta = self.release.manifest.promise.settings.get("beta")
        secret = self.release.manifest.suppressed is None
        return float(beta) if secret and isinstance(beta, int | float) and 0 < beta < 1 else None

    @cached_property
    def second(self) -> Second:
        """The lines of the second table."""
        batch = self.release.batch
        if batch is None:
            raise TypeError("this release has one table")
        numbers = batch[GROUP].to_numpy()
        place = np.searchsorted(self.groups.numbers, numbers)
        known = self.groups.numbers[np.minimum(place, len(self.groups.numbers) - 1)] == numbers if len(numbers) else []
        counts = batch[COUNT].to_numpy().astype(np.float64)
        if not np.all(known) or not np.array_equal(np.bincount(place, counts, len(self.groups.rows)), self.groups.rows):
            raise DataError(
                "the two tables of this release do not have the same groups",
                hint="Use the files as they were published.",
            )
        return Second(place.astype(np.intp), counts)

    def refuse_suppressed(self, names: Iterable[str]) -> None:
        """Refuse to answer by a column in which values were suppressed and may be any."""
        told = self.release.manifest.promise.settings.get("when_exhausted") == "suppress"
        for name in names:
            batch = self.release.batch if name in self.apart else self.release.values
            if batch is None or name not in batch.columns or not (told or name in self.apart):
                continue
            if (batch[name].cast(pl.String) == SUPPRESSED_VALUE).any():
                raise DataError(
                    f"some values of column {name!r} were suppressed, and may be any",
                    column=name,
                    hint="Ask about other columns.",
                )

    def units_of(self, points: tuple[str, ...], *, by_group: bool = False) -> Units:
        """Return the classes, told apart further by groups with counterfeits and the given columns of plain values.

        ``by_group``: by every group.
        """
        key = (by_group, points)
        if key not in self._units:
            classes, groups = self.release.classes, self.groups
            told = (
                groups.index if by_group else np.where(groups.fakes > 0, np.cumsum(groups.fakes > 0), 0)[groups.index]
            )
            indices = {name: self.point_values(name)[1] for name in points}
            owner: CodeArray = np.arange(int(classes.max(initial=-1)) + 1, dtype=np.int32)
            unit, first, group = classes, np.zeros(0, np.int32), np.full(len(owner), -1, np.intp)
            if points or by_group or (told > 0).any():
                unit, first = classes_of([classes, told, *indices.values()], len(classes))
                owner = classes[first]
                group = np.where((told > 0) | by_group, groups.index, -1)[first].astype(np.intp)
            index = {name: cells.index[owner].astype(np.intp) for name, cells in self.release.cells.items()}
            index |= {name: places[first] for name, places in indices.items()}
            sizes = np.bincount(unit, minlength=len(owner)).astype(np.float64)
            self._units[key] = Units(unit.astype(np.intp), sizes, owner.astype(np.intp), index, group)
        return self._units[key]

    def cells_of(self, name: str) -> int:
        """Return how many distinct cells a column has."""
        column = self.release.cells.get(name)
        return len(self.point_values(name)[0] if column is None else column.distinct)

    def column(self, name: str) -> ColumnCells:
        """Return the distinct cells of a column."""
        if name not in self._columns:
            self._columns[name] = self._made(name, Form(self._described[name].form), self.fields[name])
        return self._columns[name]

    def by_frequency(self, name: str, regions: ColumnRegions) -> ColumnRegions:
        """Return the regions of a column with its cells shared out by how frequent values are in the release."""
        if name not in self._rows:
            cells = self.release.cells[name]
            self._rows[name] = np.bincount(cells.index[self.release.classes], minlength=len(cells.distinct)).astype(
                np.float64
            )
        return weighed(regions, self._rows[name], self._weighed)

    def dtype(self, name: str) -> pl.DataType:
        """Return the type of a column's values."""
        return dtype_named(self._described[name].type)

    def point_values(self, name: str) -> tuple[pl.Series, IndexArray]:
        """Return the distinct values of a column published as it is, and which of them each row (or line) has."""
        if name not in self._points:
            source = self.release.batch if name in self.apart else self.release.values
            if source is None:
                raise KeyError(name)
            values = source[name]
            values = values.fill_nan(None) if values.dtype.is_float() else values
            distinct = values.unique(maintain_order=True)
            place = pl.DataFrame({"value": distinct}).with_row_index("place")
            rows = pl.DataFrame({"value": values}).join(
                place, on="value", how="left", maintain_order="left", nulls_equal=True
            )
            self._points[name] = (distinct, rows["place"].to_numpy().astype(np.intp))
        return self._points[name]

    def _field(self, name: str) -> Field:
        column = self._described[name]
        field, form = described_by(name, dtype_named(column.type), self._declared.get(name)), Form(column.form)
        told = column.coarse or {}
        coarse = Coarsening.of(name, told.get("top"), told.get("bottom"), told.get("round"))
        field = replace(field, coarse=coarse)
        if form is Form.INTERVAL:
            return Field(name, field.dtype, coarse=coarse)
        if form is Form.LABEL and field.taxonomy is None:
            labels, _ = split_label(self.release.cells[name].distinct)
            return Field(name, field.dtype, labels=frozenset(labels.drop_nulls()))
        if form is Form.SET and column.hierarchy is not None and field.taxonomy is None:
            # Nested boxes list leaves; what other labels stand for, only the hierarchy says.
            members = self.release.cells[name].distinct.explode().drop_nulls()
            return Field(name, field.dtype, labels=frozenset(members.to_list()))
        if form is Form.SET and not field.in_words:
            return Field(name, pl.String())  # numbers in a declared order that is not at hand
        if self.given is None and folds(self.release.manifest, name):
            return replace(field, folds=True)
        return field

    def _made(self, name: str, form: Form, field: Field) -> ColumnCells:
        if form is Form.VALUE:
            values, _ = self.point_values(name)
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
