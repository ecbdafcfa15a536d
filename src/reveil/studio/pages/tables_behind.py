"""Which tables releases were made of, as far as the studio's log knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.studio.histories import SeriesState
    from reveil.studio.visiting import Visit


def tables_behind(visit: Visit, releases: Sequence[str]) -> dict[str, int]:
    """Return the tables of which releases were made here, by the log, with their places in the order."""
    found: dict[str, int] = {}
    for place, path in enumerate(releases, 1):
        data = visit.studio.log.last("publish", out=path).get("data")
        if isinstance(data, str):
            found.setdefault(data, place)
    if (given := visit.query.get("data")) is not None:
        found.setdefault(given, len(releases))
    return found


def tables_of_series(visit: Visit, state: SeriesState | None) -> dict[str, int]:
    """Return the tables of all the releases of a series; nothing where one of them is not known or not there."""
    if state is None:
        return {}
    made = [one for one in visit.releases() if one.series == state.found.name]
    found = tables_behind(visit, [one.path for one in sorted(made, key=lambda one: one.release or 0)])
    there = {one.path for one in visit.raw_tables()}
    return found if len(found) == len(state.releases) and set(found) <= there else {}
