"""The public manifest of a release: what was promised, to whom it applies, and the digest of the bytes.

Nothing in it comes from raw values that are not published, and the seed is never in it: who knows the seed can
undo the shuffle.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT = 1
MANIFEST = ".manifest.json"
LARGEST = 1 << 26  # bytes of a manifest that is looked at in passing


@cache
def version() -> str:
    """Return the version of the installed package."""
    from importlib.metadata import version as installed

    return installed("reveil")


def make_manifest(
    *,
    series: str | None,
    release: int,
    guarantee: Mapping[str, Any],
    claim: str,
    assumes: Iterable[str],
    columns: Iterable[Mapping[str, str]],
    rows: int,
    groups: int,
    achieved: Mapping[str, Any],
    suppressed: int | None = 0,
    withheld: int = 0,
    dirty: int = 0,
    counterfeits: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build a manifest; ``digest`` is filled in when the table is written, ``previous`` by a series."""
    return {
        "format": FORMAT,
        "reveil": version(),
        "series": series,
        "release": release,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "guarantee": dict(guarantee),
        "claim": claim,
        "assumes": list(assumes),
        "columns": [dict(column) for column in columns],
        "rows": rows,
        "groups": groups,
        "suppressed": suppressed,
        "withheld": withheld,
        "dirty": dirty,
        "counterfeits": dict(counterfeits or {"total": 0, "per_group": {}}),
        "achieved": dict(achieved),
        "digest": None,
        "previous": None,
    }


def manifest_path(table: str | Path) -> Path:
    """Return where the manifest of a table lies."""
    return Path(table).with_suffix(MANIFEST)


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest as it is written."""
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()


def manifest_at(path: Path) -> dict[str, Any] | None:
    """Return what a file says if it looks like a manifest of Reveil's; None for anything else."""
    try:
        if path.stat().st_size > LARGEST:
            return None
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) and "reveil" in manifest and "release" in manifest else None


def read_manifest(table: str | Path) -> dict[str, Any]:
    """Read the manifest beside a table."""
    path = manifest_path(table)
    try:
        manifest = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise FileError(
            "this release has no manifest",
            file=table,
            hint=f"Reveil writes {path.name} beside each table; keep the two together.",
        ) from None
    except (OSError, ValueError):
        raise FileError(
            "this manifest cannot be read", file=path, hint="It must be the JSON that Reveil wrote."
        ) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileError(
            "this manifest has a format that this version does not know",
            file=path,
            hint=f"This is Reveil {version()}; it reads format {FORMAT}.",
        )
    kinds: dict[str, type | tuple[type, ...]] = {
        "guarantee": dict,
        "claim": str,
        "columns": list,
        "rows": int,
        "groups": int,
        "suppressed": (int, type(None)),
        "withheld": int,
        "dirty": int,
        "counterfeits": dict,
        "achieved": dict,
        "digest": str,
    }
    wrong = [key for key, kind in kinds.items() if not isinstance(manifest.get(key), kind)]
    if not wrong and not isinstance(manifest["counterfeits"].get("total"), int):
        wrong = ["counterfeits"]
    if not wrong and not all(
        isinstance(c, dict) and {"name", "role", "form", "type"} <= set(c) for c in manifest["columns"]
    ):
        wrong = ["columns"]
    if wrong:
        raise FileError(f"this manifest has no usable {wrong[0]!r}", file=path, hint="Use the one that Reveil wrote.")
    return manifest


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
