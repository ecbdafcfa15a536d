"""Answers: pages from templates, problems as a page or as JSON, files to download."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.responses import FileResponse, HTMLResponse, Response

from reveil.studio.wording import on_a_page

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import Scope

    from reveil.core.json_values import JSON
    from reveil.studio.problems import Problem

API = "/api/"
_SETTING = re.compile(r"\w+ =")  # a text that begins with the name of a setting keeps it as it is written


def fill_page(template: str, **views: object) -> str:
    """Return a template filled; whatever it is given is text."""
    return _environment().get_template(template).render(**views)


def prepare_pages() -> None:
    """Compile the templates of the first pages."""
    for name in ("home.html.j2", "series.html.j2", "publish.html.j2", "job.html.j2"):
        _environment().get_template(name)


@cache
def _environment() -> Environment:
    """Return the one environment: the studio's templates, and those of charts that the reports have."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("reveil.studio"), PackageLoader("reveil.reporting")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["number"] = shown_number
    environment.filters["share"] = lambda value: "–" if value is None else f"{value:.1%}"
    environment.filters["said"] = message_on_a_page
    environment.filters["quoted"] = lambda value: quote(str(value), safe="/")
    return environment


def shown_number(value: object) -> str:
    """Return a number as people read it."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}" if isinstance(value, float) else str(value)


def message_on_a_page(text: str) -> str:
    """Return a message as a page says it: in its words, from a capital on."""
    here = on_a_page(text)
    return here if _SETTING.match(here) else here[:1].upper() + here[1:]


def json_response(content: JSON, status: int = 200, *, media_type: str = "application/json") -> Response:
    """Answer a program."""
    text = json.dumps(content, ensure_ascii=False, default=str)
    return Response(text, status, media_type=media_type)


def problem_response(scope: Scope, problem: Problem) -> Response:
    """Say what went wrong, to a program or to a person."""
    if scope["path"].startswith(API):
        response = json_response(problem.to_json(), problem.status, media_type="application/problem+json")
    else:
        response = HTMLResponse(fill_page("problem.html.j2", problem=problem), problem.status)
    if problem.status == 413:  # whoever still sends is not listened to
        response.headers["connection"] = "close"
    return response


def download(path: Path, name: str) -> Response:
    """Send a file to be kept; a page among them is not opened here, where it could act as the studio's."""
    return FileResponse(
        path, filename=name, media_type="application/octet-stream", content_disposition_type="attachment"
    )
