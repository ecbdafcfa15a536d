"""Files that the user names: how they are read and written, what is never written over, how they get in place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import polars as pl

from reveil.core.errors import FileError, ReveilError
from reveil.releases.folders import (
    PARTS,
    digest_in,
    free_folder,
    in_folder,
    located,
    place_of,
)
from reveil.releases.manifest import Manifest
from reveil.releases.manifest_files import MANIFEST, digest_of, manifest_at, manifest_path
from reveil.releases.placing import draft_folder, put_in_place
from reveil.releases.reading import UnusableError
from reveil.tables.formats import ending_of, find_format, format_of, in_words, readable
from reveil.tables.formats.base import FAILURES
from reveil.tables.formats.csv_file import guessed_names
from reveil.tables.formats.folder import MANIFEST_INSIDE, names_in_folder, parts_in
from reveil.tables.snapshot.types import outside_the_calendar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reveil.core.json_values import JSONObject

# A folder with one of these is a vault, or has the copies of releases that belong to one.
VAULT_FILES = ("vault.duckdb", "pieces.sqlite", "vault.copies")
SECOND = ".sensitive"


@dataclass(frozen=True)
class KeptFiles:
    """What no output may replace beside releases and vaults.

    ``files`` are those that are read, ``folders`` nobody's business, ``columns`` the names of columns that only a raw
    table has: persons and identifiers are in no release.
    """

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    columns: tuple[str, ...] = ()


def batch_path(table: str | Path) -> Path:
    """Return where the second table of a release lies."""
    path = Path(table)
    return path.with_suffix(f"{SECOND}{path.suffix}")


def tables_of(path: Path, manifest: Manifest | None) -> list[Path]:
    """Return the files that hold a release, in the order in which they are digested; without a manifest one."""
    path = located(path)
    if manifest is None:
        return parts_in(path.parent) if in_folder(path) else [path]
    if in_folder(path):
        listed = [path.parent / part.name for part in manifest.parts or ()]
        return listed or parts_in(path.parent)
    seconds = manifest.second_tables
    if seconds:
        return [path, *(second_path(path, name, len(seconds)) for name in seconds)]
    return [path, batch_path(path)] if manifest.two_tables else [path]


def second_path(table: Path, name: str, tables: int) -> Path:
    """Return where the table of one sensitive column lies; of the only one, as ever."""
    if tables == 1:
        return batch_path(table)
    return table.with_suffix(f"{SECOND}.{quote(name, safe='')}{table.suffix}")


def digest_at(path: Path, manifest: Manifest) -> str:
    """Return the digest of a release as its files are now."""
    path = located(path)
    return digest_in(path.parent, manifest) if in_folder(path) else digest_of(*tables_of(path, manifest))


def format_at(path: Path) -> str:
    """Return how a manifest names the format of a release: by the ending of its table, or that it is in parts."""
    path = located(path)
    return PARTS if in_folder(path) else ending_of(path).removeprefix(".")


def output_path(path: str | os.PathLike[str]) -> Path:
    """Return the path a release is to be written to, checked before any work is done.

    A folder, for a release in parts, ends in a slash; its path is that of the manifest inside.
    """
    target = Path(path)
    slash = str(path).endswith(("/", os.sep))
    if slash or in_folder(target):
        return _output_folder(target / MANIFEST_INSIDE if slash else target)
    if target.is_dir() and target.name:
        raise FileError(
            "cannot write here: this is a folder",
            file=target,
            hint=f"The name must not be a folder, or end in a slash: {target}/ takes a release in parts.",
        )
    form = format_of(target)
    if form is None or form.read_only:
        raise FileError(f"a release is written as {in_words()}", file=target, hint="Choose one of these endings.")
    try:
        str(target).encode()
        folders = [path for path in (target, manifest_path(target), batch_path(target)) if path.is_dir()]
        there = target.parent.is_dir()
    except (OSError, ValueError):  # a name too long for the disk, with a NUL, or that is not UTF-8
        hint = "Choose a short name of ordinary letters; .manifest.json is written beside the table."
        raise FileError("cannot write here", file=target, hint=hint) from None
    if not there or folders:
        raise FileError(
            "cannot write here", file=target, hint="The folder must exist and the name must not be a folder."
        )
    if not os.access(target.parent, os.W_OK):
        raise FileError("cannot write here", file=target, hint="The folder is not writable for you.")
    _not_inside_another(target)
    return target


def _output_folder(target: Path) -> Path:
    folder = target.parent
    around = Path.cwd().joinpath(folder).parent
    try:
        str(target).encode()
        there = around.is_dir() and not folder.is_symlink() and (folder.is_dir() or not folder.exists())
    except (OSError, ValueError):
        raise FileError("cannot write here", file=folder, hint="Choose a short name of ordinary letters.") from None
    if not there or folder.name in ("", ".."):
        raise FileError(
            "cannot write here",
            file=folder,
            hint="The folder around it must exist, and the name must be new or that of an empty folder.",
        )
    if not os.access(around, os.W_OK):
        raise FileError("cannot write here", file=folder, hint="The folder around it is not writable for you.")
    _not_inside_another(folder)
    return target


def _not_inside_another(path: Path) -> None:
    """Refuse to write into the folder of a release, which would not be that release any more."""
    for folder in path.resolve().parents:
        if manifest_at(folder / MANIFEST_INSIDE) is not None:
            raise FileError(
                "this would be inside the folder of another release", file=path, hint="Choose another folder with -o."
            )


def release_target(target: Path, kept: KeptFiles) -> None:
    """Refuse to write a release over what is read, into a vault, or over a raw table."""
    if in_folder(target):
        _spare(target.parent, kept)
        check_free(target)
        return
    for path in (target, manifest_path(target), batch_path(target)):
        _spare(path, kept)


def file_target(given: str | Path, kept: KeptFiles, *, config: bool = False) -> Path:
    """Return where a file that is no release is to be written, checked before any work is done.

    Nothing that is read, no table, no release, no config (unless it is one itself) and nothing in a vault is ever
    replaced by it.
    """
    path = Path(os.path.realpath(given))
    if not path.parent.is_dir() or path.is_dir() or not os.access(path.parent, os.W_OK):
        raise FileError(
            "cannot write here",
            file=given,
            hint="The folder must exist and be writable, and the name must not be a folder.",
        )
    _spare(path, kept)
    if not path.is_file():
        return path
    kinds = {**dict.fromkeys(readable(), "a table"), ".toml": "a config", ".anchor": "the anchor of a vault"}
    what = None if config and path.suffix.lower() == ".toml" else kinds.get(ending_of(path))
    what = "the manifest of a release" if manifest_at(path) is not None else what
    if what is not None:
        raise FileError(f"this would replace {what}", file=path, hint="Choose another name.")
    return path


def _spare(path: Path, kept: KeptFiles) -> None:
    """Refuse to write over what must be kept: it may be the only copy."""
    for given in kept.files:
        if given.is_dir() and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(given)):
            raise FileError("this would be inside a folder that is read", file=path, hint="Choose another with -o.")
        if path.exists() and given.exists() and path.samefile(given):
            raise FileError("this would replace a file that is read", file=path, hint="Choose another name with -o.")
    real = Path(os.path.realpath(path))
    inside = any(real.is_relative_to(os.path.realpath(folder)) for folder in kept.folders)
    around = (*real.parents, *((real,) if real.is_dir() else ()))
    if inside or any((folder / name).exists() for folder in around for name in VAULT_FILES):
        raise FileError("this would be inside the vault", file=path, hint="Choose another folder with -o.")
    raw = [name for name in header_of(real) if name in kept.columns] if kept.columns and real.exists() else []
    if raw:
        raise FileError(
            f"this would replace a table with the column {raw[0]!r}, which no release has",
            file=path,
            hint="It looks like raw data. Choose another name with -o.",
        )


def header_of(path: Path) -> list[str]:
    """Return the names of the columns of a table, as far as they can be guessed; nothing where there is none."""
    if path.is_dir():
        return names_in_folder(path)
    form = format_of(path)
    # A raw table may have any ending, and is most likely text.
    return guessed_names(path) if form is None else form.names(path)


def holder(path: Path) -> JSONObject | None:
    """Return the manifest of the release that a file is part of, as far as one beside it says so."""
    stem, places = path.stem, [manifest_path(path)]
    if stem.endswith(SECOND) or f"{SECOND}." in stem:
        places.append(path.with_name(stem.rpartition(SECOND)[0] + MANIFEST))
    for place in places:
        found = manifest_at(place)
        if found is not None:
            return found
    return None


def not_of_another(target: Path, manifest: JSONObject) -> None:
    """Refuse to write a release over another one, of this series or of any: it may be the only copy."""
    this = _which(manifest)
    for path in (target,) if in_folder(target) else (target, batch_path(target)):
        found = manifest_at(path) if in_folder(path) else holder(path)
        if found is None or _which(found) == this:
            continue
        named = f" of the series {found['series']!r}" if isinstance(found.get("series"), str) else ""
        raise FileError(
            f"this would replace another release: number {found.get('release')}{named}",
            file=place_of(target),
            hint="Choose another name with -o, or move that release away with its manifest.",
        )


def check_seconds(target: Path, manifest: Manifest) -> None:
    """Refuse to write the tables of sensitive columns over files that are no part of this release."""
    if in_folder(target):
        check_free(target)
        return
    for path in tables_of(target, manifest)[1:]:
        if path.is_dir() or (path.exists() and holder(path) is None and len(manifest.second_tables) > 1):
            raise FileError(
                "this would replace a file that is no part of a release",
                file=path,
                hint="Choose another name with -o: each sensitive column has a table of its own beside it.",
            )


def check_free(target: Path) -> None:
    """Refuse to write a release to a folder that has anything but a release (which one, others have asked)."""
    try:
        there = manifest_at(target)
        before = None if there is None else Manifest.from_json(there)
    except (UnusableError, ReveilError):
        before = None
    free_folder(target.parent, before)


def _which(manifest: JSONObject) -> tuple[object, ...]:
    """Return which release a manifest is about; without a vault, a series has but its name."""
    known = manifest.get("series_id")
    return (known, None if known else manifest.get("series"), manifest.get("release"))


def read_table(path: Path) -> pl.DataFrame:
    """Read one table of a release, as text or typed, as its format has it."""
    return pl.concat(list(table_pieces(path)))


def table_pieces(path: Path) -> Iterator[pl.DataFrame]:
    """Read one table of a release in pieces that lie one behind the other: at least one, which may have no rows."""
    form = find_format(path)
    for piece in form.read_pieces(path):
        table = piece.rename(form.plain_name)
        if any(outside_the_calendar(table[name]) is not None for name in table.columns):
            raise FileError("this table has dates or times that no calendar has", file=path, hint="It was altered.")
        yield table


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write one table, as its format does."""
    write_pieces([table], path)


def write_pieces(pieces: Iterable[pl.DataFrame], path: Path) -> None:
    """Write one table that comes in pieces, as its format does."""
    form = find_format(path)
    try:
        # Beside cells in notation, numbers of groups and levels are there.
        form.write_pieces((piece.cast(pl.String) if form.text_only else piece for piece in pieces), path)
    except FAILURES:
        # polars says "no space left" in several ways, and what it says may quote cells.
        raise OSError(f"cannot write {path.name}") from None


def write_file(target: str | Path, content: bytes, kept: KeptFiles, *, config: bool = False) -> None:
    """Write a file that the user named, entirely or not at all, and never over what must be kept."""
    path = file_target(target, kept, config=config)
    try:
        if path.exists() and not path.is_file():  # a pipe or a device
            path.write_bytes(content)
            return
        with draft_folder(path) as folder:
            draft = folder / path.name
            draft.write_bytes(content)
            put_in_place([draft], path.parent, [])
    except OSError:
        raise FileError("cannot write here", file=path, hint="Check the folder, its permissions and space.") from None
