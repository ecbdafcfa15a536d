"""The blocks of a whole table at once: sort the keys, then split ranges of records.

*The rule.* A block with more than 2M records is halved again and again towards the half with more of its records; the
region on this way whose number of records is nearest to half of the block's is kept as a new, nested region, if both
parts keep at least M records. Of equally near regions the larger is kept. Halvings that part nothing are passed over.

*Theorem (capacity).* If a table has at least M records, every block has at least M. A block has more than 2M only if
no region at all, whether towards the fuller half or not, parts its records into two parts of at least M; and 3M or more
only if more than its records less M are in one finest cell (duplicates, as far as the scales can see). *Proof.* The
first: a split leaves M on both sides, and a block without a split is the whole table. For the others let c be the
block's records and c_0 = c, c_1, ... those of the regions towards the fuller half; each is at least half of the one
before. If none lies between M and c - M, then let c_j be the first that is at most c - M. It is below M, so is what
every region beside the way holds, which is at most c - c_(j-1) < M for the regions parted before and at most c_j for
the others, and there is no region elsewhere. And c_j is at least half of c_(j-1) > c - M, so c < 3M. If there is no
such j, more than c - M records are in the finest cell at the end. The nearest to half of all regions is on the way,
too: at each halving the emptier half holds at most what the fuller leaves. *Assumes* nothing of the keys.

*Grade.* Without a model, or with one that reads sizes alone, no choice looks at a sensitive value (*blind*). A model
that reads values may refuse a region because of them, and what is not split tells that (*counted*).

*Source*: Freeston 1987.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import BoolArray, CodeArray, IntArray, offsets_of, spans
from reveil.core.kernels import bang_build
from reveil.grouping.bang.regions import Regions
from reveil.models.statistics import GroupStats, Histogram

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.grouping.bang.keys import KeyArray
    from reveil.models.base import Model
    from reveil.models.encoding import SensitiveAttribute
    from reveil.models.statistics import Reference


@dataclass(frozen=True)
class Blocks:
    """The blocks of a table: their regions, how many records each has and which.

    ``records`` lists the records, numbered in key order, block by block in the order of the regions; in a block they
    are in key order.
    """

    regions: Regions
    counts: IntArray = field(repr=False)
    records: CodeArray = field(repr=False)

    @cached_property
    def of_record(self) -> CodeArray:
        """The block of each record, records in key order."""
        out = np.empty(len(self.records), np.int32)
        out[self.records] = np.repeat(np.arange(len(self.counts), dtype=np.int32), self.counts)
        return out

    @cached_property
    def offsets(self) -> IntArray:
        """Where each block's records begin and end in ``records``."""
        return offsets_of(self.counts)


@dataclass(frozen=True)
class Divided:
    """Blocks after their splits: block b has the records ``records[starts[b]:ends[b]]``.

    The first blocks are those that were given. Of the others, ``origin`` is the block each was split from, ``source``
    a record in its region and ``levels`` the level of the region.
    """

    records: CodeArray
    starts: IntArray
    ends: IntArray
    origin: CodeArray
    source: CodeArray
    levels: CodeArray

    def prefixes(self, keys: KeyArray) -> KeyArray:
        """Return the regions of the new blocks."""
        out = np.empty((len(self.levels), keys.shape[1]), np.uint64)
        bang_build.prefixes(keys, self.source, self.levels, out)
        return out


def build(
    keys: KeyArray,
    bits: tuple[int, ...],
    capacity: int,
    *,
    model: Model | None = None,
    sensitive: Sequence[SensitiveAttribute] = (),
    table: Mapping[str, Reference] | None = None,
) -> Blocks:
    """Build the blocks of records with these sorted keys; a block has ``capacity`` to twice as many, as far as may be.

    ``model``: both parts of every split satisfy it, so that every block does if the table as a whole does; what it
    refuses, the next nearest to half is tried instead. ``sensitive`` are the attributes that it reads, their codes in
    the order of the keys; ``table`` is what it compares blocks with (without: these records).
    """
    if capacity < 1:
        raise ValueError("a block holds at least one record")
    n = len(keys)
    all_records = np.arange(n, dtype=np.int32)
    starts, ends = np.zeros(1, np.int64), np.array([n], np.int64)
    if model is None:
        divided = divide(keys, all_records, starts, ends, capacity)
    else:
        read = tuple(sensitive) if model.tags.reads_values else ()
        against = {a.name: a.reference() for a in read} if table is None else table
        divided = _Judged(keys, all_records, capacity, model, read, against).divide()
    words = np.concatenate([np.zeros((1, keys.shape[1]), np.uint64), divided.prefixes(keys)])
    levels = np.concatenate([np.zeros(1, np.int32), divided.levels])
    regions, order = Regions.of(words, levels, bits)
    starts, ends = divided.starts[order], divided.ends[order]
    records = np.empty(n, np.int32)
    bang_build.line_up(divided.records, starts, ends, records)
    return Blocks(regions, ends - starts, records)


