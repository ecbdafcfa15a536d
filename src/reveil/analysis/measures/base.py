"""What a measure is, and what all of them read: one raw snapshot and one release of it.

A measure sees published cells and raw records, never how the release was made. What several measures need (group
sizes, fakes, admitted codes) is computed once, by :class:`Subject`, when the first of them asks.

The counts that decide the conventions:

* ``records``: records of the raw snapshot, suppressed and withheld ones included.
* ``rows``: published rows, with counterfeits and dirty records.
* ``left_out``: suppressed and withheld records. A measure that charges for one charges for the other alike.
* ``fakes``: counterfeit rows. What is lost of a record (widths, bits unknown) is taken over rows that are somebody's:
  ``accounted`` is these and the records left out. What a reader sees (sizes of groups, densities) is taken over all
  rows. The manifest tells the fakes of each group, not which rows they are: any row of the group may be one, and each
  counts as real for the share of its group that is.

Where boxes are nested, widths and bits (``dcp``, ``ncp``, ``gcp``, ``em``, ``ail``, ``vem``) are those of the enclosing
box, as in source 000: they say what a cell looks like. ``kl`` and ``query_error`` ask where records are, and spread
them over the block: the box without the boxes directly inside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from reveil.analysis.measures.columns import MeasuredColumn
from reveil.core.errors import DataError, shown
from reveil.models.encoding import FloatArray, encode_quasi
from reveil.releases.column_views import first_table
from reveil.releases.groups import ReleaseGroups, groups_of
from reveil.releases.nesting import Nesting, nesting_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from reveil.analysis.workload import WrittenQuery
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot


class Meaning(NamedTuple):
    """What a number says, in a line, and which end is the good one."""

    text: str
    better: Literal["larger", "smaller", "neither"] = "neither"


class Measure(ABC):
    """One measure, or a few that come from one computation.

    ``meanings`` has an entry for each key of the result; ``place`` orders the measures in what people read.
    """

    meanings: ClassVar[Mapping[str, Meaning]]
    place: ClassVar[int] = 1000

    @abstractmethod
    def of(self, subject: Subject) -> Mapping[str, JSON]:
        """Measure; plain numbers, or mappings of them, by key. None where there is nothing to measure."""


@dataclass(frozen=True)
class Workload:
    """How many random COUNT queries to ask, and which; or those that the caller has ``written``."""

    queries: int = 0
    seed: int = 0
    dimensionality: int | None = None
    selectivity: float = 0.05
    written: tuple[WrittenQuery, ...] = ()


@dataclass(frozen=True)
class Subject:
    """A raw snapshot and one release of it; where sensitive columns have tables of their own, its first table."""

    snapshot: Snapshot = field(repr=False)
    release: Release
    workload: Workload = Workload()

    def __post_init__(self) -> None:
        object.__setattr__(self, "release", first_table(self.release))
        strangers = [name for name in self.release.cells if name not in self.schema.quasi]
        if strangers:
            raise DataError(
                f"the release generalises columns that are not quasi in the config: {shown(strangers)}",
                column=strangers[0],
                hint="Use the config with which it was published.",
            )
        if self.left_out < 0 or self.rows + self.left_out != self.records + self.fakes + self.dirty:
            raise DataError(
                f"the release accounts for {self.rows - self.fakes - self.dirty + max(self.left_out, 0):,} records, "
                f"the snapshot has {self.records:,}",
                hint="Measure a release against the snapshot it came from, or the part that was asked for (--where).",
            )

    @property
    def schema(self) -> Schema:
        """The roles of the columns."""
        return self.snapshot.schema

    @property
    def records(self) -> int:
        """Records of the raw snapshot."""
        return self.snapshot.frame.height

    @property
    def rows(self) -> int:
        """Published rows, fakes included."""
        return len(self.release.classes)

    @property
    def fakes(self) -> int:
        """Counterfeit rows among the published ones."""
        return self.release.manifest.counterfeits.total

    @property
    def dirty(self) -> int:
        """Published rows of people who were not asked for, with their last known record."""
        return self.release.manifest.dirty

    @property
    def clean(self) -> float:
        """The share of the rows that were asked for, of those that are no counterfeits: any of them may be dirty."""
        return 1 - self.dirty / max(self.rows - self.fakes, 1)

    @property
    def weight(self) -> int:
        """What the sizes of groups are shares of in FEM and VEM: all records, and the rows that are none of them."""
        return self.records + self.fakes + self.dirty

    @property
    def withheld(self) -> int:
        """Records held back because of what earlier releases told."""
        return self.release.manifest.withheld

    @property
    def suppressed(self) -> int:
        """Records left out because of this release alone; counted here where the manifest must not tell."""
        told = self.release.manifest.suppressed
        return self.records - (self.rows - self.fakes - self.dirty) - self.withheld if told is None else int(told)

    @property
    def left_out(self) -> int:
        """Records of the snapshot that are not in the table."""
        return self.suppressed + self.withheld

    @property
    def accounted(self) -> int:
        """Rows that are somebody's, and records left out: what averages over records are divided by."""
        return self.rows - self.fakes + self.left_out

    @cached_property
    def columns(self) -> tuple[MeasuredColumn, ...]:
        """The generalised columns, in the order of the schema."""
        frame, cells = self.snapshot.frame, self.release.cells
        # A fake or a dirty record may bring values that the snapshot does not have; nobody else may.
        foreign = self.fakes + self.dirty > 0
        return tuple(
            MeasuredColumn(encode_quasi(frame[name], self.schema[name]), cells[name], self.class_rows, foreign=foreign)
            for name in self.schema.quasi
            if name in cells
        )

    @cached_property
    def nesting(self) -> Nesting | None:
        """Which box is directly inside which, where boxes are nested."""
        return nesting_of(self.release)

    @cached_property
    def n_classes(self) -> int:
        """How many different boxes there are."""
        return int(self.release.classes.max(initial=-1)) + 1

    @cached_property
    def class_rows(self) -> IntArray:
        """Published rows per class (rows with equal boxes)."""
        return np.bincount(self.release.classes, minlength=self.n_classes).astype(np.int64)

    @cached_property
    def _groups(self) -> ReleaseGroups:
        """The groups as published: what the release calls ``group``, where it does, else its classes."""
        return groups_of(self.release)

    @property
    def groups(self) -> CodeArray:
        """The group of each row."""
        return self._groups.index

    @cached_property
    def published_values(self) -> tuple[CodeArray, pl.DataFrame]:
        """Every published sensitive value and its group."""
        groups, values = self.release.group_values()
        if self.release.batch is None:
            return self.groups, values
        numbers = self._groups.numbers
        index = np.minimum(np.searchsorted(numbers, groups), max(len(numbers) - 1, 0))
        if len(groups) and (not len(numbers) or (numbers[index] != groups).any()):
            raise DataError(
                "the two tables of the release do not have the same groups",
                hint="Measure a release as it was published.",
            )
        return index.astype(np.int32), values

    @property
    def group_rows(self) -> IntArray:
        """Published rows per group, fakes included."""
        return self._groups.rows

    @cached_property
    def group_fakes(self) -> FloatArray:
        """Fakes per group. Fakes that the manifest does not place are taken as spread evenly over the other rows."""
        placed = self._groups.fakes
        rest = self.fakes - int(placed.sum())
        others = self.group_rows - placed
        spread: FloatArray = placed + rest * others / max(others.sum(), 1)
        return spread

    @cached_property
    def class_real(self) -> FloatArray:
        """Real records per class; where the boxes of a group differ, its fakes may be in any of its rows."""
        if self.fakes == 0:
            return self.class_rows.astype(np.float64)
        share = 1 - self.group_fakes / np.maximum(self.group_rows, 1)
        return np.bincount(self.release.classes, share[self.groups], self.n_classes).astype(np.float64)
