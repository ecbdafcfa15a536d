"""A series: releases of one table, in order, and the vault that remembers what they told."""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reveil.codes import encode
from reveil.config import Config, load_config, placed
from reveil.errors import ConfigError, RefusedError
from reveil.expressions import parse
from reveil.files import keep_out, output_path, spare, undisturbed
from reveil.guarantees.base import Guarantee, Prepared
from reveil.release import GROUP, Release
from reveil.series.adoption import Adopted, adopt
from reveil.series.agreement import agree, check_roles, described, roles_ever, same_making
from reveil.series.alone import alone
from reveil.series.backups import check_folder, refuse_if_behind
from reveil.series.book import VaultBook
from reveil.series.drafts import deliver, draft_path, find_copy, remove_drafts
from reveil.series.finding import find_file, measures_of
from reveil.series.judging import JUDGED, check_written
from reveil.series.lines import line, pending, qualify, remark
from reveil.series.persons import KIND, identities, one_person, persons_in
from reveil.series.published import Published, Stage, silent
from reveil.series.reading import files_of, read_job, read_part
from reveil.series.replaying import Replayed, replay
from reveil.series.telling import LAYOUT, Job, Telling, placements_of
from reveil.snapshot import Snapshot, to_native
from reveil.vault import DuckDBVault, ReleaseRow, Vault
from reveil.vault.duckdb_vault import DATABASE
from reveil.vault.private import private
from reveil.vault.protocol import ADOPTED, CONFIRMED, PENDING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from reveil.groupers.base import Grouper
    from reveil.schema import Schema
    from reveil.vault.protocol import Entries


