"""The settings of a vault: JSON values by name, and the numbers that the vault itself counts with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reveil.core.errors import BusyError, PendingError, RefusedError
from reveil.vault.bridge import FIRST_HINT, FIRST_TEXT, one
from reveil.vault.protocol import PENDING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.vault.bridge import Connection

HEAD, SEED, SERIES, CHECK = "head", "seed", "series_id", "key_check"
NEXT_PERSON = "next_person"
SIGNED = "signed"  # the caller's: the attribute whose codes are in ledgers without a column `attribute`
DECLARED = "declared"  # the caller's: codes of the signed attribute that an erasure leaves alone
ERASING = "erasing"
TEXTS = "texts_of_expressions"  # earlier versions kept them: they are replaced as soon as the key is there
UNSEALED = "unsealed"  # by earlier versions: it is sealed as it is as soon as the key is there
SALT = "key_salt"  # of a passphrase; vaults of before have none, and their passphrases are digested as they were then
ANCHORED = "anchored"  # there was an anchor before this change
OLDER = "older_keys"  # those before that of now, sealed under it
MOVED = "moved"  # the series goes on in another vault, which is named
RESERVED = frozenset({OLDER, MOVED, HEAD, SERIES, CHECK, NEXT_PERSON, ERASING, TEXTS, UNSEALED, SALT, ANCHORED})


def get(connection: Connection, name: str) -> Any | None:
    """Return a setting, or None."""
    text = one(connection, "SELECT value FROM settings WHERE key = ?", [name])
    return None if text is None else json.loads(text)


def get_all(connection: Connection) -> dict[str, Any]:
    """Return all settings."""
    rows = connection.execute("SELECT key, value FROM settings").fetchall()
    return {name: json.loads(text) for name, text in rows}


def put(connection: Connection, name: str, value: JSON) -> None:
    """Keep a setting."""
    text = to_json(value)
    if not one(connection, "UPDATE settings SET value = ? WHERE key = ?", [text, name]):
        connection.execute("INSERT INTO settings VALUES (?, ?)", [name, text])


def put_all(connection: Connection, values: Mapping[str, JSON]) -> None:
    """Keep settings; those that have their value already are left alone."""
    known = dict(connection.execute("SELECT key, value FROM settings").fetchall())
    texts = {name: to_json(value) for name, value in values.items()}
    changed = {name: text for name, text in texts.items() if known.get(name) != text}
    if changed.keys() & known.keys():
        connection.execute("DELETE FROM settings WHERE list_contains(?, key)", [list(changed)])
    if changed:
        connection.execute(
            "INSERT INTO settings SELECT unnest(CAST(? AS TEXT[])), unnest(CAST(? AS TEXT[]))",
            [list(changed), list(changed.values())],
        )


def put_callers(connection: Connection, values: Mapping[str, JSON]) -> None:
    """Keep settings of the caller's."""
    reserved = sorted(values.keys() & RESERVED)
    if reserved:
        raise ValueError(f"the setting {reserved[0]!r} is the vault's own")
    put_all(connection, values)


def to_json(value: JSON) -> str:
    """Return JSON that is the same for the same value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def swap_head(connection: Connection, release: int) -> None:
    """Make this the last release if the one before it is the last one now."""
    changed = one(
        connection,
        "UPDATE settings SET value = ? WHERE key = ? AND value = ?",
        [to_json(release), HEAD, to_json(release - 1)],
    )
    if changed != 1:
        raise BusyError(FIRST_TEXT, hint=FIRST_HINT)


def refuse_moved(connection: Connection) -> None:
    """Refuse to go on where the series goes on in another vault."""
    moved = get(connection, MOVED)
    if moved is not None:
        raise RefusedError(
            f"this vault was copied to {moved}, and the series goes on there",
            hint="Name that vault under [series]. (reveil vault copy --backup makes copies that are not gone on with.)",
        )


def refuse_pending(connection: Connection) -> None:
    """Refuse to go on while a release is pending."""
    pending = one(connection, "SELECT MIN(release) FROM releases WHERE state = ?", [PENDING])
    if pending is not None:
        raise PendingError(
            f"release {pending} is pending",
            hint="Publish its snapshot again to resume it, or give it up with "
            f"`reveil history --abandon {pending}` (it stays told).",
        )
