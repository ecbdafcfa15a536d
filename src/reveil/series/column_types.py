"""The type of a column is settled by the first release that has it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reveil.errors import DataError
from reveil.release import dtype_name, dtype_named
from reveil.schema import Role, Schema
from reveil.snapshot import Snapshot, type_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


def with_known_types(schema: Schema, known: Mapping[str, str]) -> Schema:
    """Return the schema with the types of columns that were published before: files are read so, not guessed."""
    columns = [
        replace(column, type=type_of(dtype_named(known[column.name])))
        if column.type is None and column.name in known and column.role in (Role.QUASI, Role.SENSITIVE)
        else column
        for column in schema.columns
    ]
    return Schema.of(columns, schema.null_values)


def settled(snapshot: Snapshot, known: Mapping[str, str]) -> Snapshot:
    """Return the snapshot with columns as they were stored before, where that loses nothing.

    Whole numbers may become fractions in a quasi column; a sensitive column stays what it was. A steady column is not
    touched: what its cells are must not decide how they are stored.
    """
    changed = []
    for name in snapshot.schema.names(Role.QUASI, Role.SENSITIVE):
        dtype = snapshot.frame.schema[name]
        if name not in known or dtype_name(dtype) == known[name] or snapshot.schema[name].steady:
            continue
        before, column = dtype_named(known[name]), snapshot.frame[name]
        cast = column.cast(before, strict=False)
        same = cast.null_count() == column.null_count() and cast.cast(dtype, strict=False).equals(
            column, null_equal=True
        )
        if same:
            changed.append(cast)
        elif snapshot.schema[name].role is Role.SENSITIVE or type_of(dtype) is not type_of(before):
            raise DataError(
                f"column {name!r} was {_words(before)} in earlier releases and is {_words(dtype)} now",
                file=snapshot.origin,
                column=name,
                hint="Export it as before.",
            )
    return replace(snapshot, frame=snapshot.frame.with_columns(changed))


def _words(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "whole numbers"
    return {"number": "numbers", "date": "dates"}.get(str(type_of(dtype)), str(type_of(dtype)))


def types_of(snapshot: Snapshot, known: Mapping[str, str]) -> dict[str, str]:
    """Return the types of the columns whose values are remembered from now on and were not before."""
    names = snapshot.schema.names(Role.QUASI, Role.SENSITIVE)
    return {name: dtype_name(snapshot.frame.schema[name]) for name in names if name not in known}
