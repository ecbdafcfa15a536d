"""Where the vault of a series is: a folder, by its path, or ``scheme://...`` for a store that is found by that."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from reveil.core.errors import ConfigError
from reveil.vault.sealed.whereabouts import SCHEMA, address_of, folder_of, with_files
from reveil.vault.store import FOLDER, KeepsFiles, scheme_of, store_class, unknown_store

if TYPE_CHECKING:
    from reveil.vault.sealed.whereabouts import Whereabouts

_USER = re.compile(r"//.*@")  # whatever it is written with


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
        """The schema, or else the last part of it, for the names of files about the vault."""
        named = dict(parse_qsl(urlsplit(self.text).query)).get(SCHEMA)
        return named or str(self).rstrip("/").rpartition("/")[2]

    def exists(self) -> bool:
        """Return whether there is a vault."""
        return is_begun(self)

    def resolve(self) -> Address:
        """Return it as it is: there are no links to follow."""
        return self


Place = Path | Address


def place_of(
    vault: str | os.PathLike[str],
    folder: Path | None = None,
    *,
    sealed: bool = False,
    keys: str | os.PathLike[str] | None = None,
    key_command: str | None = None,
) -> Place:
    """Return where a vault is, a path relative to a folder; an address of no known store is refused.

    ``sealed``: a folder whose pieces are sealed. ``keys`` is the file of the keys of buckets, and ``key_command``
    prints the master key, both for vaults of sealed pieces.
    """
    text = os.fspath(vault)
    base = Path() if folder is None else folder
    file = None if keys is None else base / keys
    if "://" not in text:
        if sealed:
            return Address(with_files(address_of(base / text), file, key_command))
        if keys is not None or key_command is not None:
            raise ConfigError(
                f"{'keys' if keys is not None else 'key_command'} is for vaults of sealed pieces",
                hint="Set sealed = true, too, or take it out: a plain folder has its key inside.",
            )
        return base / text
    if scheme_of(text) == FOLDER:
        raise unknown_store()
    store: object = store_class(text)
    if sealed:
        raise ConfigError(
            "sealed = true is for a vault in a folder", hint="Take it out: what lies on a server is sealed in any case."
        )
    address = Address(text)
    if isinstance(store, KeepsFiles):
        file = file or base / store.files(text).keys
        address = Address(with_files(text, file, key_command))
        store.files(address.text)  # what is wrong with it is said now
    return address


def is_begun(place: Place) -> bool:
    """Return whether there is a vault at a place, and not just a folder for one."""
    return store_class(place).exists(os.fspath(place))


def folders_of(place: Place) -> tuple[Path, ...]:
    """Return the folders here in which nothing but the vault is written."""
    if isinstance(place, Path):
        return (place,)
    files, sealed = files_of(place), scheme_of(place) == "sealed"
    return () if files is None else (files.drafts, *((folder_of(place.text),) if sealed else ()))


def files_of(place: Place) -> Whereabouts | None:
    """Return where the files of a vault that is no folder lie on this machine, None if it has none."""
    store = None if isinstance(place, Path) or scheme_of(place) == FOLDER else _known(place)
    return store.files(os.fspath(place)) if isinstance(store, KeepsFiles) else None


def _known(place: Address) -> object | None:
    try:
        return store_class(place)
    except ConfigError:
        return None


def anchor_beside(place: Place) -> Path:
    """Return where the anchor of a vault lies if nobody says: beside its folder, or beside its keys."""
    if isinstance(place, Path):
        return place.parent / f"{place.name.removesuffix('.vault')}.anchor"
    files = files_of(place)
    if files is None:
        raise ConfigError(
            "a vault that is no folder here needs an anchor", hint="Name a file: anchor='hospital.anchor'."
        )
    return files.keys.with_suffix(".anchor")
