"""Manifests as files: where they lie, how they are written and read, and the digests that they hold."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import FileError
from reveil.releases.folders import in_folder, located, place_of
from reveil.releases.manifest import READ, Manifest, version
from reveil.releases.reading import UnusableError

if TYPE_CHECKING:
    from reveil.core.json_values import JSON

MANIFEST = ".manifest.json"
LARGEST = 1 << 26  # bytes of a manifest that is looked at in passing


def manifest_path(table: str | Path) -> Path:
    """Return where the manifest of a release lies: beside its table, or in its folder."""
    path = located(table)
    return path if in_folder(path) else path.with_suffix(MANIFEST)


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return a manifest as it is written."""
    return (json.dumps(manifest.to_json(), indent=2, ensure_ascii=False) + "\n").encode()


def manifest_at(path: Path) -> dict[str, JSON] | None:
    """Return what a file says if it looks like a manifest of Reveil's; None for anything else."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        manifest = read_json(path)
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and "reveil" in manifest and "release" in manifest else None


def has_manifest(path: Path) -> bool:
    """Return whether a manifest of Reveil's lies beside a table; one that is damaged is still one."""
    try:
        manifest = read_json(manifest_path(path))
    except ValueError:
        return True
    except OSError:
        return False
    return isinstance(manifest, dict) and "reveil" in manifest


def read_manifest(table: str | Path) -> Manifest:
    """Read the manifest of a release."""
    path = manifest_path(table)
    where = "in each folder" if in_folder(path) else "beside each table"
    unreadable = FileError("this manifest cannot be read", file=path, hint="It must be the JSON that Reveil wrote.")
    try:
        given = read_json(path)
    except FileNotFoundError:
        raise FileError(
            "this release has no manifest",
            file=place_of(located(table)),
            hint=f"Reveil writes {path.name} {where}; keep the two together.",
        ) from None
    except (OSError, ValueError):
        raise unreadable from None
    if not isinstance(given, dict) or given.get("format") not in READ:
        raise FileError(
            "this manifest has a format that this version does not know",
            file=path,
            hint=f"This is Reveil {version()}; it reads the formats {' and '.join(map(str, READ))}.",
        )
    try:
        manifest = Manifest.from_json(given)
        if manifest.digest is None:
            raise UnusableError("digest")
    except RecursionError:
        raise unreadable from None
    except UnusableError as wrong:
        raise FileError(
            f"this manifest has no usable {wrong.key!r}", file=path, hint="Use the one that Reveil wrote."
        ) from None
    return manifest


def read_json(path: Path) -> JSON:
    """Read a JSON file; what is not JSON, or nested without end, raises ValueError."""
    try:
        content: JSON = json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return content


def digest_of(*files: str | Path) -> str:
    """Return the digest of the bytes of the given files, in order."""
    total = hashlib.sha256()
    for file in files:
        with Path(file).open("rb") as stream:
            while block := stream.read(1 << 20):
                total.update(block)
    return "sha256:" + total.hexdigest()


def digest_of_bytes(content: bytes) -> str:
    """Return the digest of some bytes."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
