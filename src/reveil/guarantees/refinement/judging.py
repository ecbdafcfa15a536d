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
    from reveil.guarantees.refinement.past import Past, Said


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
        own = [said.histogram(chosen) for said in self.past.said]
        return self._valid(self.past.count(chosen), own, today=today)

    def without(self, chosen: BoolArray) -> BoolArray:
        """Return, for each cell, whether its members without the chosen records are a valid piece or none, as told."""
        sizes = self.past.sizes - self.past.count(chosen)
        return self._valid(sizes, [said.counts.less(said.histogram(chosen)) for said in self.past.said], today=False)

    def whole(self) -> BoolArray:
        """Return whether each cell is valid as told."""
        return self._valid(self.past.sizes, [said.counts for said in self.past.said], today=False)

    def of_members(self, sizes: IntArray, histograms: list[Histogram]) -> BoolArray:
        """Return whether pieces are valid as told that are given by their size per cell and histograms per version."""
        return self._valid(sizes, histograms, today=False)

    def _valid(self, sizes: IntArray, histograms: list[Histogram], *, today: bool) -> BoolArray:
        valid = np.ones(self.past.n_cells, np.bool_)
        for part in self.model.parts:
            if not isinstance(part, ValueModel):
                valid &= part.verdict(GroupStats(sizes))
        for said, own in zip(self.past.said, histograms, strict=True):
            fails = ~self._versions(said, sizes[said.cell], own, today=today)
            valid[said.cell[fails]] = False
        return valid

    def _versions(self, said: Said, sizes: IntArray, own: Histogram, *, today: bool) -> BoolArray:
        """Return which versions of a piece the models about one attribute accept."""
        valid: BoolArray = np.ones(len(said.cell), np.bool_)
        for part in self.model.parts:
            if not isinstance(part, ValueModel) or not part.concerns(said.name):
                continue
            if isinstance(part, TCloseness):  # today's table is not known before everything is decided
                for release in np.unique(said.release[said.release != said.today]):
                    at = said.release == release
                    valid[at] &= part.verdict(self._stats(said, sizes, own, at, int(release)))
                continue
            every = np.ones(len(said.cell), np.bool_)
            if self.blind:
                cells = self._stats(said, said.counts.totals, said.counts, every, None)
                # All of a cell is as valid as the cell.
                valid &= part.surely(sizes, cells) | ((sizes == cells.sizes) & part.verdict(cells))
            else:
                valid &= part.verdict(self._stats(said, sizes, own, every, None))
        return valid | (said.release == said.today) if not today else valid

    def _stats(self, said: Said, sizes: IntArray, own: Histogram, at: BoolArray, release: int | None) -> GroupStats:
        attribute = said.attribute
        counts = np.ones(attribute.domain, np.int64) if release is None else self.tables[said.name][release]
        reference = Reference(counts, attribute.ordered, attribute.levels)
        chosen = own if at.all() else own.select(at)
        return GroupStats(sizes[at], {said.name: chosen}, {said.name: reference})
