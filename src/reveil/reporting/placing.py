"""Whose record is in which row, where the vault kept it of all rows; as everywhere, for the owner's eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.reporting.holdings import Held, Holdings
    from reveil.series import Series


def placements_in(series: Series | None, person: str | None, releases: Sequence[Held]) -> dict[int, pl.DataFrame]:
    """Return where everybody in one of the snapshots is, by the numbers of the releases of which the vault kept it.

    Dirty records are of people of earlier snapshots, so that everybody is looked for in every release.
    """
    frames = [held.snapshot.frame.select(person) for held in releases if held.snapshot is not None]
    if series is None or person is None or not frames:
        return {}
    return series.all_placements(pl.concat(frames, how="vertical_relaxed").unique())


def placements_of_all(about: Holdings, able: Sequence[Held]) -> list[pl.DataFrame] | None:
    """Return the placements of each release; None where those of one are not known."""
    found = [each for held in able if (each := _placements(about, held)) is not None]
    return found if len(found) == len(able) else None


def _placements(about: Holdings, held: Held) -> pl.DataFrame | None:
    """Return those of one release, if all of its rows about somebody are among them."""
    found = placement_of(about, held)
    if found is None or held.strange or held.release is None:
        return None
    return found if found.height >= held.release.manifest.real_rows else None


def placement_of(about: Holdings, held: Held) -> pl.DataFrame | None:
    """Return where everybody is in a release, as far as it is known; None where the vault kept nothing or has none."""
    if held.row is None or held.snapshot is None:
        return None
    return about.placements.get(held.row.release)
