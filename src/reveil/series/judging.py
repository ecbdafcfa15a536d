"""The judge's record and the vault's books, as the judge is handed them; and what it says of a release.

The judge keeps what its rules need in ledgers of its own, which nobody else writes or reads. It addresses people by
numbers that hold for one release: a record of the snapshot by its place, anybody else by their number in the vault
behind that.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from reveil.series.asking import asked_for
from reveil.series.signatures import COLUMN_SIGNATURES, COLUMN_TOLD, SIGNATURES, TOLD_SIGNATURES
from reveil.series.stable_codes import texts_of
from reveil.tables.expressions import matches, parse
from reveil.tables.notation import parsed
from reveil.vault.protocol import Entries, Ledger
from reveil.verification.columns import shown_columns
from reveil.verification.population import Selection
from reveil.verification.record import Entry, Kept, MemoryRecord
from reveil.verification.series import Expected, judged
from reveil.verification.shown import Shown
from reveil.verification.surface import check_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.grouping.groupers.base import Grouper
    from reveil.guarantees.assembly import Prepared
    from reveil.guarantees.base import Guarantee
    from reveil.releases.release import Release
    from reveil.series.release_context import ReleaseContext, Submission
    from reveil.tables.snapshot import Snapshot
    from reveil.vault import ReleaseRow, Vault
    from reveil.verification.record import Update

_AT_ONCE = 1 << 20  # people of a snapshot whose books are read at once
JUDGED = "judged"  # the setting: up to which release the judge has a record


def ledger_of(kept: Kept) -> Ledger:
    """Return the ledger in which a table of the judge is kept."""
    return Ledger(kept.name, kept.keys, kept.whole, kept.real, kept.personal, kept.outlives)


class VaultRecord:
    """Ledgers of a vault in the judge's numbers; ``person`` is that of each record in the vault, -1 for who is new."""

    def __init__(
        self, vault: Vault, person: np.ndarray, names: tuple[str, ...], context: ReleaseContext | None = None
    ) -> None:
        self.vault, self.person, self.names, self.context = vault, person.astype(np.int64), names, context
        self.size = len(person)
        self.column: str | None = None
        self.span: range | None = None  # whose books these are, of the people of the snapshot; None: everybody's
        self._read: dict[str, pl.DataFrame] = {}
        self._place = np.full(int(person.max(initial=-1)) + 2, -1, np.int64)
        self._place[person[person >= 0]] = np.flatnonzero(person >= 0)

    def numbered(self, persons: np.ndarray) -> np.ndarray:
        """Return the judge's number of each person of the vault."""
        place = self._place[np.minimum(persons, len(self._place) - 1)]
        found: np.ndarray = np.where(place >= 0, place, self.size + persons.astype(np.int64))
        return found

    def parts(self) -> Iterator[VaultRecord]:
        """Return the books of some people of the snapshot each, who lie one behind the other."""
        if self.size <= _AT_ONCE:
            yield self
            return
        for start in range(0, self.size, _AT_ONCE):
            some = copy(self)
            some._read = {}
            some.span = range(start, min(start + _AT_ONCE, self.size))
            yield some

    def of(self, kept: Kept, who: np.ndarray) -> pl.DataFrame:
        """Return the rows of some persons; of a small snapshot, those of all the people are read once."""
        if self.size > _AT_ONCE:
            here = self.person[who[who < self.size]]
            persons = np.unique(np.concatenate([here[here >= 0], who[who >= self.size] - self.size]))
            return self._in_numbers(kept, self.vault.ledger(ledger_of(kept), "person", persons))
        if kept.name not in self._read:
            known = self.person[self.person >= 0]
            self._read[kept.name] = self._in_numbers(kept, self.vault.ledger(ledger_of(kept), "person", known))
        wanted = np.zeros(self.size, np.bool_)
        wanted[who[who < self.size]] = True
        rows = self._read[kept.name]
        if not wanted.all():
            rows = rows.filter(pl.Series(wanted[rows["who"].to_numpy()]))
        others = np.unique(who[who >= self.size]) - self.size
        if not len(others):
            return rows
        return pl.concat([rows, self._in_numbers(kept, self.vault.ledger(ledger_of(kept), "person", others))])

    def rows(self, kept: Kept, column: str | None = None, among: np.ndarray | None = None) -> pl.DataFrame:
        """Return all rows, or those whose column is among some numbers; of people only those of the snapshot."""
        if kept.personal and column is None and self.context is not None:
            return self.of(kept, np.arange(self.size) if self.span is None else np.array(self.span))
        return self._in_numbers(kept, self.vault.ledger(ledger_of(kept), column, among))

    def _in_numbers(self, kept: Kept, rows: pl.DataFrame) -> pl.DataFrame:
        if kept.personal:
            rows = rows.with_columns(who=pl.Series(self.numbered(rows["person"].to_numpy())))
        return rows.select(kept.schema.keys()).cast(kept.schema)  # type: ignore[arg-type]

    def texts(self, attribute: str) -> pl.Series:
        """Return the texts that values of a column ever had."""
        return self.codes(attribute)["text"]

    # The vault's own books

    def codes(self, attribute: str) -> pl.DataFrame:
        """Return ``code`` and ``text`` of the values of a column."""
        if self.context is not None:
            known = texts_of(self.vault, attribute, self.context.stable)
            return pl.DataFrame({"code": np.arange(len(known)), "text": known}).cast({"code": pl.Int64})
        return self.vault.values(attribute).select(pl.col("code").cast(pl.Int64), text="value")

    def first_sensitive(self) -> str:
        """Return the sensitive column that signatures and budgets are about."""
        return self.names[0]

    def sensitive(self) -> tuple[str, ...]:
        """Return the sensitive columns that the vault knows."""
        known = self.vault.attributes()
        return tuple(name for name in self.names if name in known)

    def attribute(self, name: str) -> int:
        """Return the number of a column in the vault's ledgers."""
        return list(self.vault.attributes()).index(name)

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the columns of a ledger of whole numbers."""
        return self.vault.ledger_columns(name)

    def of_column(self, name: str) -> VaultRecord:
        """Return the books of one of several columns that have signatures."""
        vault_record = VaultRecord(self.vault, self.person, (name,), self.context)
        vault_record.column = name
        return vault_record

    def signatures(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return who was told which signature, and the values of each."""
        by_person, sets = (TOLD_SIGNATURES, SIGNATURES) if self.column is None else (COLUMN_TOLD, COLUMN_SIGNATURES)
        if self.context is not None:
            told = self._among(self.context.memory.book.of_records(by_person).rename({"record": "who"}))
        else:
            told = self.vault.ledger(by_person).rename({"person": "who"})
        if self.column is not None:
            told = told.filter(pl.col("attribute") == self.attribute(self.column)).drop("attribute")
        members = self.vault.ledger(sets, "signature", told["signature"].to_numpy()).sort(sets.keys)
        texts = self.codes(self.first_sensitive())
        values = members.cast(pl.Int64).join(texts, on="code", how="left", maintain_order="left")
        return told.with_columns(pl.col("who").cast(pl.Int64)), values.select("signature", value="text")

    def _among(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the people whose books these are."""
        if self.span is None:
            return rows
        return rows.filter(pl.col("who").is_between(self.span.start, self.span.stop - 1))

    def last(self) -> pl.DataFrame:
        """Return who is in the last release, and the value with which each was seen last."""
        name = self.first_sensitive()
        if self.context is not None:
            recall = self.context.recall
            who, present, code = np.arange(self.size), recall.present, recall.last.get(name, np.full(self.size, -1))
        else:
            persons, present = self.vault.presence()
            who, code = persons.astype(np.int64), self.vault.last(persons)[name]
        rows = self._among(pl.DataFrame({"who": who, "present": present, "code": code.astype(np.int64)}))
        known = self.codes(name)
        return rows.join(known, on="code", how="left").select("who", "present", value="text")


def check_written(
    vault: Vault,
    written: Release,
    prepared: Prepared,
    context: ReleaseContext,
    guarantee: Guarantee,
    method: Grouper | None,
    rows: list[ReleaseRow],
) -> tuple[Entries, ...]:
    """Refuse a release, as it was written, that is not sound by itself or breaks the rule of its series.

    Returns what the judge wants to find again at the next release.
    """
    asked = asked_for(guarantee, method)
    submission = context.submission
    previous = rows[-1].manifest_digest if rows else None
    Expected(context.memory.release, vault.series_id, previous).check(written.manifest)
    check_files(written)
    placement = prepared.placement.astype(np.int64)
    asked_records = submission.snapshot.frame.height
    dirty = prepared.draft.dirty
    strangers = np.zeros(0, np.int64) if dirty is None else dirty.astype(np.int64)
    whole = context.remembered
    person = context.recall.person if len(context.recall.person) else np.full(asked_records, -1)
    names = whole.schema.sensitive
    vault_record = VaultRecord(vault, person, names, context)
    behind = placement >= asked_records
    who = placement.copy()
    who[behind] = asked_records + strangers[placement[behind] - asked_records]
    shown = Shown(
        written,
        context.memory.release,
        who,
        dirty=behind,
        snapshot=whole,
        persons=np.arange(asked_records),
        witness=prepared.witness,
        population=getattr(guarantee, "population", None),
        selection=selection_of(submission),
    )
    if vault.head() and len(written.seconds) < 2:  # nothing is adopted beside several columns
        alone = next((view for _, view, _ in shown_columns(shown, asked)), shown) if written.seconds else shown
        asked.judge.check_adopted(alone, vault_record)
    truth = _with_strangers(submission.snapshot, vault, vault_record, strangers, written, placement)
    record: VaultRecord | MemoryRecord = vault_record
    taken_over: MemoryRecord | None = None
    if asked.judge.remembers and int(vault.setting(JUDGED) or 0) < vault.head():
        # Releases that were adopted, or made before the judge had a record, are taken as the vault's books tell them.
        taken_over = MemoryRecord()
        everybody = VaultRecord(vault, person, names)
        update = asked.judge.told_before(_Renumbered(everybody), vault.head())
        if int(vault.setting(JUDGED) or 0):
            asked.judge.compare(everybody, update, since=True)  # what was published here must not be lost by it
        taken_over.apply(update)
        taken_over.known = {name: vault_record.texts(name) for name in vault_record.sensitive()}
        record = taken_over
    books = vault_record if taken_over is None and vault.head() else None
    update = judged(shown, truth, placement, asked, record, books=books, dirty=len(strangers))
    if taken_over is not None:
        taken_over.apply(update)
        update = _all_of(taken_over, update, vault, vault_record)
    return tuple(_entries(entry, vault_record) for entry in update)


def selection_of(submission: Submission) -> Selection | None:
    """Return which part of a table was asked for, as the judge takes it; None for all of it."""
    if submission.where is None:
        return None
    expression, table = parse(submission.where), submission.whole or submission.snapshot
    return Selection(frozenset(expression.columns()), table, lambda frame: matches(expression, frame, table.schema))


class _Renumbered:
    """The books of everybody, with the numbers that the judge uses beside one snapshot."""

    def __init__(self, books: VaultRecord) -> None:
        self._books = books

    def __getattr__(self, name: str) -> Any:
        return getattr(self._books, name)

    def signatures(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return who was told which signature, and the values of each."""
        told, members = self._books.signatures()
        return told.with_columns(who=pl.Series(self._books.numbered(told["who"].to_numpy()))), members

    def last(self) -> pl.DataFrame:
        """Return who is in the last release, and the value with which each was seen last."""
        rows = self._books.last()
        return rows.with_columns(who=pl.Series(self._books.numbered(rows["who"].to_numpy())))


def _with_strangers(
    snapshot: Snapshot,
    vault: Vault,
    vault_record: VaultRecord,
    strangers: np.ndarray,
    written: Release,
    placement: np.ndarray,
) -> Snapshot:
    """Return the snapshot with the last records of dirty people behind its own, as the vault keeps them.

    Their sensitive values are taken as published: the judge compares them with what it recorded.
    """
    if not len(strangers):
        return snapshot
    last = vault.last(strangers)
    frame, schema = snapshot.frame, snapshot.schema
    row = np.full(len(strangers), -1, np.int64)
    behind = np.flatnonzero(placement >= frame.height)
    row[placement[behind] - frame.height] = behind
    columns = []
    for name in frame.columns:
        dtype = frame.schema[name]
        if name in schema.quasi:
            texts = vault_record.codes(name)["text"]
            columns.append(parsed(texts.gather(last[name]), dtype).alias(name))
        elif name in schema.sensitive:
            columns.append(written.values[name].gather(row).cast(dtype).alias(name))
        else:
            columns.append(pl.Series(name, [None] * len(strangers), dtype))
    return replace(snapshot, frame=pl.concat([frame, pl.DataFrame(columns)]))


def _all_of(record: MemoryRecord, update: Update, vault: Vault, vault_record: VaultRecord) -> Update:
    """Return everything that a record has, in the place of all that was kept before."""
    found = []
    for entry in update:
        kept = entry.kept
        before = vault.ledger(ledger_of(kept))
        if kept.personal:
            cleared = pl.DataFrame({"who": vault_record.numbered(before["person"].to_numpy())}).unique()
        else:
            cleared = before.select(kept.keys)
        found.append(Entry(kept, record.rows(kept), cleared))
    return tuple(found)


def _entries(entry: Entry, vault_record: VaultRecord) -> Entries:
    """Return rows of the judge as a ledger takes them."""

    def placed(rows: pl.DataFrame) -> pl.DataFrame:
        if not entry.kept.personal:
            return rows
        who = rows["who"].to_numpy()
        here = who < vault_record.size
        return rows.drop("who").with_columns(
            record=pl.Series(np.where(here, who, -1).astype(np.int32)),
            person=pl.Series(np.where(here, -1, who - vault_record.size).astype(np.int32)),
        )

    cleared = None if entry.cleared is None else placed(entry.cleared)
    return Entries(ledger_of(entry.kept), placed(entry.rows), cleared)
