"""The type of a column is settled by the first release that has it, and so is how its values are written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import DataError
from reveil.releases.release import dtype_name, dtype_named
from reveil.releases.respelling import shown
from reveil.tables.alike import alike
from reveil.tables.schema import EXACT, Role, Schema, looks_alike
from reveil.tables.snapshot import Snapshot, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.core.json_values import JSON
    from reveil.vault import Vault

SPELLINGS = "spellings"  # the setting that keeps them without a person


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


def with_known_spellings(schema: Schema, vault: Vault, declared: Iterable[str] = ()) -> Schema:
    """Return the schema with the spellings that are fixed: as told before, then as ``declared`` for the first column.

    A value that was published once is written so for good: another spelling would tell that its record was touched.
    """
    kept: Mapping[str, list[str]] = vault.setting(SPELLINGS) or {}
    known = vault.attributes()
    columns = []
    for column in schema.columns:
        if column.folds:
            told = vault.values(column.name)["value"].drop_nulls().to_list() if column.name in known else []
            first = tuple(declared) if column.name == schema.sensitive[0] else ()
            told = list(dict.fromkeys([*told, *kept.get(column.name, ()), *first]))
            columns.append(replace(column, spellings=tuple(told)))
        else:
            columns.append(column)
    return Schema.of(columns, schema.null_values)


def spellings_of(schema: Schema, values: pl.DataFrame, known: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the spellings to keep beside the dictionary: those kept before, and those of a table or a release."""
    found = {name: list(texts) for name, texts in known.items()}
    for name in schema.sensitive:
        if schema[name].folds and values.schema.get(name) == pl.String:
            texts = shown(values[name].unique()).drop_nulls().sort().to_list()
            found[name] = list(dict.fromkeys([*found.get(name, ()), *texts]))
    return found


def as_begun(schema: Schema, before: Mapping[str, JSON]) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema as a series compares values that began with the settings ``before``, and what that changes.

    A series from before texts were folded goes on without it: its releases have spellings that would change.
    """
    kept = tuple(
        column.name
        for column in schema.columns
        if column.folds
        and column.compare is None
        and before.get(f"columns.{column.name}.role") == Role.SENSITIVE.value
        and f"columns.{column.name}.compare" not in before
    )
    columns = [replace(column, compare=EXACT) if column.name in kept else column for column in schema.columns]
    return Schema.of(columns, schema.null_values), kept


def check_declared(declared: Iterable[str], schema: Schema) -> None:
    """Raise if values that the guarantee names for the first sensitive column look alike."""
    texts = tuple(declared)
    if texts and schema[schema.sensitive[0]].folds and (many := alike(texts)):
        raise looks_alike(schema.sensitive[0], "the values that the guarantee names", many)


def _words(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "whole numbers"
    return {"number": "numbers", "date": "dates"}.get(str(type_of(dtype)), str(type_of(dtype)))


def types_of(snapshot: Snapshot, known: Mapping[str, str]) -> dict[str, str]:
    """Return the types of the columns whose values are remembered from now on and were not before."""
    names = snapshot.schema.names(Role.QUASI, Role.SENSITIVE)
    return {name: dtype_name(snapshot.frame.schema[name]) for name in names if name not in known}
