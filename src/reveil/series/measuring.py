"""Measures a published file against the file it was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reveil.analysis.measures import Measures, measure, workload_of
from reveil.releases.foreign import read_release
from reveil.series.large_files import large_files, measure_large
from reveil.series.published import Stage, silent
from reveil.series.reading import selected
from reveil.series.series import Series
from reveil.tables.snapshot import read_snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.series.config import Config


def measure_file(
    config: Config,
    raw_path: str | Path,
    release_path: str | Path,
    *,
    queries: int | str = 0,
    dimensions: int | None = None,
    selectivity: float = 0.05,
    seed: int = 0,
    where: str | None = None,
    stage: Stage = silent,
) -> Measures:
    """Measure what a release leaves of the table it was made from; ``where`` is the expression it was made with."""
    files = large_files(config, release_path, raw_path, where)
    if files is not None:
        return measure_large(config, files, raw_path, workload_of(queries, seed, dimensions, selectivity), stage)
    stage("reading")
    release = read_release(release_path, config.schema)
    raw: object = raw_path
    schema = config.schema
    if config.in_series and config.vault_path.exists():  # the vault knows which columns were asked for
        part = Series.of(config).part_of(raw_path, release.manifest, where)
        raw, schema = part.frame, part.schema
    elif where is not None:
        part = selected(read_snapshot(raw_path, schema), where)
        raw, schema = part.frame, part.schema
    stage("measuring")
    return measure(raw, release, schema, queries, seed, dimensionality=dimensions, selectivity=selectivity)
