"""From a frame or a file to a verified release."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.defaults import filled
from reveil.core.errors import ConfigError, FileError
from reveil.core.randomness import Dice
from reveil.grouping.groupers.base import Grouper
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.guarantees.assembly import Heading, assemble
from reveil.guarantees.comparing import check_promise
from reveil.guarantees.draft import Request
from reveil.guarantees.static.deciding import KIND, decide_static
from reveil.models.base import Model
from reveil.releases.domains import with_told_edges
from reveil.releases.files import KeptFiles, not_of_another, output_path, release_target
from reveil.releases.folders import in_folder, place_of
from reveil.releases.release import Release
from reveil.releases.respelling import check_spellings, respelled
from reveil.series import Published, Series
from reveil.series.alarms import figures_of
from reveil.series.asking import asked_for, described
from reveil.series.finding import measures_of
from reveil.series.in_shards.reading import LargeTable
from reveil.series.large import publish_in_shards, rows_for_shards
from reveil.series.large_files import large_files, verify_large
from reveil.series.lines import noted
from reveil.series.published import Stage, silent
from reveil.series.reading import selected
from reveil.series.warnings import warnings
from reveil.tables.schema import Role
from reveil.tables.settings import placed
from reveil.tables.snapshot import read_snapshot
from reveil.verification import Promised, verify
from reveil.verification.surface import check_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reveil.series.config import Config
    from reveil.series.replaying import Replayed
    from reveil.tables.schema import Schema


def anonymize(
    frame: object,
    schema: Schema,
    model: Model,
    method: Grouper | None = None,
    suppress: float = 0.0,
    seed: int | None = None,
) -> Release:
    """Publish one table once, so that every group satisfies ``model``; the release is verified before it is returned.

    ``frame`` is a polars, pandas or pyarrow table, anything with an Arrow stream, or the path of a CSV or Parquet
    file. ``method`` is a grouper (default :class:`Mondrian`). ``suppress`` is the share of records that may be left
    out. The same ``seed`` gives the same bytes; keep it as secret as the table, for who knows it can undo the shuffle.
    """
    if not isinstance(model, Model):
        raise ConfigError("model must be a model", hint="For example rv.KAnonymity(10) & rv.DistinctDiversity(3).")
    if not (method is None or isinstance(method, Grouper)):
        raise ConfigError("method must be a grouper", hint="For example rv.Mondrian().")
    method = method or Mondrian()
    snapshot = read_snapshot(frame, method.reading(schema))
    rng = Dice.of_seed(seed)
    draft = decide_static(Request(snapshot, method), model, rng.child("decision"), suppress=suppress)
    prepared = assemble(draft, rng.child("assembly"))
    asked = Promised.of_model(model, KIND, suppress=suppress, method=described(method))
    verify(prepared.release, snapshot, asked, placement=prepared.placement)
    return prepared.release


def publish_file(
    config: Config,
    data: str | Path,
    out: str | Path,
    *,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    dry_run: bool = False,
    again: bool = False,
    new_series: bool = False,
    stage: Stage = silent,
    done: Callable[[], None] = lambda: None,
) -> Published:
    """Publish a file as the config says: prepare, write, verify from the written bytes, put in place.

    With ``dry_run`` all is done but the last step: what would be published is written to a temporary folder, verified
    and thrown away. A config with a vault, or a guarantee that needs one, publishes the next release of its series;
    ``new_series`` lets it begin although releases of that name are there. ``done`` is called once it is out.
    """
    target = output_path(out)
    rows = rows_for_shards(config, data, target, part=columns is not None or where is not None)
    if config.in_series:
        series = Series.of(config)
        return series.publish_to(
            out,
            data,
            columns,
            where,
            dry_run=dry_run,
            again=again,
            new_series=new_series,
            large=None if rows is None else LargeTable(config.engine, data, rows),
            stage=stage,
            done=done,
        )
    if columns is not None or where is not None or again or new_series:
        raise ConfigError(
            "columns, where, again and new-series belong to a series",
            hint='Declare a vault: vault = "reveil.vault" under [series].',
        )
    release_target(
        target, KeptFiles((Path(data), *config.files), columns=config.schema.names(Role.PERSON, Role.IDENTIFIER))
    )
    not_of_another(target, {"series": config.name, "release": 1})
    try:
        config.guarantee.check(config.schema, config.method)
        config.alarms.check(config.schema, config.guarantee, config.method)
    except ConfigError as error:
        raise placed(error, config.path) from None
    if rows is not None:
        return publish_in_shards(config, data, target, rows, dry_run=dry_run, stage=stage, done=done)
    stage("reading")
    snapshot = read_snapshot(data, config.schema)
    stage("grouping")
    rng = Dice.of_seed(config.seed)
    draft = config.guarantee.decide(Request(snapshot, config.method), rng.child("decision"))
    prepared = assemble(draft, rng.child("assembly"), Heading(config.name))
    unusual = config.alarms.judge(figures_of(prepared, measures_of(prepared, snapshot)))

    def check(written: Release) -> None:
        stage("verifying")
        verify(written, snapshot, asked_for(config.guarantee, config.method), placement=prepared.placement)
        check_files(written)

    stage("writing")
    if dry_run:
        with tempfile.TemporaryDirectory() as folder:
            release = prepared.release.write_checked(
                Path(folder) / place_of(target).name / target.name if in_folder(target) else Path(folder) / target.name,
                check,
            )
    else:
        release = prepared.release.write_checked(target, check, done)
    return Published(release, "published", note=noted(*unusual, *warnings(snapshot)))


def verify_series(
    config: Config, truths: Sequence[str | Path] = (), *, where: str | None = None, stage: Stage = silent
) -> Replayed:
    """Judge the whole series of a config anew, from its files and archived placements."""
    if not config.in_series or not config.vault_path.exists():
        raise FileError(
            "there is no series to verify", file=config.path, hint="A series has a vault; --series needs it."
        )
    stage("replaying")
    return Series.of(config).replayed([Path(path) for path in truths], [] if where is None else [where])


def verify_file(
    config: Config, release: str | Path, snapshot: str | Path, *, where: str | None = None, stage: Stage = silent
) -> Release:
    """Verify a published file against the file it came from; ``where`` is the expression it was published with.

    Of a large one in parts, what is returned has the manifest, and none of the rows.
    """
    files = large_files(config, release, snapshot, where)
    found = None if files is None else verify_large(config, files, snapshot, stage)
    if found is not None:
        return found
    stage("reading")
    written, method = Release.read(release), config.method
    guarantee = filled(config.guarantee, written.manifest.promise.settings)  # where no vault knows how it began
    placed = None
    if config.in_series and config.vault_path.exists():
        # The vault knows which columns were asked for, and recognises the expression.
        known, series = config.guarantee.traits.remembers, Series.of(config)
        raw, placed = series.placed_part_of(snapshot, written.manifest, where, known=known, table=Path(release))
        guarantee, method = series.guarantee, series.method  # as the series began
    else:
        raw = read_snapshot(snapshot, with_told_edges(config.schema, written.manifest))
        raw = raw if where is None else selected(raw, where)
    stage("verifying")
    check_spellings(written, raw.schema)
    read = respelled(written, raw)
    check_promise(guarantee, written.manifest, raw.schema, method)
    asked = asked_for(guarantee, method)
    verify(read, raw, asked, archived=placed, loose=asked.judge.loose(written, asked))
    check_files(written)
    return written
