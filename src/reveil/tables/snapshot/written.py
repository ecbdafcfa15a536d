"""Cells of text as somebody wrote them, in the notation that is declared for them, as a program would write them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import polars as pl

from reveil.tables.cell_notation import ISO, check_one_shape, parse_dates
from reveil.tables.schema import Type
from reveil.tables.snapshot.types import canonical_text

if TYPE_CHECKING:
    from reveil.tables.cell_notation import CellNotation
    from reveil.tables.formats.place import Place
    from reveil.tables.schema import Column

_EXAMPLE = dt.datetime(2024, 12, 31, 23, 59)
_ISO_SHAPE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].*)?$"


def in_plain_notation(
    series: pl.Series, column: Column, notation: CellNotation, place: Place
) -> tuple[pl.Series, str | None]:
    """Return the cells of a column of a declared type for reading, and how they are to be written.

    Each cell is read by itself: what is not in the notation is null, and the caller says so.
    """
    if series.dtype != pl.String:
        return series, None
    if column.type is Type.NUMBER and notation.local_numbers:
        notation.check_one_way(series, place, column.name)
        return notation.plain_numbers(series), f"Write numbers as 1234{notation.decimal or '.'}5, as [input] says"
    form = column.dates or notation.dates
    if column.type not in (Type.DATE, Type.DATETIME) or form is None or form == ISO:
        return series, None
    if column.dates is None and series.drop_nulls().str.contains(_ISO_SHAPE).all():
        return series, None  # the format for all columns is for those that need one
    read = canonical_text(parse_dates(series, form))
    return read, f"Write dates as {_EXAMPLE.strftime(form)}, as dates = {form!r} says"


def in_shown_notation(series: pl.Series, column: Column, notation: CellNotation, place: Place) -> pl.Series:
    """Return a column of no declared type for inference: in plain notation where all its cells are in the declared one.

    Cells in two notations are refused; a column that has another one altogether is text.
    """
    cells = series.drop_nulls()
    if cells.is_empty():
        return series
    form = column.dates or notation.dates
    if form is not None:
        read = parse_dates(series, form)
        if read.null_count() == series.null_count():
            return read
        if column.dates is not None:
            lost = series.is_not_null() & read.is_null()
            raise place.error(
                f"column {column.name!r}: {int(lost.sum()):,} cells are not dates in the format {form!r}",
                column=column.name,
                row=lost.arg_max(),
                hint=f"Write dates as {_EXAMPLE.strftime(form)}; list marks for missing cells under null_values.",
            )
    check_one_shape(series, place, column.name)
    if not notation.local_numbers:
        return series
    notation.check_one_way(series, place, column.name)
    plain = notation.plain_numbers(series)
    return plain if plain.null_count() == series.null_count() else series
