"""The vault: what never leaves the building, and what the world has been told so far."""

from __future__ import annotations

from reveil.vault.duckdb_vault import DuckDBVault
from reveil.vault.keys import Key
from reveil.vault.protocol import Change, Recall, ReleaseRow, Vault

__all__ = ["Change", "DuckDBVault", "Key", "Recall", "ReleaseRow", "Vault"]
