"""What the policy of a vault asks of the place where its relations lie, and how such a place is found.

The policy (:mod:`reveil.vault.vault`) reads and writes relations with DuckDB's SQL, wherever they come from: an
embedded database has them, another store may load them into memory and write back what was changed. A store is found by
the scheme of its address (entry points ``reveil.stores``); a plain path is a folder.

Whoever implements a store keeps these promises. A transaction is in the store entirely or not at all, whenever the
process is killed. One process at a time gets in; of two threads of it that change the same, one is told
:class:`~reveil.core.errors.BusyError`. What goes wrong is said in words of ours: another library's texts quote values.
:func:`reveil.testing.check_vault` holds a store to them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from reveil.core import registry
from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection
    from contextlib import AbstractContextManager
    from pathlib import Path

    from reveil.vault.bridge import Connection
    from reveil.vault.drafts import Drafts
    from reveil.vault.keys import Key, Keys
    from reveil.vault.sealed.whereabouts import Whereabouts

FOLDER = "folder"  # the store of a plain path


@dataclass(frozen=True)
class Unlocked:
    """The key of a store that was opened; ``begun``: whether it is a vault already, and not tables without content.

    ``salt`` is what a passphrase is mixed with, to be remembered by a vault that begins.
    """

    key: Key
    salt: bytes
    begun: bool


class Store(Protocol):
    """A place for the relations of one vault, open. One object belongs to one thread."""

    keys: Keys

    @classmethod
    def open(cls, address: str, *, create: bool) -> Self:
        """Open the store at an address and let nobody else in; make one if there is none and ``create`` allows it."""

    @classmethod
    def exists(cls, address: str) -> bool:
        """Return whether there is a vault at an address."""

    @property
    def place(self) -> str:
        """The address as errors name it, without secrets."""

    @property
    def folder(self) -> Path:
        """Where files that belong to the vault lie on this machine, for nobody but their owner."""

    @property
    def drafts(self) -> Drafts:
        """The copies of releases that belong to the vault."""

    @property
    def connection(self) -> Connection:
        """The relations, brought to the last format. ValueError once the store is closed."""

    def unlocked(self) -> AbstractContextManager[Unlocked]:
        """Bring the relations to the last format and find the key, once; no other thread opens the store meanwhile.

        Relations that are not what was written are refused.
        """

    def reading(self, release: int | None = None) -> AbstractContextManager[Connection]:
        """Read relations; placements of a release only if it is named. What was damaged is refused."""

    def transaction(self, *tables: str, releases: Collection[int] | None = ()) -> AbstractContextManager[Connection]:
        """Change these tables (any where none is named), and placements of these releases (None: of any).

        What is not named must not be changed. Everything is written when the block ends, and nothing if it fails.
        """

    def rekeyed(self, key: Key) -> AbstractContextManager[Connection]:
        """Change anything in one transaction after which another key is that of the store, wherever it lies.

        The caller writes the check of the key. A store that is interrupted has the one key or the other.
        """

    def check(self) -> None:
        """Refuse relations that are not what was written, placements of all releases included."""

    def checkpoint(self) -> None:
        """Put what was written where damage to it is noticed, if that is not where it is already."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other threads of this process out; BusyError if one is in."""

    def erase(self) -> None:
        """Leave no byte of what was deleted before, and take away the setting ``erasing``. Inside :meth:`exclusive`.

        A store that is interrupted on the way still has the setting, or is done.
        """

    def discard(self) -> None:
        """Take the store away and close it, unless another thread has it open: then only close it."""

    def close(self) -> None:
        """Let others in. Closing twice is allowed."""


@runtime_checkable
class KeepsFiles(Protocol):
    """A store that is no folder, and has files of its own on this machine all the same."""

    @classmethod
    def files(cls, address: str) -> Whereabouts:
        """Return where they lie."""


def scheme_of(address: str | os.PathLike[str]) -> str:
    """Return the name of the store at an address; a plain path has that of folders."""
    scheme, found, _ = os.fspath(address).partition("://")
    return scheme if found else FOLDER


def store_class(address: str | os.PathLike[str]) -> type[Store]:
    """Return the store that is registered for an address."""
    scheme = scheme_of(address)
    if scheme not in registry.names("stores"):
        raise unknown_store()
    found: type[Store] = registry.find("stores", scheme)
    return found


def unknown_store() -> ConfigError:
    """Return the refusal of an address whose scheme nobody registered."""
    return ConfigError(
        "vaults are kept in folders and on PostgreSQL servers, and this address is of neither",
        hint='vault = "hospital.vault" or vault = "postgresql://user@host/database?schema=hospital"',
    )


def open_store(address: str | os.PathLike[str], *, create: bool) -> Store:
    """Open the store at an address."""
    return store_class(address).open(os.fspath(address), create=create)
