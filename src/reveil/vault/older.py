"""Another key for a vault: pseudonyms are renewed, and the keys before are kept sealed under that of now.

Nobody can come from a pseudonym back to a person, so the new pseudonym of somebody is made from the old one. To find a
person again the keys before are needed, too; whoever has only an old key finds nobody in the vault of today.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VaultError
from reveil.vault import chain, settings
from reveil.vault.bridge import as_tables, columns, integers
from reveil.vault.keys import FileKeys, Key, new_key
from reveil.vault.sealed.cipher import DamagedPieceError, opened, require, sealed

if TYPE_CHECKING:
    from reveil.vault.bridge import Connection
    from reveil.vault.store import Store

_BOUND = b"reveil older keys"


def attached(key: Key, kept: object) -> Key:
    """Return the key of a vault with those before it, as the setting has them."""
    if not isinstance(kept, str):
        return key
    try:
        return key.after(json.loads(opened(key.derived("older keys"), bytes.fromhex(kept), _BOUND)))
    except (DamagedPieceError, ValueError):
        raise VaultError(
            "the keys before that of now are not what was written", hint="Restore the vault from a backup."
        ) from None


def rotate(store: Store, before: Key, head: int) -> Key:
    """Give a store another key, in one transaction; return it with those before it."""
    require()
    connection = store.connection
    settings.refuse_pending(connection)
    settings.refuse_moved(connection)
    salt = bytes.fromhex(str(settings.get(connection, settings.SALT) or ""))
    outside = isinstance(store.keys, FileKeys) and store.keys.outside
    key = new_key(salt or None, outside=outside).after([*before.older, before.hex()])
    if key.check() == before.check():
        raise VaultError("the new key is the key of now", hint="Give another one.")
    with store.rekeyed(key) as changing:
        _renew_pseudonyms(changing, key)
        chain.renew(changing, key, head)
        settings.put(changing, settings.CHECK, key.check())
        older = sealed(key.derived("older keys"), json.dumps(key.older).encode(), _BOUND)
        settings.put(changing, settings.OLDER, older.hex())
    return key


def _renew_pseudonyms(connection: Connection, key: Key) -> None:
    found = columns(connection, "SELECT person, high, low FROM persons")
    old = [np.asarray(np.ma.getdata(found[name]), np.int64) for name in ("high", "low")]
    high, low = key.renewed(*old)
    renewed = pl.DataFrame({"person": integers(found["person"]), "high": high, "low": low})
    with as_tables(connection, renewed=renewed):
        connection.execute(
            "UPDATE persons SET high = r.high, low = r.low FROM renewed r WHERE persons.person = r.person"
        )
