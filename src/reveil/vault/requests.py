"""What was asked for when a release was made, as the vault keeps it.

An expression may hold a quasi value or somebody's id. So the vault keeps which columns it reads, and a keyed digest by
which the same expression is recognised: ``{"columns": ["age"], "digest": "hmac-sha256:..."}``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reveil.core.json_values import object_in
from reveil.vault import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reveil.core.json_values import JSON
    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key

COLUMNS, WHERE = "columns", "where"
DIGEST = "digest"


def kept_expression(key: Key, text: str, columns: Iterable[str]) -> dict[str, JSON]:
    """Return what is kept of an expression."""
    return {COLUMNS: sorted(columns), DIGEST: key.digest(text)}


def is_expression(key: Key, kept: Mapping[str, JSON], text: str) -> bool:
    """Return whether this is the expression of which that is kept."""
    return kept.get(DIGEST) in key.digests(text)


def asks_the_same(request: Mapping[str, JSON], other: Mapping[str, JSON]) -> bool:
    """Return whether two requests are for the same part of a table, written in the same way."""
    return request.get(COLUMNS) == other.get(COLUMNS) and _digest(request) == _digest(other)


def _digest(request: Mapping[str, JSON]) -> str | None:
    where = request.get(WHERE)
    return None if where is None else str(object_in(where)[DIGEST])


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
