"""Who is who over the releases: identities as canonical texts, read as in the first release."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import ConfigError, DataError
from reveil.tables.schema import Column, Schema
from reveil.tables.snapshot import canonical_text, read_snapshot
from reveil.tables.snapshot.frames import from_native

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reveil.tables.input import Input

KIND = "person"  # the vault's setting: what the identities of the first release were
WHOLE, PADDED, TEXT = "whole", "padded", "text"

_WHOLE = r"^-?(?:0|[1-9][0-9]*)$"
_PADDED = r"^-?0+[0-9]+$"


def kind_of(texts: pl.Series) -> str:
    """Return what canonical identities are: whole numbers, numbers of which some have leading zeros, or texts."""
    if texts.str.contains(_WHOLE).all():
        return WHOLE
    return PADDED if texts.str.contains(_PADDED).any() else TEXT


def identities(persons: pl.Series, kind: str | None, *, file: str | None = None) -> pl.Series:
    """Return the identities as canonical texts that mean the same as in the first release.

    Where they were whole numbers, leading zeros are taken off; where they had leading zeros, numbers without are
    refused: everybody would be taken for somebody new, and told twice.
    """
    texts = canonical_text(persons).cast(pl.String)
    if kind == PADDED and persons.dtype.is_numeric():
        raise _otherwise(persons.name, "had leading zeros in earlier releases and has none now", file)
    if kind != WHOLE:
        return texts
    padded = texts.str.contains(_PADDED)
    if not padded.any():
        return texts
    plain = texts.str.replace(r"^(-?)0+([0-9])", "${1}${2}")
    if not plain.str.contains(_WHOLE).all() or plain.n_unique() < texts.n_unique():
        raise _otherwise(persons.name, "was whole numbers in earlier releases and has leading zeros now", file)
    return plain


def _otherwise(name: str, what: str, file: str | None) -> DataError:
    return DataError(
        f"the person column {name!r} {what}", file=file, column=name, hint="Export it as before: persons would be lost."
    )


def persons_in(frame: object, schema: Schema) -> tuple[pl.Series, str]:
    """Return the persons of a frame that may have other columns, or none, and the library it came from."""
    person = schema.person
    if person is None:
        raise ConfigError("this series follows no persons", hint='Declare a column as "person".')
    if isinstance(frame, str | os.PathLike):
        return read_snapshot(frame, schema).frame[person], "polars"
    if (named := getattr(frame, "loc", None)) is not None and person in getattr(frame, "columns", ()):
        frame = named[:, [person]]  # pandas columns that nobody looks at need not be convertible
    table, native = from_native(frame, _PersonsOnly.of([schema[person]]))
    if table[person].null_count():
        raise DataError(f"column {person!r} has missing values", column=person, hint="Leave those rows out.")
    return table[person], native


def one_person(person: object, name: str) -> pl.Series:
    """Return a single identity as a column."""
    try:
        series = pl.Series(name, [person])
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        series = pl.Series(name, [None])
    if series.null_count() or series.dtype.is_nested() or series.dtype in (pl.Object, pl.Binary, pl.Boolean):
        raise DataError("this is not the identity of a person", hint="Give a number, a text or a date as in the table.")
    return series


def only_persons(schema: Schema) -> Schema:
    """Return a schema of the same table in which only persons are looked at."""
    return _PersonsOnly.of([schema[str(schema.person)]], schema.null_values, schema.input)


class _PersonsOnly(Schema):
    """A schema of a table in which only persons are looked at; other columns may be there."""

    def _set(self, columns: list[Column], null_values: Iterable[str], input: Input) -> None:  # noqa: A002
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "null_values", tuple(null_values))
        object.__setattr__(self, "input", input)

    def check_columns(self, names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:  # noqa: ARG002
        """Raise unless persons are named."""
        person = self.columns[0].name
        if person not in names:
            raise DataError(f"there is no column {person!r}", file=file, column=person, hint="It names the persons.")
