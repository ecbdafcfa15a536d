"""Which files on this machine belong to a sealed vault, as its address says.

``postgresql://user@host/database?schema=hospital&keys=hospital.keys``: beside the file of bucket keys lie the master
key (``hospital.key``, unless the environment or a command has it) and the copies of releases (``hospital.drafts``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

KEYS, COMMAND, SCHEMA = "keys", "key_command", "schema"
_SECRETS = ("password", "sslpassword", "oauth_client_secret")  # settings of libpq that no address may have
_OURS = (KEYS, COMMAND, SCHEMA)


@dataclass(frozen=True)
class Whereabouts:
    """Where the files of a vault lie, and where the vault itself is (``rest``: the address without what is ours)."""

    rest: str = field(repr=False)
    schema: str
    keys: Path
    command: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, address: str, default: str) -> Whereabouts:
        """Read an address; ``default`` is the name of a vault that has none."""
        given = parse_qsl(urlsplit(address).query, keep_blank_values=True)
        if any(name in _SECRETS for name, _ in given) or _has_password(address, [name for name, _ in given]):
            raise ConfigError(
                "the address of this vault has a password in it",
                hint="Take it out: PostgreSQL's own places (PGPASSWORD, ~/.pgpass, a service file) are read. In names, "
                "write a colon as %3A, a slash as %2F and an @ as %40.",
            )
        known = {name: value for name, value in given if name in _OURS}
        others = [(name, value) for name, value in given if name not in _OURS]
        schema = known.get(SCHEMA) or default
        query = urlencode(others, quote_via=quote)
        rest = address.partition("?")[0] + (f"?{query}" if query else "")  # a server here has no host: postgresql:///db
        return cls(rest, schema, Path(known.get(KEYS) or f"{schema}.keys"), known.get(COMMAND))

    @property
    def key(self) -> Path:
        """The master key."""
        return self.keys.with_suffix(".key")

    @property
    def drafts(self) -> Path:
        """The folder of copies of releases."""
        return self.keys.with_suffix(".drafts")


def _has_password(address: str, names: Sequence[str]) -> bool:
    """Return whether there may be a password in front of the host, however it is written.

    A slash or a question mark in it ends what others take for the host: then an @ stands where none belongs, or what
    begins like a port is no number.
    """
    text = address.partition("://")[2]
    authority = re.split("[/?#]", text, maxsplit=1)[0]
    path = text.removeprefix(authority).partition("?")[0]
    user, _, hosts = authority.rpartition("@")
    ends = [host.rpartition("]")[2] for host in hosts.split(",")]  # of [::1]:5432, what is behind the address
    ports = [end.rpartition(":")[2] for end in ends if ":" in end]
    return (
        ":" in user
        or "@" in path
        or any(port and not port.isdecimal() for port in ports)
        or any("@" in name or "/" in name for name in names)
    )


def address_of(folder: Path) -> str:
    """Return the address of a sealed vault in a folder; a question mark in its name does not end it."""
    return "sealed://" + str(folder).replace("%", "%25").replace("?", "%3F")


def folder_of(address: str) -> Path:
    """Return the folder of the address of a sealed vault, or of its path."""
    before, is_address, rest = address.partition("://")
    if not is_address:
        return Path(before)
    return Path(rest.partition("?")[0].replace("%3F", "?").replace("%25", "%"))


def with_files(address: str, keys: Path | None, command: str | None) -> str:
    """Return an address that says where its files lie."""
    more = {KEYS: None if keys is None else str(keys), COMMAND: command}
    query = urlencode({name: value for name, value in more.items() if value is not None}, quote_via=quote)
    return address if not query else f"{address}{'&' if '?' in address else '?'}{query}"
