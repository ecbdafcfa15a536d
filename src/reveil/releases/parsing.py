"""From the rows of a file back to distinct cells and classes, as its manifest describes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.threads import each
from reveil.releases.cell_types import dtype_named
from reveil.releases.different_cells import different_cells, places_in
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
    from collections.abc import Iterable, Mapping

    from reveil.releases.manifest_parts import PublishedColumn

_THREADED = 20_000
_SEARCHED = 1 << 19  # rows whose keys are looked up at once
_BITS = 62  # of a key and its row together
_ENDS = ["lo", "hi", "null"]  # of a typed interval


def classes_of(columns: list[npt.NDArray[np.integer]], rows: int) -> tuple[CodeArray, CodeArray]:
    """Number the distinct combinations of the given codes; return each row's number and each number's first row.

    Keys are sorted with the row behind them in one number, which needs no second search for the place of a key.
    """
    key = np.zeros(rows, np.int64)
    room, most = 1, 1 << (_BITS - rows.bit_length())
    for codes in columns:
        many = int(codes.max(initial=0)) + 1
        if room * many > most:
            key, room = _numbered(key, room, most)[0].astype(np.int64), rows
        key = key * many + codes
        room *= many
    return _numbered(key, room, most)


def _numbered(key: npt.NDArray[np.int64], room: int, most: int) -> tuple[CodeArray, CodeArray]:
    """Return the place of each key, below ``room``, among the different ones, ascending, and the first row of each."""
    if room > most:
        return _numbered_apart(key)
    bits = len(key).bit_length()
    packed = (key << bits) | np.arange(len(key))
    packed.sort()
    row = (packed & ((1 << bits) - 1)).astype(np.int32)
    packed >>= bits
    new = np.append(True, packed[1:] != packed[:-1])[: len(row)]
    place = np.empty(len(row), np.int32)
    place[row] = np.cumsum(new, dtype=np.int32) - np.int32(1)
    return place, row[new]


def _numbered_apart(key: npt.NDArray[np.int64]) -> tuple[CodeArray, CodeArray]:
    """Return the same where key and row do not go into one number.

    (NumPy's own way keeps five arrays of the length of the table at once.)
    """
    different = np.unique(key)
    place = np.empty(len(key), np.int32)
    for start in range(0, len(key), _SEARCHED):
        rows = slice(start, start + _SEARCHED)
        place[rows] = np.searchsorted(different, key[rows])
    first = np.empty(len(different), np.int32)
    first[place[::-1]] = np.arange(len(key) - 1, -1, -1, dtype=np.int32)
    return place, first


@dataclass
class _Gathered:
    """The different cells of a column, in order of appearance, and which of them each row has; piece by piece."""

    distinct: pl.Series | None = None
    index: list[CodeArray] = field(default_factory=list)

    def add(self, cells: pl.Series) -> None:
        """Add the cells of some rows."""
        different, place = different_cells(cells)
        if self.distinct is None:
            self.distinct, known = different, np.arange(len(different), dtype=np.int32)
        else:
            known = places_in(different, self.distinct)
            new = known < 0
            known[new] = len(self.distinct) + np.arange(int(new.sum()), dtype=np.int32)
            self.distinct = self.distinct.append(different.filter(pl.Series(new)))
        self.index.append(known[place])


def assemble(
    rows_read: pl.DataFrame | Iterable[pl.DataFrame], batches: list[pl.DataFrame], manifest: Manifest
) -> PublishedTable:
    """Turn the rows of a file, which may come in pieces, back into distinct cells and classes."""
    pieces = [rows_read] if isinstance(rows_read, pl.DataFrame) else rows_read
    described = {column.name: column for column in manifest.columns if column.table is None}
    gathered = {name: _Gathered() for name, column in described.items() if Form(column.form) is not Form.VALUE}
    parts: dict[str, list[pl.Series]] = {name: [] for name in described if name not in gathered}
    rows = 0

    def take(cells: pl.Series) -> None:
        name = cells.name
        if name in gathered:
            gathered[name].add(cells)
        else:
            parts[name].append(_read_values(cells, dtype_named(described[name].type)))

    for piece in pieces:
        if list(described) != piece.columns:
            raise ValueError("the columns of this table are not those of its manifest")
        if piece.height > _THREADED:
            each(take, piece.get_columns(), piece.height)  # threads are not worth it for a few rows
        else:
            for cells in piece.get_columns():
                take(cells)
        rows += piece.height
    values = {name: _in_one(parts.pop(name)) for name in list(parts)}
    distinct = {}
    for name in list(gathered):
        column, form = gathered.pop(name), Form(described[name].form)
        distinct[name] = (form, _typed(column.distinct, form, described[name]), np.concatenate(column.index))
        del column
    columns = tuple(name for name in described if described[name].role not in (GROUP, LEVEL))
    numbering = [name for name in described if name not in columns]
    numbers = {name: _whole_numbers(values.pop(name)) for name in numbering}
    seconds = _second_tables_of(manifest, numbers, batches)
    beside = {} if seconds else {described[name].role: number for name, number in numbers.items()}
    depth = beside.get(LEVEL)
    if depth is not None and depth.min(initial=0) < 0:
        raise ValueError("levels are counted from 0 up")
    keys: list[npt.NDArray[np.integer]] = [index for _, _, index in distinct.values()]
    classes, first = classes_of(keys if depth is None else [*keys, depth], rows)
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


def _in_one(parts: list[pl.Series]) -> pl.Series:
    """Put the values of a column behind each other."""
    return parts[0] if len(parts) == 1 else pl.concat(parts, rechunk=True)


def _typed(different: pl.Series | None, form: Form, described: PublishedColumn) -> pl.Series:
    if different is None:
        raise ValueError("a table without rows has a header")
    dtype = dtype_named(described.type)
    return from_text(different, form, dtype) if different.dtype == pl.String else _as_typed(different, form, dtype)


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
