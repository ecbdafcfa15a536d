"""Are the records of a snapshot what its rows say by the declared rules? The judge's own, plain definitions.

Where rows are visits, or values are made coarser, the snapshot that is published is not the table that was read. The
judge is handed the rows with their types (how cells are read is shared), and counts again: by persons where they have
several rows (:mod:`~reveil.verification.visits`), by values where these are cut and rounded.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import polars as pl

from reveil.core.errors import VerificationError
from reveil.tables.notation import Form
from reveil.tables.schema import Role
from reveil.tables.snapshot import canonical_text
from reveil.verification.values import coarser, same
from reveil.verification.visits import check_visits

if TYPE_CHECKING:
    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot
    from reveil.tables.visits.rules import Visits


def check_raw(release: Release, snapshot: Snapshot) -> None:
    """Refuse records that are not what the rows say, and a manifest that does not say how they were made."""
    raw = snapshot.raw
    visits = None if raw is None else raw.visits
    told = release.manifest.records
    said = None if visits is None else described(snapshot, visits)
    if (None if told is None else dict(told)) != said:
        raise VerificationError("the manifest does not say how the rows of a person became a record")
    for column in release.manifest.columns:
        declared = next((each.coarse for each in snapshot.schema.columns if each.name == column.name), None)
        if column.coarse != (None if declared is None else declared.to_json()):
            raise VerificationError(
                f"the manifest does not say how coarse column {column.name!r} is", column=column.name
            )
    if raw is None:
        return
    published = [each for each in snapshot.schema.columns if each.role not in (Role.PERSON, Role.IDENTIFIER)]
    names = [each.name for each in published if each.name in snapshot.frame.columns]
    frame = raw.frame
    if visits is not None:
        check_visits(frame, visits, snapshot, names)
    else:
        _check_values(frame, snapshot, names)
    check_ends(release, snapshot)


def described(snapshot: Snapshot, visits: Visits) -> dict[str, str]:
    """Return what a manifest says of the rules: those of published columns, and that of all others."""
    return {name: text for name, text in visits.described().items() if name == "*" or name in snapshot.frame.columns}


def _check_values(frame: pl.DataFrame, snapshot: Snapshot, names: list[str]) -> None:
    """Compare coarse columns with the values they were made of: what became of each different value, and how often."""
    person = snapshot.schema.person
    for name in names:
        column = snapshot.schema[name]
        if column.coarse is None and column.cut is None:
            continue
        if person is None:
            many = Counter(_plain(coarser(value, column)) for value in frame[name].to_list())
            have = Counter(_plain(value) for value in snapshot.frame[name].to_list())
            good = have == many if snapshot.frame.height == frame.height else not have - many
        else:
            raw = pl.DataFrame({"who": canonical_text(frame[person]), "raw": frame[name]})
            values = pl.DataFrame({"who": canonical_text(snapshot.frame[person]), "own": snapshot.frame[name]})
            both = values.drop_nulls("who").join(raw, on="who", how="left").select("raw", "own").unique()
            good = all(same(coarse, coarser(value, column)) for value, coarse in both.rows())
        if not good:
            how = "in bins" if column.cut is not None else "cut and rounded"
            raise VerificationError(f"column {name!r} is not {how} as it is declared", column=name)


def _plain(value: object) -> object:
    return float(value) if isinstance(value, Fraction | int | float) else value


def check_ends(release: Release, snapshot: Snapshot) -> None:
    """Refuse cells that show more than the declared ends; records of earlier releases may be from before them."""
    if release.manifest.dirty or release.manifest.stale:
        return
    for name, cells in release.cells.items():
        coarse = snapshot.schema[name].coarse
        if coarse is None or cells.form is not Form.INTERVAL:
            continue
        ends = cells.distinct.struct
        high, low = ends.field("hi").max(), ends.field("lo").min()
        if high is not None and (_above(high, coarse.top) or _above(coarse.bottom, low)):
            raise VerificationError(f"column {name!r} shows values beyond its top or bottom", column=name)


def _above(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return False
    if isinstance(one, dt.datetime) != isinstance(other, dt.datetime):
        one, other = (moment.date() if isinstance(moment, dt.datetime) else moment for moment in (one, other))
    return bool(one > other)
