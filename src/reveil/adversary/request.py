"""What an audit is asked for, checked before anything is attacked: releases, columns, knowledge, placements."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reveil.adversary.background import Background, read_placements
from reveil.adversary.evidence import KNOWN
from reveil.core.errors import ConfigError, DataError
from reveil.releases.folders import place_of
from reveil.releases.foreign import read_release
from reveil.releases.limits import against

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from reveil.releases.promise import Promise
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema


def check_order(releases: Sequence[Release]) -> None:
    """Refuse releases of one series that are not in the order in which they were published."""
    numbers: dict[str, int] = {}
    for release in releases:
        series, number = release.manifest.series_id, release.manifest.release
        if not isinstance(series, str) or not isinstance(number, int):
            continue
        if number < numbers.get(series, 0):
            raise ConfigError(
                f"release {number} comes after release {numbers[series]} of the same series",
                hint="Name the releases, and with them the snapshots, in the order of publication.",
            )
        numbers[series] = number


def sensitive_column(schema: Schema, column: str | None) -> str:
    """Return the sensitive column that is attacked: the one named, else the first."""
    if not schema.sensitive:
        raise ConfigError("no sensitive column is declared", hint='Declare what must not be linked as "sensitive".')
    if column is not None and column not in schema.sensitive:
        raise ConfigError(f"column {column!r} is not sensitive", hint=f"Sensitive: {', '.join(schema.sensitive)}.")
    return schema.sensitive[0] if column is None else column


def read_one(source: object, schema: Schema, people: Background) -> Release:
    """Read a release; columns published as they are have the types that the snapshots give them."""
    release = read_release(source, schema, types=people.types)
    strange = [name for name in release.cells if name not in schema.quasi]
    if strange:
        raise DataError(
            f"the release generalises column {strange[0]!r}, which the config does not call quasi",
            file=None if release.source is None else str(place_of(release.source)),
            column=strange[0],
            hint="Use the config with which it was published.",
        )
    return release


def knowledge(
    known: str | None,
    releases: Sequence[Release],
    people: Background,
    placements: Sequence[object] | None,
    promise: Promise | None,
) -> str:
    """Return what the adversary knows, by default what the releases are promised against."""
    if known is None:
        if placements:
            return "ids"
        if not people.attendance:
            return "nothing"
        meant = {against(release.manifest.promise) for release in releases}
        meant.add(None if promise is None else against(promise))
        if "nothing" in meant:
            return "nothing"
        return "events" if people.truth and "events" in meant else "presence"
    if known not in KNOWN:
        raise ConfigError(f"known must be one of {', '.join(KNOWN)}, not {known!r}")
    if known in ("events", "values") and not people.truth:
        what = "whether a value changed" if known == "events" else "what somebody has in other columns"
        raise ConfigError(
            f"{what} cannot be known without the snapshots",
            hint="Give them as truth, in the order of the releases, or ask for known = presence.",
        )
    if known == "ids" and not placements:
        raise ConfigError(
            "which row is whose record is not given",
            hint="Give a table with the columns row and id for each release as placements.",
        )
    return known


def rows_of_records(placements: Sequence[object] | None, releases: Sequence[Release]) -> list[pl.Series | None]:
    """Return the record in each row of each release, where placements say it."""
    if not placements:
        return [None] * len(releases)
    if len(placements) != len(releases):
        raise ConfigError(
            f"{len(releases)} releases, but {len(placements)} tables of placements",
            hint="Give one for each release, in the same order.",
        )
    pairs = zip(placements, releases, strict=True)
    found: list[pl.Series] = [read_placements(placement, len(release.classes)) for placement, release in pairs]
    for number, (placement, release) in enumerate(zip(found, releases, strict=True), start=1):
        listed, real = len(placement) - placement.null_count(), len(placement) - release.manifest.counterfeits.total
        if listed < real:
            # A record that is not listed would pass for one that is not there.
            raise DataError(
                f"the placements of release {number} name {listed:,} of its {real:,} records",
                hint="Name the row of every record; counterfeits have none.",
            )
    return list(found)


def check_accounted(releases: Sequence[Release], people: Background, truth: Sequence[object] | None) -> None:
    """Refuse a snapshot with more people than its release accounts for: some of them were never in it.

    A release that says how many records it left out accounts for everybody it was made of.
    """
    for number, (release, source) in enumerate(zip(releases, truth or (), strict=False)):
        ids = people.truth_ids[number]
        if ids is not None:
            check_one_accounted(number, release, len(ids), source)


def check_one_accounted(number: int, release: Release, many: int, source: object) -> None:
    """Refuse so many people for a release that accounts for fewer."""
    manifest = release.manifest
    if not manifest.promise.is_known or manifest.suppressed is None or release.batch is not None:
        return
    accounted = manifest.rows - manifest.counterfeits.total - manifest.dirty + manifest.suppressed + manifest.withheld
    if many > accounted:
        raise DataError(
            f"{many:,} people are given for release {number + 1}, which accounts for {accounted:,}: "
            f"{many - accounted:,} or more of them are not in it",
            file=str(source) if isinstance(source, str | os.PathLike) else None,
            hint="Give the snapshot that it was made of (of a part of the table, that part), in the same order.",
        )