class Series:
    """The releases of one table, in order, under one guarantee.

    A release is drafted and verified in the vault, prepared (from then on it counts as told), written where it was
    asked for, compared byte by byte, and confirmed. A crash leaves the series as it was, or a *pending* release:
    publishing the same snapshot again resumes it with the same bytes; any other is refused until it is resumed or
    abandoned. The vault is opened for each call and closed again.
    """

    def __init__(
        self,
        vault: Path,
        schema: Schema,
        guarantee: Guarantee,
        method: Grouper | None = None,
        *,
        name: str | None = None,
        seed: int | None = None,
        archive: bool = True,
        files: tuple[Path, ...] = (),
    ) -> None:
        self.vault, self.guarantee, self.method = vault, guarantee, method
        self.schema = schema if method is None else method.reading(schema)
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
    ) -> Series:
        """Open the series in a vault, or begin one: the folder is made when something is published first.

        What cannot work is refused now, and so are settings that are not those of the releases so far.
        """
        if not isinstance(guarantee, Guarantee):
            raise ConfigError("guarantee must be a guarantee", hint="For example rv.TauSafety(m=4).")
        series = cls(Path(vault), schema, guarantee, method, name=name, seed=seed, archive=archive)
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
        )
        try:
            series._check()
        except ConfigError as error:
            raise placed(error, config.path) from None
        return series

    def _check(self) -> None:
        """Refuse, before any data is read, what cannot work with all the columns, of which a release may have some."""
        self.guarantee.check(self.schema, self.method)
        if self.method is not None:
            self.method.check_schema(self.schema)

    # Publishing

    def publish(
        self,
        frame: Any,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        dry_run: bool = False,  # noqa: FBT001, FBT002  (the surface's own signature)
        *,
        again: bool = False,
    ) -> Release:
        """Publish the table as the next release; verified and confirmed when it returns.

        ``columns``: publish only these (the frame still has all). ``where``: publish only the records that satisfy an
        expression over columns that are not sensitive. ``dry_run``: do everything but tell anybody. ``again``: publish
        a snapshot anew that is the last release already.
        """
        return self.publish_to(None, frame, columns, where, dry_run=dry_run, again=again).release

    def publish_to(
        self,
        out: str | os.PathLike[str] | None,
        frame: Any,
        columns: Iterable[str] | None = None,
        where: str | None = None,
        *,
        dry_run: bool = False,
        again: bool = False,
        stage: Stage = silent,
    ) -> Published:
        """Publish the table as the next release, and write it to a file before it is confirmed."""
        target = None if out is None else output_path(Path(out))
        read = files_of(frame)
        if target is not None:
            spare(target, [*self.files, *read])
            keep_out(target, self.vault)
        began = not dry_run and not (self.vault / DATABASE).exists()
        with alone(self.vault), self._opened(create=True, pretend=dry_run) as vault:
            stage("reading")
            job = read_job(vault, self.schema, frame, columns, where, any_columns=self.guarantee.any_columns)
            rows = vault.releases()
            last = rows[-1] if rows else None
            if last is not None and last.state == PENDING:
                return self._resume(vault, last, job, target, dry_run=dry_run)
            if last is not None and not again and job.is_that_of(last) and self._stands(vault, last):
                release, draft = self._stored(vault, last, job)
                if target is not None and not dry_run:
                    deliver(draft, target)
                if not dry_run:
                    remove_drafts(vault, keep=last.release)
                return Published(release, "already")
            refuse_if_behind(vault, rows, target)
            stage("grouping")
            prepared, telling = self._prepare(vault, job, self.guarantee, rows)
            self._carry_out(vault, prepared, telling, target, dry_run=dry_run, stage=stage)
            return Published(prepared.release, "published", note=remark(telling, self.guarantee, began=began))

    def _carry_out(
        self,
        vault: DuckDBVault,
        prepared: Prepared,
        telling: Telling,
        target: Path | None,
        *,
        dry_run: bool,
        stage: Stage,
    ) -> None:
        """Draft and verify in the vault, prepare, write, confirm."""
        number = telling.memory.release
        draft = draft_path(vault, number, ".csv" if target is None else target.suffix.lower())
        snapshot, release = telling.job.snapshot, prepared.release

        noted: list[Entries] = []

        def check(written: Release) -> None:
            stage("verifying")
            noted.extend(
                check_written(vault, written, prepared, telling, self.guarantee, self.method, vault.releases())
            )

        stage("writing")
        with private(vault.folder):
            remove_drafts(vault, keep=number - 1)
            release.write_checked(draft, check)
        if dry_run:
            remove_drafts(vault, keep=number - 1)
            return
        manifest = release.manifest
        change = telling.change(
            vault,
            state=PENDING,
            manifest=manifest,
            told=prepared.told,
            entries=(*prepared.entries, *noted),
            replaces=prepared.replaces,
            placements=placements_of(prepared) if self.archive and snapshot.schema.person is not None else None,
            facts={
                "rows": manifest["rows"],
                "groups": manifest["groups"],
                "counterfeits": manifest["counterfeits"]["total"],
                "withheld": manifest["withheld"],
                "dirty": manifest["dirty"],
                "guarantee": manifest["guarantee"],
                "measures": measures_of(prepared, snapshot),
                **prepared.facts,
            },
            settings={
                **self._settings(vault),
                **({} if prepared.layout is None else {LAYOUT: prepared.layout}),
                JUDGED: number,
            },
            path=target,
        )
        stage("remembering")
        with undisturbed():
            vault.prepare(change)
            self._deliver(vault, number, draft, target)

    def _deliver(self, vault: DuckDBVault, release: int, draft: Path, target: Path | None) -> None:
        """Write a prepared release where it was asked for, and confirm it."""
        if target is not None:
            deliver(draft, target)
        vault.confirm(release, path=None if target is None else str(target.resolve()))
        remove_drafts(vault, keep=release)

    def _resume(
        self, vault: DuckDBVault, row: ReleaseRow, job: Job, target: Path | None, *, dry_run: bool
    ) -> Published:
        """Finish a pending release with the bytes that were prepared."""
        if not job.is_that_of(row):
            raise pending(row)
        release, draft = self._stored(vault, row, job)
        if not dry_run:
            with undisturbed():
                self._deliver(vault, row.release, draft, target)
        return Published(release, "resumed")

    def _stored(self, vault: DuckDBVault, row: ReleaseRow, job: Job) -> tuple[Release, Path]:
        """Read the copy of a release that was prepared before."""
        draft = find_copy(vault, row)
        return replace(Release.read(draft), native=job.snapshot.native), draft

    def _prepare(
        self, vault: Vault, job: Job, guarantee: Guarantee, rows: Sequence[ReleaseRow]
    ) -> tuple[Prepared, Telling]:
        """Remember, compare, group."""
        codes = encode(job.snapshot)
        telling = Telling.of(vault, job, codes, guarantee)
        previous = rows[-1].manifest_digest if rows else None
        # Of what the release is made goes into its dice: a restored vault does not roll the same for another table.
        about = json.dumps(job.request, sort_keys=True)
        seed = vault.key.stream(self._settings(vault)["seed"], telling.memory.release, job.digest, about)
        prepared = guarantee.prepare(
            job.snapshot,
            self.method,
            np.random.default_rng(seed),
            series=self.name,
            memory=telling.memory,
            codes=codes,
        )
        manifest = prepared.release.manifest
        manifest["series_id"], manifest["previous"] = vault.series_id, previous
        if job.request.get("where") is not None:
            # Which columns decided who is in it, and nothing of what they were compared with.
            manifest["selection"] = {"columns": sorted(parse(job.request["where"]).columns())}
        adopted = [row.release for row in rows if row.state == ADOPTED and not row.facts.get("exact")]
        if adopted and guarantee.remembers:
            qualify(manifest, adopted)
        return prepared, telling

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
        with self._opened() as vault:
            return self.guarantee.budget(VaultBook.of_nobody(vault), self.schema, vault.head())

    def abandon(self, release: int) -> None:
        """Give a pending release up. It counts as told: the file may have left the building."""
        with alone(self.vault), self._opened() as vault:
            rows = {row.release: row.state for row in vault.releases()}
            if rows.get(release) != PENDING:
                raise RefusedError(
                    f"release {release} is {rows.get(release, 'not there')}, and only a pending one can be abandoned",
                    hint="See reveil history.",
                )
            vault.abandon(release)
            remove_drafts(vault)

    def part_of(
        self, frame: Any, manifest: Mapping[str, Any], *, known: bool = False, table: Path | None = None
    ) -> Snapshot:
        """Return the part of a snapshot that was asked for when a release was made of it.

        ``known``: the vault must know the release, and the bytes of ``table`` if that is its file. Else one that it
        does not know is taken to be of the whole table.
        """
        with self._opened() as vault:
            any_columns = self.guarantee.any_columns
            return read_part(vault, self.schema, frame, manifest, known=known, any_columns=any_columns, table=table)

    def job_of(self, frame: Any, row: ReleaseRow) -> Job:
        """Return a snapshot cut as a release asked for it; the job can say whether the release was made of it."""
        with self._opened() as vault:
            columns, where = row.request.get("columns"), row.request.get("where")
            return read_job(vault, self.schema, frame, columns, where, any_columns=self.guarantee.any_columns)

    def check(self, folder: str | os.PathLike[str]) -> list[str]:
        """Compare the releases in a folder with the vault; return what is wrong, nothing if all is well."""
        with self._opened() as vault:
            return check_folder(vault, Path(folder))

    def replayed(self, truths: Sequence[Path] = ()) -> Replayed:
        """Judge the whole series anew, from its files and archived placements; see :mod:`reveil.series.replaying`."""
        with alone(self.vault), self._opened() as vault:
            return replay(vault, self.schema, self.guarantee, self.method, truths)

    def placements(self, release: int, frame: Any) -> Any:
        """Return where the persons in a frame are in a release: person, group, row (from 0). For the owner's eyes."""
        persons, native = persons_in(frame, self.schema)
        with self._opened() as vault:
            row = next((row for row in vault.releases() if row.release == release), None)
            if row is None:
                raise RefusedError(f"there is no release {release}", hint="See reveil history.")
            if not vault.has_archive(release):
                raise RefusedError(
                    f"no placements of release {release} are kept",
                    hint="They are kept with archive = true, and not for adopted releases without rows of their own.",
                )
            texts = identities(persons, vault.setting(KIND))
            found = vault.placements(release, *vault.key.pseudonyms(texts))
        table = pl.DataFrame(
            {"person": persons.gather(found["record"]), GROUP: found["grp"], "row": found["place"]}
        ).sort("row")
        return to_native(table, native)

    def forget(self, person: object, tombstone: bool = False) -> bool:  # noqa: FBT001, FBT002
        """Erase a person from the vault, archive included; False if the vault does not know them.

        The next release treats them as gone. Should they come back, they are new: their bound starts again, and with
        it that of everybody who ever shared a group with them. A ``tombstone`` (pseudonym and signatures, nothing
        else) prevents both; keep one where a return is possible.
        """
        if self.schema.person is None:
            raise ConfigError("this series follows no persons", hint='Declare a column as "person".')
        self.guarantee.may_forget(tombstone=tombstone)
        with alone(self.vault), self._opened() as vault:
            texts = identities(one_person(person, self.schema.person), vault.setting(KIND))
            high, low = vault.key.pseudonyms(texts)
            known = vault.recall(high, low).person[0] >= 0
            if known and all(row.state != PENDING for row in vault.releases()):
                # Copies of releases have rows of the person; where they were published, they are found again.
                remove_drafts(vault)
            return vault.forget(int(high[0]), int(low[0]), tombstone=tombstone)

    def adopt(self, frame: Any, release: Any) -> Adopted:
        """Take a release that any tool made of this snapshot as told, as the next one of the series.

        Returns what was found: how many persons were recognised, and whose groups cannot be kept.
        """
        files_of(frame, release)
        with alone(self.vault), self._opened(create=True) as vault:
            rows = vault.releases()
            if rows and rows[-1].state == PENDING:
                raise pending(rows[-1])
            job = read_job(vault, self.schema, frame)

            def remade(guarantee: Guarantee) -> tuple[Prepared, Telling]:
                return self._prepare(vault, job, guarantee, rows)

            return adopt(vault, job, release, self.guarantee, self._settings(vault), remade)

    # Inside

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
        if pretend and not (self.vault / DATABASE).exists():
            with tempfile.TemporaryDirectory() as folder, DuckDBVault.open(Path(folder) / "vault") as vault:
                yield vault
            return
        with DuckDBVault.open(self.vault, create=create) as vault:
            if vault.head():
                now = described(self.name, self.seed, self.schema, self.guarantee, self.method)
                before = vault.setting("config") or {}
                agree(before, now, self.guarantee)
                if self.guarantee.remembers:
                    check_roles(vault.setting("roles") or {}, self.schema)
                self.name = self.name or before.get("series.name")
            yield vault
