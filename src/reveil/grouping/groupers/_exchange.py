"""Records exchanged between neighbouring groups, after the cuts: what the kernel needs, and who is near whom.

What the model says decides what may be exchanged. A model on sizes alone lets every record move that leaves its group
large enough; no sensitive value is read then. A bound on the share of the most frequent value or on the number of
different ones is kept by counting; under any other model two records change places only if they have the same values,
which leaves every histogram as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reveil.core.arrays import CodeArray, IntArray, offsets_of, ranks_in_rows
from reveil.core.effort import Effort
from reveil.core.kernels import exchange
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.frequency_diversity import FrequencyDiversity

if TYPE_CHECKING:
    from reveil.core.kernels.cuts import CodedRecords
    from reveil.core.kernels.widening import Attributes
    from reveil.models.base import Model

_MOST_MEMBERS = 64
_APART = 1e3  # farther than any two groups of one cell
_ROUNDING = 1e-9


class ExchangeEffort(NamedTuple):
    """How far a search goes: with how many neighbours records are exchanged, and how often all groups are tried.

    Where groups are dealt by value, ``together`` near ones are assigned anew, in so many ``rounds``.
    """

    neighbours: int
    sweeps: int
    rounds: int
    together: int


SEARCHES = {Effort.NORMAL: ExchangeEffort(8, 2, 8, 64), Effort.THOROUGH: ExchangeEffort(20, 20, 24, 96)}


@dataclass(frozen=True)
class Exchange:
    """How records may change places."""

    attributes: Attributes
    search: ExchangeEffort
    rule: int
    bound: float
    least: int

    @classmethod
    def under(cls, model: Model, sensitive: int, attributes: Attributes, search: ExchangeEffort) -> Exchange:
        """Return what a model allows in a table with so many sensitive columns."""
        reading = [part for part in model.parts if part.tags.reads_values]
        least = max(model.minimum_size, 1)
        if not reading:
            return cls(attributes, search, exchange.FREE, 0.0, least)
        only = reading[0] if len(reading) == 1 and sensitive == 1 else None
        if isinstance(only, FrequencyDiversity):
            return cls(attributes, search, exchange.SHARE, float(only.l) * (1 + _ROUNDING), least)
        if isinstance(only, DistinctDiversity):
            return cls(attributes, search, exchange.DISTINCT, float(only.l), least)
        return cls(attributes, search, exchange.ALIKE, 0.0, least)

    def run(self, records: CodedRecords, starts: IntArray, ends: IntArray, cells: IntArray) -> IntArray:
        """Exchange records between groups of the same cell; return where the groups start then.

        The groups are in the order of their places, and those of a cell lie one behind the other: only the places of
        their own records change.
        """
        sizes = ends - starts
        most = max(_MOST_MEMBERS, 4 * self.least)
        taking = np.flatnonzero(sizes <= most)
        if len(taking) < 2:
            return starts
        places = np.repeat(starts, sizes) + ranks_in_rows(sizes)
        neighbours = self._neighbours(records.rows, places, sizes, cells, taking)
        inside = np.arange(most) < sizes[taking, None]
        members = np.where(inside, starts[taking, None] + np.arange(most), 0).astype(np.int32)
        after = sizes[taking]
        values = np.zeros(0, np.int32) if self.rule == exchange.FREE else _joint(records.values)
        rule = exchange.ValueRule(self.rule, self.bound, self.least, values)
        exchange.improve(
            records.rows, exchange.GroupLists(members, after, neighbours), self.attributes, rule, self.search.sweeps
        )
        changed = sizes.copy()
        changed[taking] = after
        before = offsets_of(changed)
        source = np.empty(len(places), np.int64)
        still = np.setdiff1d(np.arange(len(sizes)), taking)
        source[np.repeat(before[still], sizes[still]) + ranks_in_rows(sizes[still])] = np.repeat(
            starts[still], sizes[still]
        ) + ranks_in_rows(sizes[still])
        kept = np.arange(most) < after[:, None]
        source[np.repeat(before[taking], after) + ranks_in_rows(after)] = members[kept]
        for column in records:
            column[places] = column[source]
        return np.asarray(places[before[:-1]], np.int64)

    def _neighbours(
        self, rows: CodeArray, places: IntArray, sizes: IntArray, cells: IntArray, taking: IntArray
    ) -> IntArray:
        """Return the groups next to each of those that take part, by the middle of their records, within its cell."""
        from scipy.spatial import cKDTree

        middles = np.empty((len(taking), rows.shape[1] + 1))
        first = offsets_of(sizes)[:-1]
        for a in range(rows.shape[1]):
            at = self.attributes.positions[self.attributes.offsets[a] + rows[places, a]]
            middles[:, a] = (np.add.reduceat(at, first) / sizes)[taking]
        _, number = np.unique(cells[taking], return_inverse=True)
        middles[:, -1] = number * _APART * (1 + middles[:, :-1].max(initial=0.0))
        many = min(self.search.neighbours + 1, len(taking))
        found = np.asarray(cKDTree(middles).query(middles, many)[1], np.int64).reshape(len(taking), many)
        group = np.arange(len(taking))[:, None]
        return np.ascontiguousarray(np.where(number[found] == number[group], found, group))


def _joint(values: CodeArray) -> CodeArray:
    """Return one code for the values of each record in all sensitive columns together."""
    if values.shape[1] == 1:
        return np.ascontiguousarray(values[:, 0])
    _, joint = np.unique(values, axis=0, return_inverse=True)
    return joint.reshape(-1).astype(np.int32)
