"""Absent persons of a registration list, who dilute groups for somebody who does not know who is in the table.

They dilute only as far as whoever holds the list takes them for possible. So everybody who is published must be on it,
under the same id and with the same quasi values (else they dilute their own group once more, or one that nobody looks
for them in); and of a release of a part of the table, the same part of the list is left: who knows that it is the
extract of one region looks for nobody from another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError, DataError, RefusedError
from reveil.models.encoding import Codes, encode
from reveil.tables.expressions import matches
from reveil.tables.notation import parsed
from reveil.tables.registration_list import read_registration_list
from reveil.tables.schema import Role
from reveil.tables.snapshot import Snapshot, canonical_text, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reveil.core.arrays import IntArray
    from reveil.tables.expressions import Expression


@dataclass(frozen=True)
class Listed:
    """The persons of a table, and after them those of a list who are not in it, coded together."""

    codes: Codes
    absent: int


def read_list(population: object, table: Snapshot, names: Iterable[str]) -> Snapshot:
    """Read a registration list as strictly as a table: the person column and quasi columns, others being ignored.

    ``names`` are the quasi columns, which are read in the types that they have in the table.
    """
    schema = table.schema
    if schema.person is None:
        raise ConfigError("a registration list needs a person column", hint='Declare it: pid = "person".')
    wanted = {schema.person, *names}
    columns = [
        column if column.role is Role.PERSON else replace(column, type=type_of(table.frame.schema[column.name]))
        for column in schema.columns
        if column.name in wanted
    ]
    return read_registration_list(population, columns, schema.null_values, schema.input)


def with_absent(
    snapshot: Snapshot, population: object, published: IntArray, whole: Snapshot, where: Expression | None = None
) -> Listed:
    """Code the records to be published together with the persons of a list who are not in the table at all.

    ``whole`` has the records of the snapshot with all their columns; ``where``: they are those that satisfy it.
    """
    schema = snapshot.schema
    quasi, person = list(schema.quasi), str(schema.person)
    asked = set() if where is None else where.columns()
    listed = read_list(population, whole, {*quasi, *asked})
    known = whole.frame.select(person, *sorted({*quasi, *asked}))
    try:
        others = listed.frame.select(
            canonical_text(listed.frame[person]).alias(person),
            *(_as_type(listed.frame[name], known.schema[name]).alias(name) for name in known.columns[1:]),
        )
    except (pl.exceptions.PolarsError, ValueError):
        raise DataError(
            "the registration list has quasi values of another type than the table",
            file=listed.origin,
            hint="Write them in the same way in both.",
        ) from None
    if where is not None:
        others = others.filter(matches(where, others, whole.schema))
    here = known.with_columns(canonical_text(known[person]).alias(person))
    _check_listed(here[published], others, person, quasi, listed.origin, part=where is not None)
    others = others.filter(~others[person].is_in(here[person].implode()))
    together = pl.concat([here[published].select(quasi), others.select(quasi)])
    only = schema.with_columns([column for column in schema.columns if column.role is Role.QUASI])
    codes = encode(Snapshot(together, only, snapshot.origin, "polars"))
    return Listed(codes, len(others))


def _check_listed(
    table: pl.DataFrame, listed: pl.DataFrame, person: str, quasi: list[str], file: str, *, part: bool
) -> None:
    """Refuse to publish people who are not on the list, or with other quasi values than the list has."""
    of_it = ", of which the same part was taken as of the table" if part else ""
    missing = table.height - int(table[person].is_in(listed[person].implode()).sum())
    if missing:
        raise RefusedError(
            f"{missing:,} of the {table.height:,} persons to be published are not on the registration list{of_it}: "
            "they would seem to dilute the groups that they are in",
            file=file,
            column=person,
            hint="Add them to the list. Ids must be written in the same way in both: 'P0' and 'p0' are two persons.",
        )
    column, other = (
        frame.select(pl.col(person).alias("person"), *(pl.col(name).alias(f"{n} {k}") for n, name in enumerate(quasi)))
        for k, frame in enumerate((table, listed))
    )
    both = column.join(other, on="person", how="left")
    differs = np.zeros(both.height, np.bool_)
    for n in range(len(quasi)):
        differs |= both[f"{n} 0"].ne_missing(both[f"{n} 1"]).to_numpy()
    if differs.any():
        raise RefusedError(
            f"{int(differs.sum()):,} of the {table.height:,} persons to be published have other quasi values on the "
            "registration list than in the table: whoever holds the list looks for them elsewhere",
            file=file,
            hint="Take both from the same day, and write values in the same way.",
        )


def _as_type(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    if values.dtype == dtype:
        return values
    return parsed(canonical_text(values), dtype)
