"""Releases as folders: Parquet parts, and a manifest inside that lists the digest of each and one over them.

Inside Reveil such a release is known by the path of its manifest, ``OUT/manifest.json``, as one in a file is known by
the path of its table. To people it is the folder, with a slash at its end. The manifest is written last, and the whole
folder takes its place in one step.

Rows lie over the parts in an order drawn by dice, so that parts do not show in which pieces the table was worked on;
second tables lie in the order of their groups, whose numbers are drawn.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from reveil.core.errors import FileError, VerificationError
from reveil.releases.manifest_parts import TablePart
from reveil.tables.formats.folder import (
    MANIFEST_INSIDE,
    SECOND_INSIDE,
    check_plain_file,
    digest_of_file,
    is_note,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reveil.releases.manifest import Manifest

PARTS = "parts"  # how a manifest names this form among its digests
PART_ROWS = 500_000  # rows of a part where nobody says otherwise
_NAME = re.compile(r"(?:(?P<table>.+)/)?part-(?P<number>[0-9]{5,})\.parquet")


def located(given: str | os.PathLike[str]) -> Path:
    """Return the path by which Reveil knows a release: of its table, or of the manifest inside its folder."""
    path = Path(given)
    slash = str(given).endswith(("/", os.sep))
    return path / MANIFEST_INSIDE if slash or path.is_dir() else path


def in_folder(path: Path) -> bool:
    """Return whether a path, as :func:`located` returned it, is that of a release in a folder."""
    return path.name == MANIFEST_INSIDE


def place_of(path: Path) -> Path:
    """Return what people call the release at a path: the file, or the folder."""
    return path.parent if in_folder(path) else path


def as_told(path: Path) -> str:
    """Return a path as the vault keeps it, so that :func:`located` finds it again: a folder ends in a slash."""
    return f"{path.parent.resolve()}/" if in_folder(path) else str(path.resolve())


def part_name(number: int, table: str = "") -> str:
    """Return the name of a part, inside the folder; ``table`` is that of :func:`table_names`."""
    name = f"part-{number:05d}.parquet"
    return f"{table}/{name}" if table else name


def table_names(manifest: Manifest) -> list[str]:
    """Return where in a folder the tables of a release lie, in the order in which they are digested."""
    seconds = list(manifest.second_tables)
    if len(seconds) > 1:
        return ["", *(f"{SECOND_INSIDE}/{_encoded(name)}" for name in seconds)]
    return ["", SECOND_INSIDE] if seconds or manifest.two_tables else [""]


def _encoded(name: str) -> str:
    """Return the name of a column as that of a folder."""
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


def parts_by_table(manifest: Manifest) -> list[list[TablePart]]:
    """Return the parts of each table; a manifest whose list is no list of parts of its tables raises ValueError."""
    names = table_names(manifest)
    found: list[list[TablePart]] = [[] for _ in names]
    for part in manifest.parts or ():
        matched = _NAME.fullmatch(part.name)
        table = None if matched is None else matched["table"] or ""
        if table not in names:
            raise ValueError("a part of no table")
        found[names.index(table)].append(part)
    for name, parts in zip(names, found, strict=True):
        if not parts or [part.name for part in parts] != [part_name(n, name) for n in range(len(parts))]:
            raise ValueError("the parts of a table are not numbered from 0 up")
    if [part for parts in found for part in parts] != list(manifest.parts or ()):
        raise ValueError("the parts are not in the order of their tables")
    return found


def digest_over(parts: Iterable[TablePart]) -> str:
    """Return the digest over the names and digests of parts: of the text that sha256sum writes of them."""
    total = hashlib.sha256()
    for part in parts:
        total.update(f"{part.digest.removeprefix('sha256:')}  {part.name}\n".encode())
    return "sha256:" + total.hexdigest()


def digest_in(folder: Path, manifest: Manifest) -> str:
    """Return the digest over the parts as they lie in a folder."""
    parts = manifest.parts or ()
    return digest_over(TablePart(part.name, part.rows, digest_of_file(folder / part.name)) for part in parts)


def slices(rows: int, sizes: Sequence[int] | None) -> list[slice]:
    """Return which rows are in which part: as many as ``sizes`` say where these fit, else :data:`PART_ROWS` in each."""
    if sizes is None or sum(sizes) != rows:
        sizes = [min(PART_ROWS, rows - start) for start in range(0, rows, PART_ROWS)] or [0]
    found, start = [], 0
    for size in sizes:
        found.append(slice(start, start + size))
        start += size
    return found


def check_folder(folder: Path, manifest: Manifest) -> None:
    """Refuse a folder whose parts are not those of its manifest, with the place."""
    place = folder / MANIFEST_INSIDE
    try:
        parts_by_table(manifest)
    except ValueError:
        raise FileError(
            "this manifest has no usable 'parts'",
            file=place,
            hint="A release in a folder lists its parts. Use the manifest that Reveil wrote.",
        ) from None
    listed = {part.name: part for part in manifest.parts or ()}
    for part in listed.values():
        path = folder / part.name
        if not path.exists() and not path.is_symlink():
            raise FileError("a part of this release is missing", file=path, hint="Keep the parts together.")
        check_plain_file(path)
    for name in _lying_in(folder):
        if name not in listed and name != MANIFEST_INSIDE:
            raise FileError(
                "this is no part of the release in its folder", file=folder / name, hint="Move it away, or restore it."
            )
    for part in listed.values():
        if digest_of_file(folder / part.name) != part.digest:
            raise VerificationError(
                "this part is not the one its manifest describes",
                file=folder / part.name,
                hint="It was changed after it was published, or belongs to another release.",
            )
    if digest_over(listed.values()) != manifest.digest:
        raise VerificationError("this manifest has another digest than its parts", file=place, hint="It was changed.")


def _lying_in(folder: Path) -> list[str]:
    """Return the files in a folder and below, as names in it; notes of other programs are passed over."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(is_note(part) for part in name.parts) or (path.is_dir() and not path.is_symlink()):
            continue
        found.append(name.as_posix())
    return found


def free_folder(folder: Path, manifest: Manifest | None) -> None:
    """Refuse to write a release to a folder that has anything but the parts of ``manifest``, which lies in it."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FileError("cannot write here", file=folder, hint="A release in a folder takes a new or an empty folder.")
    if not folder.is_dir():
        return
    expected = set() if manifest is None else {part.name for part in manifest.parts or ()} | {MANIFEST_INSIDE}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or (path.is_dir() and name.split("/")[0] != SECOND_INSIDE):
            break
        if not path.is_dir() and name not in expected:
            break
    else:
        return
    raise FileError(
        "this would replace what is no part of a release",
        file=path,
        hint="A release in a folder takes a new or an empty folder: choose another name with -o, or move this away.",
    )
