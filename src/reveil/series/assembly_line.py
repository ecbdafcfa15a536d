"""The way of one release: decided, put together, drafted and verified in the vault, remembered, delivered.

Every release of every guarantee goes this way, and no other does.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reveil.core.json_values import whole_in
from reveil.core.randomness import Dice
from reveil.guarantees.assembly import Heading, assemble
from reveil.guarantees.draft import Request
from reveil.models.encoding import encode
from reveil.releases.folders import as_told
from reveil.releases.placing import undisturbed
from reveil.series.drafts import deliver, draft_path, remove_drafts
from reveil.series.judging import JUDGED, check_written
from reveil.series.lines import qualified
from reveil.series.release_context import LAYOUT, ReleaseContext, facts_of, placements_of
from reveil.tables.expressions import parse
from reveil.vault.protocol import ADOPTED, PENDING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.assembly import Prepared
    from reveil.guarantees.base import Guarantee
    from reveil.releases.release import Release
    from reveil.series.published import Stage
    from reveil.series.release_context import Submission
    from reveil.vault import DuckDBVault, ReleaseRow, Vault
    from reveil.vault.protocol import Entries


@dataclass(frozen=True)
class AssemblyLine:
    """What the releases of a series have in common.

    ``settings`` are what the vault remembers of the config with the next release; the seed is among them. ``archive``
    is of how many releases, the last ones, placements are kept; None: of all.
    """

    guarantee: Guarantee
    method: Grouper | None
    name: str | None
    settings: Mapping[str, JSON] = field(repr=False)
    archive: int | None = None

    def prepare(
        self, vault: Vault, submission: Submission, rows: Sequence[ReleaseRow]
    ) -> tuple[Prepared, ReleaseContext]:
        """Remember and compare, let the guarantee decide, and put the release together; nothing is written."""
        codes = encode(submission.snapshot)
        context = ReleaseContext.of(vault, submission, codes, self.guarantee)
        # Of what the release is made goes into its dice: a restored vault does not roll the same for another table.
        about = json.dumps(submission.asked, sort_keys=True)
        rng = Dice(vault.key.stream(whole_in(self.settings["seed"]), context.memory.release, submission.digest, about))
        draft = self.guarantee.decide(
            Request(submission.snapshot, self.method, context.memory, codes), rng.child("decision")
        )
        adopted = [row.release for row in rows if row.state == ADOPTED and not row.facts.get("exact")]
        if not self.guarantee.traits.remembers:
            adopted = []
        if adopted:
            draft = replace(draft, promise=qualified(draft.promise, adopted))
        heading = Heading(
            self.name,
            context.memory.release,
            vault.series_id,
            rows[-1].manifest_digest if rows else None,
            # Which columns decided who is in it, and nothing of what they were compared with.
            None if submission.where is None else tuple(sorted(parse(submission.where).columns())),
            tuple(adopted),
        )
        return assemble(draft, rng.child("assembly"), heading), context

    def carry_out(
        self,
        vault: DuckDBVault,
        prepared: Prepared,
        context: ReleaseContext,
        target: Path | None,
        *,
        measures: Mapping[str, JSON] | None,
        dry_run: bool,
        stage: Stage,
        done: Callable[[], None],
    ) -> Release:
        """Draft and verify in the vault, prepare, write, confirm; return the release as it was written."""
        number = context.memory.release
        draft = draft_path(vault, number, target)
        recorded: list[Entries] = []

        def check(written: Release) -> None:
            stage("verifying")
            recorded.extend(
                check_written(vault, written, prepared, context, self.guarantee, self.method, vault.releases())
            )

        stage("writing")
        with vault.drafts.private():
            remove_drafts(vault, keep=number - 1)
            release = prepared.release.write_checked(draft, check)
        if dry_run:
            remove_drafts(vault, keep=number - 1)
            return release
        snapshot, remembered, manifest = context.submission.snapshot, prepared.draft.remembered, release.manifest
        change = context.change(
            vault,
            state=PENDING,
            manifest=manifest,
            told=remembered.told,
            entries=(*remembered.entries, *recorded),
            replaces=remembered.replaces,
            placements=placements_of(prepared) if self.archive != 0 and snapshot.schema.person is not None else None,
            archive=self.archive or None,
            facts={
                **facts_of(manifest),
                "measures": measures,
                **remembered.facts,
            },
            settings={
                **self.settings,
                **({} if remembered.layout is None else {LAYOUT: remembered.layout}),
                JUDGED: number,
            },
            published=release,
            path=target,
        )
        stage("remembering")
        with undisturbed():
            vault.prepare(change)
            hand_over(vault, number, draft, target, done)
        return release


def hand_over(vault: DuckDBVault, release: int, draft: Path, target: Path | None, done: Callable[[], None]) -> None:
    """Write a prepared release where it was asked for, and confirm it."""
    if target is not None:
        deliver(draft, target)
    vault.confirm(release, path=None if target is None else as_told(target))
    done()
    remove_drafts(vault, keep=release)
