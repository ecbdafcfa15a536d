"""Where the studio listens, who may come in, and how much it takes."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, FileError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PORT = 8765
OWNER = "owner"
_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class StudioSettings:
    """What a studio is started with. ``tokens`` are names and what each of them shows to come in."""

    folder: Path
    host: str = "127.0.0.1"
    port: int = PORT
    tokens: Mapping[str, str] = field(default_factory=lambda: {OWNER: secrets.token_urlsafe(32)}, repr=False)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    upload_limit: int = 1 << 30  # bytes; larger tables are put into the folder by hand
    workers: int = 2
    most_waiting: int = 60

    @property
    def scheme(self) -> str:
        """How it is reached."""
        return "http" if self.tls_cert is None else "https"

    @property
    def hosts(self) -> frozenset[str]:
        """What a browser may write in ``Host``: another name that leads here is somebody else's."""
        names = {"127.0.0.1", "localhost", "[::1]"} if is_loopback(self.host) else {_bracketed(self.host)}
        usual = {"http": 80, "https": 443}[self.scheme]
        return frozenset(f"{name}:{self.port}" for name in names) | (names if self.port == usual else frozenset())

    @property
    def origins(self) -> frozenset[str]:
        """From where a page may change something: from the studio's own pages."""
        return frozenset(f"{self.scheme}://{name}" for name in self.hosts)

    @property
    def address(self) -> str:
        """The address to open, without a token."""
        return f"{self.scheme}://{_bracketed(self.host)}:{self.port}/"


def studio_settings(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token_file: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
) -> StudioSettings:
    """Return the settings of a studio, or refuse what would not be safe."""
    if not folder.is_dir():
        raise FileError(
            "this is no folder", file=folder, hint="Name a folder with configs and tables; it may be empty."
        )
    if (tls_cert is None) != (tls_key is None):
        raise ConfigError("--tls-cert and --tls-key belong together", hint="Give both, or neither.")
    if not is_loopback(host):
        if host in ("0.0.0.0", "::", ""):  # noqa: S104  (it is refused)
            raise ConfigError(
                "the studio does not listen on every address at once",
                hint="Give the one name or address by which others reach it: only that is answered.",
            )
        if token_file is None or tls_cert is None:
            raise ConfigError(
                "others could reach the studio at this address",
                hint="Give --token-file (lines name:token) and --tls-cert with --tls-key, or leave --host out.",
            )
    for path in (tls_cert, tls_key):
        if path is not None and not path.is_file():
            raise FileError("this file is not there", file=path, hint="Check the path.")
    tokens = {OWNER: secrets.token_urlsafe(32)} if token_file is None else read_tokens(token_file)
    return StudioSettings(folder.resolve(), host, port, tokens, tls_cert, tls_key)


def read_tokens(path: Path) -> dict[str, str]:
    """Read the lines ``name:token`` of a file; a token is never shown."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise FileError("cannot read these tokens", file=path, hint="It is a text in UTF-8.") from None
    if path.stat().st_mode & 0o077:
        raise FileError("others may read this file", file=path, hint=f"Run chmod 600 {path.name}.")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, token = (part.strip() for part in line.partition(":"))
        if not (name and colon and name.isprintable()) or name in found or len(token) < _SHORTEST_TOKEN:
            raise ConfigError(
                "this line is no name and token",
                file=path,
                line=number,
                hint=f"Write name:token, each name once; a token has at least {_SHORTEST_TOKEN} characters.",
            )
        found[name] = token
    if not found:
        raise ConfigError("there is no token in this file", file=path, hint="Write a line name:token for each person.")
    return found


def is_loopback(host: str) -> bool:
    """Return whether nobody but this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
