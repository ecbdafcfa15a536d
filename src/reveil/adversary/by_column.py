"""Releases with a table for each sensitive column, as somebody attacks them: one column after the other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.releases.column_views import column_views
from reveil.releases.domains import with_told_edges
from reveil.releases.manifest_files import manifest_path, read_manifest
from reveil.releases.release import Release
from reveil.tables.joint import joint_schema, joint_snapshot
from reveil.tables.snapshot import read_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.releases.manifest import Manifest
    from reveil.tables.schema import Schema


def of_column(release: Release, column: str) -> Release:
    """Return what a release shows of one sensitive column, where each has a table of its own."""
    names = [second.name for second in release.seconds]
    return column_views(release)[names.index(column)] if column in names else release


def prepared(
    releases: Sequence[object], schema: Schema, truth: Sequence[object] | None
) -> tuple[Schema, Sequence[object] | None, bool]:
    """Return schema and snapshots in the words of the releases, and whether columns were taken for independent.

    Bins have the edges that the manifests tell, and columns that are one value together are one column.
    """
    manifests = [manifest for source in releases if (manifest := _manifest(source)) is not None]
    schema = with_told_edges(schema, *manifests)
    together = {parts for manifest in manifests for parts in manifest.second_tables.values() if len(parts) > 1}
    independent = any(manifest.promise.settings.get("independent") for manifest in manifests)
    if not together:
        return schema, truth, independent
    parts = tuple(sorted(together))
    if truth is not None:
        truth = [joint_snapshot(read_snapshot(source, schema), parts).frame for source in truth]
        schema = schema.of_records()
    return joint_schema(schema, parts), truth, independent


def _manifest(source: object) -> Manifest | None:
    """Return the manifest of a release, where it has one."""
    if isinstance(source, Release):
        return source.manifest
    if isinstance(source, str | os.PathLike) and manifest_path(Path(source)).is_file():
        return read_manifest(Path(source))
    return None
