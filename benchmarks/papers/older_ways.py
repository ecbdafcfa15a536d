"""Sequential release before possible worlds: each release is cut as long as counted cliques keep every link loose.

All releases are a graph: a row of one is joined with a row of another if both can be of one person. A *clique* takes a
row of each release, all joined. The older algorithms publish a release if, for every person, the cliques that fit what
is known of them name at least l values (linkability), or no value in more than 1/l of them (diversity).

Cliques are not listed here. Groups of one release do not overlap, so a person fits one group of each, and the cliques
that name a value are the product, over the releases that have values, of how often it is in that person's group. What
grows with the releases is the number of different products, which is at most the number of people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass
class OlderSeries:
    """What was told so far: for each person the weight of each value, up to a factor of theirs."""

    quasi: pl.DataFrame
    values: Ints
    l: int
    diversity: bool

    def __post_init__(self) -> None:
        self.codes = np.stack(
            [self.quasi[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in self.quasi.columns]
        )
        self.many = int(self.values.max()) + 1
        self.product = np.zeros(len(self.values), np.int64)  # people with the same number have the same weights
        self.weights = np.ones((1, self.many))
        self.met = True  # False once a release missed the goal although every cell was the whole column

    def publish(self, columns: list[int], *, with_values: bool, local: bool) -> Ints:
        """Return the group of each person in a release of these columns, and remember it."""
        if not with_values:  # nothing is linked: every cell as it is
            return _numbered(self.codes[columns])
        self.met &= self._holds(np.arange(len(self.values)))
        parts = self._cut_locally(columns) if local else self._cut_everywhere(columns)
        group = np.empty(len(self.values), np.int64)
        for number, part in enumerate(parts):
            group[part] = number
        counts = np.zeros((len(parts), self.many))
        np.add.at(counts, (group, self.values), 1)
        pairs, self.product = np.unique(np.stack([self.product, group]), axis=1, return_inverse=True)
        weights = self.weights[pairs[0]] * counts[pairs[1]]
        self.weights = weights / weights.max(axis=1, keepdims=True)
        return group

    def highest(self) -> Floats:
        """Return for each person the largest share of their cliques that name one value."""
        shares: Floats = self.weights.max(axis=1) / self.weights.sum(axis=1)
        return shares[self.product]

    def _holds(self, part: Ints) -> bool:
        counts = np.bincount(self.values[part], minlength=self.many)
        weights = self.weights[np.unique(self.product[part])] * counts
        if self.diversity:
            return bool((weights.max(axis=1) * self.l <= weights.sum(axis=1) * (1 + 1e-12)).all())
        return bool(((weights > 0).sum(axis=1) >= self.l).all())

    def _cut_locally(self, columns: list[int]) -> list[Ints]:
        """Cut each part by itself, along the widest column that can be cut, at its median."""
        spans = self.codes.max(axis=1) + 1
        done, waiting = [], [np.arange(len(self.values))]
        while waiting:
            part = waiting.pop()
            widths = {a: np.ptp(self.codes[a, part]) / spans[a] for a in columns}
            for a in sorted(columns, key=lambda a: -widths[a]):
                halves = next((h for h in _halves(self.codes[a], part) if all(map(self._holds, h))), None)
                if halves is not None:
                    waiting += halves
                    break
            else:
                done.append(part)
        return done

    def _cut_everywhere(self, columns: list[int]) -> list[Ints]:
        """Cut a column for all people at once, as often as every group of the whole table allows."""
        ends = {a: [0, int(self.codes[a].max()) + 1] for a in columns}
        open_spans = [(a, 0) for a in columns]
        while open_spans:
            open_spans.sort(key=lambda one: -self._people(one[0], one[1], ends))
            a, start = open_spans.pop(0)
            stop = min(end for end in ends[a] if end > start)
            middle = self._median(a, start, stop)
            if middle is None:
                continue
            ends[a].append(middle)
            if all(self._holds(part) for part in _parts_of(self._coarse(columns, ends))):
                open_spans += [(a, start), (a, middle)]
            else:
                ends[a].remove(middle)
        return list(_parts_of(self._coarse(columns, ends)))

    def _people(self, a: int, start: int, ends: dict[int, list[int]]) -> int:
        stop = min(end for end in ends[a] if end > start)
        return int(((self.codes[a] >= start) & (self.codes[a] < stop)).sum())

    def _median(self, a: int, start: int, stop: int) -> int | None:
        inside = self.codes[a][(self.codes[a] >= start) & (self.codes[a] < stop)]
        middle = max(int(np.median(inside)), start + 1) if len(inside) else start
        return middle if start < middle < stop else None

    def _coarse(self, columns: list[int], ends: dict[int, list[int]]) -> Ints:
        return np.stack([np.searchsorted(np.sort(ends[a]), self.codes[a], side="right") for a in columns])


def _halves(codes: Ints, part: Ints) -> Iterator[list[Ints]]:
    """Give the two ways to cut at the median: it goes up, or down."""
    own = codes[part]
    median = int(np.median(own))
    for at in (median, median + 1):
        below = own < at
        if below.any() and not below.all():
            yield [part[below], part[~below]]


def _numbered(keys: Ints) -> Ints:
    return np.unique(keys, axis=1, return_inverse=True)[1].astype(np.int64)


def _parts_of(keys: Ints) -> Iterator[Ints]:
    number = _numbered(keys)
    order = np.argsort(number, kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(number))[:-1])


def shown(quasi: pl.DataFrame, columns: list[int], group: Ints) -> tuple[pl.DataFrame, float]:
    """Return the published cells, intervals of numbers and sets of categories, and their mean width."""
    frame = quasi.select(quasi.columns[a] for a in columns).with_columns(group=pl.Series(group))
    cells, widths = [], []
    for name in frame.columns[:-1]:
        one, whole = pl.col(name), quasi[name]
        if whole.dtype.is_numeric():
            low, high = one.min().over("group"), one.max().over("group")
            span = float(whole.max()) - float(whole.min())  # type: ignore[arg-type]  # the column is numeric
            widths.append((high - low) / max(span, 1.0))
            text = pl.when(low == high).then(low.cast(pl.String)).otherwise(pl.format("[{}, {}]", low, high))
        else:
            many = one.n_unique().over("group")
            widths.append((many - 1) / max(whole.n_unique() - 1, 1))
            listed = pl.concat_str(pl.lit("{"), one.unique().sort().str.join(", ").over("group"), pl.lit("}"))
            text = pl.when(many == 1).then(one).otherwise(listed)
        cells.append(text.alias(name))
    mean = frame.select(pl.mean_horizontal(widths).mean()).item()
    return frame.select(cells), float(mean)
