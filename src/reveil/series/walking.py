"""Looking for manifests in a folder and below it, without getting lost."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.releases.files import VAULT_FILES
from reveil.releases.manifest_files import MANIFEST, manifest_at
from reveil.tables.formats.folder import MANIFEST_INSIDE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.core.json_values import JSONObject

DEEPEST = 8
NAMES = 50_000  # names that are looked at


class Walk:
    """Finds manifests, nearer ones first.

    Hidden folders, vaults and what is behind links are left alone. ``cut`` says whether there was more than one can
    look at.
    """

    def __init__(self, folder: Path, most: int = NAMES) -> None:
        self.folder = folder
        self.most = most
        self.cut = False

    def manifests(self) -> Iterator[tuple[Path, JSONObject]]:
        """Yield each file that is a manifest of Reveil's, with what it says."""
        left = self.most
        waiting: deque[tuple[Path, int]] = deque([(self.folder, 0)])
        while waiting:
            folder, depth = waiting.popleft()
            names = _entries(folder)
            left -= len(names)
            if left < 0:
                self.cut = True
                return
            if depth and any(entry.name in VAULT_FILES for entry in names):
                continue
            for entry in names:
                if (entry.name.endswith(MANIFEST) or entry.name == MANIFEST_INSIDE) and entry.is_file():
                    found = manifest_at(Path(entry.path))
                    if found is not None:
                        yield Path(entry.path), found
            below = [entry for entry in names if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)]
            if below and depth == DEEPEST:
                self.cut = True
                continue
            waiting += [(Path(entry.path), depth + 1) for entry in below]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:  # not ours to read
        return []
