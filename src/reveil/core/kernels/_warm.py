"""A note beside the compiled kernels of these sources: which of them there were when all had been compiled."""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path

from reveil.core.kernels import _cache

_SOURCES = Path(__file__).parents[2]
_UNUSED = 60 * 24 * 3600.0  # seconds after which what no installation has read is removed


def is_warm() -> bool:
    """Return whether everything was compiled for these sources, and is there still."""
    note = _note()
    if note is None or not note.is_file():
        return False
    return set(note.read_text().split()) <= _names(note.parent)


def remember() -> None:
    """Note that everything is compiled; what other sources left long ago, and nobody used since, is removed."""
    note = _note()
    if note is None:
        return
    for path in (*note.parent.glob("*.kernel"), *note.parent.glob("warm-*")):
        with contextlib.suppress(OSError):
            if max(path.stat().st_atime, path.stat().st_mtime) < time.time() - _UNUSED:
                path.unlink()
    names = _names(note.parent)
    with contextlib.suppress(OSError):  # it is compiled all the same
        note.write_text("\n".join(sorted(names)))


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.kernel")}


def _note() -> Path | None:
    """Return the file of these sources, wherever they are installed; None where nothing is kept."""
    folder = _cache.folder()
    return None if folder is None else folder / f"warm-{_digest()[:24]}"


def _digest() -> str:
    """Return a digest of all sources: what a kernel is called with depends on them."""
    total = hashlib.sha256(_cache.stamp())
    for source in sorted(_SOURCES.rglob("*.py")):
        total.update(source.read_bytes())
    return total.hexdigest()
