"""One spelling for each value, over all the releases and all the snapshots of an audit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from reveil.releases.respelling import shown, with_spellings
from reveil.tables.alike import one_spelling, spelled_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.adversary.background import Background
    from reveil.releases.release import Release
    from reveil.tables.schema import Schema


def in_one_spelling(
    releases: Sequence[Release], people: Background, schema: Schema
) -> tuple[list[Release], Background]:
    """Write what looks alike alike: as declared, else as the first release does that has it, else as the snapshots do.

    An adversary knows that two spellings are one disease, whatever the tool thought that made the file.
    """
    known: dict[str, list[str]] = {}
    for name in schema.sensitive:
        if not schema[name].folds:
            continue
        told = [release.group_values()[1] for release in releases]
        frames = [*told, *(values for values in people.values if values is not None)]
        texts = [
            one_spelling(shown(frame[name]), missing=schema.null_values)
            for frame in frames
            if frame.schema.get(name) == pl.String
        ]
        distinct = (
            pl.concat([snapshot.drop_nulls().unique().sort().alias("text") for snapshot in texts]) if texts else ()
        )
        known[name] = [*(schema[name].labels or ()), *distinct]
    values = tuple(
        snapshot
        if snapshot is None
        else snapshot.with_columns(
            spelled_as(snapshot[name], texts) for name, texts in known.items() if snapshot.schema.get(name) == pl.String
        )
        for snapshot in people.values
    )
    return [with_spellings(release, known, schema.null_values) for release in releases], replace(people, values=values)
