"""How many people of a registration list, who are not in the table, lie in the box of each group."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ReveilError, VerificationError
from reveil.tables.notation import parsed
from reveil.tables.registration_list import read_registration_list
from reveil.tables.schema import Role
from reveil.tables.snapshot import canonical_text, type_of
from reveil.verification.cells import line_of
from reveil.verification.geometry import points_in_boxes

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import Ints
    from reveil.verification.shown import Shown


@dataclass(frozen=True)
class Selection:
    """The part of a table that was asked for: ``chosen`` says of each row of a frame with ``columns`` if it is one.

    ``table`` has all the columns of the table, published or not.
    """

    columns: frozenset[str]
    table: Snapshot = field(repr=False)
    chosen: Callable[[pl.DataFrame], pl.Series] = field(repr=False)


def absent_in(shown: Shown) -> Ints:
    """Count the listed people who are not in the table, group by group; one in two boxes would dilute neither.

    The list is cut as the table was, and everybody who is published must be on it, with the same quasi values.
    """
    snapshot, release, groups = shown.snapshot, shown.release, shown.groups
    if snapshot is None or snapshot.schema.person is None:
        raise VerificationError(
            "a release that a registration list dilutes can be judged beside its snapshot only",
            hint="Give the snapshot it was made of.",
        )
    schema, person = snapshot.schema, snapshot.schema.person
    listed = _listed(shown.population, snapshot, release, shown.selection)
    _check_published(shown, snapshot, listed)
    here = canonical_text(snapshot.frame[person])
    listed = listed.filter(~listed[person].is_in(here.implode()))
    if not listed.height:
        return np.zeros(len(groups.numbers), np.int64)
    lines = []
    for name, cells in release.cells.items():
        # Cells may name values that nobody on the list has.
        lines.append((line_of(pl.concat([listed[name], snapshot.frame[name]]), schema[name], cells), cells.index))
    many = listed.height
    points = np.stack([line.codes[:many] for line, _ in lines], axis=1)
    lo = np.stack([line.hull[0][index] for line, index in lines], axis=1)
    hi = np.stack([line.hull[1][index] for line, index in lines], axis=1)
    point, box = points_in_boxes(points, lo, hi)
    good = np.ones(len(point), np.bool_)
    for at, (line, index) in enumerate(lines):
        good &= line.admits(index[box], points[point, at])
    point, box = point[good], box[good]
    of_box = pl.DataFrame({"box": release.classes.astype(np.int64), "group": groups.of_row.astype(np.int64)}).unique()
    inside = pl.DataFrame({"point": point, "box": box}).join(of_box, on="box")
    if inside["point"].is_duplicated().any():
        raise VerificationError("a person of the registration list lies in the boxes of two groups")
    return np.bincount(inside["group"].to_numpy(), minlength=len(groups.numbers)).astype(np.int64)


def _listed(population: object, table: Snapshot, release: Release, selection: Selection | None) -> pl.DataFrame:
    """Read the columns of a list that matter, in the types of the table, persons as texts; of it the part asked for."""
    asked: frozenset[str] = frozenset()
    if selection is not None:
        asked, table = selection.columns, selection.table
    schema, person = table.schema, str(table.schema.person)
    columns = [
        column if column.role is Role.PERSON else replace(column, type=type_of(table.frame.schema[column.name]))
        for column in schema.columns
        if column.role is Role.PERSON or column.name in release.cells or column.name in asked
    ]
    try:
        frame = read_registration_list(population, columns, schema.null_values, schema.input).frame
        typed = [
            values
            if values.dtype == table.frame.schema[values.name]
            else parsed(canonical_text(values), table.frame.schema[values.name]).alias(values.name)
            for values in frame.drop(person)
        ]
    except (OSError, pl.exceptions.PolarsError, ReveilError, ValueError):
        raise VerificationError("the registration list cannot be read, or lacks a column") from None
    listed = pl.DataFrame([canonical_text(frame[person]).alias(person), *typed])
    return listed if selection is None else listed.filter(selection.chosen(listed))


def _check_published(shown: Shown, snapshot: Snapshot, listed: pl.DataFrame) -> None:
    """Refuse people who are not on the list as they are in the table: they would seem to dilute their group."""
    person, quasi = str(snapshot.schema.person), list(shown.release.cells)
    who = shown.who[shown.real]
    published = snapshot.frame.select(person, *quasi)[who[who < snapshot.frame.height]]
    published = published.with_columns(canonical_text(published[person]).alias(person))
    lost = published.join(listed.select(person, *quasi), on=[person, *quasi], how="anti", nulls_equal=True).height
    if lost:
        raise VerificationError(f"{lost:,} persons are published who are not on the registration list as they are here")
