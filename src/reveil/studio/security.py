"""The door: who may come in, from where, and what a browser may do with what it gets.

Before anything else is looked at, a request must name this studio as its host (a foreign name that leads here is an
attack by DNS), come from no foreign page, and show a token or the cookie of a session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reveil.studio.problems import Problem, StudioError
from reveil.studio.responses import fill_page, problem_response
from reveil.studio.sessions import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from reveil.studio.sessions import Sessions
    from reveil.studio.settings import StudioSettings

SAFE = ("GET", "HEAD")
CSRF_HEADER = "x-csrf-token"
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass(frozen=True)
class Door:
    """Lets requests in or not. What is inside finds the session in ``scope["state"]``."""

    app: ASGIApp
    settings: StudioSettings
    sessions: Sessions

    @property
    def cookie(self) -> str:
        """The name of the cookie: ports share cookies, so the port is part of it."""
        return f"reveil_studio_{self.settings.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and add what every answer has."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # there are no web sockets here

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/static/"):
                    headers["cache-control"] = "no-store"
            await send(message)

        response = self._refused(scope)
        if response is None:
            await self.app(scope, receive, answer)
        else:
            await response(scope, receive, answer)

    def _refused(self, scope: Scope) -> Response | None:
        """Return what to answer instead; None if the request may go on."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self.settings.hosts:
            return problem_response(scope, Problem(403, "This is not the address of the studio.", None, None))
        origin = headers.get("origin")
        foreign = origin is not None and origin not in self.settings.origins
        if foreign or (headers.get("sec-fetch-site") in ("cross-site", "same-site") and not _is_visit(headers, scope)):
            return problem_response(
                scope, Problem(403, "This request comes from another page.", None, "Use the pages of the studio.")
            )
        if scope["path"].startswith("/static/"):
            return None
        return self._unknown(scope, headers)

    def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        """Return what to answer to whoever shows nothing; else note who it is."""
        state = scope.setdefault("state", {})
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and (who := self.sessions.who(bearer.strip())) is not None:
            state["session"], state["by_token"] = Session(who), True
            return None
        asked = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if "token" in asked and scope["method"] in SAFE:
            who = self.sessions.enter(asked.pop("token"))
            if who is not None:
                response = _led_on(headers, scope["path"], asked)
                response.set_cookie(
                    self.cookie,
                    self.sessions.begin(who),
                    httponly=True,
                    samesite="strict",
                    secure=self.settings.scheme == "https",
                    path="/",
                )
                return response
        session = self.sessions.find(cookie_parser(headers.get("cookie", "")).get(self.cookie))
        if session is None:
            return problem_response(
                scope,
                Problem(
                    401, "The studio does not know who this is.", None, "Its first address has a token: open that."
                ),
            )
        state["session"], state["by_token"] = session, False
        return None


def check_form(scope: Scope, given: str | None) -> None:
    """Refuse a change that does not come from a page of the session; a program with a token shows that instead."""
    if scope["state"]["by_token"]:
        return
    session: Session = scope["state"]["session"]
    if given is None or not session.shows(given):
        raise StudioError(
            Problem(403, "This form is not from a page of this session.", None, "Open the page again and repeat it.")
        )


def _led_on(headers: Headers, path: str, asked: Mapping[str, str]) -> Response:
    """Lead to the same page without the token.

    Browsers keep a strict cookie back as long as a redirect follows a link of another site (a mail, say), so that there
    it is a page of ours that leads on.
    """
    place = f"/{path.lstrip('/')}" + (f"?{urlencode(asked)}" if asked else "")  # two slashes would name another host
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        return HTMLResponse(fill_page("entered.html.j2", place=quote(place, safe="/?=&%+")))
    return RedirectResponse(place, 303)


def _is_visit(headers: Headers, scope: Scope) -> bool:
    """Return whether somebody follows a link, which only looks at something."""
    return scope["method"] in SAFE and headers.get("sec-fetch-mode") == "navigate"
