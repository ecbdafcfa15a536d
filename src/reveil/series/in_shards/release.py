"""The way of one release whose people are not in one memory: compared, grouped, written, judged, remembered.

It is the way of every release (:mod:`reveil.series.assembly_line`), with shards where that has arrays of everybody.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.defaults import in_force
from reveil.core.json_values import whole_in
from reveil.core.randomness import Dice
from reveil.engines.shards import COUNTED
from reveil.guarantees.assembly import describe_columns, published_names
from reveil.guarantees.signatures.binned import KEPT, NUMBERED, SIGN
from reveil.guarantees.signatures.in_shards import (
    GroupedSignatures,
    SituateRecords,
    coded_schema,
    group_signatures,
)
from reveil.guarantees.static.in_shards import NUMBER, SEAT, Shape, cell_column
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.releases.domains import domains_of
from reveil.releases.files import read_table
from reveil.releases.folders import PARTS, digest_over, part_name
from reveil.releases.manifest import make_manifest
from reveil.releases.manifest_files import manifest_bytes, manifest_path, read_manifest
from reveil.releases.manifest_parts import Counterfeits
from reveil.releases.parsing import assemble
from reveil.releases.parts import write_parts
from reveil.releases.placing import undisturbed
from reveil.releases.release import Release, release_of
from reveil.releases.table import GROUP
from reveil.series.alarms import figures_in
from reveil.series.asking import asked_for
from reveil.series.assembly_line import hand_over
from reveil.series.column_types import SPELLINGS, spellings_of
from reveil.series.drafts import draft_path, remove_drafts
from reveil.series.in_shards.comparing import COMPARED, CompareBuckets, CountedEvents, ReadCoded
from reveil.series.in_shards.known_values import KnownValues
from reveil.series.in_shards.recalled import recalled_shards
from reveil.series.in_shards.remembering import BucketsOfPeople, TakeTold, ToldPortions, write_told
from reveil.series.judging import JUDGED, ledger_of
from reveil.series.lines import NEW_VAULT, cautioned
from reveil.series.release_context import facts_of
from reveil.series.signatures import SIGNATURES, TOLD_SIGNATURES, numbered_signatures
from reveil.series.warnings import warnings
from reveil.tables.notation import parsed
from reveil.vault.protocol import PENDING, Entries
from reveil.verification.judges.signatures import judge_of_signatures
from reveil.verification.series import Expected
from reveil.verification.series_in_shards import SeriesSoFar, judge_in_shards

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.guarantees.signatures.signature_based import SignatureGuarantee
    from reveil.releases.manifest import Manifest
    from reveil.releases.promise import Promise
    from reveil.series.alarms import Alarms
    from reveil.series.in_shards.reading import OpenedTable
    from reveil.series.in_shards.recalled import RecalledShards
    from reveil.series.published import Stage
    from reveil.tables.schema import Schema
    from reveil.vault import Change, DuckDBVault, ReleaseRow
    from reveil.verification.record import Kept, Update


_DATABASE = 1024  # mebibytes


def without_rows(path: Path) -> Release:
    """Return a release in a folder without its rows, which may be more than one memory is to take."""
    manifest = read_manifest(path)
    first = read_table(path.parent / part_name(0)).clear()
    return replace(release_of(assemble(first, [], manifest), manifest), source=path)


@dataclass(frozen=True)
class LargeRelease:
    """The next release of a series, of a table in shards.

    ``settings`` are what the vault remembers of the config, ``archive`` is of how many releases placements are kept.
    """

    vault: DuckDBVault
    table: OpenedTable
    guarantee: SignatureGuarantee
    name: str | None
    settings: Mapping[str, JSON] = field(repr=False)
    archive: int | None
    alarms: Alarms

    @property
    def number(self) -> int:
        """The number of the release."""
        return self.vault.head() + 1

    def publish(
        self,
        rows: Sequence[ReleaseRow],
        target: Path | None,
        *,
        dry_run: bool,
        stage: Stage,
        done: Callable[[], None],
    ) -> tuple[Release, tuple[str | None, ...]]:
        """Make the release, and deliver it; return it without its rows, and what the owner should know."""
        vault, table, number = self.vault, self.table, self.number
        vault.limit_memory(_DATABASE)
        stage("grouping")
        meaning = KnownValues.of(vault, table, self.guarantee)
        judge = judge_of_signatures(asked_for(self.guarantee, None))
        kept = [TOLD_SIGNATURES, ledger_of(judge.of_people)]
        recalled = recalled_shards(vault, kept, table.ordered.buckets, table.folder)
        # Of what the release is made goes into its dice: a restored vault does not roll the same for another table.
        about = json.dumps(table.submission.asked, sort_keys=True)
        seed = whole_in(self.settings["seed"])
        rng = Dice(vault.key.stream(seed, number, table.submission.digest, about)).child("assembly")
        compared = self._compared(meaning, recalled, rng)
        self.guarantee.check_changed(int(compared["changed"].sum()))
        grouped = self._grouped(meaning, rng)
        manifest = self._manifest(meaning, grouped, int(compared["left"].sum()), rows)
        measures: dict[str, JSON] = {"gcp": grouped.width}
        unusual = self.alarms.judge(figures_in(manifest, measures, table.ordered.rows))
        draft = draft_path(vault, number, target)
        with vault.drafts.private():
            remove_drafts(vault, keep=number - 1)
            try:
                manifest = self._written(grouped, manifest, draft.parent, stage)
                stage("verifying")
                release, sets = self._judged(draft.parent, manifest, recalled, rows)
            except BaseException:
                remove_drafts(vault, keep=number - 1)
                raise
        events = CountedEvents.of(compared)
        remark = cautioned(events, events.counts["changed"], self.guarantee)
        said = (NEW_VAULT if number == 1 and not dry_run else remark, *unusual)
        release = replace(release, source=target)
        if dry_run:
            remove_drafts(vault, keep=number - 1)
            return release, (*said, *warnings(table.ordered.example))
        change = self._change(meaning, grouped, events, sets, release, measures, target)
        stage("remembering")
        with undisturbed():
            vault.prepare(change)
            hand_over(vault, number, draft, target, done)
        return release, (*said, *warnings(table.ordered.example))

    def _compared(self, meaning: KnownValues, recalled: RecalledShards, rng: Dice) -> pl.DataFrame:
        """Compare everybody with what was told; return what was counted, bucket by bucket."""
        ordered = self.table.ordered
        work = CompareBuckets(
            ordered.example,
            meaning.domains,
            meaning.stable,
            recalled,
            meaning.memory,
            meaning.signatures,
            SituateRecords(self.guarantee, ordered.schema, rng),
            str(self.table.folder),
        )
        return ordered.shards(self.table.engine).map(work, COMPARED).collect()

    def _grouped(self, meaning: KnownValues, rng: Dice) -> GroupedSignatures:
        engine, ordered = self.table.engine, self.table.ordered
        schema = coded_schema(len(meaning.domains.quasi))
        coded = ordered.shards(engine).map(ReadCoded(str(self.table.folder), schema), schema)
        shape = Shape.of(ordered.example, meaning.domains)
        (name,) = ordered.schema.sensitive
        values = parsed(meaning.memory.texts, ordered.example.frame.schema[name])
        effort = str(in_force(self.guarantee, "effort"))
        return group_signatures(engine, coded, shape, self.guarantee, meaning.memory, values, effort, rng)

    def _manifest(
        self, meaning: KnownValues, grouped: GroupedSignatures, withheld: int, rows: Sequence[ReleaseRow]
    ) -> Manifest:
        example, schema = self.table.ordered.example, self.table.ordered.schema
        fakes = grouped.rows.count(_counterfeits)
        listed = dict(fakes.select(NUMBERED, COUNTED).iter_rows())
        made = make_manifest(
            series=self.name,
            release=self.number,
            promise=self._promise(),
            columns=describe_columns(example, grouped.forms, apart=False, groups=True),
            rows=grouped.published,
            groups=grouped.groups,
            achieved=_achieved(self.guarantee, schema, grouped, len(meaning.memory.texts)),
            withheld=withheld,
            counterfeits=Counterfeits(sum(listed.values()), {str(group): many for group, many in listed.items()}),
            related=schema.relation is not None,
            domains=domains_of(schema[name] for name in published_names(example, apart=False)),
        )
        engine: dict[str, JSON] = {"kind": self.table.engine.name, "shard_rows": self.table.engine.shard_rows}
        previous = rows[-1].manifest_digest if rows else None
        return replace(made, series_id=self.vault.series_id, previous=previous, engine=engine)

    def _promise(self) -> Promise:
        return self.guarantee.promise(self.table.ordered.schema, None)

    def _written(self, grouped: GroupedSignatures, manifest: Manifest, folder: Path, stage: Stage) -> Manifest:
        """Write the parts and the manifest; return it with the digests."""
        stage("writing")
        folder.mkdir(parents=True)
        engine, rows = self.table.engine, grouped.rows
        names = {cell_column(c): name for c, name in enumerate(grouped.shape.published)} | {NUMBERED: GROUP}
        take = TakeTold(self.table.ordered.starts, NUMBER, SIGN, KEPT)
        write_told(rows, take, self.table.folder)
        parts = write_parts(engine, rows, folder, records=grouped.published, number=NUMBER, seat=SEAT, names=names)
        rows.drop()
        digest = digest_over(parts)
        manifest = replace(manifest, digest=digest, digests={PARTS: digest}, parts=tuple(parts))
        manifest_path(folder / "manifest.json").write_bytes(manifest_bytes(manifest))
        return manifest

    def _judged(
        self, folder: Path, manifest: Manifest, recalled: RecalledShards, rows: Sequence[ReleaseRow]
    ) -> tuple[Release, Update]:
        vault, table = self.vault, self.table
        previous = rows[-1].manifest_digest if rows else None
        Expected(self.number, vault.series_id, previous).check(manifest)
        known = vault.ledger(SIGNATURES).sort("signature", "code")
        (name,) = table.ordered.schema.sensitive
        texts = vault.values(name)
        signatures = known.join(texts, on="code", how="left", maintain_order="left").select("signature", "value")
        asked = asked_for(self.guarantee, None)
        judge = judge_of_signatures(asked)
        attribute = recalled.attributes.index(name) if name in recalled.attributes else 0
        before = SeriesSoFar(
            BucketsOfPeople(table.ordered, recalled, judge.of_people, texts.select("code", "value"), attribute),
            None if judge.of_sets is None else _rows_of(vault, judge.of_sets),
            signatures,
            table.ordered.starts,
            table.ordered.rows,
            self.number,
        )
        example = table.ordered.example
        return judge_in_shards(table.engine, folder, manifest, example, asked, before, table.pieces, table.folder)

    def _change(
        self,
        meaning: KnownValues,
        grouped: GroupedSignatures,
        events: CountedEvents,
        sets: Update,
        release: Release,
        measures: Mapping[str, JSON],
        target: Path | None,
    ) -> Change:
        """Return all that the vault has to remember; people come bucket by bucket."""
        vault, table, manifest = self.vault, self.table, release.manifest
        context = meaning.context(vault, table)
        used = grouped.sets.take(grouped.used)
        numbers, added = numbered_signatures(context.memory.book, used.texts())
        signatures = np.full(len(grouped.sets), -1, np.int64)
        signatures[grouped.used] = numbers["signature"].to_numpy()
        counts = {key: many for key, many in events.counts.items() if key not in ("unchanged", "changed", "left")}
        change = context.change(
            vault,
            state=PENDING,
            manifest=manifest,
            told=None,
            entries=(Entries(SIGNATURES, added), *(Entries(ledger_of(entry.kept), entry.rows) for entry in sets)),
            replaces=False,
            placements=None,
            archive=self.archive or None,
            facts={
                **counts,
                **facts_of(manifest),
                "measures": dict(measures),
                "fewest_counterfeits": grouped.fewest,
            },
            settings={**self.settings, JUDGED: self.number},
            published=None,
            path=target,
        )
        (name,) = table.ordered.schema.sensitive
        codes = np.unique(used.members)
        values = parsed(meaning.memory.texts.gather(codes), table.ordered.example.frame.schema[name])
        kept = vault.setting(SPELLINGS) or {}
        spelled = spellings_of(table.ordered.schema, pl.DataFrame({name: values}), kept)
        if spelled != kept:
            change = replace(change, settings={**change.settings, SPELLINGS: spelled})
        columns = (*(domain.name for domain in meaning.domains.quasi), *table.ordered.schema.sensitive)
        portions = ToldPortions(
            table.folder,
            table.ordered.table,
            columns,
            signatures,
            self.guarantee.last_only,
            asked_for(self.guarantee, None),
            self.number,
            self.archive != 0,
        )
        return replace(change, portions=portions)


def _rows_of(vault: DuckDBVault, kept: Kept) -> pl.DataFrame:
    """Return what the judge recorded of nobody in particular."""
    return vault.ledger(ledger_of(kept)).select(kept.schema.keys()).cast(kept.schema)  # type: ignore[arg-type]


def _counterfeits(table: pl.DataFrame) -> pl.DataFrame:
    """Work: how many rows of each group are about nobody."""
    lost = table.filter(pl.col(NUMBER) < 0)
    return lost.group_by(NUMBERED).agg(pl.len().cast(pl.Int64).alias(COUNTED))


def _achieved(guarantee: SignatureGuarantee, schema: Schema, grouped: GroupedSignatures, size: int) -> dict[str, JSON]:
    """Return the level of the groups: every group of a signature has each of its values once."""
    used, (name,) = grouped.sets.take(grouped.used), schema.sensitive
    histogram = Histogram.of_counts(
        used.of_member, used.members.astype(np.int64), np.ones(len(used.members), np.int64), len(used), size
    )
    reference = Reference(np.ones(size, np.int64), ordered=False, levels=None)
    stats = GroupStats(used.sizes, {name: histogram}, {name: reference})
    return dict(guarantee.model_for(schema).achieved(stats))
