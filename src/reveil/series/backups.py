"""Is the vault up to date? Manifests outside it are compared with what it remembers.

A vault that was restored from an old backup does not know what was told since, and would tell it twice. So does a new
vault of a series whose vault was lost: it finds manifests of its name with another id.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import FileError, RefusedError, ReveilError
from reveil.releases.files import digest_at, format_at, tables_of
from reveil.releases.folders import PARTS, in_folder
from reveil.releases.folders import check_folder as in_parts
from reveil.releases.manifest import Manifest
from reveil.releases.manifest_files import MANIFEST, manifest_at, manifest_path, read_manifest
from reveil.releases.release import Release
from reveil.series.walking import Walk
from reveil.tables.formats import endings
from reveil.vault.protocol import ADOPTED, PENDING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reveil.core.json_values import JSONObject
    from reveil.vault import ReleaseRow, Vault

_DIGESTS = ("digest", "digests", "parts")  # what differs from format to format


def check_folder(vault: Vault, folder: Path, name: str | None, columns: Iterable[str]) -> list[str]:
    """Compare the releases of this series in a folder and below with the vault; return what is wrong, in words."""
    if not folder.is_dir():
        raise FileError("there is no such folder", file=folder, hint="Name the folder with the published files.")
    rows = {row.release: row for row in vault.releases()}
    known = _Known(rows.values())
    wrong: list[str] = []
    others: dict[str, list[str]] = {}
    walk = Walk(folder)
    for path, manifest in walk.manifests():
        shown, number = str(path.relative_to(folder)), manifest.get("release")
        if manifest.get("series_id") != vault.series_id:
            if is_namesake(manifest, name, columns) and manifest not in known:
                others.setdefault(str(manifest.get("series_id")), []).append(shown)
            continue
        row = rows.get(number) if isinstance(number, int) else None
        if row is not None and says_the_same(manifest, row):
            wrong += [f"{shown}: {complaint}" for complaint in _wrong_tables(path, manifest, manifest_of(row))]
        elif manifest in known:  # adopted under another number
            continue
        elif row is None:
            wrong.append(f"{shown} is release {number}, which the vault does not know: the vault is an old one")
        else:
            wrong.append(f"{shown} says something else than release {number} in the vault")
    wrong += [_of_others(found, name, identity) for identity, found in others.items()]
    if walk.cut:
        wrong.append(f"there is too much below {folder}: not all of it was looked at; name the folder of the releases")
    return [*wrong, *_damaged(folder, rows.values()), *_broken_chain(rows)]


def _of_others(found: list[str], name: str | None, identity: str) -> str:
    many = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    whose = "a publisher without a vault" if identity == "None" else f"another series (id {identity})"
    called = "without a name" if name is None else f"named {name!r}"
    return f"{found[0]}{many}: a release of {whose} {called}, which this vault does not know"


def refuse_if_behind(vault: Vault, releases: Sequence[ReleaseRow], *more: Path | None) -> None:
    """Refuse to publish when a folder that releases were written to has one that the vault does not know.

    It is a later one, or one of the same number that says something else: then the vault was restored from an old
    backup, and went on from there. Or it is of a series of which others were adopted, and this one was not. ``more``
    are further folders to look into.
    """
    rows, known = {row.release: row for row in releases}, _Known(releases)
    mine = {vault.series_id} | {_kept_manifest(row).get("series_id") for row in releases if row.state == ADOPTED}
    folders = {folder.resolve() for folder in more if folder is not None}
    folders |= {Path(row.path).parent for row in rows.values() if row.path}
    for path, manifest in _in_all(folders):
        number, identity = manifest.get("release"), manifest.get("series_id")
        if not isinstance(number, int) or not isinstance(identity, str) or identity not in mine:
            continue
        if manifest in known:
            continue
        of_this_series = identity == vault.series_id
        what = f"knows {max(rows, default=0)} only" if number not in rows else "remembers it otherwise"
        raise RefusedError(
            f"{path} is release {number} of this series, and the vault {what}: it is an old one"
            if of_this_series
            else f"{path} is release {number} of a series that was adopted, and the vault does not know it",
            hint="Restore the latest backup of the vault. If there is none, take what is missing as told with "
            "reveil adopt SNAPSHOT RELEASE, in order. reveil history --check DIR compares all of them.",
        )


def refuse_if_begun_before(name: str | None, columns: Iterable[str], *folders: Path | None) -> None:
    """Refuse to begin a series beside releases of its name: its vault was lost, or is not where the config says."""
    for path, manifest in _in_all({folder.resolve() for folder in folders if folder is not None}):
        if is_namesake(manifest, name, columns):
            called = "a series without a name, with these columns" if name is None else f"a series named {name!r}"
            raise RefusedError(
                f"there is no vault yet, and {path} is release {manifest.get('release')} of {called}",
                hint="A new vault would not know what was told, and tell the rest. Put the vault back where the config "
                "says. If it is lost, take what was published as told with reveil adopt SNAPSHOT RELEASE, in order. "
                "If this is another series about other people, give it another name, or say so with --new-series.",
            )


def is_namesake(manifest: JSONObject, name: str | None, columns: Iterable[str]) -> bool:
    """Return whether a manifest is of a series of this name; without a name, of a vault's and with these columns."""
    if manifest.get("series") != name:
        return False
    if name is not None:
        return True
    listed = manifest.get("columns")
    named = [str(one.get("name")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return manifest.get("series_id") is not None and bool(named) and set(named) <= {*columns, "group", "level"}


class _Known:
    """Which manifests are of releases that the vault knows, under whatever number; each row is read once."""

    def __init__(self, rows: Iterable[ReleaseRow]) -> None:
        self._marks = {_mark(_kept_manifest(row)) for row in rows if row.manifest is not None}

    def __contains__(self, manifest: JSONObject) -> bool:
        return _mark(manifest) in self._marks


def _mark(manifest: JSONObject) -> str:
    return json.dumps({key: value for key, value in manifest.items() if key not in _DIGESTS}, sort_keys=True)


def refuse_if_out_of_order(vault: Vault, manifest: JSONObject) -> None:
    """Refuse to adopt a release of this very series that is not the next one."""
    number, wanted = manifest.get("release"), vault.head() + 1
    rows = vault.releases()
    known = manifest in _Known(rows)
    # One with a number that is taken by another release is that of a copy of the vault which went on by itself.
    forked = isinstance(number, int) and number < wanted and not known
    if manifest.get("series_id") == vault.series_id and number != wanted and not forked:
        raise RefusedError(
            f"this is release {number} of this series, "
            + ("which the vault knows already" if known else f"and release {wanted} comes first"),
            hint="See reveil history." if known else f"Adopt release {wanted} first.",
        )
    digest = manifest.get("digest")
    twice = [row.release for row in rows if digest is not None and row.digest == digest]
    if twice:
        raise RefusedError(f"this file is release {twice[0]} of the series already", hint="See reveil history.")


def _in_all(folders: Iterable[Path]) -> Iterator[tuple[Path, JSONObject]]:
    """Find the manifests in some folders and below, each once."""
    seen: set[Path] = set()
    for folder in sorted(folders):
        if not os.access(folder, os.R_OK):
            continue
        for path, manifest in Walk(folder).manifests():
            if path not in seen:
                seen.add(path)
                yield path, manifest


def _kept_manifest(row: ReleaseRow) -> JSONObject:
    """Return what the manifest of a release says, as the vault has it."""
    kept: JSONObject = {} if row.manifest is None else json.loads(row.manifest)
    return kept


def manifest_of(row: ReleaseRow) -> Manifest | None:
    """Return the manifest of a release as the vault has it."""
    return None if row.manifest is None else Manifest.from_json(_kept_manifest(row))


def says_the_same(manifest: JSONObject, row: ReleaseRow) -> bool:
    """Return whether a manifest is that of a release; in another format it has other digests."""
    kept = {key: value for key, value in _kept_manifest(row).items() if key not in _DIGESTS}
    return {key: value for key, value in manifest.items() if key not in _DIGESTS} == kept


def is_table_of(table: Path, row: ReleaseRow) -> bool:
    """Return whether the bytes of a table are those of a release, or say the same in another format."""
    manifest_kept = manifest_of(row)
    known = (manifest_kept.digests if manifest_kept is not None else None) or {}
    if manifest_kept is None or not known or not all(part.is_file() for part in tables_of(table, manifest_kept)):
        return not known
    return _holds(table, manifest_kept, known)


def _wrong_tables(path: Path, manifest: JSONObject, manifest_kept: Manifest | None) -> list[str]:
    """Compare the tables beside a manifest with what the vault knows: a changed manifest may fit a changed table."""
    known = (manifest_kept.digests if manifest_kept is not None else None) or {}
    if in_folder(path):
        return _wrong_parts(path, manifest_kept, known)
    stem = path.name.removesuffix(MANIFEST)
    places = {suffix.removeprefix("."): path.with_name(stem + suffix) for suffix in endings()}
    digests = manifest.get("digests")
    listed = digests if isinstance(digests, dict) else {}
    there = [suffix for suffix, table in places.items() if table.exists() or suffix in listed]
    found = [] if there else ["there is " + " and ".join(f"no {table.name}" for table in places.values())]
    for suffix in there:
        tables = tables_of(places[suffix], manifest_kept)
        if not all(table.is_file() for table in tables):
            found.append(f"{next(table.name for table in tables if not table.is_file())} is missing")
        elif manifest_kept is not None and not _holds(places[suffix], manifest_kept, known):
            found.append(f"{places[suffix].name} was changed after it was published")
    return found


def _wrong_parts(path: Path, manifest_kept: Manifest | None, known: Mapping[str, str]) -> list[str]:
    try:
        in_parts(path.parent, read_manifest(path))
    except ReveilError as wrong:
        return [f"{Path(wrong.file or path).name}: {wrong.message}"]
    return (
        [] if manifest_kept is None or _holds(path, manifest_kept, known) else ["it was changed after it was published"]
    )


def _holds(table: Path, manifest_kept: Manifest, known: Mapping[str, str]) -> bool:
    """Return whether a release is the one of a manifest, byte by byte or in a format of which there is no digest."""
    form = format_at(table)
    return digest_at(table, manifest_kept) == known[form] if form in known else _converted(table, manifest_kept, known)


def _converted(table: Path, manifest_kept: Manifest, known: Mapping[str, str]) -> bool:
    """Return whether a table in a format that the vault has no digest of is the release, written again."""
    try:
        release = Release.read(table)
        release = release.under(replace(release.manifest, parts=manifest_kept.parts))
        with tempfile.TemporaryDirectory() as folder:
            for suffix, digest in known.items():
                if f".{suffix}" not in endings() and suffix != PARTS:
                    continue
                place = f"{folder}/release/" if suffix == PARTS else f"{folder}/release.{suffix}"
                written = release.write_checked(place, lambda _: None)
                if written.manifest.digest == digest:
                    return True
    except ReveilError:
        pass
    return False


def _damaged(folder: Path, rows: Iterable[ReleaseRow]) -> list[str]:
    """Find files that a release was written to whose manifest is lost or cannot be read any more.

    A pending release may lack its manifest still: it is written last, and the command that finishes it does so.
    """
    found = []
    out = [row for row in rows if row.state != PENDING and row.manifest_digest is not None]
    for given in sorted({row.path for row in out if row.path is not None}):
        table = folder / Path(given).name
        manifest = manifest_path(table)
        # Elsewhere, a table of the same name may be anybody's; a damaged manifest of that name is ours.
        lost = not manifest.exists() and table.resolve() == Path(given)
        if table.exists() and (lost or (manifest.exists() and manifest_at(manifest) is None)):
            found.append(f"{table.name} has no manifest that can be read")
    return found


def _broken_chain(rows: dict[int, ReleaseRow]) -> list[str]:
    """Each manifest names the digest of the one before; adopted ones name nothing."""
    found = []
    for number, row in rows.items():
        before = rows.get(number - 1)
        if row.manifest is None or before is None or row.state == ADOPTED:
            continue
        if json.loads(row.manifest).get("previous") != before.manifest_digest:
            found.append(f"release {number} in the vault does not follow release {number - 1}")
    return found
