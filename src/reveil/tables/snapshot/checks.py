"""What every cell must satisfy before anything is computed from it.

All checks speak in the same form: what, where, and the remedy. Values are shown for quasi columns alone; for the
others the number of them and the first place must do.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import shown
from reveil.tables.alike import fold_distinct
from reveil.tables.marks import SUPPRESSED_VALUE
from reveil.tables.schema import Column, Role, Type
from reveil.tables.snapshot.types import canonical_text, outside_the_calendar, type_of

if TYPE_CHECKING:
    from reveil.tables.formats.place import Place

_WRITTEN = {
    Type.NUMBER: "Write numbers as 1234.5, without separators or units",
    Type.DATE: "Write dates as 2024-12-31",
    Type.DATETIME: "Write date-times as 2024-12-31T23:59:00, with a zone on all of them or on none",
    Type.TIME: "Write times as 23:59 or 23:59:00",
    Type.BOOLEAN: "Write true and false, or 1 and 0",
    Type.TEXT: "Write text",
}
_UNSUPPORTED: dict[type[pl.DataType], tuple[str, str]] = {
    pl.List: ("lists", "Put one value in each cell"),
    pl.Array: ("lists", "Put one value in each cell"),
    pl.Struct: ("records with several fields", "Make each field a column"),
    pl.Binary: ("bytes", "Convert them to text"),
    pl.Object: ("Python objects", "Convert them to text or numbers"),
    pl.Duration: ("durations", "Convert them to a number of seconds or days"),
}
_UNKNOWN = ("values of an unknown kind", "Convert them to text")


def check_storage(series: pl.Series, column: Column, place: Place) -> None:
    """Refuse columns whose cells are not single values."""
    if type_of(series.dtype) is None:
        words, remedy = _UNSUPPORTED.get(series.dtype.base_type(), _UNKNOWN)
        raise place.error(
            f"column {column.name!r} holds {words}, which cannot be a {column.role.value} column",
            column=column.name,
            hint=f"{remedy}, or declare the column an identifier: it is then dropped.",
        )


def check_calendar(series: pl.Series, column: Column, place: Place) -> None:
    """Refuse dates and times that cannot be written."""
    outside = outside_the_calendar(series)
    if outside is not None:
        raise place.error(
            f"column {column.name!r} has {int(outside.sum()):,} dates or times that no calendar has",
            row=outside.arg_max(),
            column=column.name,
            hint="Dates lie in the years 0 to 9999. Leave the cells empty, or mend what wrote them.",
        )


def check_cast(raw: pl.Series, typed: pl.Series, column: Column, place: Place, how: str | None = None) -> None:
    """Raise if a cell was lost on the way to the declared type; ``how`` says how cells are written here."""
    if typed.null_count() == raw.null_count() or column.type is None:
        return
    lost = raw.is_not_null() & typed.is_null()
    if column.type is Type.NUMBER and raw.dtype == pl.String:
        lost &= ~raw.str.strip_chars(" \t").str.contains(r"(?i)^[+-]?nan$").fill_null(value=False)
    count = int(lost.sum())
    if count == 0:
        return
    one = "cell" if count == 1 else "cells"
    raise place.error(
        f"column {column.name!r} is declared as {column.type.value}, but {count:,} {one} cannot be read so"
        + _values(raw.filter(lost), column),
        row=lost.arg_max(),
        column=column.name,
        hint=f"{how or _WRITTEN[column.type]}; list marks for missing cells under null_values; or declare another "
        "type.",
    )


def check_finite(series: pl.Series, column: Column, place: Place) -> None:
    """Refuse infinite numbers: they have no width and no distance."""
    if series.dtype.is_float() and column.role in (Role.QUASI, Role.SENSITIVE):
        infinite = series.is_infinite().fill_null(value=False)
        if infinite.any():
            raise place.error(
                f"column {column.name!r} has {int(infinite.sum()):,} infinite numbers",
                row=infinite.arg_max(),
                column=column.name,
                hint="Leave the cells empty, or replace them by a number.",
            )


def check_marks(series: pl.Series, column: Column, place: Place) -> None:
    """Refuse the text that stands for a suppressed cell: published, somebody's value would read as suppressed."""
    if series.dtype != pl.String or column.role is Role.PERSON:
        return
    marked = (series == SUPPRESSED_VALUE).fill_null(value=False)
    if marked.any():
        raise place.error(
            f"column {column.name!r} has {int(marked.sum()):,} cells that are a NUL character and a star",
            row=marked.arg_max(),
            column=column.name,
            hint="That is how suppressed cells are known. Leave the cells empty, or write what is meant.",
        )


