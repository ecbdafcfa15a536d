"""One request as a page sees it, and how a page becomes a route: read in full, then answered in a thread."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reveil.studio.problems import StudioError, not_here, problem_of
from reveil.studio.responses import fill_page, problem_response
from reveil.studio.tasks.base import task_of
from reveil.studio.uploads import SentForm, read_form

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

    from reveil.studio.folder import FoundFile
    from reveil.studio.histories import SeriesState
    from reveil.studio.jobs import StudioJob
    from reveil.studio.sessions import Session
    from reveil.studio.studio import Studio
    from reveil.studio.tasks.base import StudioTask

T = TypeVar("T", bound="StudioTask")
PATIENCE = 0.6  # seconds that a form waits for a job that may be quick


@dataclass(frozen=True)
class Visit:
    """A request that was let in."""

    studio: Studio
    session: Session
    parts: dict[str, str]
    query: dict[str, str]
    form: SentForm = field(default_factory=SentForm)

    def page(self, template: str, *, title: str, here: str = "", owner: bool = False, **views: object) -> Response:
        """Show a page; ``owner``: it may show raw values, and says so."""
        text = fill_page(
            template,
            title=title,
            here=here,
            owner=owner,
            who=self.session.who,
            csrf=self.session.csrf,
            folder=self.studio.folder.root.name,
            **views,
        )
        return HTMLResponse(text)

    def go(self, path: str) -> Response:
        """Send the browser to another page."""
        return RedirectResponse(path, 303)

    def state(self, config: str | None = None) -> SeriesState:
        """Return the series that the address, the form or the caller names."""
        wanted = config or self.query.get("config") or self.form.get("config_path")
        if wanted is None:
            raise not_here("No series is named.")
        return self.studio.histories.get(self.studio.folder.find_series(wanted.removesuffix(".toml")))

    def raw_tables(self) -> list[FoundFile]:
        """Return the tables of the folder that are no releases."""
        return [one for one in self.studio.folder.tables() if not one.is_release]

    def releases(self) -> list[FoundFile]:
        """Return the releases of the folder."""
        return [one for one in self.studio.folder.tables() if one.is_release]

    def begin(self, cls: type[T], given: dict[str, object]) -> StudioJob:
        """Start a job, note it, and wait a moment for it."""
        job = self.studio.begin(task_of(cls, given, self.studio.folder), self.session.who)
        self.studio.board.wait(job, PATIENCE)
        return job

    def begin_and_go(self, cls: type[T], given: dict[str, object]) -> Response:
        """Start a job, and show it."""
        return self.go(f"/jobs/{self.begin(cls, given).id}")


Handler = Callable[[Visit], Response]
Endpoint = Callable[["Request"], Awaitable[Response]]


def shown(studio: Studio, handler: Handler) -> Endpoint:
    """Return the route of a page that shows something."""

    async def endpoint(request: Request) -> Response:
        return await _answer(studio, request, handler, SentForm())

    return endpoint


def changed(studio: Studio, handler: Handler) -> Endpoint:
    """Return the route of a form that changes something; its files are gone when it is answered, unless taken."""

    async def endpoint(request: Request) -> Response:
        private: Path = studio.private / secrets.token_hex(8)
        private.mkdir(mode=0o700)
        try:
            form = await read_form(request, private, studio.settings.upload_limit)
            return await _answer(studio, request, handler, form)
        except StudioError as error:
            return problem_response(request.scope, error.problem)
        finally:
            await run_in_threadpool(shutil.rmtree, private, ignore_errors=True)

    return endpoint


async def _answer(studio: Studio, request: Request, handler: Handler, form: SentForm) -> Response:
    visit = Visit(
        studio, request.scope["state"]["session"], dict(request.path_params), dict(request.query_params), form
    )
    try:
        response = await run_in_threadpool(handler, visit)
        if response.background is None:
            response.background = BackgroundTask(studio.board.wake)  # when the page is out
        return response
    except Exception as error:  # noqa: BLE001  (it becomes a problem that the page shows)
        return problem_response(request.scope, problem_of(error, studio.folder.root))
