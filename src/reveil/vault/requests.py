"""What was asked for when a release was made, as the vault keeps it.

An expression may hold a quasi value or somebody's id. So the vault keeps which columns it reads, and a keyed digest by
which the same expression is recognised: ``{"columns": ["age"], "digest": "hmac-sha256:..."}``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reveil.vault import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key

COLUMNS, WHERE = "columns", "where"
DIGEST = "digest"


def kept_expression(key: Key, text: str, columns: Iterable[str]) -> dict[str, Any]:
    """Return what is kept of an expression."""
    return {COLUMNS: sorted(columns), DIGEST: key.digest(text)}


def is_expression(key: Key, kept: Mapping[str, Any], text: str) -> bool:
    """Return whether this is the expression of which that is kept."""
    return bool(kept.get(DIGEST) == key.digest(text))


def asks_the_same(request: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two requests are for the same part of a table, written in the same way."""
    return request.get(COLUMNS) == other.get(COLUMNS) and _digest(request) == _digest(other)


def _digest(request: Mapping[str, Any]) -> str | None:
    where = request.get(WHERE)
    return None if where is None else str(where[DIGEST])


def replace_texts(connection: Connection, key: Key) -> None:
    """Replace the texts of expressions, which earlier versions kept, inside a transaction.

    The columns are those that the manifest names, which is public. The old bytes go when the database is written anew.
    """
    found = connection.execute("SELECT release, request, manifest FROM releases").fetchall()
    for release, text, manifest in found:
        request = json.loads(text)
        if not isinstance(request.get(WHERE), str):
            continue
        selection = {} if manifest is None else json.loads(manifest).get("selection") or {}
        request[WHERE] = kept_expression(key, request[WHERE], selection.get(COLUMNS) or ())
        connection.execute("UPDATE releases SET request = ? WHERE release = ?", [settings.to_json(request), release])
        settings.put(connection, settings.ERASING, value=True)
    connection.execute("DELETE FROM settings WHERE key = ?", [settings.TEXTS])