def check_bins(series: pl.Series, column: Column, place: Place) -> None:
    """Refuse bins for what is no number."""
    have = type_of(series.dtype)
    if column.bins is not None and have is not None and have is not Type.NUMBER:
        raise place.error(
            f"column {column.name!r} has bins, but its type is {have.value}, not number",
            column=column.name,
            hint='Take the bins away, or mend the cells: with type = "number" the first one that is none is named.',
        )


def check_coarse(series: pl.Series, column: Column, place: Place) -> None:
    """Refuse to cut or round what is neither a number nor a date."""
    have = type_of(series.dtype)
    coarse = column.coarse
    wanted = (Type.DATE, Type.DATETIME) if coarse is not None and coarse.dates else (Type.NUMBER,)
    if coarse is not None and have not in wanted:
        raise place.error(
            f"column {column.name!r} has top, bottom or round for a {wanted[0].value}, but its type is {have}",
            column=column.name,
            hint=f'Take them away, or mend the cells: with type = "{wanted[0].value}" the first that is none is named.',
        )


def uncovered(series: pl.Series, column: Column) -> pl.Series | None:
    """Return the distinct values that the order or the hierarchy does not have; None where there is neither."""
    labels = column.labels
    if labels is None:
        return None
    known = pl.Series([unicodedata.normalize("NFC", label) for label in labels], dtype=pl.String)
    values = series.drop_nulls().unique(maintain_order=True)
    texts = canonical_text(values)
    if column.folds and values.dtype == pl.String:
        known, texts = fold_distinct(known), fold_distinct(texts)
    return values.filter(~texts.is_in(known.implode()))


def check_covered(series: pl.Series, column: Column, place: Place) -> None:
    """Raise if a value has no place in the column's order or hierarchy."""
    missing = uncovered(series, column)
    if missing is None or missing.is_empty():
        return
    what = "order" if column.taxonomy is None else "hierarchy"
    one = "value is" if len(missing) == 1 else "different values are"
    raise place.error(
        f"column {column.name!r}: {len(missing):,} {one} not in its {what}" + _values(missing, column),
        row=(series == missing.head(1)).fill_null(value=False).arg_max(),
        column=column.name,
        hint=f"Add each to the {what}, or mend the cells; list marks for missing cells under null_values.",
    )


def check_persons(series: pl.Series, column: Column, place: Place, *, repeated: bool = False) -> None:
    """Raise unless every row has a person, and of its own unless they may be ``repeated``; identities are not shown."""
    nulls = series.null_count()
    if nulls:
        raise place.error(
            f"the person column {column.name!r} is empty in {nulls:,} {'row' if nulls == 1 else 'rows'}",
            row=series.is_null().arg_max(),
            column=column.name,
            hint="Every row belongs to a person; fill the cells in or take the rows out.",
        )
    if repeated:
        return
    ids = canonical_text(series) if series.dtype == pl.String or not series.dtype.is_integer() else series
    repeats = len(ids) - ids.n_unique()
    if repeats:
        rows = "row" if repeats == 1 else "rows"
        raise place.error(
            f"the person column {column.name!r} names a person again in {repeats:,} {rows}",
            row=(~ids.is_first_distinct()).arg_max(),
            column=column.name,
            hint="A snapshot has one row for each person: keep the one that holds. If the rows are visits, say so: "
            'rows = "visits" under [input], with keep = "last by COLUMN".',
        )


def _values(values: pl.Series, column: Column) -> str:
    """List values for a message, if the column's role allows it."""
    if column.role is not Role.QUASI:
        return ""
    return ": " + shown(canonical_text(values.unique(maintain_order=True)))
