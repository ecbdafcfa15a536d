"""One generalised column: how wide its cells are, how many codes they admit and how uncertain they leave a reader.

Everything is computed once for each *distinct* cell; what is wanted per class is gathered through ``index``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.analysis.measures.lines import Line, line_of
from reveil.core.errors import DataError, VerificationError
from reveil.models.encoding import Attribute, FloatArray, Kind
from reveil.releases.admitted import Admitted, admitted_codes
from reveil.tables.notation import Form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.releases.table import Cells

FORMS = {Kind.INTERVAL: Form.INTERVAL, Kind.TAXONOMY: Form.LABEL}  # the others are sets


def weights_of(columns: Sequence[MeasuredColumn]) -> list[float]:
    """Return how much the width of each column counts, scaled to a mean of 1."""
    given = [column.attribute.weight for column in columns]
    return [weight * len(given) / sum(given) for weight in given]


@dataclass(frozen=True)
class MeasuredColumn:
    """A quasi attribute of the snapshot beside its published cells.

    ``foreign``: cells may hold values that the snapshot does not have; such values admit no code. ``known``: records of
    the snapshot per code, where not all of them are here.
    """

    attribute: Attribute
    cells: Cells
    class_rows: IntArray = field(repr=False)
    foreign: bool = field(default=False, kw_only=True)
    known: IntArray | None = field(default=None, repr=False, kw_only=True)

    @property
    def index(self) -> CodeArray:
        """The cell of each class."""
        return self.cells.index

    @cached_property
    def rows(self) -> FloatArray:
        """Published rows per distinct cell."""
        return self.per_cell(self.class_rows)

    def per_cell(self, per_class: FloatArray | IntArray) -> FloatArray:
        """Add up a number per class over the classes that have each distinct cell."""
        return np.bincount(self.index, per_class, len(self.cells.distinct)).astype(np.float64)

    @cached_property
    def typed(self) -> pl.Series:
        """The distinct cells, ends of intervals in the type of the snapshot's values (a file may say it otherwise)."""
        cells = self.cells.distinct
        # Nested boxes have sets of leaves where others have labels.
        if self.cells.form not in (FORMS.get(self.attribute.kind, Form.SET), *self._listed):
            raise self._mismatch(f"column {self.attribute.name!r} is published in another form than its values ask for")
        if self.attribute.kind is not Kind.INTERVAL:
            return cells
        published, wanted = cells.struct.field("lo").dtype, self.attribute.domain.dtype
        if published == wanted:
            return cells
        alike = (wanted.is_float() and published.is_numeric()) or (wanted.is_integer() and published.is_integer())
        if not alike and published.base_type() != wanted.base_type():
            raise self._mismatch(f"column {self.attribute.name!r} has another type in the release than in the snapshot")
        return cells.cast(pl.Struct({"lo": wanted, "hi": wanted, "null": pl.Boolean}))

    @property
    def _listed(self) -> tuple[Form, ...]:
        return (Form.SET,) if self.attribute.kind is Kind.TAXONOMY else ()

    def _mismatch(self, message: str) -> DataError:
        return DataError(
            message, column=self.attribute.name, hint="Use the snapshot and the config that were published."
        )

    @cached_property
    def admitted(self) -> Admitted:
        """The codes that each cell admits."""
        cells = replace(self.cells, distinct=self.typed)
        if self.foreign and self.cells.form is Form.SET:
            known = pl.element().is_null() | pl.element().is_in(self.attribute.domain.implode())
            cells = replace(cells, distinct=cells.distinct.list.eval(pl.element().filter(known)))
        try:
            return admitted_codes(cells, self.attribute)
        except VerificationError as error:
            raise self._mismatch(error.message) from None

    @cached_property
    def line(self) -> Line:
        """The intervals on their line; for columns of intervals only."""
        cells = self.typed.struct
        return line_of(cells.field("lo"), cells.field("hi"), self.attribute.domain)

    @cached_property
    def member_cells(self) -> tuple[IntArray, IntArray]:
        """Cell and code of every member of every set, by cell; empty unless the cells are sets."""
        keys = np.zeros(0, np.int64) if self.admitted.members is None else self.admitted.members
        return keys // (self.admitted.codes + 1), keys % (self.admitted.codes + 1)

    @cached_property
    def values(self) -> IntArray:
        """How many non-null codes each cell admits."""
        if self.admitted.members is not None:
            return np.bincount(self.member_cells[0], minlength=len(self.admitted.lo)).astype(np.int64)
        values: IntArray = np.maximum(self.admitted.hi - self.admitted.lo + 1, 0).astype(np.int64)
        return values

    @cached_property
    def published_values(self) -> IntArray:
        """How many non-null values each set or node holds, known to the snapshot or not."""
        if self.admitted.members is None:
            return self.values
        return self.cells.distinct.list.drop_nulls().list.len().to_numpy().astype(np.int64)

    @cached_property
    def admits(self) -> IntArray:
        """How many codes each cell admits, null being one."""
        return self.values + self.admitted.null

    @cached_property
    def counts(self) -> IntArray:
        """Records of the snapshot per code, null last."""
        if self.known is not None:
            return self.known
        return np.bincount(self.attribute.codes, minlength=self.attribute.null_code + 1).astype(np.int64)

    @property
    def domain(self) -> int:
        """How many codes there are in all, null being one where it occurs."""
        return self.attribute.null_code + int(self.counts[-1] > 0)

    @cached_property
    def spanned(self) -> int:
        """How many codes the box of the whole snapshot admits: the closure of what occurs.

        Where cells over a hierarchy hold nothing but values that occur, it is these; nested boxes also hold others.
        """
        occurring = np.flatnonzero(self.counts[:-1])
        missing = int(self.counts[-1] > 0)
        listed = self.attribute.kind is Kind.TAXONOMY and self.cells.form is Form.SET
        if listed and np.array_equal(self._inside((self.counts > 0).astype(np.float64)), self.admits):
            return len(occurring) + missing
        if not len(occurring):
            return missing
        lo, hi = occurring[:1].astype(np.int32), occurring[-1:].astype(np.int32)
        if self.attribute.taxonomy is not None:
            node = self.attribute.taxonomy.cover(lo, hi)
            lo, hi = self.attribute.taxonomy.lo[node], self.attribute.taxonomy.hi[node]
        return int(hi[0] - lo[0]) + 1 + missing

    @cached_property
    def widths(self) -> FloatArray:
        """The width of each cell, 0 for one value and 1 for the whole domain.

        Null beside values adds a step of one over the number of distinct values that occur.
        """
        size = self.attribute.null_code
        width = np.zeros(len(self.cells.distinct))
        if size > 1 and self.attribute.kind is Kind.INTERVAL:
            width = self.line.widths
        elif size > 1:
            width = np.maximum(self.values - 1, 0) / (size - 1)
        both = self.admitted.null & (self.values > 0)
        step = 1 / max(int(np.count_nonzero(self.counts[:-1])), 1)
        return np.minimum(width + both * step, 1.0)

    @cached_property
    def entropies(self) -> FloatArray:
        """Bits by which the value of a record inside each cell is uncertain, to who knows the column's distribution.

        With counts c that sum to C inside the cell this is log C - (sum of c log c)/C.
        """
        counts = self.counts.astype(np.float64)
        logs = counts * np.log2(np.maximum(counts, 1))
        seen, total, weighted = (self._inside(per_code) for per_code in ((counts > 0).astype(np.float64), counts, logs))
        with np.errstate(divide="ignore", invalid="ignore"):
            bits = np.log2(total) - weighted / total
        # One value is certain, whatever rounding says.
        return np.where(seen > 1, np.maximum(bits, 0.0), 0.0)

    @property
    def entropy(self) -> float:
        """Bits by which the value of a record is uncertain when nothing is told but the column's distribution."""
        probabilities = self.counts[self.counts > 0] / max(int(self.counts.sum()), 1)
        return float(-(probabilities * np.log2(probabilities)).sum()) + 0.0

    def _inside(self, per_code: FloatArray) -> FloatArray:
        """Sum a number per code over the codes that each cell admits."""
        admitted = self.admitted
        if admitted.members is not None:
            cell, code = self.member_cells
            inside = np.bincount(cell, per_code[code], len(admitted.lo)).astype(np.float64)
        else:
            below = np.concatenate([[0.0], np.cumsum(per_code[:-1])])
            lo, behind = (np.minimum(end, len(below) - 1) for end in (admitted.lo, admitted.hi + 1))
            inside = np.where(
                lo < behind, below[behind] - below[lo], 0.0
            )  # null alone has its ends the wrong way round
        return np.asarray(inside + admitted.null * per_code[-1], np.float64)
