"""A control group: people whose values are known and who are not in a release.

Whoever guesses their values as well as those of the people in it has learnt something about everybody, not about
somebody. Source: Giomi, Boenisch, Wehmeyer, Tasnádi 2023 (anonymeter): attack, baseline, control.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.adversary.background import KnownPeople, PopulationSchema
from reveil.adversary.prior_table import coded_values, read_prior_table
from reveil.core.errors import DataError
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.adversary.background import Background
    from reveil.core.arrays import CodeArray
    from reveil.tables.schema import Schema


@dataclass(frozen=True)
class Control:
    """People with quasi values, and the codes of their sensitive values; -1 for a value that no release has."""

    people: KnownPeople
    codes: CodeArray = field(repr=False)


def control_of(
    given: object | None, people: Background, schema: Schema, column: str, values: pl.Series
) -> tuple[Control, ...]:
    """Return a control group for each release: the table given, else who is in other snapshots and not in this one."""
    looked_at = PopulationSchema.like(schema)
    releases = len(people.tables)
    if given is not None:
        table = read_prior_table(given, schema, column, values, what="control group")
        if table is None:
            raise DataError(
                f"the control group has no column {column!r}", column=column, hint="Its people's values are compared."
            )
        inside = pl.concat([table.ids for table in people.tables]).implode()
        if table.ids is not None and (many := int(table.ids.is_in(inside).sum())):
            raise DataError(
                f"{many:,} people of the control group are in the releases",
                column=schema.person,
                hint="A control group is of people who are not in the data: take these out.",
            )
        ids = (
            pl.Series([str(n) for n in range(table.quasi.height)], dtype=pl.String) if table.ids is None else table.ids
        )
        return (Control(KnownPeople(ids, table.quasi, looked_at), table.codes),) * releases
    return tuple(_from_snapshots(number, people, looked_at, column, values, schema) for number in range(releases))


def _from_snapshots(
    number: int, people: Background, looked_at: Schema, column: str, values: pl.Series, schema: Schema
) -> Control:
    """Take who is in another snapshot and not in this one, with the record that is nearest in time."""
    ids = people.truth_ids[number]
    order = sorted((s for s in range(len(people.tables)) if s != number), key=lambda s: abs(s - number))
    taken: list[tuple[pl.Series, pl.DataFrame, pl.Series]] = []
    seen = ids
    for other in order if ids is not None else ():
        table, told = people.tables[other], people.values[other]
        if told is None or seen is None or table.ids is not people.truth_ids[other] or schema.person is None:
            continue
        new = ~table.ids.is_in(seen.implode())
        taken.append((table.ids.filter(new), table.quasi.filter(new), canonical_text(told[column]).filter(new)))
        seen = pl.concat([seen, table.ids.filter(new)])
    if not taken:
        nobody = people.tables[number]
        none = KnownPeople(nobody.ids.clear(), nobody.quasi.clear(), looked_at)
        return Control(none, np.zeros(0, np.int32))
    who = KnownPeople(pl.concat([a for a, _, _ in taken]), pl.concat([b for _, b, _ in taken]), looked_at)
    return Control(who, coded_values(pl.concat([c for _, _, c in taken]), values, fold=schema[column].folds))
