"""The folder that a studio serves: what lies in it, and that nothing outside it is reached."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import FileError, printed
from reveil.releases.files import VAULT_FILES, format_at
from reveil.releases.manifest_files import manifest_path
from reveil.tables.formats import ending_of, readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.core.json_values import JSONObject

_DEEPEST = 3  # folders below the folder
_MOST_FILES = 2_000
_LARGEST_MANIFEST = 1 << 22  # bytes
_SECOND = re.compile(r"\.sensitive(\.[^.]+)?$")


@dataclass(frozen=True)
class FoundSeries:
    """A config in the folder: its path there, and what it says of the series."""

    path: str
    name: str
    kind: str

    @property
    def key(self) -> str:
        """The name of the series in addresses: the path of its config without the ending."""
        return self.path.removesuffix(".toml")


@dataclass(frozen=True)
class FoundFile:
    """A table in the folder. ``manifest``: it is a release, of which series and which number."""

    path: str
    size: int
    changed: float
    series: str | None = None
    release: int | None = None
    created: str | None = None
    rows: int | None = None

    @property
    def is_release(self) -> bool:
        """Whether a manifest lies beside it."""
        return self.release is not None

    @property
    def shown_size(self) -> str:
        """Its size in words."""
        size = float(self.size)
        for unit in ("bytes", "kB", "MB"):
            if size < 1000:
                return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
            size /= 1000
        return f"{size:,.1f} GB"


@dataclass(frozen=True)
class StudioFolder:
    """A folder; every path that somebody gives is one inside it."""

    root: Path

    def inside(self, text: str) -> Path:
        """Return the path that is meant; refused where it leads out of the folder, into a vault, or is hidden."""
        bad = not text or "\0" in text or "\\" in text or os.path.isabs(text) or len(text) > 500  # noqa: PTH117
        parts = Path(text).parts
        if bad or any(part == ".." or part.startswith(".") or not part.isprintable() for part in parts):
            raise _outside(text)
        path = self.root.joinpath(*parts)
        try:
            real = Path(os.path.realpath(path))
        except OSError:
            raise _outside(text) from None
        if not real.is_relative_to(self.root):
            raise _outside(text)
        if any((folder / name).exists() for folder in (real, *real.parents) for name in VAULT_FILES):
            raise FileError(
                "this is inside a vault", file=printed(text), hint="What a vault holds never leaves it by this way."
            )
        return path

    def existing(self, text: str, *endings: str) -> Path:
        """Return the path of a file that is there."""
        path = self.inside(text)
        if not path.is_file() or (endings and not path.name.lower().endswith(endings)):
            raise FileError(
                "there is no such file in the folder", file=printed(text), hint="Choose one of those that are listed."
            )
        return path

    def table(self, text: str) -> Path:
        """Return the path of a table that is there."""
        return self.existing(text, *readable())

    def config(self, text: str) -> Path:
        """Return the path of a config that is there."""
        return self.existing(text, ".toml")

    def new(self, text: str) -> Path:
        """Return the path of a file that may be written."""
        path = self.inside(text)
        if not path.parent.is_dir():
            raise FileError("this folder is not there", file=printed(text), hint="Choose a name without a folder.")
        return path

    def relative(self, path: Path) -> str:
        """Return a path as the pages show it."""
        real = Path(os.path.realpath(path))
        return real.relative_to(self.root).as_posix() if real.is_relative_to(self.root) else real.name

    def free_name(self, wanted: str) -> str:
        """Return a name for a file that came from outside: letters that every disk has, and not yet taken."""
        name = Path(wanted.replace("\\", "/")).name
        name = "".join(ch if ch.isalnum() or ch in "._- " else "_" for ch in name).strip(". ")[-120:] or "table"
        ending = ending_of(Path(name))
        if ending not in readable():
            raise FileError(
                "this is no table that can be read",
                file=printed(wanted)[:80],
                hint=f"Tables are files that end in {', '.join(sorted(readable()))}.",
            )
        stem, count = name[: -len(ending)], 1
        while os.path.lexists(self.root / name):
            count += 1
            name = f"{stem}-{count}{ending}"
        return name

    def take(self, sent: Path, wanted: str) -> str:
        """Put a file that came from outside into the folder, whole or not at all, and return its name there.

        What is there is never written over, not even where two send the same name at once.
        """
        beside = self.root / f".{secrets.token_hex(8)}.sent"
        try:
            shutil.move(sent, beside)  # from another disk it is copied, which takes a while
            while True:
                name = self.free_name(wanted)
                with suppress(FileExistsError):
                    (self.root / name).open("xb").close()  # the name is taken; not every disk has links
                    beside.replace(self.root / name)
                    return name
        finally:
            beside.unlink(missing_ok=True)

    def series(self) -> list[FoundSeries]:
        """Return the configs in the folder, by name."""
        found = [one for path in self._files() if path.suffix == ".toml" and (one := self._series(path)) is not None]
        return sorted(found, key=lambda one: one.path)

    def find_series(self, key: str) -> FoundSeries:
        """Return the series of a name as it stands in an address."""
        found = self._series(self.existing(f"{key}.toml", ".toml"))
        if found is None:
            raise FileError("this is no config of a series", file=printed(key), hint="It has [series] and [columns].")
        return found

    def tables(self) -> list[FoundFile]:
        """Return the tables in the folder, releases marked as such, the latest first; second tables are left out."""
        names = readable()
        found = []
        for path in self._files():
            if ending_of(path) in names and not _SECOND.search(path.name):
                with suppress(OSError):
                    found.append(self._table(path))
        return sorted(found, key=lambda one: (-one.changed, one.path))

    def _table(self, path: Path) -> FoundFile:
        status = path.stat()
        told = _manifest(manifest_path(path))
        if told is not None and not _speaks_of(told, path):
            told = None
        where = self.relative(path)
        if told is None:
            return FoundFile(where, status.st_size, status.st_mtime)
        return FoundFile(
            where,
            status.st_size,
            status.st_mtime,
            _text(told.get("series")) or "",
            release if isinstance(release := told.get("release"), int) else 0,
            _text(told.get("created")),
            rows if isinstance(rows := told.get("rows"), int) else None,
        )

    def _series(self, path: Path) -> FoundSeries | None:
        try:
            said = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        columns, series, guarantee = said.get("columns"), said.get("series", {}), said.get("guarantee")
        if not isinstance(columns, dict) or not isinstance(guarantee, dict) or not isinstance(series, dict):
            return None
        name = series.get("name")
        kind = guarantee.get("kind")
        return FoundSeries(
            self.relative(path),
            name if isinstance(name, str) else path.stem,
            kind if isinstance(kind, str) else "static",
        )

    def _files(self) -> Iterator[Path]:
        """Walk through the folder: no hidden files, no links, no vault, and not for ever."""
        seen = 0
        for folder, below, names in os.walk(self.root):
            here = Path(folder)
            depth = len(here.relative_to(self.root).parts)
            below[:] = [
                name
                for name in sorted(below)
                if depth < _DEEPEST and not name.startswith(".") and not _is_vault(here / name)
            ]
            for name in sorted(names):
                if not name.startswith(".") and name.isprintable():
                    seen += 1
                    if seen > _MOST_FILES:
                        return
                    yield here / name


def _is_vault(folder: Path) -> bool:
    return any((folder / name).exists() for name in VAULT_FILES)


def _manifest(path: Path) -> JSONObject | None:
    try:
        if path.stat().st_size > _LARGEST_MANIFEST:
            return {"release": 0}
        said = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) and "digest" in said else None


def _speaks_of(manifest: JSONObject, path: Path) -> bool:
    """Return whether a manifest is about a file: a raw table may have the same name with another ending."""
    digests = manifest.get("digests")
    return not isinstance(digests, dict) or format_at(path) in digests


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _outside(text: str) -> FileError:
    return FileError(
        "this path is not in the folder of the studio",
        file=printed(text)[:80],
        hint="Paths are relative to the folder, without .. and without hidden names.",
    )
