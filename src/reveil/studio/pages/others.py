"""Adopting, forgetting, verifying, measuring, asking and reporting: a form for each, and a job for what it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.studio.forms import form_values
from reveil.studio.pages.tables_behind import tables_of_series
from reveil.studio.tasks import TASKS

if TYPE_CHECKING:
    from starlette.responses import Response

    from reveil.studio.visiting import Handler, Visit

OTHERS = ("adopt", "forget", "measure", "query", "report", "verify")


def show(command: str) -> Handler:
    """Return the page of a command."""

    def page(visit: Visit) -> Response:
        state = visit.state() if "config" in visit.query else None
        return visit.page(
            f"{command}.html.j2",
            title=TASKS[command].title,
            here=command,
            state=state,
            series=visit.studio.folder.series(),
            tables=visit.raw_tables(),
            releases=visit.releases(),
            everything=visit.studio.folder.tables(),
            truths=tables_of_series(visit, state),
            data=visit.query.get("data"),
            release=visit.query.get("release"),
        )

    return page


def start(command: str) -> Handler:
    """Return what the form of a command does."""

    def begin(visit: Visit) -> Response:
        task = TASKS[command]
        return visit.begin_and_go(task, form_values(task, visit.form))

    return begin
