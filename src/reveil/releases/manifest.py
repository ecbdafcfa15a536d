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

from reveil.core.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

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
    described = [dict(column) for column in columns]
    return {
        "format": FORMAT,
        "reveil": version(),
        "series": series,
        "release": release,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "guarantee": dict(guarantee),
        "claim": claim,
        "assumes": [*assumes, *(_several(described) if claim else ())],
        "columns": described,
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


def _several(columns: list[dict[str, str]]) -> list[str]:
    """Return what a release with several sensitive columns in a row rests on."""
    many = sum(column["role"] == "sensitive" for column in columns)
    if many < 2:
        return []
    words = (
        f"Nobody knows a sensitive value of whom they look for: each of the {many} sensitive columns is protected by "
        "itself, and whoever knows one may find the row by it and read the others."
    )
    return [words]


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
        manifest = read_json(path)
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and "reveil" in manifest and "release" in manifest else None


def read_manifest(table: str | Path) -> dict[str, Any]:
    """Read the manifest beside a table."""
    path = manifest_path(table)
    try:
        manifest = read_json(path)
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
    missing = [key for key in _USABLE if key not in manifest and key not in _OPTIONAL]
    wrong = next(iter(missing), None) or next(
        (key for key, usable in _USABLE.items() if not usable(manifest.get(key))), None
    )
    if wrong is not None:
        raise FileError(f"this manifest has no usable {wrong!r}", file=path, hint="Use the one that Reveil wrote.")
    return manifest


def read_json(path: Path) -> Any:
    """Read a JSON file; what is not JSON, or nested without end, raises ValueError."""
    try:
        return json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MANY


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_column(value: object) -> bool:
    return (
        isinstance(value, dict)
        and {"name", "role", "form", "type"} <= set(value)
        and all(isinstance(said, str) for said in value.values())
        and value["form"] in _FORMS
    )


def _are_counterfeits(value: object) -> bool:
    if not isinstance(value, dict) or not _is_count(value.get("total")):
        return False
    told = value.get("per_group", {})
    return isinstance(told, dict) and all(map(_is_count, told.values()))


def _is_promise(value: object) -> bool:
    """Return whether this is a kind with settings of its own, each a value or a list or a table of values."""
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        return False
    inner = [one for said in value.values() for one in _members(said)]
    return all(one is None or isinstance(one, str | bool | float) or _fits(one) for one in inner)


def _members(value: object) -> list[object]:
    """Return the values in lists and tables, however deep."""
    found, stack = [], [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict | list):
            stack += one.values() if isinstance(one, dict) else one
        else:
            found.append(one)
    return found


def _fits(value: object) -> bool:
    return isinstance(value, int) and abs(value) < _MANY


_FORMS = ("interval", "set", "label", "value", "foreign")  # of cells, as reveil.tables.notation has them
_OPTIONAL = ("series_id", "stale", "digests")
_MANY = 2**53  # whole numbers that every reader of JSON has
_USABLE: dict[str, Callable[[Any], bool]] = {
    "series": _is_text_or_none,
    "series_id": _is_text_or_none,
    "release": lambda value: value is None or _is_count(value),
    "created": _is_text_or_none,
    "guarantee": _is_promise,
    "claim": lambda value: isinstance(value, str),
    "assumes": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "columns": lambda value: isinstance(value, list) and all(map(_is_column, value)),
    "rows": _is_count,
    "groups": _is_count,
    "suppressed": lambda value: value is None or _is_count(value),
    "withheld": _is_count,
    "dirty": _is_count,
    "stale": lambda value: value is None or _is_count(value),
    "counterfeits": _are_counterfeits,
    "achieved": lambda value: isinstance(value, dict),
    "digest": lambda value: isinstance(value, str),
    "digests": lambda value: (
        value is None or (isinstance(value, dict) and all(isinstance(one, str) for one in value.values()))
    ),
    "previous": _is_text_or_none,
}


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
