"""Auditing: which files somebody holds, what they know, and what they find out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core import registry
from reveil.core.json_values import JSON, list_in, number_in
from reveil.reporting.charts import bars
from reveil.studio.forms import form_values, in_order
from reveil.studio.pages.tables_behind import tables_behind
from reveil.studio.tasks.attacking import AuditTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from reveil.reporting.drawing import Chart
    from reveil.studio.visiting import Visit

KNOWN = {
    "": "what the series is protected against (the usual choice)",
    "nothing": "nothing but the files",
    "presence": "who is in the table, with age, place and the like",
    "events": "also when something about somebody changed",
    "ids": "which rows of two files are the same person's",
    "values": "one sensitive value of the person, looking for another",
}


def show(visit: Visit) -> Response:
    """Show the form."""
    state = visit.state() if "config" in visit.query else None
    files = visit.studio.folder.tables()
    wanted = visit.query.get("release")
    ordered = sorted(files, key=lambda one: (not one.is_release, one.series or "", one.release or 0, one.path))
    chosen = [
        one.path
        for one in ordered
        if one.path == wanted or (state is not None and one.is_release and one.series == state.found.name)
    ]
    return visit.page(
        "audit.html.j2",
        title="Audit",
        here="audit",
        state=state,
        series=visit.studio.folder.series(),
        files=ordered,
        chosen=chosen,
        truths=tables_behind(visit, chosen),
        tables=visit.raw_tables(),
        known=KNOWN,
        attacks=registry.names("attacks"),
    )


def start(visit: Visit) -> Response:
    """Attack them, in the order of their places."""
    given = form_values(AuditTask, visit.form)
    # One table of which several files were made stands for each of them.
    truth, releases = in_order(visit.form, "truth"), in_order(visit.form, "release_paths")
    given["truth"] = truth * len(releases) if len(truth) == 1 else truth
    return visit.begin_and_go(AuditTask, given)


def beliefs_chart(content: Mapping[str, JSON]) -> Chart:
    """Draw how many people are believed to have a value how strongly."""
    counts = [number_in(value) for value in list_in(content["beliefs"])]
    labels = [f"{n * 10}–{n * 10 + 10}" for n in range(len(counts))]
    return bars(
        "How strongly a value is believed", labels, counts, y_label="people", x_label="highest belief, in per cent"
    )
