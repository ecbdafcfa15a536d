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

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np
import polars as pl

from reveil.analysis.measures.columns import MeasuredColumn
from reveil.core.errors import DataError, shown
from reveil.models.encoding import FloatArray, encode_quasi, encode_sensitive
from reveil.releases.column_views import first_table
from reveil.releases.groups import ReleaseGroups, groups_of
from reveil.releases.nesting import Nesting, nesting_of
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.analysis.workload import WrittenQuery
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.domains import SensitiveDomain
    from reveil.models.statistics import Reference
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


Sum = int | float | FloatArray
Sums = dict[str, Sum]


class SummedMeasure(Measure):
    """A measure that follows from what adds up: a release that one memory does not hold is measured part by part.

    A part has all the rows of its classes (:meth:`of_classes`), or some records (:meth:`of_records`), or the records of
    some cell of space with the boxes around them (:meth:`of_points`); what is known of the whole table (how many
    records and rows, how often each value occurs) a part knows, too.
    """

    def of(self, subject: Subject) -> Mapping[str, JSON]:
        """Add up what there is at once."""
        return self.figures(
            {**self.of_classes(subject), **self.of_records(subject), **self.of_points(subject)}, subject
        )

    def of_classes(self, subject: Subject) -> Sums:  # noqa: ARG002
        """Return what adds up over classes."""
        return {}

    def of_records(self, subject: Subject) -> Sums:  # noqa: ARG002
        """Return what adds up over records."""
        return {}

    def of_points(self, subject: Subject) -> Sums:  # noqa: ARG002
        """Return what adds up over records that lie in boxes."""
        return {}

    @abstractmethod
    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:
        """Return the figures; of the subject, only what is known of the whole table may be read."""

    def merged(self, found: Sequence[Sum]) -> Sum:
        """Put together what several parts have under one name."""
        if isinstance(found[0], np.ndarray):
            return np.asarray(np.sum(np.stack([np.asarray(one) for one in found]), axis=0), np.float64)
        whole = [one for one in found if isinstance(one, int)]
        return sum(whole) if len(whole) == len(found) else math.fsum(float(one) for one in found)

    def reason_against_parts(self, subject: Subject) -> str | None:  # noqa: ARG002
        """Say why this release cannot be measured part by part, or None."""
        return None


@dataclass(frozen=True)
class RawValues:
    """The values of a sensitive column as records have them: how many, how often each, and the code of each text."""

    ordered: bool
    size: int
    counts: IntArray
    known: pl.DataFrame = field(repr=False)  # text, code

    def coded(self, values: pl.Series) -> CodeArray:
        """Return the code of each value; null and strangers have the last one."""
        texts = pl.DataFrame({"text": canonical_text(values)})
        joined = texts.join(self.known, on="text", how="left", maintain_order="left")["code"].fill_null(self.size)
        return joined.to_numpy()


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

    def raw_values(self, name: str) -> RawValues:
        """Return what values records have in a sensitive column, without bins."""
        known: dict[str, RawValues] = vars(self).setdefault("_raw_values", {})
        if name not in known:
            known[name] = self._raw_values_of(name)
        return known[name]

    def _raw_values_of(self, name: str) -> RawValues:
        encoded = encode_sensitive(self.snapshot.frame[name], replace(self.schema[name], bins=None))
        values = self.snapshot.frame[name]
        raw = np.where(values.is_null().to_numpy(), encoded.domain, encoded.codes).astype(np.int32)
        known = pl.DataFrame({"text": canonical_text(values), "code": raw}).drop_nulls("text").unique("text")
        counts = np.bincount(raw, minlength=encoded.domain + 1)[:-1].astype(np.int64)
        return RawValues(encoded.ordered, encoded.domain, counts, known)

    def published_domain(self, name: str) -> tuple[SensitiveDomain, Reference] | None:  # noqa: ARG002
        """Return what the published values of a column are in the whole release; None: this is the whole release."""
        return None

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
