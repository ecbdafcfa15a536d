"""Which pieces of cells are valid: under the model, with the values of every release they were in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reveil.models.base import Model, ValueModel
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.models.t_closeness import TCloseness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import BoolArray, IntArray
    from reveil.guarantees.refinement.past import CellVersions, Past


@dataclass(frozen=True)
class Judge:
    """A model that looks at pieces of cells.

    Counted: a piece is valid when the model says so of its histogram in every version. ``blind``: it is valid when
    every part of so many members of its cell would be, whoever has which value; then the answer depends on sizes and
    on the histograms of whole cells, which are told anyway. ``tables`` has, for models that compare with the table,
    what the table of each release was, by attribute.
    """

    model: Model
    past: Past
    blind: bool = False
    tables: Mapping[str, Mapping[int, IntArray]] = field(default_factory=dict)

    def of_records(self, chosen: BoolArray, *, today: bool = True) -> BoolArray:
        """Return, for each cell, whether the chosen records in it are a valid piece or none.

        With what was told of them in every release, and with ``today``'s values.
        """
        histograms = [versions.histogram(chosen) for versions in self.past.versions]
        return self._valid(self.past.count(chosen), histograms, today=today)

    def without(self, chosen: BoolArray) -> BoolArray:
        """Return, for each cell, whether its members without the chosen records are a valid piece or none, as told."""
        sizes = self.past.sizes - self.past.count(chosen)
        return self._valid(
            sizes, [versions.counts.less(versions.histogram(chosen)) for versions in self.past.versions], today=False
        )

    def whole(self) -> BoolArray:
        """Return whether each cell is valid as told."""
        return self._valid(self.past.sizes, [versions.counts for versions in self.past.versions], today=False)

    def of_members(self, sizes: IntArray, histograms: list[Histogram]) -> BoolArray:
        """Return whether pieces are valid as told that are given by their size per cell and histograms per version."""
        return self._valid(sizes, histograms, today=False)

    def _valid(self, sizes: IntArray, histograms: list[Histogram], *, today: bool) -> BoolArray:
        valid = np.ones(self.past.n_cells, np.bool_)
        for part in self.model.parts:
            if not isinstance(part, ValueModel):
                valid &= part.verdict(GroupStats(sizes))
        for versions, histogram in zip(self.past.versions, histograms, strict=True):
            fails = ~self._versions(versions, sizes[versions.cell], histogram, today=today)
            valid[versions.cell[fails]] = False
        return valid

    def _versions(self, versions: CellVersions, sizes: IntArray, histogram: Histogram, *, today: bool) -> BoolArray:
        """Return which versions of a piece the models about one attribute accept."""
        valid: BoolArray = np.ones(len(versions.cell), np.bool_)
        for part in self.model.parts:
            if not isinstance(part, ValueModel) or not part.concerns(versions.name):
                continue
            if isinstance(part, TCloseness):  # today's table is not known before everything is decided
                for release in np.unique(versions.release[versions.release != versions.today]):
                    at = versions.release == release
                    valid[at] &= part.verdict(self._stats(versions, sizes, histogram, at, int(release)))
                continue
            every = np.ones(len(versions.cell), np.bool_)
            if self.blind:
                cells = self._stats(versions, versions.counts.totals, versions.counts, every, None)
                # All of a cell is as valid as the cell.
                valid &= part.surely(sizes, cells) | ((sizes == cells.sizes) & part.verdict(cells))
            else:
                valid &= part.verdict(self._stats(versions, sizes, histogram, every, None))
        return valid | (versions.release == versions.today) if not today else valid

    def _stats(
        self, versions: CellVersions, sizes: IntArray, histogram: Histogram, at: BoolArray, release: int | None
    ) -> GroupStats:
        attribute = versions.attribute
        counts = np.ones(attribute.domain, np.int64) if release is None else self.tables[versions.name][release]
        reference = Reference(counts, attribute.ordered, attribute.levels)
        chosen = histogram if at.all() else histogram.select(at)
        return GroupStats(sizes[at], {versions.name: chosen}, {versions.name: reference})
