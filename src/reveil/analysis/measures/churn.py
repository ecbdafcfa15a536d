"""How many people are published in another box though nothing about them changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.tables.schema import Role
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot

PERSON, ROW = "\0person", "\0row"


def churn(
    snapshots: tuple[Snapshot, Snapshot],
    releases: tuple[Release, Release],
    placements: tuple[pl.DataFrame | None, pl.DataFrame | None],
) -> dict[str, JSON] | None:
    """Compare the boxes that people have in two releases, one after the other.

    *Definition*: of the persons who are published in both, and whose quasi, sensitive and plain values are the same in
    both snapshots, the ``share`` whose box is another one: some cell of a quasi column that both releases have reads
    differently. ``persons`` is how many these are. *Range*: from 0 (whoever stays as they were is published as they
    were) to 1; smaller is better for who compares releases. None where nobody is in both unchanged, where no person
    column is declared, or where the releases have no quasi column in common. *Source*: new here.

    ``placements`` has, for each release, a table with the columns ``person`` and ``row`` (from 0): for the owner's
    eyes, and so is the result.
    """
    before, after = (_seen(*each) for each in zip(snapshots, releases, placements, strict=True))
    if before is None or after is None:
        return None
    cells = [name for name in releases[0].cells if name in releases[1].cells]
    values = [name for name in before.columns if name in after.columns and not name.startswith("\0")]
    if not cells:
        return None
    met = before.join(after, on=PERSON, how="inner", suffix="\0after")
    same = [pl.col(name).eq_missing(pl.col(f"{name}\0after")) for name in values]
    stayed = met.filter(pl.all_horizontal(same)) if same else met
    if not stayed.height:
        return None
    moved = [pl.col(f"\0cell {name}").ne_missing(pl.col(f"\0cell {name}\0after")) for name in cells]
    return {"persons": stayed.height, "share": float(stayed.select(pl.any_horizontal(moved).mean()).item())}


def _seen(snapshot: Snapshot, release: Release, placement: pl.DataFrame | None) -> pl.DataFrame | None:
    """Return the published persons with their values, which are texts here, and the cells of their rows."""
    person = snapshot.schema.person
    if person is None or placement is None:
        return None
    # Identifiers are not published: a name that was mended, or a serial number, changes nothing here.
    values = snapshot.schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN)
    known = snapshot.frame.select(canonical_text(snapshot.frame[person]).alias(PERSON), pl.col(values).cast(pl.String))
    where = placement.select(canonical_text(placement["person"]).alias(PERSON), pl.col("row").cast(pl.Int64).alias(ROW))
    met = known.join(where.unique(PERSON, keep="first", maintain_order=True), on=PERSON, how="inner")
    rows = met[ROW].to_numpy()
    found = [
        cells.text.gather(cells.index[release.classes[rows]]).alias(f"\0cell {name}")
        for name, cells in release.cells.items()
    ]
    return met.drop(ROW).with_columns(found)
