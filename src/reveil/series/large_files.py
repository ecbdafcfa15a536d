"""Looking at large releases: a folder of parts beside its table in Parquet, read in shards where that is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reveil.analysis.measures import measure_in_shards
from reveil.core.defaults import filled
from reveil.core.errors import InputError, VerificationError
from reveil.engines.settings import LOCAL
from reveil.guarantees.comparing import check_promise
from reveil.guarantees.static.static import Static
from reveil.models.counting import domains_of_pieces
from reveil.releases.domains import with_told_edges
from reveil.releases.folders import in_folder, located
from reveil.releases.manifest_files import read_manifest
from reveil.releases.table import GROUP, LEVEL
from reveil.series.asking import asked_for
from reveil.series.large import read_pieces
from reveil.tables.pieces import reason_against_pieces, rows_in
from reveil.verification import Promised
from reveil.verification.judges.t_closeness import TCloseness
from reveil.verification.search_in_shards import verify_alone_in_shards

if TYPE_CHECKING:
    from pathlib import Path

    from reveil.analysis.measures import Measures
    from reveil.analysis.measures.base import Workload
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.series.config import Config
    from reveil.series.published import Stage


@dataclass(frozen=True)
class LargeFiles:
    """A release in a folder and the table that it was made from, of so many rows."""

    folder: Path
    manifest: Manifest
    rows: int


def large_files(config: Config, release: str | Path, snapshot: str | Path, where: str | None) -> LargeFiles | None:
    """Return a release and its table where they are read in shards; None: they are read at once.

    As for publishing, that is chosen by what they are, by the config and by the number of rows.
    """
    path = located(release)
    if where is not None or not in_folder(path) or (config.in_series and config.vault_path.exists()):
        return None
    if reason_against_pieces(config.schema) is not None:
        return None
    try:
        manifest = read_manifest(path)
    except (InputError, VerificationError):
        return None  # whoever reads it at once says what is wrong with it, or takes it as another tool's
    if reason_against_parts(manifest) is not None:
        return None
    rows = rows_in(snapshot)
    if rows is None or (config.engine.kind == LOCAL and rows <= config.engine.shard_rows):
        return None
    return LargeFiles(path.parent, manifest, rows)


def reason_against_parts(manifest: Manifest) -> str | None:
    """Say why a release is read at once, or None where rows with equal boxes are what belongs together in it."""
    if manifest.second_tables or manifest.two_tables:
        return "it has a second table"
    if any(column.role in (GROUP, LEVEL) for column in manifest.columns):
        return "groups have numbers in it, or boxes lie in each other"
    if manifest.counterfeits.total or manifest.dirty or manifest.stale or manifest.withheld:
        return "it has rows that are no records of the table, or lacks some because of what was told before"
    if manifest.suppressed is None:
        return "it is a sample, and does not say of how many"
    return None


def verify_large(config: Config, files: LargeFiles, snapshot: str | Path, stage: Stage) -> Release | None:
    """Verify a large release of a table by itself; None where that takes all of it at once."""
    manifest = files.manifest
    guarantee = filled(config.guarantee, manifest.promise.settings)
    told = Promised.told(manifest.promise.guarantee())
    # A release may tell the t that it reaches although nobody asked for one: that is counted in one memory only.
    beyond = "t" in manifest.achieved and not any(isinstance(demand, TCloseness) for demand in told.demands)
    # Where records were left out, those who fit one kind of rows only need not be there.
    if not isinstance(guarantee, Static) or beyond or manifest.suppressed:
        return None
    check_promise(guarantee, manifest, config.schema, config.method)
    schema = with_told_edges(config.schema, manifest)
    with config.engine.opened(files.rows) as engine:
        stage("reading")
        pieces, example = read_pieces(config.engine, engine, snapshot, schema)
        stage("verifying")
        asked = asked_for(guarantee, config.method)
        return verify_alone_in_shards(engine, files.folder, manifest, pieces, example, asked, config.engine.held_bytes)


def measure_large(
    config: Config, files: LargeFiles, snapshot: str | Path, workload: Workload, stage: Stage
) -> Measures:
    """Measure what a large release leaves of the table it was made from."""
    schema = with_told_edges(config.schema, files.manifest)
    with config.engine.opened(files.rows) as engine:
        stage("reading")
        pieces, example = read_pieces(config.engine, engine, snapshot, schema)
        domains = domains_of_pieces(pieces, pieces.shards(engine), config.engine.held_bytes)
        stage("measuring")
        return measure_in_shards(engine, files.folder, files.manifest, pieces, domains, example, workload)