def divide(keys: KeyArray, records: CodeArray, starts: IntArray, ends: IntArray, capacity: int) -> Divided:
    """Split every block with more than twice the capacity, as long as both parts keep the capacity."""
    blocks = len(starts)
    room = blocks + len(records) // capacity
    first, last = np.empty(room, np.int64), np.empty(room, np.int64)
    first[:blocks], last[:blocks] = starts, ends
    origin, source, level = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    records = records.copy()
    given, splits = bang_build.BlockRanges(records, first, last), bang_build.Splits(origin, source, level)
    total = bang_build.divide(keys, given, blocks, 2 * capacity, capacity, splits)
    new = slice(blocks, total)
    return Divided(records, first[:total], last[:total], origin[new], source[new], level[new])


class _Judged:
    """Splitting under a model: rounds over all blocks that are too large, one verdict for all of them at once."""

    def __init__(
        self,
        keys: KeyArray,
        records: CodeArray,
        capacity: int,
        model: Model,
        sensitive: tuple[SensitiveAttribute, ...],
        table: Mapping[str, Reference],
    ) -> None:
        self.keys, self.records, self.model, self.sensitive, self.table = keys, records, model, sensitive, table
        self.most = 2 * capacity
        self.least = max(capacity, model.minimum_size)
        self.starts, self.ends = np.zeros(1, np.int64), np.array([len(records)], np.int64)
        self.origin, self.source, self.levels = (np.zeros(0, np.int32) for _ in range(3))
        self.values = [a.codes for a in sensitive]
        self.room = np.empty(len(records), np.int32)

    def divide(self) -> Divided:
        """Split until every block that is too large has been tried in vain."""
        open_blocks = np.zeros(1, np.int64)
        while True:
            open_blocks = open_blocks[(self.ends - self.starts)[open_blocks] > self.most]
            if not len(open_blocks):
                return Divided(self.records, self.starts, self.ends, self.origin, self.source, self.levels)
            open_blocks = self._round(open_blocks)

    def _round(self, blocks: IntArray) -> IntArray:
        """Split each of these blocks once, if that can be; return the parts."""
        starts, ends = self.starts[blocks], self.ends[blocks]
        # On the way the records become fewer with each candidate, and between the least on this and on that side.
        room = int(np.clip(ends - starts - 2 * self.least + 1, 0, 64 * self.keys.shape[1]).sum())
        offsets = np.empty(len(blocks) + 1, np.int64)
        parts = bang_build.BlockParts(np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int32))
        bang_build.paths(self.keys, bang_build.BlockRanges(self.records, starts, ends), self.least, offsets, parts)
        first, last, level = parts
        whole = self._histograms(starts, ends)
        chosen = np.full(len(blocks), -1, np.int64)
        turn = offsets[:-1].copy()
        while True:
            trying = (chosen < 0) & (turn < offsets[1:])
            if not trying.any():
                break
            candidate = turn[trying]
            good = self._valid(starts[trying], ends[trying], first[candidate], last[candidate], trying, whole)
            chosen[np.flatnonzero(trying)[good]] = candidate[good]
            turn[trying] += 1
        split = chosen >= 0
        return self._split(blocks[split], first[chosen[split]], last[chosen[split]], level[chosen[split]])

    def _split(self, blocks: IntArray, first: IntArray, last: IntArray, level: CodeArray) -> IntArray:
        ends = self.ends[blocks]
        new = np.arange(len(self.starts), len(self.starts) + len(blocks))
        self.source = np.concatenate([self.source, self.records[first]])
        bang_build.part(self.records, ends, first, last, self.room)
        middle = ends - (last - first)
        self.ends[blocks] = middle
        self.starts, self.ends = np.concatenate([self.starts, middle]), np.concatenate([self.ends, ends])
        self.origin = np.concatenate([self.origin, blocks.astype(np.int32)])
        self.levels = np.concatenate([self.levels, level])
        return np.concatenate([blocks, new])

    def _valid(
        self,
        starts: IntArray,
        ends: IntArray,
        first: IntArray,
        last: IntArray,
        which: BoolArray,
        whole: dict[str, Histogram],
    ) -> BoolArray:
        """Return where the model accepts both the part and what is left of the block without it."""
        inner = self._histograms(first, last)
        outer = {name: histogram.select(which).less(inner[name]) for name, histogram in whole.items()}
        part = self.model.verdict(GroupStats(last - first, inner, self.table))
        rest = self.model.verdict(GroupStats((ends - starts) - (last - first), outer, self.table))
        return part & rest

    def _histograms(self, starts: IntArray, ends: IntArray) -> dict[str, Histogram]:
        """Count the values of records that lie together."""
        sizes = ends - starts
        offsets = offsets_of(sizes)
        records = self.records[spans(starts, sizes)]
        return {
            a.name: Histogram.of_segments(codes[records], offsets[:-1], offsets[1:], a.domain)
            for a, codes in zip(self.sensitive, self.values, strict=True)
        }
