"""A release under refinement whose people are not in one memory; see :mod:`.way`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.engines.shards import COUNTED
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.guarantees.refinement.bucket_book import NUMBER, SEAT, KeptColumns
from reveil.guarantees.refinement.in_shards import CountedTable, RefinedShards, refine_in_shards
from reveil.guarantees.refinement.ledgers import CELLS, COUNTS, PACE, SIZES, TOLD_VALUES
from reveil.guarantees.refinement.units import FIRST_NEW, NUMBERED, Common
from reveil.guarantees.static.in_shards import cell_column
from reveil.releases.parts import write_parts
from reveil.releases.table import GROUP
from reveil.series.asking import asked_for
from reveil.series.column_types import SPELLINGS, spellings_of, types_of
from reveil.series.in_shards.cell_pages import ChangedCells, NotedCells, pages_of_cells
from reveil.series.in_shards.comparing import COMPARED, CountedEvents, ReadCoded
from reveil.series.in_shards.known_values import context_of_nobody, memory_of_nobody
from reveil.series.in_shards.meanings import Meanings
from reveil.series.in_shards.members import CompareMembers
from reveil.series.in_shards.people_of_cells import CellPortions, PeopleOfCells, note_homes, write_told
from reveil.series.in_shards.recalled import recalled_shards
from reveil.series.in_shards.way import CountsOfRows, LargeRelease
from reveil.series.judging import ledger_of
from reveil.series.release_context import facts_of
from reveil.series.stable_codes import StableCodes, texts_of
from reveil.tables.notation import parsed
from reveil.tables.schema import Role
from reveil.vault.protocol import PENDING, Entries
from reveil.verification.refinement.cells import CELL, NEXT, VALUE
from reveil.verification.refinement.cells import COUNTS as JUDGED_COUNTS
from reveil.verification.refinement.cells import SIZES as JUDGED_SIZES
from reveil.verification.refinement.in_shards import judge_cells
from reveil.verification.refinement.so_far import FIRST_NEW as FIRST_JUDGED
from reveil.verification.refinement.so_far import CellsSoFar

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.refinement.refinement import Refinement
    from reveil.releases.manifest import Manifest
    from reveil.releases.manifest_parts import TablePart
    from reveil.releases.release import Release
    from reveil.series.in_shards.recalled import RecalledShards
    from reveil.vault import Change

_SIZE = 0.8  # of the rows of a shard, in a bucket of cells on average: cells are not equally large


@dataclass(frozen=True)
class LargeRefinement(LargeRelease):
    """The next release under refinement."""

    guarantee: Refinement
    method: Grouper | None

    def made(self, rng: Dice) -> MadeCells:
        """Compare everybody with what was told, decide about all cells, and form the groups."""
        vault, table, guarantee = self.vault, self.table, self.guarantee
        engine, ordered, example = table.engine, table.ordered, table.ordered.example
        meanings = Meanings.of(vault, table, guarantee)
        words = self._kept_columns(meanings)
        kept = [CELLS, TOLD_VALUES, ledger_of(CELL), ledger_of(VALUE)]
        recalled = recalled_shards(vault, kept, ordered.buckets, table.folder)
        decision, assembly = rng.child("decision"), rng.child("assembly")
        work = CompareMembers(
            example, meanings.domains, meanings.stable, recalled, words, decision, assembly, str(table.folder)
        )
        events = CountedEvents.of(ordered.shards(engine).map(work, COMPARED).collect())
        pace = vault.ledger(PACE).sort("release")
        asked = np.append(pace["asked"].to_numpy(), ordered.rows).astype(np.int64)
        stayed = events.counts["unchanged"] + events.counts["updated"]
        model = guarantee.model_for(ordered.schema)
        rules, slack = guarantee.rules_for(model, asked, np.append(pace["stayed"].to_numpy(), stayed).astype(np.int64))
        next_cell = int(pace["next_cell"].to_numpy().max(initial=0))
        buckets = -(-vault.next_person() // max(int(_SIZE * engine.shard_rows), 1)) if next_cell else 0
        method = self.method or Mondrian()
        assert isinstance(method, Mondrian)  # noqa: S101  (asked before)
        cells = pages_of_cells(vault, [SIZES, COUNTS], next_cell, buckets, table.folder)
        common = Common(rules, method, words, example, self.number, ordered.rows, decision, assembly, cells, buckets)
        counted = CountedTable(meanings.counts, meanings.declared, _occurring(meanings))
        noted = NotedCells(str(table.folder), "told")
        reading = ReadCoded(str(table.folder), words.members)
        people = ordered.shards(engine).map(reading, reading.returns)
        refined = refine_in_shards(engine, people, common, counted, next_cell, noted)
        counts = CountsOfRows(
            refined.asked + refined.dirty, refined.groups, ordered.rows - refined.asked, refined.dirty, refined.stale
        )
        promise = guarantee.promise(ordered.schema, self.method)
        manifest = self.manifest_of(promise, refined.forms, refined.achieved, counts)
        return MadeCells(
            manifest, refined.width, events, self, meanings, words, recalled, refined, noted, slack, stayed
        )

    def _kept_columns(self, meanings: Meanings) -> KeptColumns:
        """Return the columns, and what their lasting codes stand for, those of this table included."""
        vault, example = self.vault, self.table.ordered.example
        schema, known = example.schema, vault.attributes()
        names = (*schema.quasi, *schema.sensitive)
        codes = StableCodes({}, meanings.stable.new, meanings.stable.declared)
        texts = {name: texts_of(vault, name, codes) for name in names}
        plain = tuple(name for name in example.frame.columns if schema[name].role is Role.PLAIN)
        numbers = {name: at for at, name in enumerate((*known, *types_of(example, known)))}
        return KeptColumns(
            tuple(schema.quasi),
            tuple(schema.sensitive),
            plain,
            texts,
            {name: parsed(texts[name], example.frame.schema[name]) for name in names},
            {name: numbers[name] for name in names},
            tuple(example.frame.schema[name] for name in plain),
        )


def _occurring(meanings: Meanings) -> dict[str, IntArray]:
    """Return the lasting codes of quasi columns that somebody has."""
    return {name: codes[codes >= 0].astype(np.int64) for name, codes in meanings.stable.quasi.items()}


@dataclass(frozen=True)
class MadeCells:
    """A release under refinement that was decided; ``stayed`` is how many people were in the last one."""

    manifest: Manifest
    width: float
    events: CountedEvents
    release: LargeRefinement
    meanings: Meanings
    words: KeptColumns
    recalled: RecalledShards
    refined: RefinedShards
    noted: NotedCells
    slack: float
    stayed: int
    spelled: dict[str, pl.Series] = field(default_factory=dict, repr=False)

    def write(self, folder: Path) -> list[TablePart]:
        """Write the parts into a folder, and beside them what people are told."""
        table, refined = self.release.table, self.refined
        write_told(refined.rows, len(self.words.sensitive), table.folder)
        self.spelled.update(self._spelled())
        names = {cell_column(c): name for c, name in enumerate(refined.shape.published)} | {NUMBERED: GROUP}
        rows = refined.asked + refined.dirty
        parts = write_parts(table.engine, refined.rows, folder, records=rows, number=NUMBER, seat=SEAT, names=names)
        refined.source.drop()
        return parts

    def judge(self, folder: Path, manifest: Manifest) -> tuple[Release, RecordedCells]:
        """Let the judge read them; return the release without its rows, and what is to be remembered."""
        release = self.release
        vault, table, ordered = release.vault, release.table, release.table.ordered
        note_homes(vault, self.recalled, ordered.buckets, table.folder)
        kept = [ledger_of(JUDGED_SIZES), ledger_of(JUDGED_COUNTS)]
        next_cell = int(vault.ledger(ledger_of(NEXT))["next_cell"].to_numpy().max(initial=0))
        buckets = -(-vault.next_person() // max(int(_SIZE * table.engine.shard_rows), 1)) if next_cell else 0
        columns = JUDGED_SIZES.schema
        before = CellsSoFar(
            PeopleOfCells(ordered, self.recalled, self.words, str(table.folder)),
            pages_of_cells(vault, kept, next_cell, buckets, table.folder),
            vault.ledger(kept[0]).select(columns.keys()).cast(columns),  # type: ignore[arg-type]
            vault.ledger(SIZES).select(columns.keys()).cast(columns),  # type: ignore[arg-type]
            ordered.starts,
            ordered.rows,
            buckets,
            release.number,
        )
        asked = asked_for(release.guarantee, release.method)
        noting = NotedCells(str(table.folder), "judged")
        listed = ordered.shards(table.engine)
        read, fresh = judge_cells(
            table.engine, folder, manifest, ordered.example, asked, before, listed, table.pieces, table.folder, noting
        )
        base = next_cell + np.cumsum(fresh) - fresh
        judged = ChangedCells(noting, tuple(kept), base, FIRST_JUDGED)
        return read, RecordedCells(self, judged, next_cell + int(fresh.sum()))

    def _spelled(self) -> dict[str, pl.Series]:
        """Return the published values of the sensitive columns whose spelling is kept."""
        schema, published = self.release.table.ordered.schema, self.refined.shape.published
        found = {}
        for name in schema.sensitive:
            if schema[name].folds:
                column = cell_column(published.index(name))
                found[name] = self.refined.rows.count(CountSpelled(column))[column].alias(name)
        return found


@dataclass(frozen=True)
class CountSpelled:
    """Work: which values a column of published rows has."""

    column: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        return table.group_by(self.column).agg(pl.len().cast(pl.Int64).alias(COUNTED))


@dataclass(frozen=True)
class RecordedCells:
    """What a release and its judge leave to be remembered; ``next_cell`` is the judge's number of the next new cell."""

    made: MadeCells
    judged: ChangedCells
    next_cell: int

    def change(self, release: Release, measures: Mapping[str, JSON], target: Path | None) -> Change:
        """Return all that the vault has to remember; people come bucket by bucket."""
        made, manifest = self.made, release.manifest
        large, refined = made.release, made.refined
        vault, table, number = large.vault, large.table, large.number
        context = context_of_nobody(vault, table, made.meanings.stable, memory_of_nobody(number))
        counts = {key: n for key, n in made.events.counts.items() if key not in ("unchanged", "changed", "left")}
        pace = {"release": [number], "asked": [table.ordered.rows], "stayed": [made.stayed]}
        change = context.change(
            vault,
            state=PENDING,
            manifest=manifest,
            told=None,
            entries=(
                Entries(PACE, pl.DataFrame(pace | {"next_cell": [refined.next_cell]})),
                Entries(ledger_of(NEXT), pl.DataFrame({"release": [number], "next_cell": [self.next_cell]})),
            ),
            replaces=False,
            placements=None,
            archive=large.archive or None,
            facts={
                **counts,
                **facts_of(manifest),
                "measures": dict(measures),
                "stale": refined.stale,
                "slack": round(made.slack, 3),
            },
            settings=large.settings_after(),
            published=None,
            path=target,
        )
        before = kept = vault.setting(SPELLINGS) or {}
        for values in made.spelled.values():
            kept = spellings_of(table.ordered.schema, values.to_frame(), kept)
        if kept != before:
            change = replace(change, settings={**change.settings, SPELLINGS: kept})
        told = ChangedCells(made.noted, (SIZES, COUNTS), refined.first_cells, FIRST_NEW)
        portions = CellPortions(table.folder, table.ordered, made.words, number, told, self.judged, large.archive != 0)
        return replace(change, portions=portions)
