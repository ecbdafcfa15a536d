"""A series: its releases over time, its history, its budget, and what is pending."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.json_values import JSON, number_in
from reveil.reporting.charts import timeline
from reveil.studio.forms import form_values
from reveil.studio.pages.publishing import proposed_out
from reveil.studio.tasks.remembering import HistoryTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from reveil.reporting.drawing import Chart
    from reveil.studio.visiting import Visit


def show(visit: Visit) -> Response:
    """Show a series."""
    state = visit.state()
    before = visit.studio.log.last("publish", config_path=state.found.path)
    return visit.page(
        "series.html.j2",
        title=state.found.name,
        here="series",
        state=state,
        chart=over_time(state.releases),
        files=[_file(visit, row) for row in state.releases],
        tables=visit.raw_tables(),
        out=proposed_out(visit, state),
        last_data=before.get("data"),
        last_out=before.get("out"),
    )


def ask_history(visit: Visit) -> Response:
    """Give a pending release up, show the budget, or compare the files with the vault."""
    return visit.begin_and_go(HistoryTask, form_values(HistoryTask, visit.form))


def over_time(releases: tuple[Mapping[str, JSON], ...]) -> Chart | None:
    """Draw who came, went, changed and returned with each release; None where there is but one."""
    rows = [row for row in releases if row.get("persons") is not None]
    if len(rows) < 2:
        return None

    def of(key: str) -> list[float | None]:
        return [None if row.get(key) is None else number_in(row[key]) for row in rows]

    return timeline(
        "People over the releases",
        [f"{row['release']}" for row in rows],
        {"new": of("inserted"), "returned": of("returned")},
        {"left": of("deleted")},
        {"changed": of("updated")},
        y_label="people",
        x_label="release",
    )


def _file(visit: Visit, row: Mapping[str, JSON]) -> str | None:
    """Return where the file of a release lies in the folder; None where it is not there."""
    if not isinstance(path := row.get("path"), str):
        return None
    place = Path(path)
    return (
        visit.studio.folder.relative(place)
        if place.is_file() and place.is_relative_to(visit.studio.folder.root)
        else None
    )
