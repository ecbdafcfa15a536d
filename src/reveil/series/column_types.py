"""The type of a column is settled by the first release that has it, and so is how its values are written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import DataError
from reveil.releases.cell_types import dtype_name, dtype_named
from reveil.releases.domains import with_edges
from reveil.releases.respelling import shown
from reveil.tables.alike import alike
from reveil.tables.binning import in_bins, round_edges
from reveil.tables.schema import EXACT, Role, Schema, looks_alike
from reveil.tables.snapshot import RawRows, Snapshot, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.core.json_values import JSON
    from reveil.vault import Vault

SPELLINGS = "spellings"  # the setting that keeps them without a person
EDGES = "edges"  # the setting that keeps the edges of bins


def with_known_types(schema: Schema, known: Mapping[str, str]) -> Schema:
    """Return the schema with the types of columns that were published before: files are read so, not guessed."""
    columns = [
        replace(column, type=type_of(dtype_named(known[column.name])))
        if column.type is None
        and column.bins is None  # numbers in bins are stored by the names of these
        and column.name in known
        and column.role in (Role.QUASI, Role.SENSITIVE)
        else column
        for column in schema.columns
    ]
    return schema.with_columns(columns)


def with_known_edges(schema: Schema, vault: Vault) -> Schema:
    """Return the schema with the edges of bins that the first release fixed."""
    return with_edges(schema, vault.setting(EDGES) or {})


def in_round_bins(snapshot: Snapshot) -> Snapshot:
    """Return a first snapshot with numbers in bins whose edges nobody declared: round ones, from its quantiles."""
    schema, frame = snapshot.schema, snapshot.frame
    numbers = [name for name in schema.sensitive if isinstance(schema[name].bins, int)]
    edges = {name: round_edges(frame[name], int(schema[name].bins)) for name in numbers}  # type: ignore[arg-type]
    if not edges:
        return snapshot
    binned = frame.with_columns(in_bins(frame[name], edges_of) for name, edges_of in edges.items())
    raw = snapshot.raw or RawRows(frame, None)
    return replace(snapshot, frame=binned, schema=with_edges(schema, edges).in_bins(), raw=raw)


def in_known_types(snapshot: Snapshot, known: Mapping[str, str]) -> Snapshot:
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
                f"column {name!r} was {_type_in_words(before)} in earlier releases and is {_type_in_words(dtype)} now",
                file=snapshot.origin,
                column=name,
                hint="Export it as before.",
            )
    return replace(snapshot, frame=snapshot.frame.with_columns(changed))


def with_known_spellings(schema: Schema, vault: Vault, declared: Mapping[str, Iterable[str]] | None = None) -> Schema:
    """Return the schema with the spellings that are fixed: as told before, then as ``declared`` for a column.

    A value that was published once is written so for good: another spelling would tell that its record was touched.
    """
    kept: Mapping[str, list[str]] = vault.setting(SPELLINGS) or {}
    known = vault.attributes()
    columns = []
    for column in schema.columns:
        if column.folds:
            told = vault.values(column.name)["value"].drop_nulls().to_list() if column.name in known else []
            first = tuple((declared or {}).get(column.name, ()))
            told = list(dict.fromkeys([*told, *kept.get(column.name, ()), *first]))
            columns.append(replace(column, spellings=tuple(told)))
        else:
            columns.append(column)
    return schema.with_columns(columns)


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
    return schema.with_columns(columns), kept


def check_declared(declared: Mapping[str, Iterable[str]], schema: Schema) -> None:
    """Raise if values that the guarantee names for a sensitive column look alike."""
    for name, values in declared.items():
        texts = tuple(values)
        if texts and schema[name].folds and (many := alike(texts)):
            raise looks_alike(name, "the values that the guarantee names", many)


def _type_in_words(dtype: pl.DataType) -> str:
    if dtype.is_integer():
        return "whole numbers"
    return {"number": "numbers", "date": "dates"}.get(str(type_of(dtype)), str(type_of(dtype)))


def types_of(snapshot: Snapshot, known: Mapping[str, str]) -> dict[str, str]:
    """Return the types of the columns whose values are remembered from now on and were not before."""
    names = snapshot.schema.names(Role.QUASI, Role.SENSITIVE)
    return {name: dtype_name(snapshot.frame.schema[name]) for name in names if name not in known}
