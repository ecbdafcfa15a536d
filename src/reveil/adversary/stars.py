"""Sensitive values that another tool's file has suppressed: a lone star, which may be any value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from reveil.adversary.fitting import is_foreign
from reveil.tables.notation import SUPPRESSED, SUPPRESSED_VALUE
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.background import Background
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema


def with_stars_suppressed(releases: Sequence[Release], people: Background, schema: Schema) -> list[Release]:
    """Take stars among the sensitive texts of other tools' files for suppressed values, unless somebody has that value.

    Read as a value of its own, a star would be nobody's: rows that are somebody's would seem to be none.
    """
    snapshots = [frame for frame in people.values if frame is not None]
    names = [
        name
        for name in schema.sensitive
        if not any((canonical_text(frame[name]) == SUPPRESSED).any() for frame in snapshots if name in frame.columns)
    ]

    def veiled(table: pl.DataFrame) -> pl.DataFrame:
        there = [name for name in names if table.schema.get(name) == pl.String]
        return table.with_columns(pl.col(there).replace({SUPPRESSED: SUPPRESSED_VALUE})) if there else table

    return [
        replace(release, values=veiled(release.values), batch=None if release.batch is None else veiled(release.batch))
        if is_foreign(release)
        else release
        for release in releases
    ]
