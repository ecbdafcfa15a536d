"""A series: releases of one table, in order, and the vault that remembers what they told."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reveil.core.errors import ConfigError, RefusedError
from reveil.guarantees.base import Budgeted, Guarantee
from reveil.releases.files import Kept, output_path, release_target, undisturbed
from reveil.releases.release import Release
from reveil.series.adoption import Adopted, adopt
from reveil.series.agreement import agree, check_roles, described, roles_ever, same_making
from reveil.series.anchorage import lacking, may_begin, may_publish, repairing, taken_away_if_refused
from reveil.series.assembly_line import AssemblyLine, hand_over
from reveil.series.backups import check_folder, refuse_if_behind
from reveil.series.book import VaultBook
from reveil.series.column_types import as_begun, check_declared
from reveil.series.config import Config, load_config
from reveil.series.drafts import deliver, find_copy, not_another, remove_drafts
from reveil.series.finding import find_file
from reveil.series.lines import NEW_VAULT, line, noted, pending, remark
from reveil.series.people import erase, find_placements
from reveil.series.published import How, Published, Stage, silent
from reveil.series.publisher_lock import alone
from reveil.series.reading import files_of, job_of, read_job, read_part
from reveil.series.replaying import Replayed, replay
from reveil.series.warnings import warnings
from reveil.tables.schema import Role
from reveil.tables.settings import placed
from reveil.vault import DuckDBVault, ReleaseRow, Vault
from reveil.vault.address import Place, folders_of, is_begun, place_of
from reveil.vault.protocol import ABANDONED, CONFIRMED, PENDING

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.assembly import Prepared
    from reveil.releases.manifest import Manifest
    from reveil.series.telling import Job, Telling
    from reveil.tables.schema import Schema
    from reveil.tables.snapshot import Snapshot


class Series:
    """The releases of one table, in order, under one guarantee.

    A release is drafted and verified in the vault, prepared (from then on it counts as told), written where it was
    asked for, compared byte by byte, and confirmed. A crash leaves the series as it was, or a *pending* release:
    publishing the same snapshot again resumes it with the same bytes; any other is refused until it is resumed or
    abandoned. The vault is opened for each call and closed again.
    """

    def __init__(
        self,
        vault: Place,
        schema: Schema,
        guarantee: Guarantee,
        method: Grouper | None = None,
        *,
        name: str | None = None,
        seed: int | None = None,
        archive: bool = True,
        files: tuple[Path, ...] = (),
        anchor: Path | None = None,
    ) -> None:
        self.vault, self.guarantee, self.method = vault, guarantee, method
        self.anchor = anchor or _beside(vault)
        self.notes: list[str] = []  # what the owner should know of the last call
        self.schema = schema if method is None else method.reading(schema)
        self._as_begun: tuple[str, ...] = ()  # columns whose texts are compared as when the series began
        self.name, self.seed, self.archive, self.files = name, seed, archive, files

    def __repr__(self) -> str:
        return f"<Series {self.name or self.vault.name!r}: {self.guarantee!r}>"

    @classmethod
    def open(
        cls,
        vault: str | os.PathLike[str],
        schema: Schema,
        guarantee: Guarantee,
        method: Grouper | None = None,
        *,
        name: str | None = None,
        seed: int | None = None,
        archive: bool = True,
        anchor: str | os.PathLike[str] | None = None,
    ) -> Series:
        """Open the series in a vault, or begin one: the folder is made when something is published first.

        What cannot work is refused now, and so are settings that are not those of the releases so far. ``anchor`` is
        a file outside the vault that shows how far it had come; beside the vault unless given.
        """
        if not isinstance(guarantee, Guarantee):
            raise ConfigError("guarantee must be a guarantee", hint="For example rv.TauSafety(m=4).")
        place = None if anchor is None else Path(anchor)
        series = cls(place_of(vault), schema, guarantee, method, name=name, seed=seed, archive=archive, anchor=place)
        series._check()
        if series.vault.exists():
            with series._opened(create=True):
                pass
        return series

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Series:
        """Open the series of a reveil.toml."""
        return cls.of(load_config(Path(path)))

    @classmethod
    def of(cls, config: Config) -> Series:
        """Open the series of a config; the vault is made when something is published first."""
        series = cls(
            config.vault_path,
            config.schema,
            config.guarantee,
            config.method,
            name=config.name,
            seed=config.seed,
            archive=config.archive,
            files=config.files,
            anchor=config.anchor_path,
        )
        try:
            series._check()
        except ConfigError as error:
            raise placed(error, config.path) from None
        return series

    def _check(self) -> None:
        """Refuse, before any data is read, what cannot work with all the columns, of which a release may have some."""
        self.guarantee.check(self.schema, self.method)
        check_declared(self.guarantee.traits.declared_in(self.schema), self.schema)
        if self.method is not None:
            self.method.check_schema(self.schema)
        if any(self.anchor.resolve().is_relative_to(own.resolve()) for own in folders_of(self.vault)):
            raise ConfigError(
                "the anchor is inside the vault",
                hint="It shows whether the vault is the latest one, so it must not be restored with it: name a file "
                "outside.",
            )

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
        stage: Stage = silent,
        done: Callable[[], None] = lambda: None,
    ) -> Published:
        """Publish the table as the next release, and write it to a file before it is confirmed.

        ``done`` is called as soon as it is confirmed: from then on it is out, whatever happens.
        """
        target = None if out is None else output_path(Path(out))
        read = files_of(frame)
        if target is not None:
            release_target(target, self._kept(*read))
        folders = (None if target is None else target.parent, self.anchor.parent, *(p.parent for p in self.files[:1]))
        if not new_series and not is_begun(self.vault):
            may_begin(self.anchor, self.name, self._published_columns, *folders)  # before a vault is made
        with alone(self.vault), self._opened(create=True, pretend=dry_run) as vault:
            began = not vault.head()
            if began and not new_series:
                may_begin(None, self.name, self._published_columns, *folders)
            note = may_publish(vault, *folders, new_series=new_series, dry_run=dry_run)
            self.notes = [] if note is None else [note]
            stage("reading")
            job = read_job(vault, self.schema, frame, columns, where, **self._reading())
            rows = vault.releases()
            last = rows[-1] if rows else None
            if last is not None and last.state != PENDING and not dry_run:
                # What somebody left who was killed right after confirming or abandoning.
                remove_drafts(vault, keep=None if last.state == ABANDONED else last.release)
            if last is not None and last.state == PENDING:
                not_another(vault, rows, target, last.release)
                return self._resume(vault, last, job, target, dry_run=dry_run, done=done)
            if last is not None and not again and job.is_that_of(last) and self._stands(vault, last):
                not_another(vault, rows, target, last.release)
                release, draft = self._stored(vault, last, job)
                if target is not None and not dry_run:
                    deliver(draft, target)
                return self._answer(release, "already")
            not_another(vault, rows, target, vault.head() + 1)
            refuse_if_behind(vault, rows, *folders)
            if where is not None:
                self.guarantee.traits.check_parts()
            stage("grouping")
            way = self._line(vault)
            prepared, telling = way.prepare(vault, job, rows)
            release = way.carry_out(vault, prepared, telling, target, dry_run=dry_run, stage=stage, done=done)
            note = remark(telling, self.guarantee, began=began and not dry_run)
            return self._answer(release, "published", note, *warnings(job.snapshot, self._as_begun))

    def _answer(self, release: Release, how: How, *more: str | None) -> Published:
        self.notes += [note for note in more if note is not None]
        return Published(release, how, note=noted(*self.notes))

    def _kept(self, *read: Path) -> Kept:
        """Return what is never written over."""
        hidden = self.schema.names(Role.PERSON, Role.IDENTIFIER)
        return Kept((*self.files, self.anchor, *read), folders_of(self.vault), hidden)

    def _resume(
        self,
        vault: DuckDBVault,
        row: ReleaseRow,
        job: Job,
        target: Path | None,
        *,
        dry_run: bool,
        done: Callable[[], None],
    ) -> Published:
        """Finish a pending release with the bytes that were prepared."""
        if not job.is_that_of(row):
            raise pending(row)
        release, draft = self._stored(vault, row, job)
        if not dry_run:
            with undisturbed():
                hand_over(vault, row.release, draft, target, done)
        return self._answer(release, "resumed")

    def _stored(self, vault: DuckDBVault, row: ReleaseRow, job: Job) -> tuple[Release, Path]:
        """Read the copy of a release that was prepared before."""
        draft = find_copy(vault, row)
        return replace(Release.read(draft), native=job.snapshot.native), draft

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
        with alone(self.vault), self._opened() as vault, repairing(vault) as self.notes:
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
            return read_part(vault, self.schema, frame, manifest, where, known=known, table=table, **self._reading())

    def job_of(self, frame: object, row: ReleaseRow, given: Sequence[str] = ()) -> Job:
        """Return a snapshot cut as a release asked for it; the job can say whether the release was made of it.

        Expressions are not kept: that of a release of some records is among the ``given`` ones.
        """
        with self._opened() as vault:
            return job_of(vault, self.schema, frame, row, given, **self._reading())

    def check(self, folder: str | os.PathLike[str]) -> list[str]:
        """Compare the releases in a folder with the vault; return what is wrong, nothing if all is well."""
        with self._opened() as vault:
            return check_folder(vault, Path(folder), self.name, self._published_columns)

    def replayed(self, truths: Sequence[Path] = (), where: Sequence[str] = ()) -> Replayed:
        """Judge the whole series anew, from its files and archived placements; see :mod:`reveil.series.replaying`."""
        with alone(self.vault), self._opened() as vault:
            return replay(vault, self.schema, self.guarantee, self.method, truths, where)

    def placements(self, release: int, frame: object) -> Any:
        """Return where the persons in a frame are in a release: person, group, row (from 0). For the owner's eyes."""
        with self._opened() as vault:
            return find_placements(vault, self.schema, release, frame)

    def forget(self, person: object, tombstone: bool = False) -> bool:  # noqa: FBT001, FBT002
        """Erase a person from the vault, archive included; False if the vault does not know them.

        The next release treats them as gone. Should they come back, they are new: their bound starts again, and with
        it that of everybody who ever shared a group with them. A ``tombstone`` (pseudonym and what was told, nothing
        else) prevents both; keep one where a return is possible. False, too, if a tombstone is all there is already.
        """
        if self.schema.person is None:
            raise ConfigError("this series follows no persons", hint='Declare a column as "person".')
        self.guarantee.traits.check_erasure(tombstone=tombstone)
        with alone(self.vault), self._opened() as vault, repairing(vault) as self.notes:
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
        with ExitStack() as open_:
            open_.enter_context(alone(self.vault))
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
            job = read_job(vault, self.schema, frame, columns, where, **self._reading())

            def remade(guarantee: Guarantee) -> tuple[Prepared, Telling]:
                return self._line(vault, guarantee).prepare(vault, job, rows)

            return adopt(vault, job, release, self.guarantee, self._settings(vault), remade, archive=self.archive)

    # Inside

    def _reading(self) -> dict[str, Any]:
        """Return what reading a table has to know of the guarantee."""
        traits = self.guarantee.traits
        return {"any_columns": traits.any_columns, "declared": traits.declared_in(self.schema)}

    @property
    def _published_columns(self) -> tuple[str, ...]:
        return self.schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN)

    def standing(self) -> str | None:
        """Return what the anchor of the vault knows and the vault does not, in words; None if there is nothing."""
        if not self.vault.exists():
            return None
        with self._opened() as vault:
            found = vault.standing()
        return lacking(found) if found.behind else None

    def _stands(self, vault: Vault, row: ReleaseRow) -> bool:
        """Return whether a release is out, and made as it would be made today: its promise may have changed since."""
        now = described(self.name, self.seed, self.schema, self.guarantee, self.method)
        return row.state == CONFIRMED and same_making(vault.setting("config") or {}, now)

    def _settings(self, vault: Vault) -> dict[str, Any]:
        """Return what the vault remembers of the config with the next release."""
        return {
            "config": described(self.name, self.seed, self.schema, self.guarantee, self.method),
            "seed": self.seed if self.seed is not None else vault.setting("seed"),
            "roles": roles_ever(vault.setting("roles") or {}, self.schema),
        }

    @contextmanager
    def _opened(self, *, create: bool = False, pretend: bool = False) -> Iterator[DuckDBVault]:
        """Open the vault and see that it is the vault of this series.

        ``pretend``: where there is no vault yet, one that is thrown away will do.
        """
        if pretend and not is_begun(self.vault):
            with tempfile.TemporaryDirectory() as folder, DuckDBVault.open(Path(folder) / "vault") as vault:
                yield vault
            return
        with DuckDBVault.open(self.vault, create=create, anchor=self.anchor) as vault:
            if vault.head():
                before = vault.setting("config") or {}
                self.schema, kept = as_begun(self.schema, before)
                self._as_begun = (*self._as_begun, *kept)
                now = described(self.name, self.seed, self.schema, self.guarantee, self.method)
                agree(before, now, self.guarantee)
                if self.guarantee.traits.remembers:
                    check_roles(vault.setting("roles") or {}, self.schema)
                self.name = self.name or before.get("series.name")
            yield vault


def _beside(vault: Place) -> Path:
    """Return where the anchor of a vault lies if nobody says: beside its folder."""
    if not isinstance(vault, Path):
        raise ConfigError(
            "a vault that is no folder here needs an anchor", hint="Name a file: anchor='hospital.anchor'."
        )
    return vault.parent / f"{vault.name.removesuffix('.vault')}.anchor"
