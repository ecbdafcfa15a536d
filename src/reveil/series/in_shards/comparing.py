"""Each bucket of a table beside what was told: who is new, who stayed, who is back, who is gone, who changed.

What a release of a series in memory does with all people at once (:class:`~reveil.series.release_context`) is done
here with those of one bucket, by the same functions. A guarantee is handed the memory of a bucket and leaves a table of
its records; what the vault has to be told of a bucket lies in a file until the release is prepared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from reveil.engines.scratch import written
from reveil.series.events import Event, Events, events
from reveil.series.in_shards.ordered import BUCKET, HIGH, LOW, read_bucket
from reveil.series.in_shards.recalled import Matched, matched
from reveil.series.signatures import TOLD_SIGNATURES
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.guarantees.base import Memory
    from reveil.models.encoding import Codes, Domains
    from reveil.series.in_shards.ordered import Listed
    from reveil.series.in_shards.recalled import RecalledShards
    from reveil.series.stable_codes import StableMeanings
    from reveil.tables.snapshot import Snapshot

COUNTED = ("persons", "inserted", "deleted", "updated", "returned", "unchanged", "changed", "left")
COMPARED = pl.Schema({BUCKET: pl.Int32, **dict.fromkeys(COUNTED, pl.Int64)})


class Situating(Protocol):
    """What a guarantee makes of the records of a bucket; it can be pickled."""

    def __call__(self, memory: Memory, codes: Codes, numbers: IntArray) -> tuple[pl.DataFrame, int]:
        """Return the records that are published, in codes, and how many are left out."""


@dataclass(frozen=True)
class CompareBuckets:
    """Work: compare the buckets that a shard lists; leave the files of their records, return what is counted.

    ``memory`` is what is known of nobody in particular; ``signatures`` are the numbers of its sets.
    """

    example: Snapshot
    domains: Domains
    stable: StableMeanings
    recalled: RecalledShards
    memory: Memory
    signatures: IntArray = field(repr=False)
    situating: Situating
    folder: str

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Compare the buckets."""
        found = [self._compared(bucket) for bucket in table.iter_rows(named=True)]
        return pl.DataFrame(found, schema=COMPARED, orient="row")

    def _compared(self, bucket: Listed) -> tuple[int, ...]:
        found = ComparedBucket.of(self.example, self.domains, self.stable, self.recalled, bucket, self.folder)
        schema, size = self.example.schema, len(found.recall.person)
        told = found.recall.records_of(self.recalled.read(TOLD_SIGNATURES.name, found.number))
        nobody = np.zeros(size, np.bool_)
        changed = [found.happened.differs.get(name, nobody) for name in schema.sensitive]
        memory = replace(
            self.memory,
            values=found.lasting[schema.sensitive[0]],
            present=found.recall.present,
            changed=changed[0],
            block_records=told["record"].to_numpy().astype(np.int32),
            block_sets=np.searchsorted(self.signatures, told["signature"].to_numpy()).astype(np.int32),
            stable_codes=found.lasting,
        )
        first = int(bucket["number"])
        coded, left = self.situating(memory, found.codes, np.arange(first, first + size))
        written(coded, coded_path(Path(self.folder), found.number))
        return found.counted(left)


@dataclass(frozen=True)
class ComparedBucket:
    """The people of a bucket beside what is remembered, their codes, and what happened to them."""

    number: int
    snapshot: Snapshot
    codes: Codes
    lasting: Mapping[str, CodeArray] = field(repr=False)
    recall: Matched
    happened: Events

    @classmethod
    def of(
        cls,
        example: Snapshot,
        domains: Domains,
        stable: StableMeanings,
        recalled: RecalledShards,
        bucket: Listed,
        folder: str,
    ) -> ComparedBucket:
        """Compare a bucket, and leave the files of its records and of who is gone."""
        number, place = int(bucket[BUCKET]), Path(folder)
        snapshot, high, low = read_bucket(bucket, example)
        codes = domains.code(snapshot)
        lasting: dict[str, CodeArray] = {a.name: stable.quasi[a.name][a.codes] for a in codes.quasi}
        for name in snapshot.schema.sensitive:
            lasting[name] = stable.code(name, canonical_text(snapshot.frame[name]))
        recall = matched(recalled, number, high, low)
        happened = events(recall.person >= 0, recall.present, recall.last, lasting, len(recall.gone))
        stale = happened.stale
        for name in lasting:
            last = recall.last.get(name)
            stale = np.ones_like(stale) if last is None else stale | (last < 0)
        kept = {"person": recall.person, "stale": stale} | {f"x{at}": one for at, one in enumerate(lasting.values())}
        written(pl.DataFrame({HIGH: high, LOW: low, **kept}), records_path(place, number))
        written(pl.DataFrame({"person": recall.gone.astype(np.int32)}), gone_path(place, number))
        return cls(number, snapshot, codes, lasting, recall, happened)

    def counted(self, left: int) -> tuple[int, ...]:
        """Return a row of :data:`COMPARED`; so many records are ``left`` out."""
        nobody = np.zeros(len(self.recall.person), np.bool_)
        changed = [self.happened.differs.get(name, nobody) for name in self.snapshot.schema.sensitive]
        counts = self.happened.counts() | {
            "unchanged": self.happened.count(Event.UNCHANGED),
            "changed": int(sum(one.sum() for one in changed)),
            "left": left,
        }
        return self.number, *(counts[name] for name in COUNTED)


def records_path(folder: Path, bucket: int) -> Path:
    """Return where lies what the vault has to be told of the people of a bucket."""
    return folder / f"records-{bucket:05d}.arrow"


def gone_path(folder: Path, bucket: int) -> Path:
    """Return where lie the numbers of those of a bucket who are gone."""
    return folder / f"gone-{bucket:05d}.arrow"


def coded_path(folder: Path, bucket: int) -> Path:
    """Return where lie the records of a bucket in codes."""
    return folder / f"coded-{bucket:05d}.arrow"


@dataclass(frozen=True)
class ReadCoded:
    """Work: the records in codes of the buckets that a shard lists."""

    folder: str
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Read the files."""
        found = [self.returns.to_frame()]
        found += [pl.read_ipc(coded_path(Path(self.folder), n)) for n in table[BUCKET].to_list()]
        return pl.concat(found)


@dataclass(frozen=True)
class CountedEvents:
    """What happened to the people of a table, all buckets together."""

    counts: Mapping[str, int]

    @classmethod
    def of(cls, compared: pl.DataFrame) -> CountedEvents:
        """Add up what was counted bucket by bucket."""
        return cls({name: int(compared[name].sum()) for name in COUNTED})

    @property
    def deleted(self) -> int:
        """How many are gone."""
        return self.counts["deleted"]

    def count(self, event: Event) -> int:
        """Return to how many persons something happened."""
        return self.counts[{0: "inserted", 1: "unchanged", 2: "updated", 3: "returned"}[int(event)]]
