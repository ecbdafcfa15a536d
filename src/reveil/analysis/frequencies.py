"""How often the values of a column occur, as far as the release itself tells: cells weighed by what other cells show.

The estimate of a count takes the values inside a cell as equally likely. They are not: in a column of working hours
most people have 40, and the tight cells of a release show it. Here the rows of each cell are first shared out evenly;
that says how frequent each value is; and then in proportion to these frequencies (the first step towards the
maximum-likelihood estimate of a distribution from intervals and sets; Turnbull 1976). Only published cells are read.
What a count would be with these shares is compared with what it is with even ones: the difference is how much may be
wrong with taking values as equally likely (:mod:`reveil.analysis.intervals`).
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import sums_of
from reveil.tables.expressions.lines import Intervals, LineDivision
from reveil.tables.expressions.word_sets import WordDivision, WordSets

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray
    from reveil.tables.expressions.positions import LineCut
    from reveil.tables.expressions.regions import ColumnRegions, Division, FloatArray, IndexArray, Numbers, Spread

ROUNDS = 1  # further ones pile everything up where many cells overlap: tried on five tables, they were farther off
_SOME = 1e-12
_FAR = 1e300


class WeighedLine(Intervals):
    """Intervals measured by how many records lie in them, instead of by their length."""

    def __init__(self, line: Intervals, rows: FloatArray) -> None:
        self.__dict__.update(vars(line))
        only_null = line.lo > line.hi
        lo = line.lo.astype(np.float64)
        behind = line.hi.astype(np.float64)
        behind = behind + 1 if line.exact else np.nextafter(behind, np.inf)
        lo, behind = np.where(only_null, 0.0, lo), np.where(only_null, 0.0, behind)
        ends = np.unique(np.concatenate([lo, behind]))
        self.ends = ends if len(ends) else np.zeros(1)  # of a release without rows
        first, last = np.searchsorted(self.ends, lo), np.searchsorted(self.ends, behind)
        width = np.diff(self.ends, append=self.ends[-1:])
        mass, nothing = width / max(width.sum(), _SOME), np.zeros(1)
        null = float(rows[line.null].sum()) / max(rows.sum(), 1) / 2
        for _ in range(ROUNDS):
            upto = np.concatenate([nothing, np.cumsum(mass)])
            per = rows / np.maximum(upto[last] - upto[first] + null * line.null, _SOME)
            change = sums_of(first, per, len(mass) + 1) - sums_of(last, per, len(mass) + 1)
            mass = mass * np.maximum(np.cumsum(change)[:-1], 0)
            null = null * float((per * line.null).sum())
            total = max(mass.sum() + null, _SOME)
            mass, null = mass / total, null / total
        self.upto = np.concatenate([nothing, np.cumsum(mass)])[:-1]
        whole = self.upto[last] - self.upto[first]
        self.whole, self.exact = line.exact, True  # no length is halved
        self.start, self.amount = self.upto[first], np.maximum(whole, _SOME)
        self.measure = self.amount
        if line.null_share is not None:
            among = np.where(only_null, 0.0, whole) + null
            self.null_share = np.where(line.null, np.where(among > 0, null / np.maximum(among, _SOME), 0.5), 0.0)

    def at(self, cells: IndexArray) -> Intervals:
        """Return the given cells alone."""
        part = copy(self)
        part.start, part.amount = self.start[cells], self.amount[cells]
        part.lo, part.measure = self.lo[cells], part.amount
        if self.null_share is not None:
            part.null, part.null_share = self.null[cells], self.null_share[cells]
        return part

    def means(self, start: FloatArray, end: FloatArray, otherwise: FloatArray) -> FloatArray:
        """Return the mean value from start to end, where records lie there; else what is given."""
        middle = (self.ends[:-1] + self.ends[1:] - self.whole) / 2
        moments = np.concatenate([[0.0], np.cumsum(np.diff(self.upto) * middle)])
        mass = np.interp(end, self.ends, self.upto) - np.interp(start, self.ends, self.upto)
        moment = np.interp(end, self.ends, moments) - np.interp(start, self.ends, moments)
        return np.where(mass > _SOME, moment / np.maximum(mass, _SOME), otherwise)

    def below(self, cut: LineCut) -> Numbers:
        """Return how much of each interval lies below a cut."""
        at = np.nextafter(cut.value, np.inf) if cut.after else cut.value
        found: Numbers = np.clip(np.interp(at, self.ends, self.upto) - self.start, 0, self.amount)
        return found


class WeighedWords(WordDivision):
    """Words measured by how many records have them."""

    def __init__(self, division: WordDivision, weights: FloatArray) -> None:
        super().__init__(division.words, division.truths)
        self.weights = weights

    def spread(self, region: IntArray, regions: int, cells: IndexArray | None = None) -> Spread:
        """Share each cell out to the regions by the weights of its members."""
        found = super().spread(region, regions, cells)
        sets, size = self.words, len(self.words.words)
        if sets.open_cells is not None:
            return found
        weigh = np.stack([np.where(region[: size + 1] == r, self.weights, 0.0) for r in range(regions)])
        amounts = np.stack([_summed(sets, weights) for weights in weigh])
        amounts = amounts / np.maximum(amounts.sum(axis=0), _SOME)
        return replace(found, amounts=amounts if cells is None else amounts[:, cells])


def _summed(sets: WordSets, weights: FloatArray) -> FloatArray:
    """Return for each cell the sum of a weight over its members; null has the last."""
    if sets.members is not None:
        return sums_of(sets.members[0], weights[sets.members[1]], sets.cells)
    lo, hi, null = sets.runs  # type: ignore[misc]  # one of the two is given
    upto = np.concatenate([[0.0], np.cumsum(weights[:-1])])
    total: FloatArray = upto[hi + 1] - upto[lo] + null * weights[-1]
    return total


def word_frequencies(sets: WordSets, rows: FloatArray) -> FloatArray:
    """Return how frequent each word is, null last, cells being shared out by frequency."""
    weights = np.ones(len(sets.words) + 1)
    for _ in range(ROUNDS):
        per = rows / np.maximum(_summed(sets, weights), _SOME)
        if sets.members is not None:
            met = sums_of(sets.members[1], per[sets.members[0]], len(weights))
        else:
            lo, hi, null = sets.runs  # type: ignore[misc]
            change = sums_of(lo, per, len(weights) + 1) - sums_of(hi + 1, per, len(weights) + 1)
            met = np.append(np.cumsum(change)[: len(weights) - 1], (per * null).sum())
        weights = weights * np.maximum(met, 0)
        weights /= max(weights.sum(), _SOME)
    return weights


def weighed(regions: ColumnRegions, rows: FloatArray, kept: dict[int, object]) -> ColumnRegions:
    """Return the regions of a column with cells shared out by frequency; ``rows``: those of each distinct cell."""
    division: Division = regions.division
    if isinstance(division, LineDivision):
        if not division.line.exact and not (np.abs(division.line.amount) < _FAR).all():
            return regions  # lengths that cannot be added up
        line = kept.get(id(division.line))
        if not isinstance(line, WeighedLine):
            line = kept[id(division.line)] = WeighedLine(division.line, rows)
        return replace(regions, division=LineDivision(line, division.cuts, division.truths))
    if isinstance(division, WordDivision):
        weights = kept.get(id(division.words))
        if not isinstance(weights, np.ndarray):
            weights = kept[id(division.words)] = word_frequencies(division.words, rows)
        return replace(regions, division=WeighedWords(division, weights))
    return regions
