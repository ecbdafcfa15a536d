"""The routes of the REST interface."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from reveil.core.json_values import JSON, object_in, thawed
from reveil.studio.api.openapi import document
from reveil.studio.api.schemas import COLLECTIONS, PREFIX, inside
from reveil.studio.forms import form_values
from reveil.studio.pages import jobs
from reveil.studio.pages.publishing import proposed_out
from reveil.studio.problems import Problem, StudioError, not_here, problem_of
from reveil.studio.responses import json_response, problem_response
from reveil.studio.security import CSRF_HEADER, check_form
from reveil.studio.tasks import TASKS
from reveil.studio.tasks.base import SENT, task_of
from reveil.studio.tasks.publishing import PublishTask
from reveil.studio.uploads import FORM_LIMIT, read_body
from reveil.studio.visiting import Visit, changed, shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from reveil.studio.histories import SeriesState
    from reveil.studio.jobs import StudioJob
    from reveil.studio.studio import Studio
    from reveil.studio.tasks.base import StudioTask

    Endpoint = Callable[[Request], Awaitable[Response]]


def api_routes(studio: Studio) -> list[Route]:
    """Return the routes."""
    return [
        Route(f"{PREFIX}/openapi.json", shown(studio, _document), methods=["GET"]),
        Route(f"{PREFIX}/series", shown(studio, _all_series), methods=["GET"]),
        *(Route(f"{PREFIX}/{name}", _starts(studio, TASKS[command]), methods=["POST"]) for name, command in _tasks()),
        Route(f"{PREFIX}/series/{{name:path}}/releases", shown(studio, _releases), methods=["GET"]),
        Route(f"{PREFIX}/series/{{name:path}}/releases", _publishes(studio), methods=["POST"]),
        Route(f"{PREFIX}/series/{{name:path}}", shown(studio, _one_series), methods=["GET"]),
        Route(f"{PREFIX}/jobs", shown(studio, _all_jobs), methods=["GET"]),
        Route(f"{PREFIX}/jobs/{{id}}", shown(studio, _job), methods=["GET"]),
        Route(f"{PREFIX}/jobs/{{id}}", changed(studio, _stop), methods=["DELETE"]),
        Route(f"{PREFIX}/jobs/{{id}}/files/{{name}}", shown(studio, jobs.fetch), methods=["GET"]),
    ]


def _tasks() -> list[tuple[str, str]]:
    return sorted(COLLECTIONS.items())


def _document(_visit: Visit) -> Response:
    return json_response(document())


def _all_series(visit: Visit) -> Response:
    states = [visit.studio.histories.get(one) for one in visit.studio.folder.series()]
    return json_response([_series_json(state) for state in states])


def _one_series(visit: Visit) -> Response:
    return json_response(_series_json(_named(visit, visit.parts["name"])))


def _releases(visit: Visit) -> Response:
    state = _named(visit, visit.parts["name"])
    if state.problem is not None:
        raise StudioError(state.problem)
    return json_response(thawed(list(state.releases)))


def _all_jobs(visit: Visit) -> Response:
    return json_response([job.to_json() for job in visit.studio.board.listed()])


def _job(visit: Visit) -> Response:
    return json_response(visit.studio.board.get(visit.parts["id"]).to_json())


def _stop(visit: Visit) -> Response:
    job = visit.studio.board.get(visit.parts["id"])
    visit.studio.board.stop(job)
    visit.studio.log.add(visit.session.who, "stop", job=job.id)
    visit.studio.board.wait(job, 2.0)
    return json_response(job.to_json())


def _named(visit: Visit, name: str) -> SeriesState:
    """Return a series by the path of its config, or by the name that the config has, if only one has it."""
    found = [one for one in visit.studio.folder.series() if one.key == name]
    found = found or [one for one in visit.studio.folder.series() if one.name == name]
    if len(found) != 1:
        raise not_here(
            "There is no series of this name, or there are several." if found else "There is no such series."
        )
    return visit.studio.histories.get(found[0])


def _series_json(state: SeriesState) -> JSON:
    return {
        "name": state.found.key,
        "title": state.found.name,
        "config": state.found.path,
        "guarantee": state.found.kind,
        "promise": state.promise,
        "busy": state.busy,
        "releases": thawed(list(state.releases)),
        "problem": None if state.problem is None else state.problem.to_json(),
    }


def _starts(studio: Studio, task: type[StudioTask]) -> Endpoint:
    """Return what starts a task that a program describes as JSON."""

    async def endpoint(request: Request) -> Response:
        try:
            given = await _body_of(request)
            return await run_in_threadpool(_begin, studio, request, task, inside(task, given))
        except StudioError as error:
            return problem_response(request.scope, error.problem)

    return endpoint


def _publishes(studio: Studio) -> Endpoint:
    """Return what publishes: a table of the folder, or one that is sent and goes when the job is over."""

    def sent(visit: Visit) -> Response:
        state = _named(visit, visit.parts["name"])
        given = form_values(PublishTask, visit.form)
        given["config_path"] = state.found.path
        given.setdefault("out", proposed_out(visit, state))
        if not visit.form.files:
            return _accepted(visit.begin(PublishTask, given))
        name = visit.studio.folder.free_name(visit.form.files[0][0])
        task = task_of(PublishTask, {**given, "data": f"{SENT}{name}"}, visit.studio.folder)
        return _accepted(visit.studio.begin(task, visit.session.who, {name: visit.form.files[0][1]}))

    by_form = changed(studio, sent)

    def described(visit_of: Request, given: Mapping[str, object]) -> Response:
        visit = Visit(studio, visit_of.scope["state"]["session"], dict(visit_of.path_params), {})
        state = _named(visit, visit.parts["name"])
        told = {"out": proposed_out(visit, state), **given, "config_path": state.found.path}
        return _accepted(visit.begin(PublishTask, told))

    async def endpoint(request: Request) -> Response:
        if not request.headers.get("content-type", "").startswith("application/json"):
            return await by_form(request)
        try:
            given = inside(PublishTask, await _body_of(request))
            return await run_in_threadpool(_safely, studio, request, lambda: described(request, given))
        except StudioError as error:
            return problem_response(request.scope, error.problem)

    return endpoint


def _begin(studio: Studio, request: Request, task: type[StudioTask], given: Mapping[str, object]) -> Response:
    def begin() -> Response:
        return _accepted(studio.begin(task_of(task, given, studio.folder), request.scope["state"]["session"].who))

    return _safely(studio, request, begin)


def _safely(studio: Studio, request: Request, what: Callable[[], Response]) -> Response:
    try:
        return what()
    except Exception as error:  # noqa: BLE001  (it becomes a problem that the program is told)
        return problem_response(request.scope, problem_of(error, studio.folder.root))


def _accepted(job: StudioJob) -> Response:
    response = json_response(job.to_json(), 202)
    response.headers["location"] = f"{PREFIX}/jobs/{job.id}"
    return response


async def _body_of(request: Request) -> Mapping[str, JSON]:
    """Read the object that a program sends."""
    check_form(request.scope, request.headers.get(CSRF_HEADER))
    try:
        return object_in(json.loads(await read_body(request, FORM_LIMIT)))
    except (ValueError, TypeError, RecursionError):
        raise StudioError(Problem(400, "The body is no JSON object.", None, "See the OpenAPI document.")) from None
