"""Where the vault of a series is: a folder, by its path, or ``scheme://...`` for a store that is found by that."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from reveil.vault.store import FOLDER, scheme_of, store_class, unknown_store

_USER = re.compile(r"//[^/@]*@")


@dataclass(frozen=True)
class Address:
    """The address of a store that is no folder here. Printed, it shows neither who logs in nor what follows ``?``."""

    text: str = field(repr=False)

    def __fspath__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return _USER.sub("//", self.text.partition("?")[0])

    @property
    def name(self) -> str:
        """The last part of it, for the names of files about the vault."""
        return str(self).rstrip("/").rpartition("/")[2]

    def exists(self) -> bool:
        """Return whether there is a vault."""
        return is_begun(self)

    def resolve(self) -> Address:
        """Return it as it is: there are no links to follow."""
        return self


Place = Path | Address


def place_of(vault: str | os.PathLike[str], folder: Path | None = None) -> Place:
    """Return where a vault is, a path relative to a folder; an address of no known store is refused."""
    if "://" not in os.fspath(vault):
        return Path(vault) if folder is None else folder / vault
    if scheme_of(vault) == FOLDER:
        raise unknown_store()
    store_class(vault)
    return Address(os.fspath(vault))


def is_begun(place: Place) -> bool:
    """Return whether there is a vault at a place, and not just a folder for one."""
    return store_class(place).exists(os.fspath(place))


def folders_of(place: Place) -> tuple[Path, ...]:
    """Return the folders here in which nothing but the vault is written."""
    return (place,) if isinstance(place, Path) else ()
