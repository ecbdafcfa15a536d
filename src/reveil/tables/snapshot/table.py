"""From a file or a frame to a checked table with settled types."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import DataError
from reveil.tables.alike import one_spelling
from reveil.tables.binning import in_bins
from reveil.tables.formats import read_file
from reveil.tables.formats.place import Place
from reveil.tables.schema import Column, Role, Schema
from reveil.tables.snapshot.checks import (
    check_bins,
    check_calendar,
    check_cast,
    check_coarse,
    check_covered,
    check_finite,
    check_marks,
    check_persons,
    check_storage,
    uncovered,
)
from reveil.tables.snapshot.frames import from_native
from reveil.tables.snapshot.types import canonical_text, infer_person, infer_type, nan_to_null, read_as, read_steadily
from reveil.tables.snapshot.written import in_plain_notation, in_shown_notation
from reveil.tables.visits.summary import records_of

if TYPE_CHECKING:
    from reveil.tables.visits.rules import Visits


@dataclass(frozen=True)
class RawRows:
    """Rows with settled types as they stand in a table, and the rules by which they became records."""

    frame: pl.DataFrame
    visits: Visits | None


@dataclass(frozen=True)
class Snapshot:
    """One raw table at one point in time, checked.

    ``frame`` has the declared columns in the order of the table; missing values are null, in one form only.
    ``origin`` is the file's name or "the frame"; ``native`` is the library in which answers are given back. ``raw`` is
    what was read before rows were put together and values made coarser, where they were: the judge looks at it.
    """

    frame: pl.DataFrame
    schema: Schema
    origin: str
    native: str
    raw: RawRows | None = field(default=None, repr=False)

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
        table = read_file(
            path, null_values=schema.null_values, check_names=schema.check_columns, dialect=schema.input.dialect
        )
        frame, place, from_text = table.frame, table.place, table.text_only
        del table
        origin, native = path.name, "polars"
    else:
        frame, native = from_native(source, schema)
        place, from_text, origin = Place("the frame"), False, "the frame"
    return with_types_of(frame, schema, place, from_text=from_text, origin=origin, native=native)


def with_types_of(
    frame: pl.DataFrame, schema: Schema, place: Place, *, from_text: bool, origin: str, native: str = "polars"
) -> Snapshot:
    """Give a table that was read its types and check it."""
    if frame.height == 0:
        raise DataError("this table has no rows", file=place.file, hint="A release needs at least one record.")
    declared = {column.name for column in schema.columns}  # some schemas let other columns be there
    cells = [series for series in frame.get_columns() if series.name in declared]
    del frame  # a column of text is let go as soon as it has its type
    visits = schema.input.visits
    reading = ColumnReader(schema, place, from_text=from_text)
    for i, series in enumerate(cells):
        # What puts visits in order is read even where it is dropped afterwards.
        ordering = visits is not None and series.name in visits.orders
        cells[i] = reading.column(series, ordering=ordering)
        del series
    frame = pl.DataFrame(cells)
    coarse = [
        column
        for column in schema.columns
        if (column.coarse is not None or isinstance(column.bins, tuple)) and column.name in frame.columns
    ]
    raw = None if visits is None and not coarse else RawRows(frame, visits)
    if visits is not None:
        frame = records_of(frame, schema, visits, place)
        again = replace(reading, from_text=False)
        frame = frame.with_columns(again.column(frame[name]) for name in visits.rules)
    frame = frame.with_columns(_coarser(frame[name], schema[name], place) for name in frame.columns)
    return Snapshot(frame, schema.of_records(), origin, native, raw)


@dataclass(frozen=True)
class ColumnReader:
    """Gives the columns of one table their types, and checks their cells."""

    schema: Schema
    place: Place
    from_text: bool = field(kw_only=True)

    def column(self, series: pl.Series, *, ordering: bool = False) -> pl.Series:
        """Give a column its type and check its cells."""
        column, place = self.schema[series.name], self.place
        if series.dtype in (pl.Categorical, pl.Enum, pl.Null):
            series = series.cast(pl.String)
        if column.role is Role.IDENTIFIER:
            if not ordering:
                return series
            column = replace(column, role=Role.PLAIN)
        check_storage(series, column, place)
        check_calendar(series, column, place)
        series = nan_to_null(_narrowed(series, column, place))
        written = self.from_text and series.dtype == pl.String
        # The same mark means the same in a frame as in a file; numbers are compared as they would be written.
        marks = column.null_values if written else (*self.schema.null_values, *column.null_values)
        if marks:
            marked = canonical_text(series).is_in(pl.Series(marks).implode()).fill_null(value=False)
            if marked.any():
                series = series.set(marked, None)
        series = nan_to_null(self._typed(series, column, written=written))
        if series.dtype == pl.String and column.role is not Role.PLAIN:
            # Two spellings of one text would pass for two values, and a group of one value for a diverse one.
            series = canonical_text(series)
            if column.folds:
                missing = (*self.schema.null_values, *column.null_values)
                series = one_spelling(series, (*(column.labels or ()), *column.spellings), missing)
        check_finite(series, column, place)
        check_marks(series, column, place)
        check_bins(series, column, place)
        check_covered(series, column, place)
        if column.role is Role.PERSON:
            check_persons(series, column, place, repeated=self.schema.input.visits is not None)
        return series

    def _typed(self, series: pl.Series, column: Column, *, written: bool) -> pl.Series:
        """Read cells as the declared type, or as the one that they show."""
        notation = self.schema.input.notation
        if column.type is not None:
            plain, how = in_plain_notation(series, column, notation, self.place)
            typed = (read_steadily if column.steady else read_as)(plain, column.type)
            check_cast(series, typed, column, self.place, how)
            return typed
        if not written:
            return series
        if column.role is not Role.PERSON and not column.typed:
            series = in_shown_notation(series, column, notation, self.place)
        return _inferred(series, column) if series.dtype == pl.String else series


def _coarser(series: pl.Series, column: Column, place: Place) -> pl.Series:
    """Return the values as they are published at their finest."""
    if column.coarse is not None:
        check_coarse(series, column, place)
        series = column.coarse.apply(series)
    return in_bins(series, column.bins) if isinstance(column.bins, tuple) else series


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
