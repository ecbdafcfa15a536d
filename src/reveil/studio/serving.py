"""Starts a studio: the server, the browser, and the word about where it is."""

from __future__ import annotations

import socket
import threading
import webbrowser
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import uvicorn

from reveil.core.errors import ConfigError
from reveil.studio.app import application
from reveil.studio.settings import OWNER
from reveil.studio.studio import Studio

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.studio.settings import StudioSettings


def serve(settings: StudioSettings, say: Callable[[str], None], *, opened: bool) -> None:
    """Serve until somebody ends it."""
    with listen(settings) as listening:
        settings = replace(settings, port=listening.getsockname()[1])
        studio = Studio.of(settings)
        server = _Announced(
            uvicorn.Config(
                application(studio),
                log_level="error",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
                ssl_certfile=settings.tls_cert,
                ssl_keyfile=settings.tls_key,
            )
        )
        server.announce = partial(_announce, studio, settings, say, opened=opened)
        try:
            server.run([listening])
        finally:
            studio.close()


class _Announced(uvicorn.Server):
    """A server that says when it answers: an address that is opened earlier shows an error."""

    announce: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.announce()


def _announce(studio: Studio, settings: StudioSettings, say: Callable[[str], None], *, opened: bool) -> None:
    token = None if len(settings.tokens) > 1 else settings.tokens.get(OWNER)
    say(f"the studio serves {settings.folder} at")
    say("  " + settings.address + ("" if token is None else f"?token={token}"))
    say("the address lets in whoever has it; Ctrl-C ends the studio, and a release in the middle stays pending")
    if opened:  # with a code that works once: whoever lists the processes of this machine sees it
        first = settings.address + ("" if token is None else f"?token={studio.sessions.once(OWNER)}")
        threading.Thread(target=webbrowser.open, args=[first], daemon=True).start()


def listen(settings: StudioSettings) -> socket.socket:
    """Return a socket at the address of the settings."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError:
        listening.close()
        raise ConfigError(
            f"cannot listen at {settings.host} port {settings.port}",
            hint="Is another studio running there? Choose another one with --port; --port 0 takes a free one.",
        ) from None
    return listening
