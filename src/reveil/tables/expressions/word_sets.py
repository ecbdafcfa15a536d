"""Published columns of words: cells that are sets, labels of a hierarchy, or single texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.arrays import BoolArray, IntArray, offsets_of
from reveil.core.errors import ConfigError
from reveil.tables.expressions.binding import Among, Missing, Test
from reveil.tables.expressions.regions import CountedDivision, Division, FloatArray, IndexArray, Spread

if TYPE_CHECKING:
    from reveil.tables.hierarchy import Taxonomy

_MOST_LABEL_TESTS = 12


class WordSets:
    """Cells that are sets of words: as lists of members, or as runs of the leaves of a hierarchy.

    ``members`` are pairs of cell and word number, null as the number behind the last word. In ``open_cells`` the
    value was suppressed: it may be anything.
    """

    def __init__(
        self,
        words: list[str],
        cells: int,
        *,
        members: tuple[IntArray, IntArray] | None = None,
        runs: tuple[IntArray, IntArray, BoolArray] | None = None,
        open_cells: BoolArray | None = None,
    ) -> None:
        self.words, self.cells, self.members, self.runs, self.open_cells = words, cells, members, runs, open_cells
        self.number = {word: i for i, word in enumerate(words)}
        self.array = np.array(words, np.dtypes.StringDType())
        if members is not None:
            self.sizes = np.bincount(members[0], minlength=cells)
        elif runs is not None:
            self.sizes = runs[1] - runs[0] + 1 + runs[2]

    def divide(self, tests: list[Test]) -> Division:
        """Ask every word."""
        extra: list[str] = []
        if self.open_cells is not None:
            # Stand-ins for all words there could be: the named ones, one for each beginning, and any other.
            asked = [test for test in tests if isinstance(test, Among)]
            extra = sorted({text for test in asked for text in test.texts})
            extra += ["\0", *(start + "\0" for test in asked for start in test.beginnings)]
        return WordDivision(self, [self._truth(test, extra) for test in tests])

    def _truth(self, test: Test, extra: list[str]) -> BoolArray:
        size = len(self.words)
        truth = np.zeros(size + 1 + len(extra), np.bool_)
        if isinstance(test, Missing):
            truth[:] = test.negated
            truth[size] = not test.negated
        elif isinstance(test, Among):
            truth[[self.number[text] for text in test.texts if text in self.number]] = True
            for start in test.beginnings:
                truth[:size] |= np.strings.startswith(self.array, start)
            truth[size + 1 :] = [word in test.texts or word.startswith(test.beginnings) for word in extra]
            if test.negated:
                truth = ~truth
                truth[size] = False
        return truth


class WordDivision(CountedDivision):
    """Every word, then null, then stand-ins for unknown words."""

    def __init__(self, words: WordSets, truths: list[BoolArray]) -> None:
        self.words, self.truths, self.cells = words, truths, words.cells

    def counts(self, region: IntArray, regions: int) -> IntArray:
        """Count the members of each cell in each region."""
        sets, size = self.words, len(self.words.words)
        if sets.members is not None:
            cell, word = sets.members
            counts = np.bincount(region[word] * sets.cells + cell, minlength=regions * sets.cells)
            return counts.reshape(regions, sets.cells).astype(np.int64)
        lo, hi, null = sets.runs  # type: ignore[misc]  # one of the two is given
        counts = np.empty((regions, sets.cells), np.int64)
        for r in range(regions):
            upto = offsets_of(region[:size] == r)
            counts[r] = upto[hi + 1] - upto[lo]
        counts[region[size]] += null
        return counts

    def within(self, region: IntArray, regions: int, inner: IndexArray, outer: IndexArray) -> FloatArray:
        """Count the members of inner cells by those of the outer."""
        share: FloatArray = self.counts(region, regions)[:, inner] / self.words.sizes[outer]
        return share

    def spread(self, region: IntArray, regions: int, cells: IndexArray | None = None) -> Spread:
        """Share the members of each cell out to the regions."""
        sets, size = self.words, len(self.words.words)
        counts = self.counts(region, regions)
        share, meets = counts / sets.sizes, counts > 0
        if sets.open_cells is not None:
            meets[np.unique(region)[:, None], np.flatnonzero(sets.open_cells)] = True
            known = np.delete(region[:size], np.flatnonzero(sets.array == "*"))
            even = np.bincount(known if len(known) else np.unique(region), minlength=regions)
            share[:, sets.open_cells] = (even / even.sum())[:, None]
        return _chosen(share, meets, cells)


class Labels:
    """Cells that are labels of a hierarchy that is not at hand.

    A cell certainly satisfies tests that name its own label. Of the others nobody can say: another label may lie
    above, below or beside. Bounds leave all of that open; the estimate takes different labels as disjoint.
    """

    def __init__(self, labels: list[str | None], null: BoolArray) -> None:
        self.labels, self.null = labels, null

    def divide(self, tests: list[Test]) -> Division:
        """Make a piece of every combination of tests that could hold together."""
        named = list(dict.fromkeys(test.texts for test in tests if isinstance(test, Among) and test.texts))
        if len(named) > _MOST_LABEL_TESTS:
            raise ConfigError(
                f"more than {_MOST_LABEL_TESTS} labels are compared, and the hierarchy over them is not known",
                hint="Name the config with -c (in Python: schema=...).",
            )
        pieces = np.arange(2 ** len(named))
        truths = []
        for test in tests:
            if isinstance(test, Missing):
                held = np.full(len(pieces), test.negated)
                truths.append(np.append(held, not test.negated))
                continue
            if not isinstance(test, Among):
                raise TypeError(test)
            held = (pieces >> named.index(test.texts)) & 1 > 0 if test.texts else np.zeros(len(pieces), np.bool_)
            held = held | bool(test.beginnings)  # the only beginning there can be is the empty one
            truths.append(np.append(held != test.negated, False))
        return LabelDivision(self, named, truths)


class LabelDivision(Division):
    """Combinations of tests, then null."""

    def __init__(self, labels: Labels, named: list[frozenset[str]], truths: list[BoolArray]) -> None:
        self.labels, self.named, self.truths, self.cells = labels, named, truths, len(labels.labels)

    def spread(self, region: IntArray, regions: int, cells: IndexArray | None = None) -> Spread:
        """A cell has all combinations in which the tests that name its label hold."""
        share, meets = np.zeros((regions, self.cells)), np.zeros((regions, self.cells), np.bool_)
        pieces = np.arange(2 ** len(self.named))
        for c, label in enumerate(self.labels.labels):
            null = bool(self.labels.null[c])
            if label is not None:
                certain = sum(1 << t for t, texts in enumerate(self.named) if label in texts)
                meets[np.unique(region[:-1][pieces & certain == certain]), c] = True
                share[region[certain], c] += 1 - null / 2
            if null:
                meets[region[-1], c] = True
                share[region[-1], c] += 1 if label is None else 0.5
        return _chosen(share, meets, cells)


def runs_of(labels: pl.Series, null: BoolArray, taxonomy: Taxonomy, name: str) -> WordSets:
    """Turn published labels into runs of leaves."""
    node = np.array([-1 if label is None else taxonomy.node_of_label.get(label, -2) for label in labels], np.int64)
    if (node == -2).any():
        raise ConfigError(
            f"column {name!r} has labels that its hierarchy does not have",
            column=name,
            hint="Name the config that this release was published with.",
        )
    lo = np.where(node < 0, 0, taxonomy.lo[node]).astype(np.int64)
    hi = np.where(node < 0, -1, taxonomy.hi[node]).astype(np.int64)
    return WordSets(list(taxonomy.leaves), len(labels), runs=(lo, hi, null))


def members_of(cells: pl.Series) -> WordSets:
    """Turn published sets into members."""
    each = pl.DataFrame({"cell": np.arange(len(cells)), "word": cells}).explode("word")
    return _worded(each["cell"].to_numpy(), each["word"], len(cells))


def points_of(values: pl.Series, *, suppressed: bool) -> WordSets:
    """Turn distinct texts into cells of one member; ``suppressed``: a star stands for a value left out."""
    open_cells = (values == "*").fill_null(value=False).to_numpy() if suppressed else None
    if open_cells is not None and not open_cells.any():
        open_cells = None
    return _worded(np.arange(len(values)), values, len(values), open_cells)


def _worded(cell: IntArray, words: pl.Series, cells: int, open_cells: BoolArray | None = None) -> WordSets:
    distinct = words.drop_nulls().unique().sort()
    number = words.cast(pl.Enum(distinct)).to_physical().cast(pl.Int64).fill_null(len(distinct)).to_numpy()
    return WordSets(distinct.to_list(), cells, members=(cell.astype(np.int64), number), open_cells=open_cells)


def _chosen(share: FloatArray, meets: BoolArray, cells: IndexArray | None) -> Spread:
    return Spread(share, np.ones(1), meets) if cells is None else Spread(share[:, cells], np.ones(1), meets[:, cells])
