"""What a PostgreSQL server answers, in our words: its own texts quote names, values and sometimes passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core.errors import ReveilError, VaultError

if TYPE_CHECKING:
    import psycopg

# By SQLSTATE, the longest that fits: what is wrong, and the remedy. {schema} is the vault's.
_KNOWN = {
    "28P01": ("the server does not accept this password", "Check PGPASSWORD, ~/.pgpass or the service file."),
    "28": (
        "the server does not let this user in",
        (
            "Check the user in the address and pg_hba.conf of the server; it may ask for TLS (?sslmode=require) or a "
            "password."
        ),
    ),
    "3D000": ("there is no such database on this server", "Check the name in the address, or make it: createdb NAME."),
    "3F000": (
        "there is no schema {schema!r} in this database",
        "Make it: reveil vault init -c reveil.toml, as a user who may.",
    ),
    "42501": (
        "this user may not do that in the schema {schema!r}",
        (
            "Ask the administrator to run `reveil vault init -c reveil.toml --roles` and to grant the role "
            "{schema}_publisher to this user."
        ),
    ),
    "42P01": (
        "the schema {schema!r} is not that of a vault",
        "Make one: reveil vault init -c reveil.toml, or name another schema.",
    ),
    "25006": (
        "this server is a read-only copy, and a vault must be written",
        "Name the primary server in the address.",
    ),
    "53": (
        "the server has no room left for this vault, or takes no more connections",
        "Make room on its disk; the same command goes on from here.",
    ),
    "57": ("the server was stopped", "Start it; the same command goes on from here."),
}
_LOST = (
    "the connection to the server of this vault cannot be made or was lost",
    "Check the address, the network and that the server runs; the same command goes on from here.",
)


def failure(error: psycopg.Error, place: str, schema: str) -> ReveilError:
    """Return what to raise for an error of the server or of the way to it."""
    state = error.sqlstate or _guessed(error)
    found = next((_KNOWN[state[:n]] for n in (5, 2) if state[:n] in _KNOWN), None)
    if found is None:
        lost = not state or state.startswith("08")
        found = _LOST if lost else ("the server of this vault refused a statement", "Look into the server's log.")
    message, hint = found
    return VaultError(message.format(schema=schema), hint=hint.format(schema=schema), file=place)


def _guessed(error: psycopg.Error) -> str:
    """Return the state of a failed connection, which libpq gives as a text only."""
    text = str(error)
    marks = {
        "password authentication failed": "28P01",
        "no password supplied": "28P01",
        "no pg_hba.conf entry": "28000",
        "does not exist": "3D000" if "database" in text else "28000",
        "SSL": "28000",
        "too many": "53300",
    }
    return next((state for mark, state in marks.items() if mark in text), "")
