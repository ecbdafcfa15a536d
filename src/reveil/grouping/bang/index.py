"""A table in a BANG file: records block by block, what models ask of blocks, and blocks put together as a partition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import CodeArray, IntArray, offsets_of, spans
from reveil.grouping.bang.building import build
from reveil.grouping.bang.dendrogram import Dendrogram
from reveil.grouping.bang.keys import interleaved, sort_keys
from reveil.grouping.bang.neighbours import candidates
from reveil.grouping.bang.nesting import published_regions
from reveil.grouping.bang.scales import Scales
from reveil.models.statistics import Boxes, GroupRegions, GroupStats, Histogram, Partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.grouping.bang.regions import Regions
    from reveil.models.base import Model
    from reveil.models.encoding import Codes


@dataclass(frozen=True)
class Filed:
    """Coded records in blocks: block b is region b without inner ones, its records start at ``offsets[b]``."""

    codes: Codes
    scales: Scales
    regions: Regions
    records: CodeArray = field(repr=False)
    offsets: IntArray = field(repr=False)

    @classmethod
    def of(
        cls,
        codes: Codes,
        capacity: int,
        given: Mapping[str, Sequence[object]] | None = None,
        *,
        quantile: bool = False,
        model: Model | None = None,
    ) -> Filed:
        """File a table in blocks of ``capacity`` to twice as many records; every block satisfies ``model`` if given.

        Without a model, or with one on sizes alone, no sensitive value is looked at.
        """
        scales = Scales.of(codes, given, quantile=quantile)
        order, keys = sort_keys(interleaved(scales.cells(codes), scales.bits))
        read = codes.sensitive if model is not None and model.tags.reads_values else ()
        sensitive = [replace(attribute, codes=attribute.codes[order]) for attribute in read]
        blocks = build(keys, scales.bits, capacity, model=model, sensitive=sensitive)
        return cls(codes, scales, blocks.regions, order[blocks.records], blocks.offsets)

    @property
    def sizes(self) -> IntArray:
        """Records per block."""
        return np.diff(self.offsets)

    def stats(self, model: Model) -> GroupStats:
        """Return what a model may ask about the blocks."""
        read = self.codes.sensitive if model.tags.reads_values else ()
        histograms = {a.name: self._histogram(a.codes, a.domain) for a in read}
        return GroupStats(self.sizes, histograms, {a.name: a.reference() for a in read})

    def _histogram(self, values: CodeArray, domain: int) -> Histogram:
        return Histogram.of_segments(values[self.records], self.offsets[:-1], self.offsets[1:], domain)

    def dendrogram(self) -> Dendrogram:
        """Merge the blocks into a tree; sizes, volumes and boxes of quasi values are looked at, nothing else."""
        rows = self.codes.columns(self.records)
        # A missing value counts as what lies behind the last one, so that no code is apart here.
        nowhere = [a.null_code + 1 for a in self.codes.quasi]
        boxes = Boxes.of_segments(rows, self.offsets[:-1], self.offsets[1:], nowhere)
        del rows
        lo, hi = (
            np.stack([a.positions[np.clip(ends[i], 0, a.null_code)] for i, a in enumerate(self.codes.quasi)], axis=1)
            for ends in (boxes.lo, boxes.hi)
        )
        return Dendrogram.of(self.sizes, self.regions.volumes, lo, hi, candidates(self.regions))

    def partition(self, labels: CodeArray) -> Partition:
        """Return blocks put together into groups as a partition of the records; -1 only for blocks without records."""
        blocks = np.argsort(labels, kind="stable")[int((labels < 0).sum()) :]
        many = self.offsets[blocks + 1] - self.offsets[blocks]
        sizes = np.zeros(int(labels.max(initial=-1)) + 1, np.int64)
        np.add.at(sizes, labels[blocks], many)
        offsets = offsets_of(sizes)
        return Partition(self.records[spans(self.offsets[blocks], many)], offsets, self.codes.n)

    def nested(self, model: Model) -> Partition:
        """Cut the tree of nested regions: every group is a published region without the published ones inside it."""
        home = published_regions(self.regions.parents, model, self.stats(model))
        used, labels = np.unique(home[self.sizes > 0], return_inverse=True)
        of_block = np.full(len(home), -1, np.int32)
        of_block[self.sizes > 0] = labels
        lo, hi = (ends[used] for ends in self.regions.box_cells())
        first, last = np.empty_like(lo), np.empty_like(hi)
        for a, (firsts, lasts) in enumerate(self.scales.codes_of_cells(self.codes)):
            # The first code at or behind a cell, and the last at or before it: cells without codes lie between.
            first[:, a] = np.minimum.accumulate(firsts[::-1])[::-1][lo[:, a]]
            last[:, a] = np.maximum.accumulate(lasts)[hi[:, a]]
        whole = self.partition(of_block)
        regions = GroupRegions(first, last, self.regions.levels[used])
        return Partition(whole.order, whole.offsets, whole.n, regions=regions)


def in_cell_order(codes: Codes, scales: Scales) -> Codes:
    """Return codes that ascend with the cells.

    They do, except where categories without an order were ranked anew since the scales were made: these are ranked by
    cell first, so that a run of cells is a run of codes.
    """
    quasi = list(codes.quasi)
    for i, (attribute, cells) in enumerate(zip(codes.quasi, scales.of_codes(codes), strict=True)):
        known = cells[:-1]
        if (np.diff(known) < 0).any():
            order = np.argsort(known, kind="stable")
            ranks = np.empty(len(order) + 1, np.int32)
            ranks[order] = np.arange(len(order), dtype=np.int32)
            ranks[-1] = attribute.null_code
            meaning = replace(attribute.meaning, values=attribute.domain.gather(order))
            quasi[i] = replace(attribute, meaning=meaning, codes=ranks[attribute.codes])
    return replace(codes, quasi=tuple(quasi))
