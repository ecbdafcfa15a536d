"""Leaving no byte behind.

DELETE leaves the bytes in the file, whatever is done to it afterwards. So the database is copied into a new file, and
the new file takes the old one's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.core.disk import sync_file, sync_folder
from reveil.vault import settings
from reveil.vault.bridge import one
from reveil.vault.stores import seals

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Key


def rewrite(connection: Connection, database: Path, key: Key) -> None:
    """Put a fresh copy of the database in its place, and close the connection, which must be the only one.

    The copy is compared with its seals first. The old file stays open, and with it locked, until the new one has its
    name: nobody can write into it meanwhile.
    """
    fresh = database.with_name(database.name + ".new")
    for leftover in database.parent.glob(fresh.name + "*"):
        leftover.unlink(missing_ok=True)
    current = one(connection, "SELECT current_database()")
    path = str(fresh).replace("'", "''")
    connection.execute(f"ATTACH '{path}' AS fresh")
    try:
        connection.execute(f'COPY FROM DATABASE "{current}" TO fresh')
        connection.execute("DELETE FROM fresh.settings WHERE key = ?", [settings.ERASING])
        seals.renew(connection, key, ("settings",), database="fresh")
        seals.check(connection, key, database.parent, None, database="fresh")
        connection.execute("CHECKPOINT fresh")
    finally:
        connection.execute("DETACH fresh")
    sync_file(fresh)
    connection.execute("FORCE CHECKPOINT")
    # The log and the file that is locked belong to each other no longer once the new file has the name.
    database.with_name(database.name + ".wal").unlink(missing_ok=True)
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")
    fresh.replace(database)
    sync_folder(database.parent)
    connection.close()
