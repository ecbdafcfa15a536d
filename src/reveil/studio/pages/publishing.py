"""Publishing: a table, a dry run, then the release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reveil.studio.forms import form_values
from reveil.studio.tasks.publishing import PublishTask
from reveil.tables.formats import DEFAULT

if TYPE_CHECKING:
    from starlette.responses import Response

    from reveil.studio.histories import SeriesState
    from reveil.studio.visiting import Visit


def show(visit: Visit) -> Response:
    """Show the form."""
    state = visit.state()
    return visit.page(
        "publish.html.j2",
        title="Publish",
        here="publish",
        state=state,
        tables=visit.raw_tables(),
        data=visit.query.get("data"),
        out=proposed_out(visit, state),
    )


def start(visit: Visit) -> Response:
    """Start a dry run or a release."""
    return visit.begin_and_go(PublishTask, form_values(PublishTask, visit.form))


def proposed_out(visit: Visit, state: SeriesState) -> str:
    """Return a free name for the next release: that of a pending one is kept."""
    if state.pending is not None and isinstance(path := state.pending["path"], str):
        return visit.studio.folder.relative(Path(path))
    folder, stem = Path(state.found.path).parent, Path(state.found.path).stem
    number = state.next_release
    name = folder / f"{stem}-release-{number}{DEFAULT}"
    while (visit.studio.folder.root / name).exists():
        number += 1
        name = folder / f"{stem}-release-{number}{DEFAULT}"
    return name.as_posix()
