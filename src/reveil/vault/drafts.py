"""Where a vault keeps copies of releases: the last one, and a pending one until it is out."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from reveil.vault.private import private

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


class Drafts(Protocol):
    """Copies of releases, as files on this machine that only their owner reads."""

    def path(self, release: int, suffix: str) -> Path:
        """Return where the copy of a release lies, or would lie."""

    def private(self) -> AbstractContextManager[None]:
        """Write copies: what is made meanwhile is the owner's only."""

    def remove(self, keep: int | None = None) -> None:
        """Remove all copies but those of one release, and what a killed publisher left half written."""


@dataclass(frozen=True)
class FolderDrafts:
    """Copies in a folder of their own, inside another that is the vault's."""

    folder: Path
    around: Path

    def path(self, release: int, suffix: str) -> Path:
        """Return where the copy of a release lies, or would lie."""
        return self.folder / f"{release:06d}{suffix}"

    def private(self) -> AbstractContextManager[None]:
        """Write copies: what is made meanwhile is the owner's only."""
        return private(self.around)

    def remove(self, keep: int | None = None) -> None:
        """Remove all copies but those of one release, and what a killed publisher left half written."""
        for path in list(self.folder.iterdir()) if self.folder.is_dir() else []:
            if keep is not None and path.name.startswith(f"{keep:06d}."):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


if TYPE_CHECKING:
    _CHECKED: type[Drafts] = FolderDrafts
