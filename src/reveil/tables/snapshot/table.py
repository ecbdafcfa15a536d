"""From a file or a frame to a checked table with settled types."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from reveil.core.errors import DataError
from reveil.tables.alike import one_spelling
from reveil.tables.formats import read_file
from reveil.tables.formats.place import Place
from reveil.tables.schema import Column, Role, Schema
from reveil.tables.snapshot.checks import (
    check_bins,
    check_calendar,
    check_cast,
    check_covered,
    check_finite,
    check_persons,
    check_storage,
    uncovered,
)
from reveil.tables.snapshot.frames import from_native
from reveil.tables.snapshot.types import canonical_text, infer_person, infer_type, nan_to_null, read_as, read_steadily


@dataclass(frozen=True)
class Snapshot:
    """One raw table at one point in time, checked.

    ``frame`` has the declared columns in the order of the table; missing values are null, in one form only.
    ``origin`` is the file's name or "the frame"; ``native`` is the library in which answers are given back.
    """

    frame: pl.DataFrame
    schema: Schema
    origin: str
    native: str

    def __repr__(self) -> str:
        """Say what it is, not what is in it: a repr ends up in logs."""
        return f"Snapshot({self.origin!r}, {self.frame.height:,} rows, {self.frame.width} columns)"


def read_snapshot(source: object, schema: Schema) -> Snapshot:
    """Read a raw table and check it against the schema.

    ``source`` is the path of a file in a known format, a frame of polars (lazy or not), pandas or pyarrow, or whatever
    offers an Arrow stream. Anything that cannot be published as it is raises with place and remedy.
    """
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        table = read_file(path, null_values=schema.null_values, check_names=schema.check_columns)
        frame, place, from_text = table.frame, table.place, table.text_only
        del table
        origin, native = path.name, "polars"
    else:
        frame, native = from_native(source, schema)
        place, from_text, origin = Place("the frame"), False, "the frame"
    if frame.height == 0:
        raise DataError("this table has no rows", file=place.file, hint="A release needs at least one record.")
    declared = {column.name for column in schema.columns}  # some schemas let other columns be there
    cells = [series for series in frame.get_columns() if series.name in declared]
    del frame  # a column of text is let go as soon as it has its type
    for i, series in enumerate(cells):
        cells[i] = _typed_and_checked(series, schema[series.name], schema.null_values, place, from_text=from_text)
        del series
    return Snapshot(pl.DataFrame(cells), schema, origin, native)


def _typed_and_checked(
    series: pl.Series, column: Column, null_values: tuple[str, ...], place: Place, *, from_text: bool
) -> pl.Series:
    """Give a column its type and check its cells."""
    if series.dtype in (pl.Categorical, pl.Enum, pl.Null):
        series = series.cast(pl.String)
    if column.role is Role.IDENTIFIER:
        return series
    check_storage(series, column, place)
    check_calendar(series, column, place)
    series = nan_to_null(_narrowed(series, column, place))
    if null_values and not from_text:
        # The same mark means the same in a frame as in a file; numbers are compared as they would be written.
        marked = canonical_text(series).is_in(pl.Series(null_values).implode()).fill_null(value=False)
        if marked.any():
            series = series.set(marked, None)
    if column.type is not None:
        typed = (read_steadily if column.steady else read_as)(series, column.type)
        check_cast(series, typed, column, place)
        series = typed
    elif from_text:
        series = _inferred(series, column)
    series = nan_to_null(series)
    if series.dtype == pl.String and column.role is not Role.PLAIN:
        # Two spellings of one text would pass for two values, and a group of one value for a diverse one.
        series = canonical_text(series)
        if column.folds:
            series = one_spelling(series, (*(column.labels or ()), *column.spellings), null_values)
    check_finite(series, column, place)
    check_bins(series, column, place)
    check_covered(series, column, place)
    if column.role is Role.PERSON:
        check_persons(series, column, place)
    return series


def _narrowed(series: pl.Series, column: Column, place: Place) -> pl.Series:
    """Return numbers in a type that everything else can count with."""
    kind = str(series.dtype)
    if kind == "Float16":
        return series.cast(pl.Float32)
    if kind != "UInt128" or column.role is Role.PERSON:
        return series  # persons are compared as texts
    signed = series.cast(pl.Int128, strict=False)
    lost = signed.is_null() & series.is_not_null()
    if lost.any():
        raise place.error(
            f"column {column.name!r} has {int(lost.sum()):,} whole numbers of more than 127 bits",
            row=lost.arg_max(),
            column=column.name,
            hint='Write them as text, with type = "text" in the config.',
        )
    return signed


def _inferred(series: pl.Series, column: Column) -> pl.Series:
    """Infer a type, unless only the spelling in the file is what the order or hierarchy lists (1.50, not 1.5)."""
    if column.role is Role.PERSON:
        return infer_person(series)
    typed = infer_type(series)
    missing = uncovered(typed, column)
    if missing is not None and not missing.is_empty() and typed.dtype != pl.String:
        as_written = uncovered(series, column)
        if as_written is not None and as_written.is_empty():
            return series
    return typed
