"""Publishing a table that is not to be in one memory: read in pieces, grouped in cells, written and judged in parts."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from reveil.core.errors import FileError
from reveil.core.randomness import Dice
from reveil.engines.settings import LOCAL
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.guarantees.assembly import describe_columns
from reveil.guarantees.static.deciding import static_promise
from reveil.guarantees.static.in_shards import NUMBER, SEAT, Shape, cell_column, group_in_shards
from reveil.guarantees.static.static import Static
from reveil.models.counting import domains_of_pieces
from reveil.releases.domains import domains_of
from reveil.releases.files import check_seconds, not_of_another
from reveil.releases.folders import PARTS, digest_over, in_folder
from reveil.releases.manifest import make_manifest
from reveil.releases.manifest_files import manifest_bytes, manifest_path
from reveil.releases.parts import write_parts
from reveil.releases.placing import draft_folder, put_folder_in_place
from reveil.series.alarms import figures_in
from reveil.series.asking import asked_for
from reveil.series.in_shards.reading import cannot_be_used, reason_against_series
from reveil.series.lines import noted
from reveil.series.published import Published
from reveil.series.warnings import warnings
from reveil.tables.pieces import check_persons_apart, in_one_spelling, pieces_of, reason_against_pieces, rows_in
from reveil.verification.in_shards import verify_in_shards

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reveil.engines.settings import EngineSettings
    from reveil.engines.shards import Engine
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.static.in_shards import GroupedShards
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.series.config import Config
    from reveil.series.published import Stage
    from reveil.tables.pieces import TablePieces
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot

_MOST_TEXTS = 10_000_000  # different spellings that are held at once


def reason_against_shards(config: Config) -> str | None:
    """Say why what a config asks for is done in one memory, or None where a table may be worked on in shards."""
    guarantee, method = config.guarantee, config.method or Mondrian()
    if config.in_series:
        return reason_against_series(guarantee, config.method, config.schema, config.vault_path)
    if not isinstance(guarantee, Static):
        return f"the guarantee {guarantee.kind!r} looks at all records at once"
    if guarantee.suppress:
        return "suppress chooses among the records of the whole table"
    return method.reason_against_cells() or reason_against_pieces(config.schema)


def rows_for_shards(config: Config, data: str | Path, target: Path, *, part: bool = False) -> int | None:
    """Return how many rows there are to be worked on in shards; None: the table is worked on in memory.

    On this machine, that is chosen by what is asked for and by the number of rows. Another engine is asked for by name,
    and what it cannot do is refused. ``part``: some columns or records of the table are asked for.
    """
    reason = reason_against_shards(config)
    if reason is None and part:
        reason = "a part of a table is chosen in one memory"
    if reason is None and not in_folder(target):
        reason = "a release in one file is put together in one memory; OUT/ is a folder of parts"
    rows = None if reason is not None else rows_in(data)
    if reason is None and rows is None:
        reason = "this table is read at once; one in Parquet is read in pieces"
    settings = config.engine
    if settings.kind != LOCAL:
        if reason is not None or rows is None:
            raise cannot_be_used(settings.kind, str(reason))
        return rows
    return rows if rows is not None and rows > settings.shard_rows else None


def publish_in_shards(
    config: Config,
    data: str | Path,
    target: Path,
    rows: int,
    *,
    dry_run: bool = False,
    stage: Stage,
    done: Callable[[], None],
) -> Published:
    """Publish a large table; what is answered has the manifest, and none of the rows."""
    method = config.method or Mondrian()
    assert isinstance(config.guarantee, Static)  # noqa: S101  (asked before)
    with ExitStack() as open_:
        engine = open_.enter_context(config.engine.opened(rows))
        stage("reading")
        pieces, example = read_pieces(config.engine, engine, data, config.schema)
        domains = domains_of_pieces(pieces, pieces.shards(engine), config.engine.held_bytes)
        shape = Shape.of(example, domains)
        stage("grouping")
        rng = Dice.of_seed(config.seed)
        grouped = group_in_shards(
            engine, pieces, shape, config.guarantee.model, method, rng.child("decision"), rng.child("assembly")
        )
        manifest = _manifest(config, engine, grouped, example, method)
        unusual = config.alarms.judge(figures_in(manifest, {"gcp": grouped.width}, grouped.records))
        not_of_another(target, manifest)
        check_seconds(target, manifest)
        try:
            around = open_.enter_context(draft_folder(target.parent))
            made = around / "release"
            made.mkdir()
            release = _written(config, engine, grouped, manifest, made, pieces, example, stage)
            if not dry_run:
                put_folder_in_place(made, target.parent, done)
        except OSError:
            raise FileError(
                "this release cannot be written here", file=target.parent, hint="Check permissions and free space."
            ) from None
    place = target if not dry_run else None
    return Published(replace(release, source=place), "published", note=noted(*unusual, *warnings(example)))


def read_pieces(
    settings: EngineSettings, engine: Engine, data: str | Path, schema: Schema
) -> tuple[TablePieces, Snapshot]:
    """Read a table in pieces; return these, and the snapshot without its records."""
    pieces = pieces_of(data, schema, min(settings.shard_rows, engine.shard_rows))
    listed = pieces.shards(engine)
    pieces = in_one_spelling(pieces, listed, _MOST_TEXTS)
    check_persons_apart(pieces, listed)
    example = pieces.read(0)
    return pieces, replace(example, frame=example.frame.clear(), raw=None)


def _manifest(config: Config, engine: Engine, grouped: GroupedShards, example: Snapshot, method: Grouper) -> Manifest:
    guarantee, schema = config.guarantee, example.schema
    assert isinstance(guarantee, Static)  # noqa: S101  (asked before)
    manifest = make_manifest(
        series=config.name,
        release=1,
        promise=static_promise(guarantee.model, schema, method),
        columns=describe_columns(example, grouped.forms, apart=False, groups=False),
        rows=grouped.records,
        groups=grouped.groups,
        achieved=grouped.achieved,
        related=schema.relation is not None,
        domains=domains_of(schema[name] for name in grouped.shape.published),
    )
    return replace(manifest, engine={"kind": engine.name, "shard_rows": engine.shard_rows})


def _written(
    config: Config,
    engine: Engine,
    grouped: GroupedShards,
    manifest: Manifest,
    made: Path,
    pieces: TablePieces,
    example: Snapshot,
    stage: Stage,
) -> Release:
    """Write the parts and the manifest, and let the judge read them."""
    stage("writing")
    names = {cell_column(c): name for c, name in enumerate(grouped.shape.published)}
    parts = write_parts(engine, grouped.rows, made, records=grouped.records, number=NUMBER, seat=SEAT, names=names)
    grouped.rows.drop()
    digest = digest_over(parts)
    manifest = replace(manifest, digest=digest, digests={PARTS: digest}, parts=tuple(parts))
    manifest_path(made).write_bytes(manifest_bytes(manifest))
    stage("verifying")
    return verify_in_shards(engine, made, manifest, pieces, example, asked_for(config.guarantee, config.method))
