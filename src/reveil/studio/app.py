"""The application: its routes, behind the door."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from reveil.studio.api.routes import api_routes
from reveil.studio.pages import auditing, exploring, hierarchies, home, jobs, new_series, others, publishing, series
from reveil.studio.problems import Problem, problem_of
from reveil.studio.responses import problem_response
from reveil.studio.security import Door
from reveil.studio.visiting import changed, shown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

    from reveil.studio.studio import Studio
    from reveil.studio.visiting import Handler

STATIC = Path(__file__).parent / "static"


def application(studio: Studio) -> ASGIApp:
    """Return what a server serves."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        studio.board.start()
        await run_in_threadpool(studio.warm)
        try:
            yield
        finally:
            studio.close()

    async def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            words = {404: "There is no such page.", 405: "This address does not take that."}
            problem = Problem(error.status_code, words.get(error.status_code, "This cannot be done."), None, None)
        else:
            problem = problem_of(error, studio.folder.root)
        return problem_response(request.scope, problem)

    app = Starlette(
        routes=[*_routes(studio), *api_routes(studio), Mount("/static", StaticFiles(directory=STATIC))],
        exception_handlers={HTTPException: failed, Exception: failed},
        lifespan=lifespan,
    )
    return Door(app, studio.settings, studio.sessions)


def _routes(studio: Studio) -> list[Route]:
    def see(path: str, handler: Handler) -> Route:
        return Route(path, shown(studio, handler), methods=["GET"])

    def change(path: str, handler: Handler) -> Route:
        return Route(path, changed(studio, handler), methods=["POST"])

    return [
        see("/", home.home),
        see("/files", home.fetch),
        change("/files", home.receive),
        see("/new", new_series.choose_table),
        change("/new/look", new_series.examine),
        change("/new/propose", new_series.propose),
        change("/new/save", new_series.save),
        see("/series", series.show),
        change("/history", series.ask_history),
        see("/publish", publishing.show),
        change("/publish", publishing.start),
        see("/explore", exploring.show),
        change("/explore", exploring.start),
        change("/explore/take", exploring.take),
        see("/audit", auditing.show),
        change("/audit", auditing.start),
        see("/hierarchies", hierarchies.show),
        change("/hierarchies", hierarchies.start),
        change("/hierarchies/edit", hierarchies.edit),
        see("/hierarchies/{key}", hierarchies.show_tree),
        change("/hierarchies/{key}/move", hierarchies.move),
        change("/hierarchies/{key}/save", hierarchies.save),
        *(see(f"/{command}", others.show(command)) for command in others.OTHERS),
        *(change(f"/{command}", others.start(command)) for command in others.OTHERS),
        see("/jobs", jobs.show_all),
        see("/jobs/{id}", jobs.show),
        change("/jobs/{id}/stop", jobs.stop),
        see("/jobs/{id}/files/{name}", jobs.fetch),
        Route("/jobs/{id}/events", partial(jobs.events, studio), methods=["GET"]),
    ]
