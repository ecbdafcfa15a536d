"""A new series: a table, what its columns are, what releases there will be, and the config."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from reveil.core.json_values import object_in, text_in
from reveil.studio.problems import Problem, StudioError
from reveil.studio.tasks.beginning import InitTask, write_proposed
from reveil.tables.formats import in_words, readable

if TYPE_CHECKING:
    from starlette.responses import Response

    from reveil.studio.visiting import Visit


def choose_table(visit: Visit) -> Response:
    """Let somebody choose a table, or drop one."""
    return visit.page(
        "new.html.j2",
        title="New series",
        here="new",
        tables=visit.raw_tables(),
        data=visit.query.get("data"),
        accepted=",".join(sorted(readable())),
        formats=in_words(readable()),
    )


def examine(visit: Visit) -> Response:
    """Look at a table."""
    return visit.begin_and_go(InitTask, {"data": visit.form.get("data") or "", "look": True})


def propose(visit: Visit) -> Response:
    """Propose a guarantee for the roles and answers of a form."""
    from reveil.studio.forms import form_values

    return visit.begin_and_go(InitTask, form_values(InitTask, visit.form))


def save(visit: Visit) -> Response:
    """Write the config that a job proposed: its text never comes from the browser."""
    job = visit.studio.board.get(visit.form.get("job") or "")
    if job.outcome is None or not isinstance(job.task, InitTask) or job.task.look:
        raise StudioError(Problem(400, "This job proposed no config.", None, "Go back to the table."))
    name = visit.form.get("out") or ""
    name = name if name.endswith(".toml") else f"{name}.toml"
    target = visit.studio.folder.new(name)
    content = object_in(job.outcome.content)
    write_proposed(target, visit.studio.folder.table(text_in(content["data"])), text_in(content["text"]))
    visit.studio.log.add(visit.session.who, "save config", file=name)
    return visit.go(f"/publish?config={quote(name)}&data={quote(text_in(content['data']))}")


def proposed_name(visit: Visit, data: str) -> str:
    """Return a free name for a config."""
    stem, count = Path(data).name.split(".")[0], 1
    name = f"{stem}.toml"
    while (visit.studio.folder.root / name).exists():
        count += 1
        name = f"{stem}-{count}.toml"
    return name
