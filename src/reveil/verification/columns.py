"""Releases with a table for each sensitive column: judged column by column, and as a whole.

Of each column a release with two tables is seen (:mod:`reveil.releases.column_views`), to which everything applies that
applies to one sensitive column: groups, counterfeits, rows, promise and the rule of the series. What is left for the
whole: that group numbers belong to one column, that boxes are large enough for all of them, that the manifest says of
all columns what it says of each, and that what is one value together is so as it was asked for.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.core.json_values import thawed, whole_in
from reveil.releases.column_views import borrowed_rows, column_views
from reveil.tables.joint import joint_snapshot
from reveil.verification.judges.base import other_promise
from reveil.verification.record import Entry, Kept
from reveil.verification.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import AnyInts
    from reveil.verification.promised import Promised
    from reveil.verification.record import Books, Record, Update

ATTRIBUTE = "attribute"


def views(
    release: Release, snapshot: Snapshot, asked: Promised, placement: AnyInts | None
) -> Iterator[tuple[Release, Snapshot, Promised, AnyInts | None]]:
    """Yield a release as it is to be judged for each of its sensitive columns: table, snapshot, promise, placement."""
    together = tuple(second.parts for second in release.seconds if len(second.parts) > 1)
    joint = joint_snapshot(replace(snapshot, raw=None), together)
    for view, second in zip(column_views(release), release.seconds, strict=True):
        others = [name for name in joint.schema.sensitive if name != second.name]
        schema = joint.schema.with_columns(column for column in joint.schema.columns if column.name not in others)
        of_table = replace(joint, frame=joint.frame.drop(others), schema=schema)
        rows = None if placement is None else np.append(placement, np.full(len(borrowed_rows(second)), -1))
        yield (
            replace(view, manifest=replace(view.manifest, records=None)),
            of_table,
            asked.of_column(second.name),
            rows,
        )


def check_whole(release: Release, snapshot: Snapshot, asked: Promised) -> None:
    """Refuse what no single column shows."""
    names = [second.name for second in release.seconds]
    wanted = asked.settings.get("together") or []
    told = [list(second.parts) for second in release.seconds if len(second.parts) > 1]
    if sorted(map(sorted, wanted)) != sorted(map(sorted, told)):  # type: ignore[arg-type]
        raise other_promise("other columns together")
    if set(snapshot.schema.sensitive) != {part for second in release.seconds for part in second.parts}:
        raise VerificationError("the tables are not those of the sensitive columns")
    _check_numbers(release)
    _check_boxes(release, asked, names)
    _check_promise(release, asked, names)
    beside = [column.name for column in release.manifest.columns if column.role == "group"]
    if len(beside) != len(names):
        raise VerificationError("the manifest describes other groups than the table has")


def _check_numbers(release: Release) -> None:
    """Refuse groups of two columns with one number, and counterfeits in groups that are not there."""
    numbers = [np.unique(second.groups) for second in release.seconds]
    every = np.concatenate(numbers)
    if len(np.unique(every)) < len(every):
        raise VerificationError("groups of two sensitive columns have the same number")
    if len(every) != release.manifest.groups:
        raise VerificationError("the manifest counts other groups than the table has")
    known = {str(number) for number in every.tolist()}
    told = release.manifest.counterfeits
    if not told.per_group.keys() <= known or sum(told.per_group.values()) != told.total:
        raise VerificationError("the manifest does not count the counterfeits group by group")


def _check_boxes(release: Release, asked: Promised, names: list[str]) -> None:
    """Refuse boxes with fewer rows than the largest m; all of these rows are records."""
    largest = max(whole_in(asked.of_column(name).settings["m"]) for name in names)
    sizes = np.unique(release.classes, return_counts=True)[1]
    if len(sizes) and (sizes < min(largest, int(sizes.sum()))).any():
        raise VerificationError(
            "a box of the first table has fewer rows than m", hint="This release is not safe together with others."
        )


def _check_promise(release: Release, asked: Promised, names: list[str]) -> None:
    """Refuse a manifest that promises of a column what does not follow from its m, or hides what was taken."""
    promise = release.manifest.promise
    wanted = {name: 1 / whole_in(asked.of_column(name).settings["m"]) for name in names}
    bounds = {} if promise.bounds is None else thawed(promise.bounds)
    if not isinstance(bounds, Mapping) or bounds.keys() != wanted.keys():
        raise VerificationError("the manifest does not bound each sensitive column")
    if promise.bound is None or promise.bound != max(wanted.values()):
        raise VerificationError("the manifest bounds something else than follows from its parameters")
    for name, most in wanted.items():
        if f"1/{round(1 / most)} ({name})" not in promise.claim:
            raise VerificationError("the claim in words is not what the manifest promises in numbers", column=name)
    free = bool(asked.settings.get("independent"))
    if bool(promise.settings.get("independent")) != free:
        raise other_promise("another independent")
    said = any("independent = true" in word for word in promise.not_covered)
    if len(names) > 1 and free != said:
        raise VerificationError("the promise does not say whether columns were taken for independent")


def shown_columns(shown: Shown, asked: Promised) -> Iterator[tuple[str, Shown, Promised]]:
    """Yield what a release shows of each of its sensitive columns."""
    release = shown.release
    for view, second in zip(column_views(release), release.seconds, strict=True):
        who = np.append(shown.who, np.full(len(borrowed_rows(second)), -1)).astype(np.int64)
        yield second.name, Shown(view, shown.number, who, schema=shown.schema), asked.of_column(second.name)


@dataclass(frozen=True)
class ColumnRecord:
    """What the judge recorded of one of several columns: the same tables, with a mark of the column in each row."""

    record: Record
    name: str

    @property
    def mark(self) -> int:
        """A number that stands for the column."""
        return zlib.crc32(self.name.encode()) & 0x7FFFFFFF

    @staticmethod
    def kept(kept: Kept) -> Kept:
        """Return the table in which rows of several columns are kept."""
        return replace(kept, name=f"column_{kept.name}", keys=(ATTRIBUTE, *kept.keys))

    def _marked(self, kept: Kept, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.filter(pl.col(ATTRIBUTE) == self.mark).select(kept.schema.keys())

    def of(self, kept: Kept, who: AnyInts) -> pl.DataFrame:
        """Return the rows of some persons."""
        return self._marked(kept, self.record.of(self.kept(kept), who))

    def rows(self, kept: Kept, column: str | None = None, among: AnyInts | None = None) -> pl.DataFrame:
        """Return all rows, or those whose column is among some numbers."""
        return self._marked(kept, self.record.rows(self.kept(kept), column, among))

    def texts(self, attribute: str) -> pl.Series:
        """Return the texts that values of a sensitive column ever had."""
        return self.record.texts(attribute)

    def marked(self, update: Update) -> Update:
        """Return what is to be recorded, with the mark of the column."""
        return tuple(
            Entry(self.kept(entry.kept), entry.rows.with_columns(pl.lit(self.mark, pl.Int64).alias(ATTRIBUTE)))
            for entry in update
        )


def rule_by_column(shown: Shown, asked: Promised, record: Record, books: Books | None = None) -> Update:
    """Judge each column by the rule of the series; return what is to be recorded of all of them."""
    found: dict[str, Entry] = {}
    for name, view, promised in shown_columns(shown, asked):
        judge = promised.judge
        if len(shown.release.seconds) == 1:  # it has no need of marks
            if books is not None:
                judge.compare(record, judge.told_before(books, shown.number - 1))
            return judge.rule(view, promised, record)
        known = ColumnRecord(record, name)
        if books is not None:
            judge.compare(known, judge.told_before(books.of_column(name), shown.number - 1))
        for entry in known.marked(judge.rule(view, promised, known)):
            before = found.get(entry.kept.name)
            rows = entry.rows if before is None else pl.concat([before.rows, entry.rows.select(before.rows.columns)])
            found[entry.kept.name] = Entry(entry.kept, rows)
    return tuple(found.values())


def compare_by_column(
    record: Record, books: Books, names: tuple[str, ...], asked: Promised, number: int, *, since: bool
) -> None:
    """Refuse books that say something else of a column than was told; ``since`` as in ``compare``."""
    for name in names:
        judge = asked.judge
        judge.compare(ColumnRecord(record, name), judge.told_before(books.of_column(name), number), since=since)
