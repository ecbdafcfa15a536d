"""The chain of a vault: one entry for every change of state, each with a keyed digest over the entry before.

Two vaults with the same last digest have the same past. An entry has a number of its own at random, so that two
copies of one vault that both go on differ from their first step on, whatever they do. Nothing in it is about a person:
of an erasure it says that there was one.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import TYPE_CHECKING

from reveil.core.errors import VaultError
from reveil.vault.bridge import one

if TYPE_CHECKING:
    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key
    from reveil.vault.protocol import ReleaseRow

BEGUN, PREPARED, CONFIRMED, ABANDONED, ADOPTED, FORGOTTEN, JOINED, ROTATED = (
    "begun",
    "prepared",
    "confirmed",
    "abandoned",
    "adopted",
    "forgotten",
    "joined",
    "rotated",
)
_CHANGING = ("digest", "digests")  # what differs from format to format


def append(connection: Connection, key: Key, act: str, release: int, about: str = "") -> None:
    """Add an entry, inside the transaction of the change that it is about."""
    entry, before = end(connection)
    nonce = secrets.token_hex(8)
    digest = _digest(key, before, entry + 1, act, release, about, nonce)
    connection.execute("INSERT INTO chain VALUES (?, ?, ?, ?, ?, ?)", [entry + 1, act, release, about, nonce, digest])


def end(connection: Connection) -> tuple[int, str]:
    """Return number and digest of the last entry; 0 and nothing where there is none."""
    ((entry, digest),) = connection.execute("SELECT MAX(entry), ARG_MAX(digest, entry) FROM chain").fetchall()
    return (0, "") if entry is None else (int(entry), str(digest))


def at(connection: Connection, entry: int) -> str | None:
    """Return the digest of an entry, None if there is none of this number."""
    found = one(connection, "SELECT digest FROM chain WHERE entry = ?", [entry])
    return None if found is None else str(found)


def erasures(connection: Connection) -> int:
    """Return how many persons were erased."""
    return int(one(connection, "SELECT COUNT(*) FROM chain WHERE act = ?", [FORGOTTEN]))


def check(connection: Connection, key: Key) -> None:
    """Refuse a chain that does not hold together: something in the database was changed or lost."""
    before = ""
    rows = connection.execute("SELECT entry, act, release, about, nonce, digest FROM chain ORDER BY entry").fetchall()
    for place, (entry, act, release, about, nonce, digest) in enumerate(rows, start=1):
        if entry != place or digest != _digest(key, before, entry, act, release, about, nonce):
            raise VaultError(
                f"the chain of changes in this vault is broken at entry {place}",
                hint="The database was damaged or changed by another program. Restore the vault from a backup.",
            )
        before = digest


def renew(connection: Connection, key: Key, release: int) -> None:
    """Digest all entries anew with another key, and say so in one more."""
    rows = connection.execute("SELECT entry, act, release, about, nonce FROM chain ORDER BY entry").fetchall()
    before = ""
    for row in rows:
        before = _digest(key, before, *row)
        connection.execute("UPDATE chain SET digest = ? WHERE entry = ?", [before, row[0]])
    append(connection, key, ROTATED, release)


def mark_of(row: ReleaseRow) -> str:
    """Return a digest by which a release is known again, in whatever format it was published or adopted."""
    if row.manifest is None or row.manifest_digest is None:  # another tool's, without a manifest of its own
        return _short(f"{row.digest}")  # of its files, or of its content where there are none
    told = {name: value for name, value in json.loads(row.manifest).items() if name not in _CHANGING}
    return _short(json.dumps(told, sort_keys=True))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _digest(key: Key, before: str, entry: int, act: str, release: int, about: str, nonce: str) -> str:
    return key.seal("chain", before, str(entry), act, str(release), about, nonce)
