"""Blocks of a table in shards: keys are made shard by shard, and put in order in one memory.

What needs all records at once is one key for each (some 16 bytes, and while they are sorted three times as much), and
one value, where the model reads values. Blocks, their tree and the cut are those of the table in memory, by the same
code; which block has which record is noted in a file that all workers reach, and records go to their groups from there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.engines.shards import COUNTED
from reveil.grouping.bang.building import build
from reveil.grouping.bang.dendrogram import Dendrogram
from reveil.grouping.bang.keys import interleaved, sort_keys, words_of
from reveil.grouping.bang.neighbours import candidates
from reveil.grouping.bang.scales import Scales
from reveil.grouping.cut_tree import quasi_column, sensitive_column, wide
from reveil.models.encoding import Attribute, Codes, SensitiveAttribute
from reveil.models.statistics import GroupStats, Histogram, Reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.engines.shards import Shards
    from reveil.grouping.bang.building import Blocks
    from reveil.grouping.groupers.bang import BangA
    from reveil.models.base import Model
    from reveil.models.domains import Domain, FloatArray, SensitiveDomain

_COUNTS = pl.Schema({"attribute": pl.Int32, "code": pl.Int32, COUNTED: pl.Int64})
_BLOCK = "block"


@dataclass(frozen=True)
class WholeTable:
    """What each shard has to know of the whole table: how many records, and how often each code occurs."""

    n: int
    counts: tuple[IntArray, ...] = field(repr=False)  # of quasi attributes, null last
    references: Mapping[str, Reference] = field(repr=False)

    @property
    def occurring(self) -> tuple[int, ...]:
        """How many values of each attribute occur."""
        return tuple(int(np.count_nonzero(column_counts[:-1])) for column_counts in self.counts)


@dataclass(frozen=True)
class CountAttributes:
    """Work: how often each code of each attribute occurs, quasi ones first."""

    quasi: int
    sensitive: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Count a shard."""
        names = [quasi_column(a) for a in range(self.quasi)] + [sensitive_column(s) for s in range(self.sensitive)]
        found = [_COUNTS.to_frame()]
        for at, name in enumerate(names):
            counts = np.bincount(table[name].to_numpy())
            seen = np.flatnonzero(counts)
            columns = {"attribute": np.full(len(seen), at), "code": seen, COUNTED: counts[seen]}
            found.append(pl.DataFrame(columns).cast(dict(_COUNTS)))  # type: ignore[arg-type]
        return pl.concat(found)


def whole_table(coded: Shards, quasi: Sequence[Domain], sensitive: Sequence[SensitiveDomain], most: int) -> WholeTable:
    """Count the codes of a table."""
    counted = coded.count(CountAttributes(len(quasi), len(sensitive)), most)
    sizes = [domain.null_code + 1 for domain in quasi] + [domain.size for domain in sensitive]
    laid_out = []
    for at, size in enumerate(sizes):
        column_counts, many = counted.filter(pl.col("attribute") == at), np.zeros(size, np.int64)
        many[column_counts["code"].to_numpy()] = column_counts[COUNTED].to_numpy()
        laid_out.append(many)
    references = {
        domain.name: Reference(many, domain.ordered, domain.levels)
        for domain, many in zip(sensitive, laid_out[len(quasi) :], strict=True)
    }
    return WholeTable(int(laid_out[0].sum()), tuple(laid_out[: len(quasi)]), references)


@dataclass(frozen=True)
class KeyRecords:
    """Work: the keys of records, and their values where somebody reads them."""

    number: str
    scales: Scales
    quasi: tuple[Domain, ...] = field(repr=False)
    values: tuple[str, ...]

    @property
    def returns(self) -> pl.Schema:
        """The columns of keys."""
        words = {f"k{word}": pl.UInt64() for word in range(words_of(self.scales.bits))}
        return pl.Schema({self.number: pl.Int64(), **words, **dict.fromkeys(self.values, pl.Int32())})

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Key a shard."""
        quasi = (Attribute(domain, wide(table[quasi_column(a)])) for a, domain in enumerate(self.quasi))
        codes = Codes(tuple(quasi), (), table.height)
        keys = interleaved(self.scales.cells(codes), self.scales.bits)
        words = [pl.Series(f"k{word}", keys[:, word]) for word in range(keys.shape[1])]
        values = (pl.col(name).cast(pl.Int32) for name in self.values)
        return table.select(self.number, *values).with_columns(words).select(self.returns.names())


@dataclass(frozen=True)
class BoxBlocks:
    """Work: the boxes of the records that a shard has of each block."""

    number: str
    blocks: str  # the file that has the block of each record
    quasi: int

    @property
    def returns(self) -> pl.Schema:
        """The columns of boxes."""
        ends = {f"{end}{a}": pl.Int32() for end in ("lo", "hi") for a in range(self.quasi)}
        return pl.Schema({_BLOCK: pl.Int32(), **ends})

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Look at a shard."""
        blocks = pl.Series(_BLOCK, noted_for(Path(self.blocks), table[self.number].to_numpy()), pl.Int32)
        names = [quasi_column(a) for a in range(self.quasi)]
        least = [pl.col(name).min().cast(pl.Int32).alias(f"lo{a}") for a, name in enumerate(names)]
        most = [pl.col(name).max().cast(pl.Int32).alias(f"hi{a}") for a, name in enumerate(names)]
        return table.with_columns(blocks).group_by(_BLOCK).agg(*least, *most).select(self.returns.names())


