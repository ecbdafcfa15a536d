"""The values of a published table of any tool: blanked columns, quoted texts, types."""

from __future__ import annotations

import json

import polars as pl

from reveil.tables.notation import parsed
from reveil.tables.snapshot import canonical_text, type_of
from reveil.tables.snapshot.types import read_as


def is_blanked(cells: pl.Series) -> bool:
    """Return whether a column was left in the table without anything in it, as some tools do."""
    return cells.null_count() == len(cells) or (
        cells.dtype == pl.String and bool(cells.str.contains(r"^\**$").fill_null(value=True).all())
    )


def unquoted(text: pl.Series) -> pl.Series:
    """Read JSON strings as their text; what is none stays as it is."""
    strange = text.str.starts_with('"').fill_null(value=False)
    if not strange.any():
        return text
    return text.replace({value: _unquoted_one(value) for value in text.filter(strange).unique()})


def _unquoted_one(text: str) -> str:
    try:
        return str(json.loads(text))
    except (ValueError, RecursionError):
        return text


def cast_to(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Cast values to a type; what is not a value of it becomes null."""
    if values.dtype == dtype:
        return values
    if values.dtype == pl.String:
        try:
            return parsed(values.str.strip_chars(), dtype)
        except ValueError:
            pass
    wanted = type_of(dtype)
    read = values if wanted is None else read_as(values, wanted)
    made = read.cast(dtype, strict=False)
    if dtype.is_float():
        return made
    # A cast must not round: 2.5 is no whole number.
    return made.set((canonical_text(made) != canonical_text(read)).fill_null(value=False), None)
