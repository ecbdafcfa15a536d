"""The copies of releases that the vault keeps: the last one, and a pending one until it is out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import FileError, InputError, VaultError, VerificationError
from reveil.releases.files import check_seconds, digest_at, format_at, not_of_another, tables_of
from reveil.releases.folders import PARTS, as_told, check_folder, in_folder, place_of
from reveil.releases.manifest_files import digest_of, digest_of_bytes, manifest_path, read_manifest
from reveil.releases.placing import draft_folder, put_folder_in_place, put_in_place
from reveil.releases.release import Release
from reveil.tables.formats import DEFAULT, ending_of, endings
from reveil.tables.formats.folder import MANIFEST_INSIDE
from reveil.vault.protocol import PENDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.vault import ReleaseRow, Vault


_FOLDER = f".{PARTS}"


def draft_path(vault: Vault, release: int, target: Path | None) -> Path:
    """Return where the vault keeps a release of this number that is to be written to a target, in its format."""
    if target is not None and in_folder(target):
        return vault.drafts.path(release, _FOLDER) / MANIFEST_INSIDE
    return vault.drafts.path(release, DEFAULT if target is None else ending_of(target))


def draft_paths(vault: Vault, release: int) -> list[Path]:
    """Return where the vault may keep a release of this number, in every format."""
    files = [vault.drafts.path(release, suffix) for suffix in endings()]
    return [*files, vault.drafts.path(release, _FOLDER) / MANIFEST_INSIDE]


def find_copy(vault: Vault, row: ReleaseRow) -> Path:
    """Return a copy of a release that is what was prepared: the vault's own, or where it was written."""
    places = draft_paths(vault, row.release)
    places += [Path(row.path)] if row.path is not None else []
    for path in places:
        if _is_copy(path, row):
            return path
    ways = (
        f"restore the vault from a backup, or give it up (it stays told) with reveil history --abandon {row.release}."
        if row.state == PENDING
        else f"look for the file that was published, or publish the table anew as release {row.release + 1} (--again)."
    )
    raise VaultError(
        f"this table is release {row.release} already, and the vault has no copy of it as it was prepared",
        file=vault.store.place,
        hint=ways[0].upper() + ways[1:],
    )


def _is_copy(path: Path, row: ReleaseRow) -> bool:
    try:
        if digest_of_bytes(manifest_path(path).read_bytes()) != row.manifest_digest:
            return False
        manifest = read_manifest(path)
        return digest_at(path, manifest) == str(manifest.digest)
    except (OSError, InputError):
        return False


def remove_drafts(vault: Vault, keep: int | None = None) -> None:
    """Remove all copies but those of one release, and what a killed publisher left half written."""
    vault.drafts.remove(keep)


def not_another(vault: Vault, rows: Sequence[ReleaseRow], target: Path | None, number: int) -> None:
    """Refuse to write a release over another one, as a manifest beside it or the vault knows it."""
    if target is None:
        return
    not_of_another(target, {"series_id": vault.series_id, "release": number})
    place = as_told(target)
    there = [row.release for row in rows if row.path == place and row.release != number]
    if there and target.exists():
        raise FileError(
            f"release {there[-1]} was written here",
            file=place_of(target),
            hint="Choose another name with -o, or move that release away with its manifest.",
        )


def deliver(draft: Path, target: Path) -> None:
    """Write a release from its copy: the same bytes, or the same release in another format."""
    try:
        if format_at(draft) == format_at(target):
            (_copy_folder if in_folder(target) else _copy)(draft, target)
        else:
            Release.read(draft).write(target)
    except (OSError, FileError):
        raise FileError(
            "this release could not be written here",
            file=place_of(target),
            hint="Make room or choose another name, and publish the same table again: it goes on from here.",
        ) from None


def _copy(draft: Path, target: Path) -> None:
    manifest = read_manifest(draft)
    sources, targets = tables_of(draft, manifest), tables_of(target, manifest)
    check_seconds(target, manifest)
    # The second table of a release that stood here would seem to belong to this one.
    leftover = [path for path in _tables_at(target) if path not in targets]
    with draft_folder(target) as folder:
        copies = [folder / path.name for path in targets]
        for source, copy in zip(sources, copies, strict=True):
            copy.write_bytes(source.read_bytes())
        if digest_of(*copies) != manifest.digest:
            raise VaultError("the copy of this release in the vault was altered", file=draft, hint="Restore the vault.")
        described = folder / manifest_path(target).name
        described.write_bytes(manifest_path(draft).read_bytes())
        put_in_place([*copies, described], target.parent, leftover)


def _copy_folder(draft: Path, target: Path) -> None:
    manifest = read_manifest(draft)
    check_seconds(target, manifest)
    with draft_folder(target.parent) as around:
        made = around / "release"
        for source in (*tables_of(draft, manifest), draft):
            copy = made / source.relative_to(draft.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source.read_bytes())
        try:
            check_folder(made, manifest)
        except VerificationError:
            raise VaultError(
                "the copy of this release in the vault was altered", file=draft.parent, hint="Restore the vault."
            ) from None
        put_folder_in_place(made, target.parent)


def _tables_at(target: Path) -> list[Path]:
    try:
        return tables_of(target, read_manifest(target))
    except InputError:
        return []
