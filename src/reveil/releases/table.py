"""A published table in memory: distinct cells, classes, and the values that are published as they are.

Boxes are kept once per distinct cell and groups as integers; rows are put together only when somebody looks at
:attr:`PublishedTable.table` or writes a file. The object holds published data only: nothing raw can be got out of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.threads import each
from reveil.tables.notation import Form, quoted, to_text
from reveil.tables.snapshot import to_native

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CodeArray = npt.NDArray[np.int32]
GROUP, COUNT = "group", "count"  # columns of two-table releases
LEVEL = "level"  # a column of releases with nested boxes


@dataclass(frozen=True)
class Cells:
    """One generalised column: the distinct cells, typed, and which of them each class has."""

    form: Form
    distinct: pl.Series = field(repr=False)
    index: CodeArray = field(repr=False)

    @cached_property
    def text(self) -> pl.Series:
        """The distinct cells as text."""
        return to_text(self.distinct, self.form)


@dataclass(frozen=True)
class SecondTable:
    """The values of one sensitive column, or of several that are one value together (``parts``), in a table of its own.

    ``groups`` is the group of each row of the first table; ``batch`` has group, value(s) and count. Counterfeits are
    here only: a group has more values than rows of the first table.
    """

    name: str
    parts: tuple[str, ...]
    groups: CodeArray = field(repr=False)
    batch: pl.DataFrame = field(repr=False)


def group_column(name: str, tables: int) -> str:
    """Return what the column of group numbers is called that leads to the table of a sensitive column."""
    return GROUP if tables == 1 else f"{GROUP}_{name}"


@dataclass(frozen=True, repr=False)
class PublishedTable:
    """What stands in the files of a release.

    ``classes`` is the class (the rows with equal generalised cells) of each published row; ``cells`` describes the
    classes column by column; ``values`` are the columns published as they are.

    Where the method publishes a column ``group``, ``groups`` has its number per row; a two-table release also has a
    second table ``batch``: group, sensitive values, count. Where boxes are nested, ``levels`` has the level of each
    class, published as the column ``level``: a row stands for the part of its box that no box of a higher level holds.
    ``seconds``: a second table for each sensitive column, each with groups of its own; ``groups`` and ``batch`` are
    None then. How one of them is seen by itself: :mod:`reveil.releases.column_views`.
    """

    columns: tuple[str, ...]
    cells: Mapping[str, Cells]
    classes: CodeArray
    values: pl.DataFrame
    native: str = "polars"
    groups: CodeArray | None = None
    batch: pl.DataFrame | None = None
    levels: CodeArray | None = None
    seconds: tuple[SecondTable, ...] = ()

    @property
    def table(self) -> Any:
        """The published table as text cells (``[21, 23]``), in the caller's type of frame."""
        return to_native(self.text, self.native)

    @cached_property
    def text(self) -> pl.DataFrame:
        """The published table as it stands in a CSV file."""
        return self.text_of(slice(None))

    def text_of(self, rows: slice) -> pl.DataFrame:
        """Return some rows of the published table as they stand in a CSV file."""
        return self._rows(lambda cells: cells.text, lambda values: to_text(values, Form.VALUE), rows)

    @property
    def typed(self) -> pl.DataFrame:
        """The published table as it stands in a Parquet file: intervals as ``lo, hi, null``, sets as lists."""
        return self.typed_of(slice(None))

    def typed_of(self, rows: slice) -> pl.DataFrame:
        """Return some rows of the published table as they stand in a Parquet file."""
        return self._rows(lambda cells: cells.distinct, typed_values, rows)

    def _rows(
        self, cells: Callable[[Cells], pl.Series], values: Callable[[pl.Series], pl.Series], rows: slice
    ) -> pl.DataFrame:
        classes = self.classes[rows]

        def column(name: str) -> pl.Series:
            if name not in self.cells:
                return values(self.values[name][rows])
            column_cells = self.cells[name]
            return cells(column_cells).gather(column_cells.index[classes])

        columns = dict(zip(self.columns, each(column, self.columns, len(classes)), strict=True))
        if self.groups is not None:
            columns[GROUP] = pl.Series(GROUP, self.groups[rows])
        for second in self.seconds:
            name = group_column(second.name, len(self.seconds))
            columns[name] = pl.Series(name, second.groups[rows])
        if self.levels is not None:
            columns[LEVEL] = pl.Series(LEVEL, self.levels[classes])
        return pl.DataFrame(columns)

    @property
    def sensitive(self) -> Any:
        """The second table of a two-table release (group, sensitive values, count), in the caller's type; else None."""
        return None if self.batch is None else to_native(batch_typed(self.batch), self.native)

    def group_values(self) -> tuple[CodeArray, pl.DataFrame]:
        """Return every published sensitive value with its group: what all statistics of groups are made of."""
        if self.batch is None:
            return self.classes if self.groups is None else self.groups, self.values
        rows = self.batch.select(pl.all().repeat_by(COUNT).explode())
        return rows[GROUP].to_numpy().astype(np.int32), rows.drop(GROUP, COUNT)


def batch_text(batch: pl.DataFrame) -> pl.DataFrame:
    """Return a second table as it stands in a CSV file."""
    return batch.select(to_text(batch[name], Form.VALUE) for name in batch.columns)


def batch_typed(batch: pl.DataFrame) -> pl.DataFrame:
    """Return a second table as it stands in a Parquet file."""
    return batch.select(typed_values(batch[name]) for name in batch.columns)


def typed_values(values: pl.Series) -> pl.Series:
    """Return values as a Parquet file holds them: as they are, except that a raw ``*`` is not a suppressed one."""
    return quoted(values, r'^\x00?\*$|^"') if values.dtype == pl.String else values
