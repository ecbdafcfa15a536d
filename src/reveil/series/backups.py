"""Is the vault up to date? Manifests outside it are compared with what it remembers.

A vault that was restored from an old backup does not know what was told since, and would tell it twice.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.errors import FileError, RefusedError, ReveilError
from reveil.files import SUFFIXES, tables_of
from reveil.manifest import digest_of, manifest_path, read_json
from reveil.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reveil.vault import ReleaseRow, Vault

_ENDING = ".manifest.json"
_DIGESTS = ("digest", "digests")  # what differs from format to format


def check_folder(vault: Vault, folder: Path) -> list[str]:
    """Compare the releases of this series in a folder with the vault; return what is wrong, in words."""
    if not folder.is_dir():
        raise FileError("there is no such folder", file=folder, hint="Name the folder with the published files.")
    rows = {row.release: row for row in vault.releases()}
    wrong: list[str] = []
    for path, manifest in _manifests(vault, folder):
        name, number = path.name, manifest.get("release")
        row = rows.get(number) if isinstance(number, int) else None
        if row is None:
            wrong.append(f"{name} is release {number}, which the vault does not know: the vault is an old one")
        elif not says_the_same(manifest, row):
            wrong.append(f"{name} says something else than release {number} in the vault")
        else:
            wrong += [f"{name}: {complaint}" for complaint in _wrong_tables(path, manifest, _own(row))]
    return [*wrong, *_damaged(folder, rows.values()), *_broken_chain(rows)]


def refuse_if_behind(vault: Vault, releases: Sequence[ReleaseRow], target: Path | None) -> None:
    """Refuse to publish when a folder that releases were written to has one that the vault does not know.

    It is a later one, or one of the same number that says something else: then the vault was restored from an old
    backup, and went on from there.
    """
    rows = {row.release: row for row in releases}
    folders = {target.resolve().parent} if target is not None else set()
    folders |= {Path(row.path).parent for row in rows.values() if row.path}
    for folder in sorted(folders):
        if not os.access(folder, os.R_OK):
            continue
        for path, manifest in _manifests(vault, folder):
            number = manifest.get("release")
            if not isinstance(number, int) or (number in rows and says_the_same(manifest, rows[number])):
                continue
            known = f"knows {max(rows, default=0)} only" if number not in rows else "remembers it otherwise"
            raise RefusedError(
                f"{path} is release {number} of this series, and the vault {known}: it is an old one",
                hint="Restore the latest backup of the vault. If there is none, take what is missing as told with "
                "reveil adopt SNAPSHOT RELEASE, in order. reveil history --check DIR compares all of them.",
            )


def refuse_if_out_of_order(vault: Vault, manifest: Mapping[str, Any]) -> None:
    """Refuse to adopt a release of this very series that is not the next one."""
    number, wanted = manifest.get("release"), vault.head() + 1
    if manifest.get("series_id") == vault.series_id and number != wanted:
        known = isinstance(number, int) and number < wanted
        raise RefusedError(
            f"this is release {number} of this series, "
            + ("which the vault knows already" if known else f"and release {wanted} comes first"),
            hint="See reveil history." if known else f"Adopt release {wanted} first.",
        )
    digest = manifest.get("digest")
    twice = [row.release for row in vault.releases() if digest is not None and row.digest == digest]
    if twice:
        raise RefusedError(f"this file is release {twice[0]} of the series already", hint="See reveil history.")


def _manifests(vault: Vault, folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Find the manifests of this series."""
    for path in sorted(folder.glob(f"*{_ENDING}")):
        manifest = _read(path)
        if manifest is not None and manifest.get("series_id") == vault.series_id:
            yield path, manifest


def _read(path: Path) -> dict[str, Any] | None:
    try:
        manifest = read_json(path)
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) else None


def _own(row: ReleaseRow) -> dict[str, Any]:
    """Return the manifest of a release as the vault has it."""
    own: dict[str, Any] = {} if row.manifest is None else json.loads(row.manifest)
    return own


def says_the_same(manifest: Mapping[str, Any], row: ReleaseRow) -> bool:
    """Return whether a manifest is that of a release; in another format it has other digests."""
    own = {key: value for key, value in _own(row).items() if key not in _DIGESTS}
    return {key: value for key, value in manifest.items() if key not in _DIGESTS} == own


def is_table_of(table: Path, row: ReleaseRow) -> bool:
    """Return whether the bytes of a table are those of a release, or say the same in another format."""
    own = _own(row)
    known: dict[str, str] = own.get("digests") or {}
    suffix = table.suffix.removeprefix(".").lower()
    tables = tables_of(table, own)
    if not known or not all(part.is_file() for part in tables):
        return not known
    return digest_of(*tables) == known[suffix] if suffix in known else _converted(table, known)


def _wrong_tables(path: Path, manifest: dict[str, Any], own: dict[str, Any]) -> list[str]:
    """Compare the tables beside a manifest with what the vault knows: a changed manifest may fit a changed table."""
    stem = path.name.removesuffix(_ENDING)
    known: dict[str, str] = own.get("digests") or {}
    places = {suffix.removeprefix("."): path.with_name(stem + suffix) for suffix in SUFFIXES}
    listed = manifest.get("digests")
    there = [suffix for suffix, table in places.items() if table.exists() or suffix in (listed or {})]
    found = [] if there else [f"there is no {stem}.csv and no {stem}.parquet"]
    for suffix in there:
        tables = tables_of(places[suffix], own)
        if not all(table.is_file() for table in tables):
            found.append(f"{next(table.name for table in tables if not table.is_file())} is missing")
        elif not (digest_of(*tables) == known[suffix] if suffix in known else _converted(places[suffix], known)):
            found.append(f"{places[suffix].name} was changed after it was published")
    return found


def _converted(table: Path, known: Mapping[str, str]) -> bool:
    """Return whether a table in a format that the vault has no digest of is the release, written again."""
    try:
        release = Release.read(table)
        with tempfile.TemporaryDirectory() as folder:
            for suffix, digest in known.items():
                release.write(Path(folder) / f"release.{suffix}")
                if release.manifest["digest"] == digest:
                    return True
    except ReveilError:
        pass
    return False


def _damaged(folder: Path, rows: Iterable[ReleaseRow]) -> list[str]:
    """Find files that a release was written to whose manifest is lost or cannot be read any more."""
    found = []
    for given in sorted({row.path for row in rows if row.path is not None and row.manifest_digest is not None}):
        table = folder / Path(given).name
        manifest = manifest_path(table)
        # Elsewhere, a table of the same name may be anybody's; a damaged manifest of that name is ours.
        lost = not manifest.exists() and table.resolve() == Path(given)
        if table.is_file() and (lost or (manifest.exists() and _read(manifest) is None)):
            found.append(f"{table.name} has no manifest that can be read")
    return found


def _broken_chain(rows: dict[int, ReleaseRow]) -> list[str]:
    """Each manifest names the digest of the one before; adopted ones name nothing."""
    found = []
    for number, row in rows.items():
        before = rows.get(number - 1)
        if row.manifest is None or before is None or row.state == "adopted":
            continue
        if json.loads(row.manifest).get("previous") != before.manifest_digest:
            found.append(f"release {number} in the vault does not follow release {number - 1}")
    return found
