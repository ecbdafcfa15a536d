"""A series moves to another store: everything that its vault knows, its key, and the copies of its releases."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from reveil.core.errors import RefusedError, VaultError
from reveil.vault import settings
from reveil.vault.bridge import one
from reveil.vault.drafts import FolderDrafts
from reveil.vault.keys import FileKeys, GivenKeys
from reveil.vault.sealed import relations
from reveil.vault.store import open_store, store_class
from reveil.vault.vault import Vault

if TYPE_CHECKING:
    from reveil.vault.address import Place
    from reveil.vault.bridge import Connection
    from reveil.vault.store import Store


def copy_vault(source: Place, target: Place, *, backup: bool = False) -> int:
    """Copy the vault of a series into another store; return how many releases it knows.

    The series goes on in the copy, and the source is told so, unless the copy is a ``backup``: two vaults that both go
    on would tell the same people twice. Nothing is copied while a release is pending.
    """
    address = os.fspath(target)
    if store_class(address).exists(address):
        raise RefusedError(
            "there is a vault already", file=str(target), hint="Name another place: a vault is never written over."
        )
    with Vault.open(source, create=False) as vault:
        with vault.store.reading() as connection:
            settings.refuse_pending(connection)
            settings.refuse_moved(connection)
        vault.store.check()
        store = open_store(address, create=True)
        try:
            _fill(vault, store)
        finally:
            store.close()
        _compare(vault, address)
        if not backup:
            with vault.store.transaction("settings") as connection:
                settings.put(connection, settings.MOVED, str(target))
        return vault.head()


def _fill(vault: Vault, store: Store) -> None:
    """Put everything into a store that is empty; one that is not stays as it is."""
    here, kept = store.keys, vault.store.keys
    store.keys = GivenKeys(vault.key)
    with store.unlocked() as unlocked:
        if unlocked.begun:  # by somebody else, just now
            raise VaultError("there is a vault already", file=store.place, hint="Name another place.")
        try:
            releases = [row.release for row in vault.releases()]
            with store.transaction(releases=releases) as target:
                for release in releases:
                    with vault.store.reading(release):
                        pass  # placements of a release are loaded when they are read
                with vault.store.reading() as source:
                    _copy_tables(source, target)
            _copy_releases(vault.store, store)
            if isinstance(here, FileKeys) and not (isinstance(kept, FileKeys) and kept.outside):
                here.keep(vault.key)
        except BaseException:
            store.discard()
            raise
    store.keys = here


def _copy_tables(source: Connection, target: Connection) -> None:
    there = relations.tables_of(target)
    for table in relations.tables_of(source).values():
        if there.get(table.name) != table:
            target.execute(f'DROP TABLE IF EXISTS "{table.name}"')
            target.execute(table.statement)
        else:
            target.execute(f'DELETE FROM "{table.name}"')  # noqa: S608 -- names of the vault's tables
        relations.insert(target, table.name, relations.whole(source, table))


def _copy_releases(source: Store, target: Store) -> None:
    """Copy the files of releases that the vault keeps, for their owner only."""
    before, after = source.drafts, target.drafts
    if isinstance(before, FolderDrafts) and isinstance(after, FolderDrafts) and before.folder.is_dir():
        with after.private():
            shutil.copytree(before.folder, after.folder, dirs_exist_ok=True)


def _compare(vault: Vault, address: str) -> None:
    """Open the copy as anybody would, and see that it says the same."""
    with Vault.open(address, create=False) as copy:
        copy.store.check()
        same = vault.series_id == copy.series_id and vault.releases() == copy.releases()
        for name in relations.tables_of(vault.store.connection):
            if name == relations.PLACEMENTS:
                continue
            many = f'SELECT COUNT(*) FROM "{name}"'  # noqa: S608 -- names of the vault's tables
            same &= one(vault.store.connection, many) == one(copy.store.connection, many)
        if not same:
            raise VaultError(
                "the copy is not what was copied", file=copy.store.place, hint="Take it away and copy again."
            )
