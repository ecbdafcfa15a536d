"""One release on its way: what is asked for, what was told before, and what the vault has to remember of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged
from reveil.core.json_values import text_in
from reveil.guarantees.base import Memory
from reveil.guarantees.signatures.sets import Sets
from reveil.models.encoding import encode
from reveil.releases.column_views import column_views
from reveil.releases.folders import as_told
from reveil.releases.manifest_files import digest_of_bytes, manifest_bytes
from reveil.series.book import VaultBook
from reveil.series.column_types import EDGES, SPELLINGS, spellings_of, types_of
from reveil.series.events import Events, events
from reveil.series.persons import KIND, identities, kind_of
from reveil.series.signatures import entries_of, told_before
from reveil.series.stable_codes import StableCodes, digest_of_snapshot, find_stable_codes, in_order, texts_of
from reveil.tables.expressions import parse
from reveil.tables.joint import joint_snapshot
from reveil.tables.schema import Role
from reveil.vault import Change, Records, ReleaseRow
from reveil.vault.protocol import ADOPTED
from reveil.vault.requests import WHERE, asks_the_same, kept_expression
from reveil.vault.settings import SIGNED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.core.json_values import JSON
    from reveil.guarantees.assembly import Prepared
    from reveil.guarantees.base import Guarantee
    from reveil.models.encoding import Codes
    from reveil.releases.manifest import Manifest
    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot
    from reveil.vault import Recall, Vault
    from reveil.vault.protocol import Book, Entries

LAYOUT = "layout"  # the setting that keeps how a method divided the space


def facts_of(manifest: Manifest) -> dict[str, JSON]:
    """Return what the history tells of a release by its manifest."""
    return {
        "rows": manifest.rows,
        "groups": manifest.groups,
        "counterfeits": manifest.counterfeits.total,
        "withheld": manifest.withheld,
        "dirty": manifest.dirty,
        "guarantee": manifest.promise.guarantee(),
    }


@dataclass(frozen=True)
class Submission:
    """A snapshot to publish: its records in the order of their pseudonyms, and what was asked for.

    The order of the file says nothing then, and the same table in another order is the same snapshot. ``persons`` is
    what the identities of the first release are (see :mod:`reveil.series.persons`). ``request`` is what the vault keeps
    of what was asked for, ``asked`` is all of it, which nobody keeps.
    """

    snapshot: Snapshot
    request: Mapping[str, JSON]
    asked: Mapping[str, JSON] = field(repr=False)
    high: IntArray = field(repr=False)
    low: IntArray = field(repr=False)
    digest: str
    persons: str | None = None
    whole: Snapshot | None = None

    @property
    def where(self) -> str | None:
        """The expression that decides who is published; None for everybody."""
        where = self.asked[WHERE]
        return None if where is None else text_in(where)

    @classmethod
    def of(
        cls, vault: Vault, snapshot: Snapshot, asked: Mapping[str, JSON], whole: Snapshot | None = None
    ) -> Submission:
        """Find the pseudonyms and put the records in their order; ``whole`` has the same records with all columns."""
        person, frame = snapshot.schema.person, snapshot.frame
        request, where = dict(asked), asked[WHERE]
        if isinstance(where, str):
            request[WHERE] = kept_expression(vault.key, where, parse(where).columns())
        names = sorted(snapshot.schema.names(Role.QUASI, Role.SENSITIVE, Role.PLAIN))
        if person is None:
            none = np.zeros(0, np.int64)
            sorted_ = replace(snapshot, frame=frame.sort(names, maintain_order=True))
            return cls(sorted_, request, dict(asked), none, none, digest_of_snapshot(sorted_.frame, names))
        kind = vault.setting(KIND)
        texts = identities(frame[person], kind, file=snapshot.origin)
        high, low = vault.key.pseudonyms(texts)
        order = np.argsort(high)
        if (np.diff(high[order]) == 0).any():  # 64 equal bits: one time in a thousand million million
            order = np.lexsort((low, high))
        snapshot, high, low = in_order(snapshot, order), high[order], low[order]
        digest = digest_of_snapshot(snapshot.frame, names, high, low)
        everything = None if whole is None else in_order(whole, order)
        return cls(snapshot, request, dict(asked), high, low, digest, kind or kind_of(texts), everything)

    def is_that_of(self, row: ReleaseRow) -> bool:
        """Return whether a release was made of this snapshot, and of the same part of it."""
        return row.snapshot == self.digest and asks_the_same(row.request, self.request)


@dataclass(frozen=True)
class ReleaseContext:
    """What the vault knows of the persons of a submission, and what happened to them since."""

    submission: Submission
    recall: Recall
    stable: StableCodes
    events: Events | None
    memory: Memory
    known_types: Mapping[str, str]
    remembered: Snapshot  # the table whose values the vault keeps: the snapshot, or all of its columns
    stale: BoolArray = field(repr=False)  # whose stored record is not what it is now, or lacks a column that is new

    @classmethod
    def of(cls, vault: Vault, submission: Submission, codes: Codes, guarantee: Guarantee) -> ReleaseContext:
        """Recall the persons and compare their records with the last ones."""
        snapshot, traits = submission.snapshot, guarantee.traits
        if traits.whole_table and submission.whole is not None:
            snapshot, codes = submission.whole, encode(submission.whole)
        if traits.together:
            snapshot = joint_snapshot(snapshot, traits.together)
        schema = snapshot.schema
        recall = vault.recall(submission.high, submission.low)
        follows = schema.person is not None
        declared = traits.declared_by(schema) if traits.remembers else {}
        stable = find_stable_codes(vault, snapshot, codes, declared) if follows else StableCodes({}, {})
        known = recall.person >= 0
        happened = events(known, recall.present, recall.last, stable.codes, len(recall.gone)) if follows else None
        stale = _stale(recall, stable, happened)
        # What records were is compared; afterwards only the last sensitive values are asked for.
        recall = replace(recall, last={name: codes for name, codes in recall.last.items() if name in schema.sensitive})
        known_types = vault.attributes()
        types = types_of(snapshot, known_types) if follows else {}
        book = VaultBook(vault, recall, stable, (*known_types, *types))
        memory = _memory(vault, recall, stable, happened, schema.sensitive if traits.remembers else (), book)
        if traits.by_column and len(schema.sensitive) > 1:
            each = {name: _memory(vault, recall, stable, happened, (name,), book, name) for name in schema.sensitive}
            memory = replace(memory, columns=each)
        part = any(asked is not None for asked in submission.request.values())
        where = None if submission.where is None else parse(submission.where)
        memory = replace(memory, whole=submission.whole, layout=vault.setting(LAYOUT), part=part, where=where)
        return cls(submission, recall, stable, happened, memory, known_types, snapshot, stale)

    def change(
        self,
        vault: Vault,
        *,
        state: str,
        manifest: Manifest,
        told: pl.DataFrame | None,
        entries: tuple[Entries, ...] = (),
        replaces: bool,
        placements: pl.DataFrame | None,
        archive: int | None = None,
        facts: Mapping[str, JSON],
        settings: Mapping[str, JSON],
        path: Path | None,
        published: Release | None,
        manifest_digest: str | None = None,
        more: pl.Series | None = None,
    ) -> Change:
        """Return all that the vault has to remember; ``more`` are further values of the sensitive column."""
        text = manifest_bytes(manifest)
        sensitive = next(iter(self.remembered.schema.sensitive), None)
        dictionary = dict(self.stable.new)
        if more is not None and len(more) and sensitive is not None:
            known = dictionary.get(sensitive, pl.Series([], dtype=pl.String))
            dictionary[sensitive] = pl.concat([known.rename(sensitive), more.rename(sensitive)])
        counts = {} if self.events is None else self.events.counts()
        follows = self.events is not None
        row = ReleaseRow(
            release=self.memory.release,
            state=state,
            created=str(manifest.created),
            snapshot=self.submission.digest,
            request=dict(self.submission.request),
            path=None if path is None else as_told(path),
            digest=manifest.digest,
            manifest=text.decode(),
            manifest_digest=digest_of_bytes(text) if state != ADOPTED else manifest_digest,
            facts={**counts, **facts},
        )
        records = Records(
            high=self.submission.high,
            low=self.submission.low,
            person=self.recall.person,
            changed=self.stale,
            codes=self.stable.codes,
            gone=self.recall.gone,
            types=types_of(self.remembered, self.known_types) if follows else {},
            dictionary=dictionary,
        )
        signed = {SIGNED: sensitive} if sensitive is not None and (told is not None or entries) else {}
        return Change(
            row,
            records,
            entries=(*entries_of(self.memory.book, told, replaces=replaces), *entries),
            settings={
                **settings,
                **signed,
                "declared": self._declared(),
                **({KIND: self.submission.persons} if follows else {}),
                **self._spellings(vault, published if follows else None),
                **self._edges(),
            },
            placements=placements,
            archive=archive,
        )

    def _declared(self) -> JSON:
        """Return the codes of declared values: of the column with signatures, or where several have some by column."""
        codes = {name: column_codes.tolist() for name, column_codes in self.stable.declared.items()}
        return codes if self.memory.columns else next(iter(codes.values()), [])

    def _edges(self) -> dict[str, JSON]:
        """Return the edges of bins to keep: they are those of the first release."""
        columns = self.submission.snapshot.schema.columns
        edges: dict[str, JSON] = {column.name: list(column.cut) for column in columns if column.cut is not None}
        return {EDGES: edges} if edges else {}

    def _spellings(self, vault: Vault, published: Release | None) -> dict[str, JSON]:
        """Return the spellings to keep without a person: of what is published, or where none is followed of all.

        The dictionary loses a value with the last person who had it. Written in another way afterwards, it would tell
        that its holder was erased. Of a value that was never published nothing is kept.
        """
        schema = self.remembered.schema
        before = kept = vault.setting(SPELLINGS) or {}
        tables = [self.remembered.frame]
        if published is not None:
            tables = [view.group_values()[1] for view in column_views(published)]
        for values in tables:
            kept = spellings_of(schema, values, kept)
        return {SPELLINGS: kept} if kept != before else {}


def _stale(recall: Recall, stable: StableCodes, happened: Events | None) -> BoolArray:
    """Return whose stored record is not what it is now, or lacks a column that is new."""
    if happened is None:
        return np.zeros(len(recall.person), np.bool_)
    stale = happened.stale
    for name in stable.codes:
        last = recall.last.get(name)
        stale = np.ones_like(stale) if last is None else stale | (last < 0)
    return stale


def _memory(
    vault: Vault,
    recall: Recall,
    stable: StableCodes,
    happened: Events | None,
    columns: tuple[str, ...],
    book: Book,
    signed: str | None = None,
) -> Memory:
    """Return what a guarantee may know; ``columns`` are the sensitive ones, the first of which has signatures.

    ``signed`` is its name where others have some, too.
    """
    number = vault.head() + 1
    size = len(recall.person)
    none: CodeArray = np.zeros(0, np.int32)
    if not columns or happened is None:
        no = np.zeros(size, np.bool_)
        empty = Sets(Ragged.of_lengths([], none))
        return Memory(
            release=number,
            values=np.full(size, -1, np.int32),
            texts=pl.Series([], dtype=pl.String),
            known=none,
            declared=none,
            seen=0,
            present=recall.present if happened is not None else no,
            changed=no,
            sets=empty,
            block_records=none,
            block_sets=none,
            book=book,
            stable_codes=stable.codes,
        )
    sensitive = columns[0]
    sets, block_records, block_sets = told_before(book, signed)
    known = vault.values(sensitive)["code"].to_numpy()
    seen = vault.next_code(sensitive)
    more = len(stable.new.get(sensitive, ()))
    return Memory(
        release=number,
        values=stable.codes[sensitive],
        texts=texts_of(vault, sensitive, stable),
        known=np.concatenate([known, np.arange(seen, seen + more)]).astype(np.int32),
        declared=stable.declared.get(sensitive, none),
        seen=seen,
        present=recall.present,
        changed=happened.differs.get(sensitive, np.zeros(size, np.bool_)),
        sets=sets,
        block_records=block_records,
        block_sets=block_sets,
        book=book,
        stable_codes=stable.codes,
    )


def forgotten(layout: Mapping[str, JSON], values: Mapping[str, pl.Series]) -> None:
    """Return what is left of a layout without the method that kept it: nothing. It may hold values of the person."""


def placements_of(prepared: Prepared) -> pl.DataFrame:
    """Return where each published record is: its row and its group; dirty ones have a ``person`` and no record."""
    real = np.flatnonzero(prepared.placement >= 0)
    release = prepared.release
    groups = release.classes if release.groups is None else release.groups
    if release.seconds:  # of the first sensitive column; the row leads to the others
        groups = release.seconds[0].groups
    record, person = prepared.placement[real].astype(np.int32), np.full(len(real), -1, np.int32)
    dirty = prepared.draft.dirty
    if dirty is not None and len(dirty):
        asked = prepared.draft.snapshot.frame.height - len(dirty)
        more = record >= asked
        person[more] = dirty[record[more] - asked]
        record[more] = -1
    return pl.DataFrame(
        {"record": record, "person": person, "place": real.astype(np.int32), "grp": groups[real].astype(np.int32)}
    )
