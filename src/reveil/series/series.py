"""A series: releases of one table, in order, and the vault that remembers what they told."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from reveil.core.errors import ConfigError, RefusedError
from reveil.guarantees.base import Budgeted, Guarantee
from reveil.releases.files import KeptFiles, output_path, release_target
from reveil.releases.folders import place_of
from reveil.releases.placing import undisturbed
from reveil.releases.release import Release
from reveil.series.adoption import Adopted, adopt
from reveil.series.agreement import same_making
from reveil.series.alarms import budget_ends, figures_of
from reveil.series.anchorage import lacking, may_begin, may_publish, repairing, taken_away_if_refused
from reveil.series.assembly_line import AssemblyLine, hand_over
from reveil.series.backups import check_folder, refuse_if_behind
from reveil.series.base import SeriesBase
from reveil.series.beginning import note_of
from reveil.series.book import VaultBook
from reveil.series.drafts import deliver, find_copy, not_another, remove_drafts
from reveil.series.finding import find_file, measures_of
from reveil.series.in_shards.reading import LargeTable, OpenedTable, reason_against_vault
from reveil.series.in_shards.way import LargeRelease, without_rows
from reveil.series.in_shards.ways import large_release
from reveil.series.lines import NEW_VAULT, line, noted, pending, remark
from reveil.series.people import erase, find_all_placements, find_placements
from reveil.series.published import How, Published, Stage, silent
from reveil.series.publisher_lock import only_publisher
from reveil.series.reading import archived_rows, files_of, read_part, read_submission, submission_of
from reveil.series.replaying import Replayed, replay
from reveil.series.vault_care import Checked
from reveil.series.warnings import warnings
from reveil.tables.schema import Role
from reveil.vault.address import folders_of, is_begun
from reveil.vault.protocol import ABANDONED, CONFIRMED, PENDING

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    import polars as pl

    from reveil.core.arrays import IntArray
    from reveil.guarantees.assembly import Prepared
    from reveil.releases.manifest import Manifest
    from reveil.series.release_context import ReleaseContext, Submission
    from reveil.tables.snapshot import Snapshot
    from reveil.vault import DuckDBVault, ReleaseRow, Vault


class Series(SeriesBase):
    """The releases of one table, in order, under one guarantee.

    A release is drafted and verified in the vault, prepared (from then on it counts as told), written where it was
    asked for, compared byte by byte, and confirmed. A crash leaves the series as it was, or a *pending* release:
    publishing the same snapshot again resumes it with the same bytes; any other is refused until it is resumed or
    abandoned. The vault is opened for each call and closed again.
    """

    # Publishing

    def publish(
        self,
        frame: object,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        dry_run: bool = False,  # noqa: FBT001, FBT002  (the surface's own signature)
        *,
        again: bool = False,
        new_series: bool = False,
    ) -> Release:
        """Publish the table as the next release; verified and confirmed when it returns.

        ``columns``: publish only these (the frame still has all). ``where``: publish only the records that satisfy an
        expression over columns that are not sensitive. ``dry_run``: do everything but tell anybody. ``again``: publish
        a snapshot anew that is the last release already. ``new_series``: begin although there are releases of this
        name, or an anchor, of another vault: it is another series.
        """
        return self.publish_to(None, frame, columns, where, dry_run=dry_run, again=again, new_series=new_series).release

    def publish_to(
        self,
        out: str | os.PathLike[str] | None,
        frame: object,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        *,
        dry_run: bool = False,
        again: bool = False,
        new_series: bool = False,
        large: LargeTable | None = None,
        stage: Stage = silent,
        done: Callable[[], None] = lambda: None,
    ) -> Published:
        """Publish the table as the next release, and write it to a file before it is confirmed.

        A ``large`` table is worked on in shards where the vault has nothing against it.

        ``done`` is called as soon as it is confirmed: from then on it is out, whatever happens.
        """
        target = None if out is None else output_path(out)
        read = files_of(frame)
        if target is not None:
            release_target(target, self._kept(*read))
        around = None if target is None else place_of(target).parent
        folders = (around, self.anchor.parent, *(p.parent for p in self.files[:1]))
        if not new_series and not is_begun(self.vault):
            may_begin(self.anchor, self.name, self._published_columns, *folders)  # before a vault is made
        with ExitStack() as open_:
            open_.enter_context(only_publisher(self.vault))
            vault = open_.enter_context(self._opened(create=True, pretend=dry_run))
            began, begun = not vault.head(), note_of(vault, self._asked)
            if began and not new_series:
                may_begin(None, self.name, self._published_columns, *folders)
            note = may_publish(vault, *folders, new_series=new_series, dry_run=dry_run)
            self.notes = [] if note is None else [note]
            stage("reading")
            table = self._in_shards(open_, vault, large)
            if table is None:
                submission = read_submission(vault, self.schema, frame, columns, where, **self._reading())
            else:
                submission = table.submission
            rows = vault.releases()
            last = rows[-1] if rows else None
            if last is not None and last.state != PENDING and not dry_run:
                # What somebody left who was killed right after confirming or abandoning.
                remove_drafts(vault, keep=None if last.state == ABANDONED else last.release)
            if last is not None and last.state == PENDING:
                not_another(vault, rows, target, last.release)
                return self._resume(vault, last, submission, target, dry_run=dry_run, done=done)
            if last is not None and not again and submission.is_that_of(last) and self._stands(vault, last):
                not_another(vault, rows, target, last.release)
                release, draft = self._stored(vault, last, submission)
                if target is not None and not dry_run:
                    deliver(draft, target)
                return self._answer(release, "already")
            not_another(vault, rows, target, vault.head() + 1)
            refuse_if_behind(vault, rows, *folders)
            if where is not None:
                self.guarantee.traits.check_parts()
            if table is not None:
                made, notes = self._large(vault, table).publish(rows, target, dry_run=dry_run, stage=stage, done=done)
                return self._answer(made, "published", begun, *notes)
            stage("grouping")
            way = self._line(vault)
            prepared, context = way.prepare(vault, submission, rows)
            measures = measures_of(prepared, submission.snapshot)
            unusual = self.alarms.judge(figures_of(prepared, measures))  # before anything is told
            release = way.carry_out(
                vault, prepared, context, target, measures=measures, dry_run=dry_run, stage=stage, done=done
            )
            note = remark(context, self.guarantee, began=began and not dry_run)
            ending = None if dry_run else self._budget_ends(vault)
            said = (note, begun, *prepared.draft.remembered.notes, *unusual, ending)
            told = warnings(submission.snapshot, self._as_begun, apart=bool(release.seconds))
            return self._answer(release, "published", *said, *told)

    def _in_shards(self, open_: ExitStack, vault: Vault, large: LargeTable | None) -> OpenedTable | None:
        """Open a large table in its engine, if nothing is against it; None: it is worked on in memory."""
        if large is None or not large.check(reason_against_vault(vault)):
            return None
        engine = open_.enter_context(large.settings.opened(large.rows))
        return OpenedTable.read(engine, large, vault, self.schema, self._reading()["declared"])

    def _large(self, vault: DuckDBVault, table: OpenedTable) -> LargeRelease:
        """Return the way of a release of a table in shards."""
        settings = self._settings(vault)
        return large_release(vault, table, self.name, settings, self.archive, self.alarms, self.guarantee, self.method)

    def _budget_ends(self, vault: Vault) -> str | None:
        """Say for whom a budget ends with the next release, under a guarantee that spends one."""
        if not isinstance(self.guarantee, Budgeted):
            return None
        return budget_ends(self.guarantee.budget(VaultBook.of_nobody(vault), self.schema, vault.head()))

    def _answer(self, release: Release, how: How, *more: str | None) -> Published:
        self.notes += [note for note in more if note is not None]
        return Published(release, how, note=noted(*self.notes))

    def _kept(self, *read: Path) -> KeptFiles:
        """Return what is never written over."""
        hidden = self.schema.names(Role.PERSON, Role.IDENTIFIER)
        return KeptFiles((*self.files, self.anchor, *read), folders_of(self.vault), hidden)

    def _resume(
        self,
        vault: DuckDBVault,
        row: ReleaseRow,
        submission: Submission,
        target: Path | None,
        *,
        dry_run: bool,
        done: Callable[[], None],
    ) -> Published:
        """Finish a pending release with the bytes that were prepared."""
        if not submission.is_that_of(row):
            raise pending(row)
        release, draft = self._stored(vault, row, submission)
        if not dry_run:
            with undisturbed():
                hand_over(vault, row.release, draft, target, done)
        return self._answer(release, "resumed")

    def _stored(self, vault: DuckDBVault, row: ReleaseRow, submission: Submission) -> tuple[Release, Path]:
        """Read the copy of a release that was prepared before."""
        draft = find_copy(vault, row)
        if not submission.snapshot.frame.height:  # of a table in shards
            return without_rows(draft), draft
        return replace(Release.read(draft), native=submission.snapshot.native), draft

    def _line(self, vault: Vault, guarantee: Guarantee | None = None) -> AssemblyLine:
        return AssemblyLine(
            guarantee or self.guarantee, self.method, self.name, self._settings(vault), archive=self.archive
        )

    # What was published

    def history(self) -> list[dict[str, Any]]:
        """Return what was published, release by release; nothing before the first."""
        if not self.vault.exists():
            return []
        with self._opened() as vault:
            return [line(row) for row in vault.releases()]

    def releases(self) -> list[tuple[ReleaseRow, Path | None]]:
        """Return every release as the vault knows it, with a file that still holds it; None where none is found."""
        if not self.vault.exists():
            return []
        with self._opened() as vault:
            return [(row, find_file(vault, row)) for row in vault.releases()]

    def budget(self) -> list[dict[str, Any]]:
        """Return what is left of whose budget for which values, under a guarantee that spends one. For the owner."""
        if not isinstance(self.guarantee, Budgeted):
            raise ConfigError(
                f"the guarantee {self.guarantee.kind!r} spends no budget",
                hint='kind = "global" bounds what adds up over releases.',
            )
        with self._opened() as vault:
            return self.guarantee.budget(VaultBook.of_nobody(vault), self.schema, vault.head())

    def abandon(self, release: int) -> None:
        """Give a pending release up. It counts as told: the file may have left the building."""
        with only_publisher(self.vault), self._opened() as vault, repairing(vault) as self.notes:
            rows = {row.release: row.state for row in vault.releases()}
            if rows.get(vault.head()) == ABANDONED:
                remove_drafts(vault)  # what somebody left who was killed right after abandoning
            if rows.get(release) != PENDING:
                raise RefusedError(
                    f"release {release} is {rows.get(release, 'not there')}, and only a pending one can be abandoned",
                    hint="See reveil history.",
                )
            vault.abandon(release)
            remove_drafts(vault)

    def part_of(
        self,
        frame: object,
        manifest: Manifest,
        where: str | None = None,
        *,
        known: bool = False,
        table: Path | None = None,
    ) -> Snapshot:
        """Return the part of a snapshot that was asked for when a release was made of it.

        ``where`` is the expression with which it was published, which the vault does not keep. ``known``: the vault
        must know the release, and the bytes of ``table`` if that is its file. Else one that it does not know is taken
        to be of the whole table, or of what satisfies ``where``.
        """
        with self._opened() as vault:
            more = self._reading()
            return read_part(vault, self.schema, frame, manifest, where, known=known, table=table, **more)[0].snapshot

    def placed_part_of(
        self, frame: object, manifest: Manifest, where: str | None = None, *, known: bool, table: Path
    ) -> tuple[Snapshot, IntArray | None]:
        """Return what :meth:`part_of` does, and which of its records the archive has in each row of the release."""
        with self._opened() as vault:
            more = self._reading()
            part, row = read_part(vault, self.schema, frame, manifest, where, known=known, table=table, **more)
            placed = None if row is None else archived_rows(vault, row, part, manifest.rows)
            return part.snapshot, placed

    def submission_of(self, frame: object, row: ReleaseRow, given: Sequence[str] = ()) -> Submission:
        """Return a snapshot cut as a release asked for it; it can say whether the release was made of it.

        Expressions are not kept: that of a release of some records is among the ``given`` ones.
        """
        with self._opened() as vault:
            return submission_of(vault, self.schema, frame, row, given, **self._reading())

    def check(self, folder: str | os.PathLike[str]) -> list[str]:
        """Compare the releases in a folder with the vault; return what is wrong, nothing if all is well."""
        with self._opened() as vault:
            return check_folder(vault, Path(folder), self.name, self._published_columns)

    def replayed(self, truths: Sequence[Path] = (), where: Sequence[str] = ()) -> Replayed:
        """Judge the whole series anew, from its files and archived placements; see :mod:`reveil.series.replaying`."""
        with only_publisher(self.vault), self._opened() as vault:
            return replay(vault, self.schema, self.guarantee, self.method, truths, where)

    @overload
    def placements(self, release: int, frame: pl.DataFrame) -> pl.DataFrame: ...

    @overload
    def placements(self, release: int, frame: object) -> object: ...

    def placements(self, release: int, frame: object) -> object:
        """Return where the persons in a frame are in a release: person, group, row (from 0). For the owner's eyes."""
        with self._opened() as vault:
            return find_placements(vault, self.schema, release, frame)

    def all_placements(self, frame: pl.DataFrame) -> dict[int, pl.DataFrame]:
        """Return where the persons in a frame are in each release of which that is kept. For the owner's eyes."""
        with self._opened() as vault:
            return find_all_placements(vault, self.schema, frame)

    def forget(self, person: object, tombstone: bool = False) -> bool:  # noqa: FBT001, FBT002
        """Erase a person from the vault, archive included; False if the vault does not know them.

        The next release treats them as gone. Should they come back, they are new: their bound starts again, and with
        it that of everybody who ever shared a group with them. A ``tombstone`` (pseudonym and what was told, nothing
        else) prevents both; keep one where a return is possible. False, too, if a tombstone is all there is already.
        """
        if self.schema.person is None:
            raise ConfigError("this series follows no persons", hint='Declare a column as "person".')
        self.guarantee.traits.check_erasure(tombstone=tombstone)
        with only_publisher(self.vault), self._opened() as vault, repairing(vault) as self.notes:
            return erase(vault, self.schema.person, person, self.method, tombstone=tombstone)

    def adopt(
        self, frame: object, release: object, columns: Iterable[str] | None = None, where: str | None = None
    ) -> Adopted:
        """Take a release that any tool made of this snapshot as told, as the next one of the series.

        ``columns`` and ``where`` are the part of the snapshot that the release was made of, as in :meth:`publish`:
        whoever is outside it was told nothing. Returns what was found: how many persons were recognised, and whose
        groups cannot be kept.
        """
        files_of(frame, release)
        self.guarantee.traits.check_adoption(self.schema)
        with ExitStack() as open_:
            open_.enter_context(only_publisher(self.vault))
            made = not self.vault.exists()
            vault = open_.enter_context(self._opened(create=True))
            if made:
                open_.enter_context(taken_away_if_refused(vault))
            self.notes = open_.enter_context(repairing(vault))
            rows = vault.releases()
            if not rows:
                self.notes.append(NEW_VAULT)
            if rows and rows[-1].state == PENDING:
                raise pending(rows[-1])
            if where is not None and rows:  # before a first release nobody can return
                self.guarantee.traits.check_parts()
            submission = read_submission(vault, self.schema, frame, columns, where, **self._reading())

            def remade(guarantee: Guarantee) -> tuple[Prepared, ReleaseContext]:
                return self._line(vault, guarantee).prepare(vault, submission, rows)

            return adopt(
                vault, submission, release, self.guarantee, self._settings(vault), remade, archive=self.archive
            )

    def check_vault(self) -> Checked:
        """Compare every part of the vault with what was written, and with its anchor."""
        with only_publisher(self.vault), self._opened() as vault:
            vault.store.check()
            standing = vault.standing()
            persons, _ = vault.presence()
            return Checked(vault.head(), len(persons), lacking(standing) if standing.behind else None)

    def rotate_key(self) -> None:
        """Give the vault another key; see :meth:`reveil.vault.Vault.rotate`."""
        with only_publisher(self.vault), self._opened() as vault, repairing(vault) as self.notes:
            vault.rotate()

    # Inside

    def standing(self) -> str | None:
        """Return what the anchor of the vault knows and the vault does not, in words; None if there is nothing."""
        if not self.vault.exists():
            return None
        with self._opened() as vault:
            found = vault.standing()
        return lacking(found) if found.behind else None

    def _stands(self, vault: Vault, row: ReleaseRow) -> bool:
        """Return whether a release is out, and made as it would be made today: its promise may have changed since."""
        return row.state == CONFIRMED and same_making(vault.setting("config") or {}, self._described())
