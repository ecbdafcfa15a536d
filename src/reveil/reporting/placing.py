"""Whose record is in which row, where the vault kept it of all rows; as everywhere, for the owner's eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import ReveilError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.reporting.holdings import Held, Holdings


def placements_of_all(about: Holdings, able: Sequence[Held]) -> list[pl.DataFrame] | None:
    """Return the placements of each release; None where those of one are not known."""
    found = [each for held in able if (each := _placements(about, held, able)) is not None]
    return found if len(found) == len(able) else None


def _placements(about: Holdings, held: Held, able: Sequence[Held]) -> pl.DataFrame | None:
    """Return those of one release. Dirty records are of people of earlier snapshots: they are looked for, too."""
    if held.strange or held.row is None or held.snapshot is None or held.release is None:
        return None
    if about.series is None or about.schema.person is None:
        return None
    frames = [each.snapshot.frame.select(about.schema.person) for each in able if each.snapshot is not None]
    try:
        found: pl.DataFrame = about.series.placements(
            held.row.release, pl.concat(frames, how="vertical_relaxed").unique()
        )
    except ReveilError:  # no archive is kept of this release
        return None
    manifest = held.release.manifest
    return found if found.height >= manifest.real_rows else None
