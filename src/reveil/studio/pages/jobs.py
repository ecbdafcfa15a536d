"""A job: how far it is, and what came of it."""

from __future__ import annotations

import asyncio
import json
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.responses import StreamingResponse

from reveil.core import registry
from reveil.studio.pages.auditing import beliefs_chart
from reveil.studio.pages.exploring import frontier_chart
from reveil.studio.pages.new_series import proposed_name
from reveil.studio.problems import StudioError, not_here
from reveil.studio.responses import download, problem_response
from reveil.studio.tasks.attacking import AuditTask
from reveil.studio.tasks.base import SENT
from reveil.studio.tasks.beginning import InitTask
from reveil.studio.tasks.exploring import ExploreTask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

    from reveil.studio.jobs import StudioJob
    from reveil.studio.studio import Studio
    from reveil.studio.visiting import Visit

_TABLES = ("data", "snapshot_path", "raw_path")
_EVERY = 0.2  # seconds
# Results in which raw values may stand: those pages say that they are for the owner.
FOR_THE_OWNER = ("audit", "explore", "history", "hierarchy", "init", "measure")


def show_all(visit: Visit) -> Response:
    """List the jobs."""
    return visit.page("jobs.html.j2", title="Jobs", here="jobs", jobs=visit.studio.board.listed())


def show(visit: Visit) -> Response:
    """Show a job, or its result."""
    job = visit.studio.board.get(visit.parts["id"])
    config = job.task.config
    views: dict[str, object] = {}
    content = {} if job.outcome is None else job.outcome.content
    if job.outcome is not None and isinstance(job.task, ExploreTask) and "points" in content:
        views["picture"] = frontier_chart(content)
    if job.outcome is not None and isinstance(job.task, AuditTask):
        views["chart"] = beliefs_chart(content)
        views["attacks"] = {name: _in_short(attack) for name, attack in registry.everything("attacks").items()}
    if job.outcome is not None and isinstance(job.task, InitTask):
        views["name"] = proposed_name(visit, Path(job.task.data).name)
    found = None if config is None else next((o for o in visit.studio.folder.series() if o.path == config), None)
    return visit.page(
        "job.html.j2",
        title=job.task.title,
        here=job.task.command,
        owner=job.outcome is not None and job.task.command in FOR_THE_OWNER,
        job=job,
        r=content,
        task=job.task,
        found=found,
        config=config,
        again=form_of(job),
        **views,
    )


def form_of(job: StudioJob) -> str | None:
    """Return the form from which a job was asked for, with its table and its series; None where there is no such."""
    task = job.task
    page = {"init": "new", "hierarchy": "hierarchies"}.get(task.command, task.command)
    if page == "history":
        return None
    given = {
        "config": task.config,
        "data": next((path for name in _TABLES if isinstance(path := getattr(task, name, None), str)), None),
        "release": getattr(task, "release_path", None),
    }
    told = urlencode({name: path for name, path in given.items() if path and not path.startswith(SENT)})
    return f"/{page}?{told}" if told else f"/{page}"


def _in_short(attack: object) -> str:
    """Return the first sentence of what an attack says of itself."""
    return " ".join(cleandoc(attack.__doc__ or "").partition("\n\n")[0].split())


def stop(visit: Visit) -> Response:
    """Stop a job."""
    job = visit.studio.board.get(visit.parts["id"])
    visit.studio.board.stop(job)
    visit.studio.log.add(visit.session.who, "stop", job=job.id)
    visit.studio.board.wait(job, 2.0)
    return visit.go(f"/jobs/{job.id}")


def fetch(visit: Visit) -> Response:
    """Send a file that a job made."""
    job = visit.studio.board.get(visit.parts["id"])
    path = None if job.outcome is None else job.outcome.files.get(visit.parts["name"])
    if path is None or not path.is_file():
        raise not_here("This job has no such file.")
    return download(path, path.name)


async def events(studio: Studio, request: Request) -> Response:
    """Tell a browser how far a job is, until it is over."""
    try:
        job = studio.board.get(request.path_params["id"])
    except StudioError as error:
        return problem_response(request.scope, error.problem)

    async def progress() -> AsyncIterator[str]:
        last = ""
        while True:
            now = _now(job)
            if now != last:
                yield f"data: {now}\n\n"
                last = now
            if job.over or await request.is_disconnected():
                return
            await asyncio.sleep(_EVERY)

    return StreamingResponse(progress(), media_type="text/event-stream")


def _now(job: StudioJob) -> str:
    left = job.seconds_left
    return json.dumps(
        {
            "state": job.state,
            "over": job.over,
            "stages": [name for name, _ in job.stages],
            "seconds": int(job.seconds),
            "left": None if left is None else int(left + 0.5),
        }
    )
