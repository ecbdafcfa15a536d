"""The rule of a series: each release beside those before it, from what the judge recorded of them.

A release that was just made is judged against the record; :func:`replayed` judges a whole series anew from its files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.verification import verify
from reveil.verification.columns import compare_by_column, rule_by_column
from reveil.verification.record import MemoryRecord

if TYPE_CHECKING:
    from reveil.releases.manifest import Manifest
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import AnyInts
    from reveil.verification.promised import Promised
    from reveil.verification.record import Books, Record, ReleaseBooks, Update
    from reveil.verification.shown import Shown


ERASED = 1 << 40  # numbers from here on stand for people who were erased, another one for each row


@dataclass(frozen=True)
class Expected:
    """What the manifest of a release must say of its place in the series."""

    release: int
    series_id: str
    previous: str | None

    def check(self, manifest: Manifest) -> None:
        """Refuse a manifest that names another place."""
        for key in ("release", "series_id", "previous"):
            if getattr(manifest, key) != getattr(self, key):
                raise VerificationError(f"the manifest names another {key} than this release has in its series")


def judged(
    shown: Shown,
    truth: Snapshot,
    placement: AnyInts,
    asked: Promised,
    record: Record,
    *,
    books: ReleaseBooks | None = None,
    dirty: int = 0,
) -> Update:
    """Judge a release that was just made, by itself and in its series; return what is to be recorded of it.

    ``truth`` has the records asked for, and behind them the ``dirty`` ones. ``books`` are the vault's own: what they
    say was told must be what the judge recorded.
    """
    asked = asked.of_release(shown.release)
    if shown.release.seconds:
        verify(shown.release, truth, asked, placement=placement, dirty=dirty)
        return rule_by_column(shown, asked, record, books)
    judge = asked.judge
    excused = None
    if judge.remembers:
        if books is not None:
            for some in books.parts() if judge.by_person else (books,):
                before = shown.number - 1
                judge.compare(some if record is books else record, judge.told_before(some, before), number=before)
        free = judge.excused(shown, asked, record)
        excused = free if free.any() else None
    verify(shown.release, truth, asked, placement=placement, dirty=dirty, excused=excused)
    return judge.rule(shown, asked, record) if judge.remembers else ()


@dataclass
class Replay:
    """A series that is judged anew, release by release.

    ``erased``: some rows are of people who were erased. Who left a tombstone and came back was told more than is seen.
    """

    asked: Promised
    record: MemoryRecord = field(default_factory=MemoryRecord)
    erased: bool = False

    def add(self, shown: Shown) -> None:
        """Judge the next release beside those before it."""
        asked = self.asked.of_release(shown.release)
        if shown.release.seconds:
            self.record.apply(rule_by_column(shown, asked, self.record))
            return
        for name in shown.sensitive:
            self.record.learn(name, shown.texts(name))
        self.record.apply(asked.judge.rule(shown, asked, self.record))

    def compare(self, books: Books, number: int) -> None:
        """Refuse books that say something else than was told; people who were erased are in no book."""
        known = MemoryRecord()
        known.kept = {
            name: rows.filter(pl.col("who") < ERASED) if "who" in rows.columns else rows
            for name, rows in self.record.kept.items()
        }
        judge = self.asked.judge
        since = self.erased and judge.by_person
        if any(name.startswith("column_") for name in known.kept):
            compare_by_column(known, books, books.sensitive(), self.asked, number, since=since)
            return
        judge.compare(known, judge.told_before(books, number), since=since, number=number)


def strangers(who: AnyInts, fakes: AnyInts, of_row: AnyInts, first: int) -> tuple[AnyInts, int]:
    """Number rows that are about nobody any more and are no counterfeits, each by itself: people who were erased.

    Returns the numbers, from :data:`ERASED` and ``first`` on, and how many there were.
    """
    unknown = np.bincount(of_row[who < 0], minlength=len(fakes)) - fakes
    if (unknown < 0).any():
        raise VerificationError("rows that the manifest counts as counterfeits are somebody's")
    found = who.copy()
    many = 0
    for group in np.flatnonzero(unknown):
        rows = np.flatnonzero((of_row == group) & (who < 0))[: int(unknown[group])]
        found[rows] = ERASED + first + many + np.arange(len(rows))
        many += len(rows)
    return found, many