def noted_for(path: Path, numbers: IntArray) -> CodeArray:
    """Return what a file notes for the records with these numbers; the rest of it is not read."""
    found: CodeArray = np.load(path, mmap_mode="r")[numbers]
    return found


def note(path: Path, noted: CodeArray) -> Path:
    """Note a number for each record in a file."""
    np.save(path, noted)
    return path


def group_blocks(
    coded: Shards,
    whole: WholeTable,
    quasi: tuple[Domain, ...],
    sensitive: tuple[SensitiveDomain, ...],
    method: BangA,
    model: Model,
    number: str,
    scratch: Path,
) -> CodeArray:
    """Return the group of each record, by its number: that which the whole table in memory would give."""
    within = method.within(model)
    scales = Scales.of(_counted(quasi, whole), method.scales, quantile=method.quantile)
    reads = model.tags.reads_values
    values = tuple(sensitive_column(s) for s in range(len(sensitive))) if reads else ()
    work = KeyRecords(number, scales, quasi, values)
    keys = np.empty((whole.n, words_of(scales.bits)), np.uint64)
    known = [np.empty(whole.n, np.int32) for _ in values]
    for table in coded.map(work, work.returns).tables():
        numbers = table[number].to_numpy()
        for word in range(keys.shape[1]):
            keys[numbers, word] = table[f"k{word}"].to_numpy()
        for held, name in zip(known, values, strict=True):
            held[numbers] = table[name].to_numpy()
    order, ordered = sort_keys(keys)
    del keys
    within_reads = within is not None and within.tags.reads_values
    in_order = [
        SensitiveAttribute(domain, held[order]) for domain, held in zip(sensitive, known, strict=False) if within_reads
    ]
    blocks = build(ordered, scales.bits, method.block, model=within, sensitive=in_order)
    del ordered, in_order
    records = order[blocks.records]
    of_record = np.empty(whole.n, np.int32)
    of_record[records] = np.repeat(np.arange(len(blocks.counts), dtype=np.int32), blocks.counts)
    histograms = {
        domain.name: Histogram.of_segments(held[records], blocks.offsets[:-1], blocks.offsets[1:], domain.size)
        for domain, held in zip(sensitive, known, strict=False)  # none where nobody reads values
    }
    del order, records, known
    stats = GroupStats(blocks.counts, histograms, dict(whole.references) if reads else {})
    lo, hi = _boxes(coded, BoxBlocks(number, str(note(scratch / "blocks.npy", of_record)), len(quasi)), quasi, blocks)
    tree = Dendrogram.of(blocks.counts, blocks.regions.volumes, lo, hi, candidates(blocks.regions))
    return np.asarray(tree.cut(model, stats), np.int32)[of_record]


def _counted(quasi: tuple[Domain, ...], whole: WholeTable) -> Codes:
    """Return codes that occur as often as those of the table: what cells of equally many records ask for."""
    attributes = (
        Attribute(domain, np.repeat(np.arange(len(column_counts), dtype=np.int32), column_counts))
        for domain, column_counts in zip(quasi, whole.counts, strict=True)
    )
    return Codes(tuple(attributes), (), whole.n)


def _boxes(coded: Shards, work: BoxBlocks, quasi: tuple[Domain, ...], blocks: Blocks) -> tuple[FloatArray, FloatArray]:
    """Return the box of the records of each block, in positions."""
    many = len(blocks.counts)
    # A missing value counts as what lies behind the last one.
    lo = np.stack([np.full(many, domain.null_code + 1, np.int32) for domain in quasi], axis=1)
    hi = np.full((many, len(quasi)), -1, np.int32)
    for table in coded.map(work, work.returns).tables():
        block = table[_BLOCK].to_numpy()  # each once in a table
        for a in range(len(quasi)):
            lo[block, a] = np.minimum(lo[block, a], table[f"lo{a}"].to_numpy())
            hi[block, a] = np.maximum(hi[block, a], table[f"hi{a}"].to_numpy())
    places = [
        np.stack([domain.positions[np.clip(ends[:, a], 0, domain.null_code)] for a, domain in enumerate(quasi)], axis=1)
        for ends in (lo, hi)
    ]
    return places[0], places[1]
