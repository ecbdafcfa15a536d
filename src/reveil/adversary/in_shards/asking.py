"""What can be audited in shards, and why the rest cannot."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from reveil.core.errors import InputError
from reveil.engines.settings import LOCAL
from reveil.releases.folders import in_folder, located
from reveil.releases.manifest_files import manifest_path, read_manifest
from reveil.releases.table import LEVEL
from reveil.tables.pieces import reason_against_pieces, rows_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from reveil.engines.settings import EngineSettings
    from reveil.releases.manifest import Manifest
    from reveil.tables.schema import Schema

ATTACKS = (
    "absence",
    "correspondence",
    "difference",
    "homogeneity",
    "intersection",
    "linkage",
    "serial",
    "similarity",
    "skewness",
    "tau",
)


class NotInShardsError(InputError):
    """What was asked for turns out to need everybody in one memory."""


def reason_against_shards(
    releases: Sequence[object],
    schema: Schema,
    truth: Sequence[object],
    known: str | None,
    attacks: Sequence[str] | None,
    others: Mapping[str, object],
) -> str | None:
    """Say why an audit is made in one memory, or None where it may be made in shards.

    ``others`` is what else was asked for, by its option.
    """
    manifests = [_manifest_of(release) for release in releases]
    if any(manifest is None for manifest in manifests):
        return "a release in one file is read at once; one in a folder (OUT/) is read in parts"
    if not truth:
        return "who is meant is told by the snapshots (--truth) alone, read in pieces"
    if any(rows_in(snapshot) is None for snapshot in truth):
        return "a snapshot is read at once; one in Parquet is read in pieces"
    if len(truth) != len(releases) or not schema.sensitive or (schema.person is None and len(releases) > 1):
        return "the tables given do not fit together"
    if (reason := reason_against_pieces(schema)) is not None:
        return reason
    asked = sorted(option for option, given in others.items() if given)
    if asked:
        return f"{asked[0]} needs everybody at once"
    if known in ("ids", "values"):
        return f"--known {known} needs everybody at once"
    unable = sorted(set(attacks or ()) - set(ATTACKS))
    if unable:
        return f"the attack {unable[0]!r} needs everybody at once"
    return next((why for m in manifests if m is not None and (why := _reason_against(m)) is not None), None)


def _reason_against(manifest: Manifest) -> str | None:
    if manifest.two_tables or manifest.second_tables:
        return "a release in two tables is joined in one memory"
    if any(column.role == LEVEL for column in manifest.columns):
        return "nested boxes are looked at all at once"
    return None


def _manifest_of(release: object) -> Manifest | None:
    """Return the manifest of a release in a folder."""
    if not isinstance(release, str | os.PathLike):
        return None
    path = located(release)
    return read_manifest(path) if in_folder(path) and manifest_path(path).is_file() else None


def rows_to_shard(
    settings: EngineSettings, truth: Sequence[object], reason: str | None, *, insists: bool
) -> int | None:
    """Return the rows of the largest snapshot where the audit is to be made in shards; None: in one memory.

    On this machine, that is chosen by the number of rows. Who ``insists`` on another engine is refused what it cannot
    do.
    """
    if insists and settings.kind != LOCAL and reason is not None:
        raise refused(settings, reason)
    if reason is not None:
        return None
    rows = max(rows_in(snapshot) or 0 for snapshot in truth)
    return rows if settings.kind != LOCAL or rows > settings.shard_rows else None


def refused(settings: EngineSettings, reason: str) -> InputError:
    """Return what is said where an engine that was asked for by name cannot do an audit."""
    return InputError(
        f"engine = {settings.kind!r} cannot be used for this audit: {reason}",
        hint='kind = "local" under [engine], or --engine local, does it on this machine.',
    )


def source_of(release: object) -> Path:
    """Return the path of the manifest of a release in a folder."""
    return located(str(release))
