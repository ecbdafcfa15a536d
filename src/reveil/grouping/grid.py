"""A grid that is fixed before any data is seen: which cell each value falls into, and how the cell is written.

What a *scale* is depends on the column:

* numbers, dates and times: two or more cut points, ascending. A cell runs from one cut point up to the next; a value on
  a cut point is in the cell above it, one on the last in the last cell. The first and the last are the ends of what is
  published: a value outside is in no cell. Cells of dates are written with the first and the last day in them, others
  with their cut points (``[18, 30]``), whether the numbers in the table are whole or not.
* a hierarchy: how many levels above the values the cells are, as in the columns of a hierarchy file: 0 the values
  themselves (as without a scale), 1 their parents, and so on.
* a declared order: lists of values, each list a cell; every value is in one. Without a scale each value is a cell.
* all other columns have no scale: each value is a cell.

A missing value is a cell of its own everywhere. Nothing here looks at which values occur: a value's cell depends on the
scale, the type of the column and the value alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.errors import ConfigError
from reveil.models.encoding import Attribute, Kind
from reveil.tables.hierarchy import value_text
from reveil.tables.notation import Form, label_cells, parsed

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray

Scale = int | list[Any]
_FORMS = {Kind.INTERVAL: Form.INTERVAL, Kind.ORDERED: Form.SET, Kind.SET: Form.SET, Kind.TAXONOMY: Form.LABEL}


@dataclass(frozen=True)
class GridColumn:
    """The cells of one column: ``of_code`` has the cell of each code, -1 for none; the last cell is null alone."""

    attribute: Attribute
    of_code: CodeArray = field(repr=False)
    null_cell: int
    made: Any = field(repr=False)  # ends, labels, or lists of codes, one for each cell but the last

    @property
    def form(self) -> Form:
        """What published cells look like."""
        return _FORMS[self.attribute.kind]

    def cells(self, wanted: npt.NDArray[np.integer]) -> pl.Series:
        """Return some cells, typed as they are published; nothing else of the column is in the result."""
        null = np.asarray(wanted == self.null_cell)
        name, cell = self.attribute.name, np.where(null, 0, wanted)
        missing = pl.Series(null, dtype=pl.Boolean)
        if self.form is Form.INTERVAL:
            ends = {key: pl.select(pl.when(~missing).then(s.gather(cell))).to_series() for key, s in self.made.items()}
            return pl.DataFrame({**ends, "null": missing}).to_struct(name)
        if self.form is Form.LABEL:
            labels = pl.select(pl.when(~missing).then(self.made["labels"].gather(cell))).to_series()
            return label_cells(labels, missing, exact=self.made["exact"].gather(cell)).alias(name)
        domain = self.attribute.domain.to_list()
        lists = [[None] if n else [domain[code] for code in self.made[c]] for n, c in zip(null, cell, strict=True)]
        return pl.Series(name, lists, dtype=pl.List(pl.String))


def checked_scales(scales: object) -> dict[str, Scale]:
    """Return scales as they go into a manifest: numbers, texts and lists; dates are texts in ISO form."""
    if not isinstance(scales, Mapping) or not all(isinstance(name, str) for name in scales):
        raise ConfigError("scales must name columns", hint="scales = { age = [18, 30, 65], zip = 1 }")
    return {name: _checked(name, scale) for name, scale in scales.items()}


def _checked(name: str, scale: object) -> Scale:
    if isinstance(scale, int | np.integer) and not isinstance(scale, bool):
        return int(scale)
    if isinstance(scale, Sequence | np.ndarray) and not isinstance(scale, str) and len(scale):
        groups = [isinstance(part, list | tuple) for part in scale]
        if all(groups):
            return [[value_text(value) for value in part] for part in scale]
        if not any(groups) and len(scale) > 1:
            return [_cut(name, part) for part in scale]
    raise ConfigError(
        f"the scale of column {name!r} is none",
        column=name,
        hint="Write two or more cut points for numbers and dates ([18, 30, 65]), a number of levels for a hierarchy "
        '(1), or lists of values for a declared order ([["none", "primary"], ["secondary"]]).',
    )


def _cut(name: str, cut: object) -> int | float | str:
    if isinstance(cut, date | datetime | time):
        return cut.isoformat()
    plain = cut.item() if isinstance(cut, np.generic) else cut
    if isinstance(plain, bool) or not isinstance(plain, int | float | str):
        raise ConfigError(f"a cut point of column {name!r} is neither a number nor a date", column=name)
    if isinstance(plain, float) and not math.isfinite(plain):
        raise ConfigError(
            f"a cut point of column {name!r} is not a finite number",
            column=name,
            hint="The outer cut points are published: write the smallest and the largest value that may be told.",
        )
    return plain


def grid_column(attribute: Attribute, scale: Scale | None) -> GridColumn:
    """Return the cells of a column, or say what its scale lacks."""
    if attribute.kind is Kind.INTERVAL:
        return _intervals(attribute, scale)
    if attribute.taxonomy is not None:
        levels = attribute.taxonomy.levels
        up = level_of(attribute.name, scale, len(levels))
        nodes, of_code = np.unique(levels[len(levels) - 1 - up], return_inverse=True)
        labels = pl.Series([attribute.taxonomy.labels[node] for node in nodes], dtype=pl.String)
        exact = pl.Series(attribute.taxonomy.lo[nodes] == attribute.taxonomy.hi[nodes])
        made = {"labels": labels, "exact": exact}
        return GridColumn(attribute, _with_null(of_code, len(nodes)), len(nodes), made)
    size = len(attribute.domain)
    if scale is None:
        return GridColumn(attribute, np.arange(size + 1, dtype=np.int32), size, [[code] for code in range(size)])
    if attribute.kind is not Kind.ORDERED:
        raise ConfigError(
            f"column {attribute.name!r} has a scale, and its values are neither numbers nor dates nor declared",
            column=attribute.name,
            hint="Take the scale out (each value is a cell), or declare the values: order = [...] or a hierarchy.",
        )
    groups = groups_of(attribute.name, scale, attribute.domain.to_list())
    of_code = np.empty(size, np.int32)
    for cell, codes in enumerate(groups):
        of_code[codes] = cell
    return GridColumn(attribute, _with_null(of_code, len(groups)), len(groups), groups)


def level_of(name: str, scale: Scale | None, levels: int) -> int:
    """Return the number of levels above the values, or raise."""
    up = 0 if scale is None else scale
    if isinstance(up, list) or not 0 <= up < levels:
        raise ConfigError(
            f"the scale of column {name!r} must be a level of its hierarchy",
            column=name,
            hint=f"0 are the values themselves, {levels - 1} is the root.",
        )
    return up


def groups_of(name: str, scale: Scale, domain: Sequence[str]) -> list[list[int]]:
    """Return the codes of each group of a declared order, or raise unless every value is in one."""
    place = {value: code for code, value in enumerate(domain)}
    lists = scale if isinstance(scale, list) and all(isinstance(part, list) for part in scale) else []
    named = [value for part in lists for value in part]
    if sorted(named) != sorted(domain) or not all(lists):
        raise ConfigError(
            f"the scale of column {name!r} must put each value of its order into one list",
            column=name,
            hint='For example [["none", "primary"], ["secondary", "tertiary"]].',
        )
    return [sorted(place[value] for value in part) for part in lists]


def _with_null(of_code: npt.NDArray[np.integer], null_cell: int) -> CodeArray:
    return np.append(of_code, null_cell).astype(np.int32)


def _intervals(attribute: Attribute, scale: Scale | None) -> GridColumn:
    name, domain = attribute.name, attribute.domain
    if not isinstance(scale, list) or any(isinstance(part, list) for part in scale):
        raise ConfigError(
            f"column {name!r} needs cut points: a grid is never learnt from the table",
            column=name,
            hint=f"scales = {{ {name} = [0, 18, 65, 120] }}, ends included.",
        )
    lo, hi = _ends(name, scale, domain.dtype)
    if not (lo.head(-1) < lo.tail(-1)).all() or not (lo <= hi).all():
        raise ConfigError(f"the cut points of column {name!r} must ascend, with a value between any two", column=name)
    cell = np.zeros(len(domain) + 1, np.int64)
    if len(domain):
        cell[:-1] = np.asarray(lo.search_sorted(domain, side="right"), np.int64) - 1
        inside = (domain <= hi.gather(np.maximum(cell[:-1], 0))).to_numpy()
        cell[:-1] = np.where(inside, cell[:-1], -1)
    cell[-1] = len(lo)
    return GridColumn(attribute, cell.astype(np.int32), len(lo), {"lo": lo, "hi": hi})


def _ends(name: str, cuts: Sequence[object], dtype: pl.DataType) -> tuple[pl.Series, pl.Series]:
    """Return the first and the last value of each cell, in the type of the column."""
    numbers = dtype.is_numeric()
    try:
        if any(isinstance(cut, str) == numbers for cut in cuts):
            raise ValueError
        texts = [value_text(cut) for cut in cuts]
        if isinstance(dtype, pl.Datetime):
            texts = [text if "T" in text else f"{text}T00:00:00" for text in texts]
        read = parsed(pl.Series(texts, dtype=pl.String), dtype)
    except (ValueError, TypeError, OverflowError, pl.exceptions.PolarsError):
        raise ConfigError(
            f"a cut point of column {name!r} is not a value of its type",
            column=name,
            hint="Write numbers for numbers, and ISO dates (1980-01-31) for dates.",
        ) from None
    if dtype == pl.Date:
        before = read.to_physical() - 1
        last = before.cast(pl.Date).to_list()[1:-1]
        return read.head(-1), pl.Series([*last, read[-1]], dtype=pl.Date)
    return read.head(-1), read.tail(-1)
