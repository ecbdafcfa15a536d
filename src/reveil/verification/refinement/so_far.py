"""What a judge in shards is handed of the releases before: of people by bucket, of cells by bucket of cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from reveil.verification.record import MemoryRecord

if TYPE_CHECKING:
    import polars as pl

    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import AnyInts, Ints
    from reveil.verification.record import Entry, Kept

FIRST_NEW = 1 << 30  # new cells of a bucket have numbers from here on, until those of all buckets are known
BUCKET, ROW, NOW, SAID = "bucket", "row", "now", "said"


def mark_column(s: int) -> str:
    """Return the name of the column of the marks of a sensitive column."""
    return f"m{s}"


def first_told(s: int) -> str:
    """Return the name of the column that says whose value is told for the first time, or is another than before."""
    return f"f{s}"


class RecordOfBucket(MemoryRecord):
    """A record of the people of a bucket: whoever asks for some of them is given the rows of all."""

    def of(self, kept: Kept, who: AnyInts) -> pl.DataFrame:  # noqa: ARG002
        """Return the rows of everybody in the bucket; who joins them with people finds the right ones."""
        return self.rows(kept)


class PeopleInBuckets(Protocol):
    """The people of a series, bucket by bucket; it can be pickled.

    Whoever is in the table is known by the number of their record, anybody else by one behind these.
    """

    def snapshot(self, bucket: int) -> Snapshot:
        """Return the records of a bucket."""

    def bucket_of(self, persons: Ints) -> Ints:
        """Return the bucket of each of some people who are not in the table, -1 of nobody."""

    def strangers(self, bucket: int, persons: Ints) -> pl.DataFrame:
        """Return the quasi values of the last records of some people of a bucket who are not in the table."""

    def recorded(self, kept: Kept, bucket: int) -> pl.DataFrame:
        """Return what the judge recorded of the people of a bucket."""

    def cells_told(self, bucket: int) -> pl.DataFrame:
        """Return in which ``cell`` the vault's books say that people (``who``) of a bucket are."""


class CellsInBuckets(Protocol):
    """What the judge recorded of the cells of each bucket. It can be pickled."""

    def read(self, name: str, bucket: int) -> pl.DataFrame:
        """Return the rows of a table that are about the cells of a bucket."""


class NotingCells(Protocol):
    """Takes what is to be recorded of the cells of a bucket. It can be pickled, and may be told the same twice."""

    def record(self, bucket: int, entry: Entry) -> None:
        """Note what changes in a table."""


@dataclass(frozen=True)
class CellsSoFar:
    """What is known of the releases before: of people and of cells by bucket, of sizes all together.

    ``sizes`` are those of the judge, ``sizes_told`` those of the vault's books. ``starts`` are the numbers of the first
    records of buckets, ``cell_buckets`` is how many buckets of cells there are.
    """

    people: PeopleInBuckets
    cells: CellsInBuckets
    sizes: pl.DataFrame = field(repr=False)
    sizes_told: pl.DataFrame = field(repr=False)
    starts: tuple[int, ...]
    rows: int
    cell_buckets: int
    number: int  # of the release that is judged

    def numbers(self, bucket: int) -> tuple[int, int]:
        """Return the number of the first record of a bucket, and that behind its last one."""
        ends = (*self.starts[1:], self.rows)
        return self.starts[bucket], ends[bucket]

    def local(self, bucket: int, who: Ints) -> Ints:
        """Return the numbers of people as they are beside the records of a bucket alone."""
        first, end = self.numbers(bucket)
        found: Ints = np.where(who < self.rows, who - first, end - first + who - self.rows)
        return found
