"""The cuts of Mondrian: nodes of records that are cut in two, level by level, until nothing can be cut."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, CodeArray, IntArray, offsets_of
from reveil.core.defaults import in_force
from reveil.core.effort import Effort
from reveil.core.errors import ConfigError
from reveil.core.kernels import cuts, gains
from reveil.core.threads import budget
from reveil.grouping.groupers._dealing import NODE, dealt, divisible, least_dealt
from reveil.grouping.groupers._exchange import SEARCHES, Exchange
from reveil.grouping.widths import attributes_of
from reveil.models.encoding import Codes, Kind
from reveil.models.statistics import GroupStats, Histogram, Partition, Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.mondrian import Mondrian
    from reveil.models.base import Model

FloatArray = npt.NDArray[np.float64]

# A subtree of this many records fits a core's cache.
_SUBTREE = 1 << 17
# In nodes below this, a cut is judged by the widths of all attributes; above, by that of the attribute it cuts.
WHOLE = 1 << 8


@dataclass(frozen=True)
class Cell:
    """What the records of a cell, or of several, have to know of the table: they are a part of it.

    ``ties`` are the dice of the records, which decide as they do in the whole table. ``occurring`` is how many values
    each quasi attribute has in it, nulls not counted.
    """

    ties: npt.NDArray[np.uint64] = field(repr=False)
    occurring: tuple[int, ...]


class Forest:
    """The records in the order of the cuts so far, and what the kernels need to know of the attributes."""

    def __init__(
        self,
        codes: Codes,
        model: Model,
        plan: Mondrian,
        rng: Dice,
        start: Partition,
        table: Mapping[str, Reference] | None,
        *,
        blind: bool,
        cell: Cell | None = None,
    ) -> None:
        if plan.choose == "gain" and not codes.sensitive:
            raise ConfigError("mondrian: choose = 'gain' needs a sensitive column", hint="Use another.")
        self.codes, self.model, self.plan, self.start, self.blind = codes, model, plan, start, blind
        self.index: CodeArray = start.order
        search = None if blind and model.tags.reads_values else SEARCHES.get(Effort(str(in_force(plan, "effort"))))
        mixes = plan.cut == "relaxed" or search is not None
        if mixes:
            # Ties are split by place, and so it is decided which of two equal records moves. Places must not follow the
            # order of the file, which may follow the values.
            if cell is None:
                ties = rng.child("ties").order_by(start.labels[self.index], numbers=self.index)
            else:
                ties = np.lexsort((cell.ties[self.index], start.labels[self.index]))
            self.index = self.index[ties]
        whole = start.n_groups == 1 and len(self.index) == codes.n
        self.rows: CodeArray = codes.matrix() if whole else np.ascontiguousarray(codes.columns(self.index))
        self.values: CodeArray = codes.values() if plan.reads_values(model) else np.empty((codes.n, 0), np.int32)
        if not whole:
            self.values = self.values[self.index]
        elif mixes:
            self.rows, self.values = self.rows[self.index], self.values[self.index]
        references = codes.references() if self.values.shape[1] else {}
        self.table: Mapping[str, Reference] = {**references, **table} if table is not None else references
        self.positions = [attribute.weight * attribute.positions for attribute in codes.quasi]
        self.attributes = attributes_of(codes.quasi, weighted=True, occurring=None if cell is None else cell.occurring)
        self.exchange: Exchange | None = None
        if search is not None:
            self.exchange = Exchange.under(model, len(codes.sensitive), self.attributes, search)
            self.rank: CodeArray = np.empty(codes.n, np.int32)
            self.rank[self.index] = np.arange(len(self.index), dtype=np.int32)
        self.boundaries = cuts.Boundaries(
            np.concatenate([attribute.boundaries for attribute in codes.quasi]),
            np.concatenate([next_lower(attribute.boundaries) for attribute in codes.quasi]),
            offsets_of([len(p) for p in self.positions])[:-1],
        )
        self.taxonomic = np.array([attribute.kind is Kind.TAXONOMY for attribute in codes.quasi])
        self.widest = max([len(p) for p in self.positions] + [a.domain for a in codes.sensitive])

    @property
    def records(self) -> cuts.CodedRecords:
        """The records as the kernels permute them."""
        return cuts.CodedRecords(self.rows, self.values, self.index)

    def partition(self) -> Partition:
        """Cut to the end and return the groups."""
        offsets = np.append(np.sort(self.grow()), len(self.index)).astype(np.int64)
        return Partition(self.index, offsets, self.start.n, self.rows)

    def grow(self) -> IntArray:
        """Cut all the records to the end; return where the groups start, in no particular order.

        Large nodes are cut once, and their halves are new tasks; a node that fits a core's cache is cut to the end
        where it is, and so are small ones together. Which thread takes which node changes nothing: a node's cuts
        depend on its own records only.
        """
        leaves: list[IntArray] = []
        starts, ends = self.start.offsets[:-1], self.start.offsets[1:]
        large = ends - starts > _SUBTREE
        bundle = starts[~large] // _SUBTREE
        with ThreadPoolExecutor(budget()) as pool:
            running = {pool.submit(self._node, *pair) for pair in zip(starts[large], ends[large], strict=True)}
            for number in np.unique(bundle):
                bundled = np.flatnonzero(~large)[bundle == number]
                running.add(pool.submit(self._small, starts[bundled], ends[bundled]))
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for task in done:
                    found, halves = task.result()
                    leaves.append(found)
                    running |= {pool.submit(self._node, start, end) for start, end in halves}
        return np.concatenate(leaves)

    def _small(self, starts: IntArray, ends: IntArray) -> tuple[IntArray, list[tuple[int, int]]]:
        return Grower(self).groups(starts, ends), []

    def _node(self, start: int, end: int) -> tuple[IntArray, list[tuple[int, int]]]:
        grower = Grower(self)
        one = np.array([start], np.int64), np.array([end], np.int64)
        if end - start <= _SUBTREE:
            self._put_in_order(start, end)
            return grower.groups(*one), []
        found, starts, ends = grower.level(*one)
        return found, list(zip(starts.tolist(), ends.tolist(), strict=True))

    def _put_in_order(self, start: int, end: int) -> None:
        """Put the records of a node as the dice had them: exchanges must not depend on how cuts moved them."""
        if self.exchange is None:
            return
        order = np.argsort(self.rank[self.index[start:end]])
        for column in self.records:
            column[start:end] = column[start:end][order]


class Grower:
    """Cuts nodes level by level: every kernel and the model are called once for all the nodes of a level."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self.least = max(forest.model.minimum_size, 1)

    @cached_property
    def scratch(self) -> CodeArray:
        return np.zeros(self.forest.widest + 1, np.int32)

    @cached_property
    def marks(self) -> gains.SeenMarks:
        return gains.SeenMarks(np.zeros(len(self.forest.attributes.positions), np.int64), np.zeros(1, np.int64))

    def groups(self, starts: IntArray, ends: IntArray) -> IntArray:
        """Cut nodes to the end and exchange records, those of each node among themselves; return where groups start."""
        forest = self.forest
        if forest.exchange is None:
            return self.finish(starts, ends)
        dealing = least_dealt(forest.exchange) > 0
        self.least = max(self.least, NODE) if dealing else self.least
        leaves, behind, node = _in_order(self.finish(starts, ends), starts, ends)
        if dealing:
            # What cannot be divided is cut to the end.
            self.least = max(forest.model.minimum_size, 1)
            good = divisible(forest.exchange, forest.records, leaves, behind)
            further = self.finish(leaves[~good], behind[~good]) if not good.all() else np.zeros(0, np.int64)
            leaves, behind, node = _in_order(np.concatenate([leaves[good], further]), starts, ends)
        leaves, behind, node = dealt(forest.exchange, forest.records, leaves, behind, node)
        return forest.exchange.run(forest.records, leaves, behind, node)

    def finish(self, starts: IntArray, ends: IntArray) -> IntArray:
        leaves = []
        while len(starts):
            done, starts, ends = self.level(starts, ends)
            leaves.append(done)
        return np.concatenate(leaves)

    def level(self, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Try to cut each node once; return the starts of the nodes that stay, and the halves of the others."""
        hopeless = ends - starts < 2 * self.least
        done = [starts[hopeless]]
        starts, ends = starts[~hopeless], ends[~hopeless]
        halves: list[tuple[IntArray, IntArray, IntArray]] = []
        if len(starts) and self.forest.plan.chosen == "loss":
            starts, ends = self._by_loss(starts, ends, halves)
        if len(starts) and (self.forest.plan.chosen != "loss" or self.forest.model.tags.reads_values):
            # A model on values may refuse the best boundaries and still allow the middle ones.
            starts, ends = self._by_order(starts, ends, halves)
        done.append(starts)
        left_starts = np.concatenate([h[0] for h in halves]) if halves else np.zeros(0, np.int64)
        middles = np.concatenate([h[1] for h in halves]) if halves else np.zeros(0, np.int64)
        right_ends = np.concatenate([h[2] for h in halves]) if halves else np.zeros(0, np.int64)
        return np.concatenate(done), np.concatenate([left_starts, middles]), np.concatenate([middles, right_ends])

    def _by_loss(
        self, starts: IntArray, ends: IntArray, halves: list[tuple[IntArray, IntArray, IntArray]]
    ) -> tuple[IntArray, IntArray]:
        """Cut nodes where published cells become narrowest; return those that no attribute can cut so."""
        shape = (len(starts), self.forest.rows.shape[1])
        best = gains.BestCuts(np.empty(shape), np.empty(shape, np.int32), np.empty(shape, np.int64))
        forest = self.forest
        gains.propose(forest.rows, starts, ends, forest.attributes, self.least, WHOLE, self.marks, best)
        order = np.argsort(-best.gain, axis=1, kind="stable")
        node = np.arange(len(starts))
        for turn in range(shape[1]):
            attribute = order[node, turn]
            cut, left = best.cut[node, attribute], best.left[node, attribute]
            good = self._accept(starts, ends, cut, left, attribute)
            halves.append((starts[good], starts[good] + left[good], ends[good]))
            starts, ends, node = starts[~good], ends[~good], node[~good]
            if not len(starts):
                break
        return starts, ends

    def _by_order(
        self, starts: IntArray, ends: IntArray, halves: list[tuple[IntArray, IntArray, IntArray]]
    ) -> tuple[IntArray, IntArray]:
        """Cut nodes in the middle, along their attributes in the order of preference; return those that cannot be."""
        lo, hi = self._spans(starts, ends)
        order = self._preference(starts, ends, lo, hi)
        for turn in range(order.shape[1]):
            attribute = order[:, turn]
            node = np.arange(len(starts))
            low, high = lo[node, attribute], hi[node, attribute]
            cut, left = self._cut(starts, ends, attribute, low, high)
            good = self._accept(starts, ends, cut, left, attribute)
            halves.append((starts[good], starts[good] + left[good], ends[good]))
            starts, ends, order, lo, hi = starts[~good], ends[~good], order[~good], lo[~good], hi[~good]
            if not len(starts):
                break
        return starts, ends

    def _spans(self, starts: IntArray, ends: IntArray) -> tuple[CodeArray, CodeArray]:
        shape = (len(starts), self.forest.rows.shape[1])
        lo, hi = np.empty(shape, np.int32), np.empty(shape, np.int32)
        cuts.spans(self.forest.rows, starts, ends, lo, hi)
        return lo, hi

    def _cut(
        self, starts: IntArray, ends: IntArray, attribute: IntArray, lo: CodeArray, hi: CodeArray
    ) -> tuple[CodeArray, IntArray]:
        """Find the cut of each node along its attribute; ``left`` is 0 where there is none."""
        forest = self.forest
        cut, left = np.full(len(starts), -1, np.int32), np.zeros(len(starts), np.int64)

        def run(which: BoolArray, kernel: Callable[..., None], *more: object) -> None:
            if which.any():
                c, n = cut[which], left[which]
                nodes = cuts.Nodes(starts[which], ends[which], attribute[which], lo[which], hi[which])
                kernel(forest.rows, nodes, *more, self.scratch, cuts.Cuts(c, n))
                cut[which], left[which] = c, n

        spread = lo < hi
        strict = spread & (forest.taxonomic[attribute] if forest.plan.cut == "relaxed" else True)
        run(strict, cuts.propose, forest.boundaries, self.least)
        run(spread & ~strict, cuts.medians)
        return cut, left

    def _accept(
        self, starts: IntArray, ends: IntArray, cut: CodeArray, left: IntArray, attribute: IntArray
    ) -> BoolArray:
        """Make the cuts there are and let the model judge the halves; a rejected cut only reorders its node."""
        good = left > 0
        if good.any():
            self._split(starts[good], ends[good], attribute[good], cut[good])
            good[good] = self._valid(starts[good], starts[good] + left[good], ends[good])
        return good

    def _split(self, starts: IntArray, ends: IntArray, attribute: IntArray, cut: CodeArray) -> None:
        forest = self.forest
        split = cuts.halve if forest.plan.cut == "strict" else cuts.partition
        split(forest.records, starts, ends, attribute, cut)

    def _valid(self, starts: IntArray, middles: IntArray, ends: IntArray) -> BoolArray:
        sizes = np.concatenate([middles - starts, ends - middles])
        if not self.forest.model.tags.reads_values:
            verdict = self.forest.model.verdict(GroupStats(sizes))
        else:
            if self.forest.blind:
                whole = GroupStats(ends - starts, self._histograms(starts, ends), self.forest.table)
                left = self.forest.model.surely(middles - starts, whole)
                return left & self.forest.model.surely(ends - middles, whole)
            halves = np.concatenate([starts, middles]), np.concatenate([middles, ends])
            verdict = self.forest.model.verdict(GroupStats(sizes, self._histograms(*halves), self.forest.table))
        return verdict[: len(starts)] & verdict[len(starts) :]

    def _histograms(self, starts: IntArray, ends: IntArray) -> dict[str, Histogram]:
        return {
            attribute.name: self._histogram(s, starts, ends) for s, attribute in enumerate(self.forest.codes.sensitive)
        }

    def _histogram(self, s: int, starts: IntArray, ends: IntArray) -> Histogram:
        domain = self.forest.codes.sensitive[s].domain
        return Histogram.of_segments(self.forest.values[:, s], starts, ends, domain, self.scratch)

    def _preference(self, starts: IntArray, ends: IntArray, lo: CodeArray, hi: CodeArray) -> IntArray:
        """Return the attributes of each node, the best to cut first."""
        choose = self.forest.plan.chosen
        if choose in ("width", "loss"):
            score = np.stack([p[hi[:, a]] - p[lo[:, a]] for a, p in enumerate(self.forest.positions)], axis=1)
        elif choose == "degeneracy":
            most = np.empty(lo.shape, np.int64)
            cuts.modes(self.forest.rows, starts, ends, lo, hi, self.scratch, most)
            score = -most / (ends - starts)[:, None]
        else:
            score = self._gains(starts, ends, lo, hi)
        return np.argsort(-score, axis=1, kind="stable")

    def _gains(self, starts: IntArray, ends: IntArray, lo: CodeArray, hi: CodeArray) -> FloatArray:
        """Return how many bits about the first sensitive attribute each attribute's cut gives per record."""
        gains = np.full(lo.shape, -np.inf)
        for a in range(lo.shape[1]):
            attribute = np.full(len(starts), a)
            cut, left = self._cut(starts, ends, attribute, lo[:, a], hi[:, a])
            has = left > 0
            if has.any():
                s, m, e = starts[has], starts[has] + left[has], ends[has]
                self._split(s, e, attribute[has], cut[has])
                gains[has, a] = self._bits(s, e) - self._bits(s, m) - self._bits(m, e)
        return np.asarray(gains / (ends - starts)[:, None], np.float64)

    def _bits(self, starts: IntArray, ends: IntArray) -> FloatArray:
        """Return size times entropy of the first sensitive attribute."""
        histogram = self._histogram(0, starts, ends)
        sizes = (ends - starts).astype(np.float64)
        own_bits = histogram.reduce(np.add, histogram.counts * np.log2(histogram.counts)).astype(np.float64)
        return np.asarray(sizes * np.log2(sizes) - own_bits, np.float64)


def _in_order(leaves: IntArray, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return where leaves of some nodes start and end, in their order, and the node of each."""
    leaves = np.sort(leaves)
    node = np.searchsorted(np.sort(starts), leaves, side="right") - 1
    return leaves, np.minimum(np.append(leaves[1:], ends.max()), np.sort(ends)[node]), node


def next_lower(depths: CodeArray) -> CodeArray:
    """Return for each place the next one with a smaller depth, or a number beyond all places."""
    out = np.full(len(depths), np.iinfo(np.int32).max, np.int32)
    if depths.any():
        open_places: list[int] = []
        for place, depth in enumerate(depths):
            while open_places and depths[open_places[-1]] > depth:
                out[open_places.pop()] = place
            open_places.append(place)
    return out
