"""The first cuts of Mondrian over a table in shards: found by counting, until every cell fits one worker's memory.

Where a large node is cut strictly depends on how often each code occurs among its records, and on what columns mean in
all the table, on nothing else. So one pass over the shards for each level counts codes by cell, the best cuts are
found from the counts by the same kernels as in memory, and a model that reads values is asked about counted halves.
Afterwards each cell is grouped by itself; its groups are those that the whole table would give.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reveil.core.arrays import CodeArray, IntArray
from reveil.core.errors import ConfigError
from reveil.core.kernels import cuts, gains
from reveil.engines.shards import COUNTED, with_columns_only
from reveil.grouping.cut_tree import CELL, CellCut, CountCodes, CountHalves, CutTree, quasi_column, sensitive_column
from reveil.grouping.groupers import _cutting
from reveil.grouping.widths import attributes_of
from reveil.models.encoding import Attribute
from reveil.models.statistics import GroupStats, Histogram, Reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.core.kernels.widening import Attributes
    from reveil.engines.shards import Shards
    from reveil.grouping.groupers.mondrian import Mondrian
    from reveil.models.base import Model
    from reveil.models.domains import Domain, SensitiveDomain


@dataclass(frozen=True)
class TopCells:
    """The cells of a table, and what each has to know of all of it."""

    tree: CutTree
    occurring: tuple[int, ...]
    references: Mapping[str, Reference] = field(repr=False)
    n: int


def top_cells(
    shards: Shards,
    quasi: Sequence[Domain],
    sensitive: Sequence[SensitiveDomain],
    model: Model,
    method: Mondrian,
    cell_rows: int,
    most: int,
    occurring: tuple[int, ...] | None = None,
) -> TopCells:
    """Cut a table until no cell that can be cut has more than ``cell_rows`` records.

    ``shards`` have the codes of quasi and sensitive attributes in :func:`quasi_column` and :func:`sensitive_column`.
    Where they are some of the records of a table, ``occurring`` is how many values each quasi attribute has in it.
    """
    reason = method.reason_against_cells()
    if reason is not None:
        raise ConfigError(f"this table cannot be grouped in shards: {reason}", hint="Use method.kind = 'mondrian'.")
    return _TopGrower(shards, quasi, sensitive, model, method, max(cell_rows, _cutting.WHOLE), most, occurring).grown()


class _Along(NamedTuple):
    """Where a cell may be cut along one attribute."""

    middle: CellCut | None
    width: float
    most: int  # how often the most frequent code occurs


_NONE = (np.zeros(0, np.int32), np.zeros(0, np.int64))
Counted = tuple[CodeArray, IntArray]  # codes, ascending, and how often each occurs
Halves = dict[tuple[int, int, int, int], Counted]  # by cell, turn, side and sensitive attribute


class _TopGrower:
    def __init__(
        self,
        shards: Shards,
        quasi: Sequence[Domain],
        sensitive: Sequence[SensitiveDomain],
        model: Model,
        method: Mondrian,
        cell_rows: int,
        most: int,
        occurring: tuple[int, ...] | None,
    ) -> None:
        self.occurring = occurring
        names = [quasi_column(a) for a in range(len(quasi))] + [sensitive_column(s) for s in range(len(sensitive))]
        self.shards, self.quasi, self.sensitive = with_columns_only(shards, names), quasi, sensitive
        self.model, self.method, self.cell_rows, self.most = model, method, cell_rows, most
        self.least = max(model.minimum_size, 1)
        self.codes = tuple(domain.null_code + 1 for domain in quasi)
        self.positions = [domain.weight * domain.positions for domain in quasi]
        self.tree = CutTree.uncut()

    def grown(self) -> TopCells:
        """Count and cut, level by level."""
        counts = self._counted([0])
        self.sizes = {0: int(counts[0, 0][1].sum())}
        n, occurring = self.sizes[0], self._meet(counts)
        while live := [cell for cell, size in self.sizes.items() if size > self.cell_rows and size >= 2 * self.least]:
            counts = counts or self._counted(live)
            made = self._made(counts, live)
            self.tree, _ = self.tree.with_cuts(made)
            sizes = {}
            for cell, cut in made.items():
                first = int(self.tree.below[cell])
                sizes[first], sizes[first + 1] = cut.left, self.sizes[cell] - cut.left
            self.sizes, counts = sizes, {}
        return TopCells(self.tree, occurring, self.references, n)

    def _meet(self, counts: Mapping[tuple[int, int], Counted]) -> tuple[int, ...]:
        """Note what the whole table has; return how many values of each quasi attribute occur."""
        occurring = self.occurring
        if occurring is None:
            occurring = tuple(int((counts[0, a][0] < domain.null_code).sum()) for a, domain in enumerate(self.quasi))
        everybody = {0: (CellCut(0, int(np.iinfo(np.int32).max), self.sizes[0]),)}
        halves = self._halves(everybody) if self.sensitive else {}
        self.references: dict[str, Reference] = {}
        for s, sensitive_domain in enumerate(self.sensitive):
            total = np.zeros(sensitive_domain.size, np.int64)
            codes, many = halves[0, 0, 0, s]
            total[codes] = many
            self.references[sensitive_domain.name] = Reference(total, sensitive_domain.ordered, sensitive_domain.levels)
        nobody = [Attribute(domain, np.zeros(0, np.int32)) for domain in self.quasi]
        self.attributes = attributes_of(nobody, weighted=True, occurring=occurring)
        return occurring

    def _counted(self, cells: Sequence[int]) -> dict[tuple[int, int], Counted]:
        """Return the codes of each cell and attribute."""
        found = self.shards.count(CountCodes(self.tree, tuple(sorted(cells)), self.codes), self.most)
        parts = found.partition_by(CELL, "attribute", as_dict=True).items()
        return {
            (int(c), int(a)): (counted["code"].to_numpy(), counted[COUNTED].to_numpy()) for (c, a), counted in parts
        }

    def _halves(self, tried: Mapping[int, Sequence[CellCut]]) -> Halves:
        sizes = tuple(domain.size for domain in self.sensitive)
        asked = {cell: tuple(proposals) for cell, proposals in tried.items()}
        found = self.shards.count(CountHalves(self.tree, asked, len(self.quasi), sizes), self.most)
        parts = found.partition_by(CELL, "turn", "right", "sensitive", as_dict=True).items()
        return {
            (int(c), int(t), int(r), int(s)): (shares["code"].to_numpy(), shares[COUNTED].to_numpy())
            for (c, t, r, s), shares in parts
        }

    # Where cells may be cut, the best first

    def _made(self, counts: Mapping[tuple[int, int], Counted], live: Sequence[int]) -> dict[int, CellCut]:
        """Return the cut of each cell that can be cut, as :class:`~reveil.grouping.groupers._cutting.Grower` tries."""
        by_loss = self.method.chosen == "loss"
        made = self._accepted({cell: self._by_loss(counts, cell) for cell in live}) if by_loss else {}
        if by_loss and not self.model.tags.reads_values:
            return made
        left = [cell for cell in live if cell not in made]
        return made | self._accepted(self._by_order(counts, left))

    def _by_loss(self, counts: Mapping[tuple[int, int], Counted], cell: int) -> list[CellCut]:
        """Return the cuts that make cells narrowest, the best attribute first."""
        gain, found = [], []
        for a in range(len(self.quasi)):
            rows, one = _laid_out(*counts[cell, a])
            attribute = _one(self.attributes, a)
            marks = gains.SeenMarks(np.zeros(len(attribute.positions), np.int64), np.zeros(1, np.int64))
            best = gains.BestCuts(np.empty((1, 1)), np.empty((1, 1), np.int32), np.empty((1, 1), np.int64))
            gains.propose(rows, *one, attribute, self.least, _cutting.WHOLE, marks, best)
            gain.append(float(best.gain[0, 0]))
            found.append(CellCut(a, int(best.cut[0, 0]), int(best.left[0, 0])))
        return [found[a] for a in _preferred(gain) if found[a].left > 0]

    def _by_order(self, counts: Mapping[tuple[int, int], Counted], cells: Sequence[int]) -> dict[int, list[CellCut]]:
        """Return the cuts in the middle, the preferred attribute first."""
        along = {cell: [self._along(a, *counts[cell, a]) for a in range(len(self.quasi))] for cell in cells}
        halves: Halves = {}
        if self.method.chosen == "gain":
            if not self.sensitive:
                raise ConfigError("mondrian: choose = 'gain' needs a sensitive column", hint="Use another.")
            halves = self._halves(
                {cell: [candidate.middle for candidate in found if candidate.middle] for cell, found in along.items()}
            )
        return {cell: self._in_order(cell, found, halves) for cell, found in along.items()}

    def _along(self, a: int, codes: CodeArray, many: IntArray) -> _Along:
        middle = None
        if codes[0] < codes[-1]:
            rows, one = _laid_out(codes, many)
            depth = self.quasi[a].boundaries
            boundaries = cuts.Boundaries(depth, _cutting.next_lower(depth), np.zeros(1, np.int64))
            nodes = cuts.Nodes(*one, np.zeros(1, np.int64), codes[:1], codes[-1:])
            halved = cuts.Cuts(np.full(1, -1, np.int32), np.zeros(1, np.int64))
            cuts.propose(rows, nodes, boundaries, self.least, np.zeros(self.codes[a] + 1, np.int32), halved)
            middle = CellCut(a, int(halved.cut[0]), int(halved.left[0])) if halved.left[0] > 0 else None
        width = float(self.positions[a][codes[-1]] - self.positions[a][codes[0]])
        return _Along(middle, width, int(many.max()))

    def _in_order(self, cell: int, along: Sequence[_Along], halves: Halves) -> list[CellCut]:
        if self.method.chosen in ("width", "loss"):
            score = [candidate.width for candidate in along]
        elif self.method.chosen == "degeneracy":
            score = [-candidate.most / self.sizes[cell] for candidate in along]
        else:
            score = self._bits_gained(cell, along, halves)
        return [cut for a in _preferred(score) if (cut := along[a].middle) is not None]

    def _bits_gained(self, cell: int, along: Sequence[_Along], halves: Halves) -> list[float]:
        """Return how many bits about the first sensitive attribute each middle cut gives per record."""
        found, turn, size = [], 0, self.sizes[cell]
        for candidate in along:
            if candidate.middle is None:
                found.append(-np.inf)
                continue
            sides = [halves.get((cell, turn, side, 0), _NONE) for side in (0, 1)]
            whole = np.zeros(self.sensitive[0].size, np.int64)
            for codes, many in sides:
                whole[codes] += many
            bits = [_bits(counts) for counts in (whole[whole > 0], sides[0][1], sides[1][1])]
            found.append((bits[0] - bits[1] - bits[2]) / size)
            turn += 1
        return found

    # Which of them are made

    def _accepted(self, tried: Mapping[int, Sequence[CellCut]]) -> dict[int, CellCut]:
        """Return the first cut of each cell both halves of which satisfy the model."""
        made: dict[int, CellCut] = {}
        left = {cell: tuple(proposals) for cell, proposals in tried.items() if proposals}
        many = 1  # nearly always the first will do
        while left:
            asked = {cell: proposals[:many] for cell, proposals in left.items()}
            good = self._valid(asked)
            for cell, proposals in asked.items():
                first = next((turn for turn in range(len(proposals)) if good[cell, turn]), None)
                if first is not None:
                    made[cell] = proposals[first]
            left = {cell: rest for cell, cuts in left.items() if cell not in made and (rest := cuts[many:])}
            many = max(map(len, left.values()), default=1)
        return made

    def _valid(self, asked: Mapping[int, tuple[CellCut, ...]]) -> dict[tuple[int, int], bool]:
        pairs = [(cell, turn, cut) for cell, proposals in asked.items() for turn, cut in enumerate(proposals)]
        sizes = np.array([[cut.left, self.sizes[cell] - cut.left] for cell, _, cut in pairs], np.int64).ravel()
        if not self.model.tags.reads_values:
            stats = GroupStats(sizes)
        else:
            halves = self._halves(asked)
            histograms = {}
            for s, sensitive_domain in enumerate(self.sensitive):
                parts = [halves.get((cell, turn, side, s), _NONE) for cell, turn, _ in pairs for side in (0, 1)]
                groups = np.repeat(np.arange(len(parts)), [len(codes) for codes, _ in parts])
                codes, many = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
                histograms[sensitive_domain.name] = Histogram.of_counts(
                    groups, codes, many, len(parts), sensitive_domain.size
                )
            stats = GroupStats(sizes, histograms, self.references)
        good = self.model.verdict(stats)
        valid = good[::2] & good[1::2]
        return {(cell, turn): bool(ok) for (cell, turn, _), ok in zip(pairs, valid, strict=True)}


def _one(attributes: Attributes, a: int) -> Attributes:
    """Return one of some attributes by itself."""
    first, behind = attributes.offsets[a : a + 2]
    return attributes._replace(
        kinds=attributes.kinds[a : a + 1],
        nulls=attributes.nulls[a : a + 1],
        offsets=np.array([0, behind - first]),
        positions=attributes.positions[first:behind],
        steps=attributes.steps[a : a + 1],
        level_offsets=attributes.level_offsets[a : a + 1],
        levels=attributes.levels[a : a + 1],
    )


def _laid_out(codes: CodeArray, many: IntArray) -> tuple[CodeArray, tuple[IntArray, IntArray]]:
    """Return the records of a cell in the order of their codes, as the kernels take them: as one node."""
    rows = np.repeat(codes, many).reshape(-1, 1)
    return rows, (np.zeros(1, np.int64), np.array([len(rows)], np.int64))


def _preferred(score: Sequence[float]) -> list[int]:
    """Return the attributes, the highest score first."""
    return [int(a) for a in np.argsort(-np.array(score, np.float64), kind="stable")]


def _bits(counts: IntArray) -> float:
    """Return size times entropy, added up as the cuts in memory do."""
    size = float(counts.sum())
    return float(size * np.log2(size) - np.add.reduceat(counts * np.log2(counts), [0])[0])
