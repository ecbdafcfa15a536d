"""A table in a folder: Parquet parts, read in the order of their names.

Names that begin with a dot or an underscore are other programs' notes and are passed over. Whatever else lies there is
refused: nobody can say whether it belongs to the table. Where Reveil's manifest lies inside, its parts are compared
with it.
"""

from __future__ import annotations

import hashlib
import json
import re
from itertools import accumulate
from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import FileError
from reveil.tables.formats.base import RawTable
from reveil.tables.formats.parquet_file import ParquetFile
from reveil.tables.formats.place import Place

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.tables.formats.base import NameCheck

MANIFEST_INSIDE = "manifest.json"
SECOND_INSIDE = "sensitive"
PATTERN = "part-*.parquet"
_PART = re.compile(r"part-[^/]+\.parquet")
_NOTES = (".", "_")
_LARGEST = 1 << 26  # bytes of a manifest that is looked at


def is_table_folder(path: Path) -> bool:
    """Return whether a folder has a part of a table, or a manifest that lists some."""
    return path.is_dir() and ((path / MANIFEST_INSIDE).exists() or any(path.glob(PATTERN)))


def digest_of_file(path: Path) -> str:
    """Return the digest of the bytes of a file."""
    with path.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def is_name_of_part(name: str) -> bool:
    """Return whether a file of this name is a part of a table."""
    return _PART.fullmatch(name) is not None


def is_note(name: str) -> bool:
    """Return whether a name is that of another program's notes, which are passed over."""
    return name.startswith(_NOTES)


def read_folder(folder: Path, *, check_names: NameCheck | None = None) -> RawTable:
    """Read a raw table whose parts lie in a folder."""
    parts = _parts(folder)
    form, frames, names = ParquetFile(), [], None
    for part in parts:
        frame = form.read(part, check_names=check_names if names is None else None).frame
        names = frame.schema if names is None else names
        if frame.schema != names:
            raise _other_columns(part, parts[0])
        frames.append(frame)
    starts = tuple(accumulate((frame.height for frame in frames), initial=0))[:-1]
    where = tuple(zip(starts, (str(part) for part in parts), strict=True))
    return RawTable(pl.concat(frames, rechunk=False), Place(str(folder), parts=where), text_only=False)


def checked_parts(folder: Path) -> list[Path]:
    """Return the parts of the table in a folder, compared with the manifest inside where there is one."""
    parts = _parts(folder)
    form, first = ParquetFile(), None
    for part in parts:
        schema = form.schema(part)
        first = schema if first is None else first
        if schema != first:
            raise _other_columns(part, parts[0])
    return parts


def _other_columns(part: Path, first: Path) -> FileError:
    return FileError(
        f"this part has other columns than {first.name}, or other types",
        file=part,
        hint="All parts of a table have the same columns in the same order.",
    )


def names_in_folder(folder: Path) -> list[str]:
    """Return the names of the columns of a table in parts, nothing where there is none."""
    first = min(folder.glob(PATTERN), default=None)
    return [] if first is None else ParquetFile().names(first)


def parts_in(folder: Path) -> list[Path]:
    """Return the parts of the table in a folder, in the order of their names; nothing where there is none."""
    return sorted(folder.glob(PATTERN))


def check_plain_file(path: Path) -> None:
    """Refuse what is no file of its own: a link may lead anywhere."""
    if path.is_symlink():
        raise FileError("a part of a table must not be a link", file=path, hint="Put the file itself there.")
    if not path.is_file():
        raise FileError("this part is no file", file=path, hint="A table in a folder has files part-*.parquet.")


def _parts(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        raise FileError("cannot read this folder", file=folder, hint="Check its permissions.") from None
    found = [path for path in entries if is_name_of_part(path.name)]
    strange = [
        path
        for path in entries
        if path not in found and not is_note(path.name) and path.name not in (MANIFEST_INSIDE, SECOND_INSIDE)
    ]
    if not found:
        raise FileError("there is no part in this folder", file=folder, hint=f"A table in a folder has {PATTERN}.")
    if strange:
        raise FileError(
            "this is no part of the table in its folder", file=strange[0], hint=f"Move it away; parts are {PATTERN}."
        )
    for path in found:
        check_plain_file(path)
    _compare(folder, found)
    return found


def _compare(folder: Path, found: list[Path]) -> None:
    """Compare the parts with the manifest inside, where Reveil wrote one."""
    place = folder / MANIFEST_INSIDE
    if not place.exists():
        return
    try:
        if place.stat().st_size > _LARGEST:
            raise ValueError("too large")
        told = json.loads(place.read_bytes())
        if not isinstance(told, dict) or "reveil" not in told:
            return
        listed = {str(part["name"]): str(part["digest"]) for part in told["parts"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise FileError(
            "this manifest cannot be read, or lists no parts", file=place, hint="It must be the one that Reveil wrote."
        ) from None
    found_names = {name for name in listed if "/" not in name}
    missing = sorted(found_names - {path.name for path in found})
    if missing:
        raise FileError("a part is missing", file=folder / missing[0], hint="Keep the parts of a table together.")
    for path in found:
        if path.name not in found_names:
            raise FileError("the manifest lists no such part", file=path, hint="Move it away.")
        if digest_of_file(path) != listed[path.name]:
            raise FileError("this part is not the one its manifest lists", file=path, hint="It was changed.")
