"""The way of one release whose people are not in one memory: compared, grouped, written, judged, remembered.

It is the way of every release (:mod:`reveil.series.assembly_line`), with shards where that has arrays of everybody.
What is special about a guarantee says :meth:`LargeRelease.made`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from reveil.core.json_values import whole_in
from reveil.core.randomness import Dice
from reveil.guarantees.assembly import describe_columns, published_names
from reveil.releases.domains import domains_of
from reveil.releases.files import read_table
from reveil.releases.folders import PARTS, digest_over, part_name
from reveil.releases.manifest import make_manifest
from reveil.releases.manifest_files import manifest_bytes, manifest_path, read_manifest
from reveil.releases.manifest_parts import Counterfeits
from reveil.releases.parsing import assemble
from reveil.releases.placing import undisturbed
from reveil.releases.release import Release, release_of
from reveil.series.alarms import figures_in
from reveil.series.assembly_line import hand_over
from reveil.series.drafts import draft_path, remove_drafts
from reveil.series.judging import JUDGED
from reveil.series.lines import NEW_VAULT, cautioned
from reveil.series.warnings import warnings
from reveil.verification.series import Expected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.guarantees.base import Guarantee
    from reveil.releases.manifest import Manifest
    from reveil.releases.manifest_parts import TablePart
    from reveil.releases.promise import Promise
    from reveil.series.alarms import Alarms
    from reveil.series.in_shards.comparing import CountedEvents
    from reveil.series.in_shards.reading import OpenedTable
    from reveil.series.published import Stage
    from reveil.tables.notation import Form
    from reveil.vault import Change, DuckDBVault, ReleaseRow


_DATABASE = 1024  # mebibytes


def without_rows(path: Path) -> Release:
    """Return a release in a folder without its rows, which may be more than one memory is to take."""
    manifest = read_manifest(path)
    first = read_table(path.parent / part_name(0)).clear()
    return replace(release_of(assemble(first, [], manifest), manifest), source=path)


class Made(Protocol):
    """A release that was decided."""

    @property
    def manifest(self) -> Manifest:
        """The manifest, without the digests of files."""

    @property
    def width(self) -> float:
        """How wide cells are, on average."""

    @property
    def events(self) -> CountedEvents:
        """What happened to people."""

    def write(self, folder: Path) -> list[TablePart]:
        """Write the parts into a folder."""

    def judge(self, folder: Path, manifest: Manifest) -> tuple[Release, Recorded]:
        """Let the judge read them; return the release without its rows, and what is to be remembered."""


class Recorded(Protocol):
    """What a release and its judge leave to be remembered."""

    def change(self, release: Release, measures: Mapping[str, JSON], target: Path | None) -> Change:
        """Return all that the vault has to remember; people come bucket by bucket."""


@dataclass(frozen=True)
class CountsOfRows:
    """What a manifest counts."""

    rows: int
    groups: int
    withheld: int = 0
    dirty: int = 0
    stale: int | None = None
    counterfeits: Counterfeits = field(default_factory=Counterfeits)


@dataclass(frozen=True)
class LargeRelease(ABC):
    """The next release of a series, of a table in shards.

    ``settings`` are what the vault remembers of the config, ``archive`` is of how many releases placements are kept.
    """

    vault: DuckDBVault
    table: OpenedTable
    name: str | None
    settings: Mapping[str, JSON] = field(repr=False)
    archive: int | None
    alarms: Alarms
    guarantee: Guarantee

    @property
    def number(self) -> int:
        """The number of the release."""
        return self.vault.head() + 1

    @abstractmethod
    def made(self, rng: Dice) -> Made:
        """Compare everybody with what was told, and form the groups."""

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
        # Of what the release is made goes into its dice: a restored vault does not roll the same for another table.
        about = json.dumps(table.submission.asked, sort_keys=True)
        seed = whole_in(self.settings["seed"])
        made = self.made(Dice(vault.key.stream(seed, number, table.submission.digest, about)))
        previous = rows[-1].manifest_digest if rows else None
        manifest = replace(made.manifest, previous=previous)
        measures: dict[str, JSON] = {"gcp": made.width}
        unusual = self.alarms.judge(figures_in(manifest, measures, table.ordered.rows))
        draft = draft_path(vault, number, target)
        with vault.drafts.private():
            remove_drafts(vault, keep=number - 1)
            try:
                stage("writing")
                draft.parent.mkdir(parents=True)
                parts = made.write(draft.parent)
                digest = digest_over(parts)
                manifest = replace(manifest, digest=digest, digests={PARTS: digest}, parts=tuple(parts))
                manifest_path(draft).write_bytes(manifest_bytes(manifest))
                stage("verifying")
                Expected(number, vault.series_id, previous).check(manifest)
                release, recorded = made.judge(draft.parent, manifest)
            except BaseException:
                remove_drafts(vault, keep=number - 1)
                raise
        remark = cautioned(made.events, made.events.counts["changed"], self.guarantee)
        said = (NEW_VAULT if number == 1 and not dry_run else remark, *unusual)
        release = replace(release, source=target)
        if dry_run:
            remove_drafts(vault, keep=number - 1)
            return release, (*said, *warnings(table.ordered.example))
        change = recorded.change(release, measures, target)
        stage("remembering")
        with undisturbed():
            vault.prepare(change)
            hand_over(vault, number, draft, target, done)
        return release, (*said, *warnings(table.ordered.example))

    def manifest_of(
        self, promise: Promise, forms: Mapping[str, Form], achieved: Mapping[str, JSON], counts: CountsOfRows
    ) -> Manifest:
        """Return the manifest of a release with a column of groups; what is known of its files only is left out."""
        example, schema, engine = self.table.ordered.example, self.table.ordered.schema, self.table.engine
        made = make_manifest(
            series=self.name,
            release=self.number,
            promise=promise,
            columns=describe_columns(example, forms, apart=False, groups=True),
            rows=counts.rows,
            groups=counts.groups,
            achieved=achieved,
            withheld=counts.withheld,
            dirty=counts.dirty,
            stale=counts.stale,
            counterfeits=counts.counterfeits,
            related=schema.relation is not None,
            domains=domains_of(schema[name] for name in published_names(example, apart=False)),
        )
        told: dict[str, JSON] = {"kind": engine.name, "shard_rows": engine.shard_rows}
        return replace(made, series_id=self.vault.series_id, engine=told)

    def settings_after(self) -> dict[str, JSON]:
        """Return the settings to remember with this release: the judge has a record of it."""
        return {**self.settings, JUDGED: self.number}
