"""From the rows of a file back to distinct cells and classes, as its manifest describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.threads import each
from reveil.releases.cell_types import dtype_named
from reveil.releases.manifest import SECOND, Manifest
from reveil.releases.table import (
    COUNT,
    GROUP,
    LEVEL,
    Cells,
    CodeArray,
    PublishedTable,
    SecondTable,
    group_column,
)
from reveil.tables.notation import Form, from_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_THREADED = 20_000
_ENDS = ["lo", "hi", "null"]  # of a typed interval


def classes_of(columns: list[npt.NDArray[np.integer]], rows: int) -> tuple[CodeArray, CodeArray]:
    """Number the distinct combinations of the given codes; return each row's number and each number's first row."""
    key = np.zeros(rows, np.int64)
    room = 1
    for codes in columns:
        many = int(codes.max(initial=0)) + 1
        if room * many >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            room = int(key.max(initial=0)) + 1
        key = key * many + codes
        room *= many
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    return inverse.astype(np.int32), first.astype(np.int32)


def assemble(table: pl.DataFrame, batches: list[pl.DataFrame], manifest: Manifest) -> PublishedTable:
    """Turn the rows of a file back into distinct cells and classes."""
    described = {column.name: column for column in manifest.columns if column.table is None}
    if list(described) != table.columns:
        raise ValueError("the columns of this table are not those of its manifest")

    def read(name: str) -> tuple[Form, pl.Series, CodeArray | None]:
        form, dtype, cells = Form(described[name].form), dtype_named(described[name].type), table[name]
        if form is Form.VALUE:
            return form, _read_values(cells, dtype), None
        different = cells.unique(maintain_order=True)
        typed = from_text(different, form, dtype) if different.dtype == pl.String else _as_typed(different, form, dtype)
        return form, typed, places_in(cells, different)

    work = each if table.height > _THREADED else map  # threads are not worth it for a few rows
    columns_read = dict(zip(described, work(read, described), strict=True))
    values = {name: cells for name, (_, cells, index) in columns_read.items() if index is None}
    distinct = {name: (form, cells, index) for name, (form, cells, index) in columns_read.items() if index is not None}
    columns = tuple(name for name in described if described[name].role not in (GROUP, LEVEL))
    numbering = [name for name in described if name not in columns]
    numbers = {name: _whole_numbers(values.pop(name)) for name in numbering}
    seconds = _second_tables_of(manifest, numbers, batches)
    beside = {} if seconds else {described[name].role: number for name, number in numbers.items()}
    depth = beside.get(LEVEL)
    if depth is not None and depth.min(initial=0) < 0:
        raise ValueError("levels are counted from 0 up")
    keys: list[npt.NDArray[np.integer]] = [index for _, _, index in distinct.values()]
    classes, first = classes_of(keys if depth is None else [*keys, depth], table.height)
    cells_of = {name: Cells(form, typed, index[first]) for name, (form, typed, index) in distinct.items()}
    groups, levels = beside.get(GROUP), None if depth is None else depth[first]
    if groups is not None and groups.min(initial=0) < 0:
        raise ValueError("groups are numbered from 0 up")
    values_of = pl.DataFrame(values)
    if seconds or not batches:
        return PublishedTable(columns, cells_of, classes, values_of, groups=groups, levels=levels, seconds=seconds)
    second = _read_batch(
        batches[0], {column.name: column.type for column in manifest.columns if column.table == SECOND}
    )
    return PublishedTable(columns, cells_of, classes, values_of, groups=groups, batch=second, levels=levels)


def _second_tables_of(
    manifest: Manifest, numbers: Mapping[str, CodeArray], batches: list[pl.DataFrame]
) -> tuple[SecondTable, ...]:
    """Return the tables of sensitive columns, where each has one."""
    parts = manifest.second_tables
    found = []
    for (name, column_parts), batch in zip(parts.items(), batches if parts else (), strict=True):
        groups = numbers[group_column(name, len(parts))]
        if groups.min(initial=0) < 0:
            raise ValueError("groups are numbered from 0 up")
        types = {column: manifest.column(column).type for column in column_parts}
        found.append(SecondTable(name, column_parts, groups, _read_batch(batch, types)))
    return tuple(found)


def _read_batch(batch: pl.DataFrame, types: Mapping[str, str]) -> pl.DataFrame:
    """Read a second table: group, values, count."""
    types = {GROUP: "Int32", **types, COUNT: "Int64"}
    if list(types) != batch.columns:
        raise ValueError("the columns of the second table are not those of its manifest")
    second = pl.DataFrame({name: _read_values(batch[name], dtype_named(kind)) for name, kind in types.items()})
    if (second[GROUP] < 0).any() or (second[COUNT] < 1).any():
        raise ValueError("groups are numbered from 0 up and values counted from 1 up")
    return second


def _whole_numbers(values: pl.Series) -> CodeArray:
    """Return the numbers of groups or levels, of which none may be missing."""
    if values.null_count():
        raise ValueError("a group or a level is missing")
    return values.to_numpy().astype(np.int32)


def _as_typed(cells: pl.Series, form: Form, dtype: pl.DataType) -> pl.Series:
    """Return cells that are no text as their form has them; a column of another shape raises ValueError."""
    shape = cells.dtype
    if form is Form.INTERVAL and isinstance(shape, pl.Struct) and [end.name for end in shape.fields] == _ENDS:
        return cells.cast(pl.Struct({"lo": dtype, "hi": dtype, "null": pl.Boolean}))
    if form is Form.SET and shape == pl.List(pl.String):  # whatever the type of the values is
        return cells
    raise ValueError("a column has not the shape that its manifest says")


def _read_values(cells: pl.Series, dtype: pl.DataType) -> pl.Series:
    if cells.dtype.is_nested():  # which polars would turn into values field by field
        raise ValueError("a column has lists where its manifest says values")
    return from_text(cells, Form.VALUE, dtype) if cells.dtype == pl.String else cells.cast(dtype)


def places_in(cells: pl.Series, distinct: pl.Series) -> CodeArray:
    """Return where each cell stands in a column of distinct cells."""
    place = pl.DataFrame({"cell": distinct}).with_row_index("place")
    joined = pl.DataFrame({"cell": cells}).join(place, on="cell", how="left", maintain_order="left", nulls_equal=True)
    return joined["place"].to_numpy().astype(np.int32)
