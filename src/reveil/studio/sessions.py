"""Who is there: a token opens a session, a cookie holds it, and every change shows that it comes from its pages."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SESSIONS_AT_MOST = 500  # sessions; the oldest goes
_ONCE_LASTS = 60.0  # seconds


@dataclass(frozen=True)
class Session:
    """Somebody who came in, and the secret that the forms of their pages show."""

    who: str
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @property
    def csrf(self) -> str:
        """What a form must show."""
        return hmac.new(self.secret, b"a form of the studio", hashlib.sha256).hexdigest()

    def shows(self, given: str) -> bool:
        """Return whether a form comes from a page of this session."""
        return hmac.compare_digest(given.encode(), self.csrf.encode())


class Sessions:
    """The sessions of a studio. Tokens and cookies are compared by their digests, in constant time."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = {name: _digest(token) for name, token in tokens.items()}
        self._sessions: dict[str, Session] = {}
        self._once: dict[str, tuple[str, float]] = {}  # codes by their digests: who comes in, and until when
        self._lock = threading.Lock()

    def who(self, token: str) -> str | None:
        """Return whose token this is."""
        given, found = _digest(token), None
        for name, known in self._tokens.items():
            if hmac.compare_digest(given, known):
                found = name
        return found

    def once(self, who: str) -> str:
        """Return a code that lets a browser in once, and soon: others may see how a program was called."""
        code = secrets.token_urlsafe(32)
        with self._lock:
            self._once[_digest(code).hex()] = (who, time.monotonic() + _ONCE_LASTS)
        return code

    def enter(self, given: str) -> str | None:
        """Return who comes in with a token, or with a code, which is good for nothing afterwards."""
        with self._lock:
            who, until = self._once.pop(_digest(given).hex(), (None, 0.0))
        return who if who is not None and time.monotonic() <= until else self.who(given)

    def begin(self, who: str) -> str:
        """Open a session, and return what the cookie holds."""
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._sessions) >= _SESSIONS_AT_MOST:
                self._sessions.pop(next(iter(self._sessions)))
            self._sessions[_digest(cookie).hex()] = Session(who)
        return cookie

    def find(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie."""
        return None if cookie is None else self._sessions.get(_digest(cookie).hex())


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
