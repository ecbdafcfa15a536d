"""The key of a vault whose settings can be read without it: what a passphrase is mixed with lies among them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from reveil.vault import settings
from reveil.vault.keys import SALT
from reveil.vault.store import Unlocked

if TYPE_CHECKING:
    from reveil.vault.bridge import Connection
    from reveil.vault.keys import Keys


def unlock(connection: Connection, keys: Keys) -> Unlocked:
    """Return the key that belongs to the settings; drawn now where there is no vault yet.

    ValueError or TypeError if the settings are not what a vault writes.
    """
    found = settings.get_all(connection)
    check = found.get(settings.CHECK)
    if check is None:  # tables without a key are a vault that was killed while it was made: nothing was told yet
        salt = secrets.token_bytes(SALT)
        return Unlocked(keys.load_or_make(salt), salt, begun=False)
    salt = bytes.fromhex(found.get(settings.SALT) or "")
    return Unlocked(keys.fitting(salt or None, str(check)), salt, begun=True)
