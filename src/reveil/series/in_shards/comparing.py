"""Each bucket of a table beside what was told: who is new, who stayed, who is back, who is gone, who changed.

What a release of a series in memory does with all people at once (:class:`~reveil.series.release_context`) is done
here with those of one bucket, by the same functions. A guarantee is handed the memory of a bucket and leaves a table of
its records; what the vault has to be told of a bucket lies in a file until the release is prepared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from reveil.engines.scratch import written
from reveil.series.events import Event, events
from reveil.series.in_shards.ordered import BUCKET, HIGH, LOW, read_bucket
from reveil.series.in_shards.recalled import matched
from reveil.series.signatures import TOLD_SIGNATURES
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.guarantees.base import Memory
    from reveil.models.encoding import Codes, Domains
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

    def _compared(self, bucket: Mapping[str, Any]) -> tuple[int, ...]:
        number, folder = int(bucket[BUCKET]), Path(self.folder)
        snapshot, high, low = read_bucket(bucket, self.example)
        schema, size = snapshot.schema, snapshot.frame.height
        codes = self.domains.code(snapshot)
        lasting: dict[str, CodeArray] = {a.name: self.stable.quasi[a.name][a.codes] for a in codes.quasi}
        for name in schema.sensitive:
            lasting[name] = self.stable.code(name, canonical_text(snapshot.frame[name]))
        recall = matched(self.recalled, number, high, low)
        known = recall.person >= 0
        happened = events(known, recall.present, recall.last, lasting, len(recall.gone))
        stale = happened.stale
        for name in lasting:
            last = recall.last.get(name)
            stale = np.ones_like(stale) if last is None else stale | (last < 0)
        kept = {"person": recall.person, "stale": stale} | {f"x{at}": one for at, one in enumerate(lasting.values())}
        written(pl.DataFrame({HIGH: high, LOW: low, **kept}), records_path(folder, number))
        written(pl.DataFrame({"person": recall.gone.astype(np.int32)}), gone_path(folder, number))
        told = recall.records_of(self.recalled.read(TOLD_SIGNATURES.name, number))
        nobody = np.zeros(size, np.bool_)
        changed = [happened.differs.get(name, nobody) for name in schema.sensitive]
        memory = replace(
            self.memory,
            values=lasting[schema.sensitive[0]],
            present=recall.present,
            changed=changed[0],
            block_records=told["record"].to_numpy().astype(np.int32),
            block_sets=np.searchsorted(self.signatures, told["signature"].to_numpy()).astype(np.int32),
            stable_codes=lasting,
        )
        first = int(bucket["number"])
        coded, left = self.situating(memory, codes, np.arange(first, first + size))
        written(coded, coded_path(folder, number))
        counts = happened.counts() | {
            "unchanged": happened.count(Event.UNCHANGED),
            "changed": int(sum(one.sum() for one in changed)),
            "left": left,
        }
        return number, *(counts[name] for name in COUNTED)


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
