"""A release under a guarantee of signatures whose people are not in one memory; see :mod:`.way`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.defaults import in_force
from reveil.engines.shards import COUNTED
from reveil.guarantees.signatures.binned import KEPT, NUMBERED, SIGN
from reveil.guarantees.signatures.in_shards import (
    GroupedSignatures,
    SituateRecords,
    coded_schema,
    group_signatures,
)
from reveil.guarantees.static.in_shards import NUMBER, SEAT, Shape, cell_column
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.releases.manifest_parts import Counterfeits
from reveil.releases.parts import write_parts
from reveil.releases.table import GROUP
from reveil.series.asking import asked_for
from reveil.series.column_types import SPELLINGS, spellings_of
from reveil.series.in_shards.comparing import COMPARED, CompareBuckets, CountedEvents, ReadCoded
from reveil.series.in_shards.known_values import KnownValues
from reveil.series.in_shards.recalled import recalled_shards
from reveil.series.in_shards.remembering import BucketsOfPeople, TakeTold, ToldPortions, write_told
from reveil.series.in_shards.way import CountsOfRows, LargeRelease
from reveil.series.judging import ledger_of
from reveil.series.release_context import facts_of
from reveil.series.signatures import SIGNATURES, TOLD_SIGNATURES, numbered_signatures
from reveil.tables.notation import parsed
from reveil.vault.protocol import PENDING, Entries
from reveil.verification.judges.signatures import judge_of_signatures
from reveil.verification.series_in_shards import SeriesSoFar, judge_in_shards

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.guarantees.signatures.signature_based import SignatureGuarantee
    from reveil.releases.manifest import Manifest
    from reveil.releases.manifest_parts import TablePart
    from reveil.releases.release import Release
    from reveil.series.in_shards.recalled import RecalledShards
    from reveil.tables.schema import Schema
    from reveil.vault import Change, DuckDBVault
    from reveil.verification.record import Kept, Update


@dataclass(frozen=True)
class LargeSignatures(LargeRelease):
    """The next release under a guarantee of signatures."""

    guarantee: SignatureGuarantee

    def made(self, rng: Dice) -> MadeSignatures:
        """Compare everybody with what was told, and form the groups."""
        vault, table = self.vault, self.table
        meaning = KnownValues.of(vault, table, self.guarantee)
        judge = judge_of_signatures(asked_for(self.guarantee, None))
        kept = [TOLD_SIGNATURES, ledger_of(judge.of_people)]
        recalled = recalled_shards(vault, kept, table.ordered.buckets, table.folder)
        rng = rng.child("assembly")
        compared = self._compared(meaning, recalled, rng)
        self.guarantee.check_changed(int(compared["changed"].sum()))
        grouped = self._grouped(meaning, rng)
        manifest = self._manifest(meaning, grouped, int(compared["left"].sum()))
        return MadeSignatures(manifest, grouped.width, CountedEvents.of(compared), self, meaning, grouped, recalled)

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

    def _manifest(self, meaning: KnownValues, grouped: GroupedSignatures, withheld: int) -> Manifest:
        schema = self.table.ordered.schema
        fakes = grouped.rows.count(_counterfeits)
        listed = dict(fakes.select(NUMBERED, COUNTED).iter_rows())
        counterfeits = Counterfeits(sum(listed.values()), {str(group): many for group, many in listed.items()})
        achieved = _achieved(self.guarantee, schema, grouped, len(meaning.memory.texts))
        counts = CountsOfRows(grouped.published, grouped.groups, withheld, counterfeits=counterfeits)
        return self.manifest_of(self.guarantee.promise(schema, None), grouped.forms, achieved, counts)

    def written(self, grouped: GroupedSignatures, folder: Path) -> list[TablePart]:
        """Write the parts, and beside them which set people are told."""
        engine, rows = self.table.engine, grouped.rows
        names = {cell_column(c): name for c, name in enumerate(grouped.shape.published)} | {NUMBERED: GROUP}
        take = TakeTold(self.table.ordered.starts, NUMBER, SIGN, KEPT)
        write_told(rows, take, self.table.folder)
        parts = write_parts(engine, rows, folder, records=grouped.published, number=NUMBER, seat=SEAT, names=names)
        rows.drop()
        return parts

    def judged(self, folder: Path, manifest: Manifest, recalled: RecalledShards) -> tuple[Release, Update]:
        """Let the judge read the parts; return what it records of sets, too."""
        vault, table = self.vault, self.table
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

    def change(
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
            settings=self.settings_after(),
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


@dataclass(frozen=True)
class MadeSignatures:
    """A release under a guarantee of signatures that was decided."""

    manifest: Manifest
    width: float
    events: CountedEvents
    release: LargeSignatures
    meaning: KnownValues
    grouped: GroupedSignatures
    recalled: RecalledShards

    def write(self, folder: Path) -> list[TablePart]:
        """Write the parts into a folder."""
        return self.release.written(self.grouped, folder)

    def judge(self, folder: Path, manifest: Manifest) -> tuple[Release, RecordedSignatures]:
        """Let the judge read them; return the release without its rows, and what is to be remembered."""
        read, sets = self.release.judged(folder, manifest, self.recalled)
        return read, RecordedSignatures(self, sets)


@dataclass(frozen=True)
class RecordedSignatures:
    """What a release and its judge leave to be remembered: of ``sets`` all together, of people in files."""

    made: MadeSignatures
    sets: Update

    def change(self, release: Release, measures: Mapping[str, JSON], target: Path | None) -> Change:
        """Return all that the vault has to remember; people come bucket by bucket."""
        made = self.made
        return made.release.change(made.meaning, made.grouped, made.events, self.sets, release, measures, target)


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
