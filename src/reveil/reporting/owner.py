"""What is for the owner alone: how every column was distributed before and is after, and the riskiest records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core.errors import ReveilError
from reveil.reporting.distributions import cross_tables, distribution

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from reveil.adversary import Audit
    from reveil.core.json_values import JSON
    from reveil.reporting.holdings import Held, Holdings


def owners_part(
    about: Holdings, content: dict[str, JSON], found: Audit | None, *, stage: Callable[[str], None]
) -> dict[str, JSON] | None:
    """Return what has values of people or points at them; None where no snapshot was given.

    After is a table that the release could be of, drawn from it: what an analyst sees who takes it for the truth.
    """
    able = [held for held in about.at_hand if held.snapshot is not None and not held.strange]
    if not able:
        return None
    stage("drawing distributions")
    last = able[-1]
    drawn, why = _drawn(last, about)
    columns: list[dict[str, JSON]] = []
    crossed: list[dict[str, JSON]] = []
    if drawn is not None and last.snapshot is not None:
        before = last.snapshot.frame
        names = [
            name
            for name in (*about.schema.quasi, *about.schema.sensitive, *about.schema.plain)
            if name in before.columns and name in drawn.columns
        ]
        columns = [distribution(name, before[name], drawn[name]) for name in names]
        crossed = cross_tables(before, drawn, about.schema, names)
    return {
        "format": content["format"],
        "reveil": content["reveil"],
        "created": content["created"],
        "series": about.name,
        "release": last.number,
        "columns": columns,
        "crossed": crossed,
        "not_drawn": why,
        "riskiest": [] if found is None else [table.riskiest() for table in found.table_risks],
    }


def _drawn(held: Held, about: Holdings) -> tuple[pl.DataFrame | None, str | None]:
    """Return a table that a release could be of, or why none can be drawn."""
    if held.release is None:
        return None, "its file is not at hand"
    try:
        drawn: pl.DataFrame = held.release.sample(seed=0, schema=about.schema)
    except ReveilError as error:
        return None, error.message
    return drawn, None
