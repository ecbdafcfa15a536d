"""The vault: what never leaves the building, and what the world has been told so far."""

from __future__ import annotations

from reveil.vault.changes import Change, Portion, Records
from reveil.vault.keys import Key
from reveil.vault.protocol import Recall, ReleaseRow
from reveil.vault.store import Store
from reveil.vault.vault import Vault

DuckDBVault = Vault

__all__ = ["Change", "DuckDBVault", "Key", "Portion", "Recall", "Records", "ReleaseRow", "Store", "Vault"]
