"""Who in a group probably has which of its values, as far as all groups together show.

Where values stand in a second table, a group says who and which, and not who has which. The estimate of a count takes
all ways to match them as equally likely. They are not: if groups with a nurse in them often have the value ``flu``, and
others seldom, then in a group of a nurse and three others the flu is rather the nurse's. How likely each cell of each
column is beside each value is learnt from all groups (expectation and maximisation: match evenly, count cells beside
values, match by these counts, and so on; columns are taken as independent given the value, as naive Bayes does).

Within a group the chances are scaled until each row has one value and each value one row. Scaling alone gives less
than is learnt: to first order the chance of a pair in a random matching of k rows goes with its likelihood to the power
of k/(k - 1), and for two rows that is exact; so that power is taken. Counts of few people are drawn towards those of
all (``SMOOTHED``). Cells are shared out half evenly and half by how frequent values are in the release
(:mod:`reveil.analysis.frequencies`): what even shares spread too far, frequencies pile up.

Where groups are mixed throughout (each has one of every kind), nothing can be learnt, and rounds pile chance up:
few rounds are made. On one of five real tables frequencies made the estimate worse (see ``docs/evidence.md``).

Only what is published is read, so it costs no privacy: whoever has the release can do this. (An attacker, too; what
such guesses are worth is measured: ``--prior releases``, and ``benchmarks/utility/prior.py``.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reveil.core.arrays import sums_of
from reveil.releases.nesting import nesting_of
from reveil.tables.expressions.lines import Intervals, LineDivision
from reveil.tables.expressions.positions import LineCut
from reveil.tables.expressions.regions import ColumnRegions
from reveil.tables.expressions.word_sets import WordDivision, WordSets

if TYPE_CHECKING:
    from reveil.analysis.asking import AskedRows
    from reveil.analysis.reader import ReleaseReader
    from reveil.tables.expressions.regions import FloatArray, IndexArray

ROUNDS = 4  # more gain a twentieth where groups tell something, and lose where they are mixed throughout
SMOOTHED = 6.0  # people of the whole table who are added to those of each value
_SCALINGS = 10
_PARTS = 32  # of a column of numbers
_WORDS_APART = 256  # of a column, told apart; the others are one
_MOST_PAIRS = 30_000_000  # of rows and values of a group
_MOST_CELLS = 20_000_000  # of a column, times values
_LEAST = 1e-300


@dataclass(frozen=True)
class LearntLinks:
    """Rows and lines of the second table that have a group in common, and how many values of the line the row has.

    Over the lines of its group that adds up to one for each row.
    """

    row: IndexArray
    line: IndexArray
    chance: FloatArray


class _Column(NamedTuple):
    """A column of the first table: the kind of cell of each row, and how each kind lies in the column's parts."""

    kind: IndexArray  # (rows)
    shares: FloatArray  # (kinds, parts)


def fitted(asked: AskedRows) -> float | None:
    """Count with the values matched as they were learnt; None where there is nothing to learn from."""
    links = _links_of(asked.reader)
    if links is None:
        return None
    units, sort = asked.units, asked.sort_of_lines()
    share = (asked.answers()[0] + asked.by_frequency().answers()[0]) / 2
    place = units.of_row[links.row] * asked.sorts + sort[links.line]
    part = sums_of(place, links.chance, len(units) * asked.sorts).reshape(len(units), asked.sorts)
    return float(((part.T * share).sum(axis=0) * asked.reader.real[units.group]).sum())


def _links_of(reader: ReleaseReader) -> LearntLinks | None:
    kept: dict[str, LearntLinks | None] = vars(reader).setdefault("_links", {})
    if "all" not in kept:
        kept["all"] = _learnt(reader)
    return kept["all"]


def _learnt(reader: ReleaseReader) -> LearntLinks | None:
    """Learn from all groups; None where there are no columns, boxes are nested, or it would take too much."""
    second, groups = reader.second, reader.groups
    lines = np.bincount(second.group, minlength=len(groups.rows))
    if nesting_of(reader.release) is not None or not 0 < int((groups.rows * lines).sum()) <= _MOST_PAIRS:
        return None
    code, values = _values(reader)
    columns = [column for name in reader.release.columns for column in _column(reader, name, values)]
    if not columns:
        return None
    row, line = _pairs(groups.index.astype(np.intp), second.group, lines)
    group = second.group[line]
    size = groups.rows[group].astype(np.float64)
    power = size / np.maximum(size - 1, 1)
    value = code[line]
    chance: FloatArray = second.counts[line] / size
    for _ in range(ROUNDS):
        found = np.zeros(len(chance))
        for column in columns:
            found += _likelihood(column, row, value, values, chance)
        chance = np.exp(power * (found - _highest(found, row, len(groups.index))))
        for _ in range(_SCALINGS):
            # Both are sums of what is there, so nothing is divided by nothing but where all of a row has vanished.
            chance *= (second.counts / np.maximum(sums_of(line, chance, len(code)), _LEAST))[line]
            chance /= np.maximum(sums_of(row, chance, len(groups.index)), _LEAST)[row]
    return LearntLinks(row, line, chance)


def _values(reader: ReleaseReader) -> tuple[IndexArray, int]:
    """Return a number for the values of each line of the second table, and how many there are."""
    found = np.stack([reader.point_values(name)[1] for name in reader.apart], axis=1)
    distinct, code = np.unique(found, axis=0, return_inverse=True)
    return code.reshape(-1).astype(np.intp), len(distinct)


def _pairs(of_row: IndexArray, of_line: IndexArray, lines: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return every row with every line of its group."""
    many = lines[of_row]
    row = np.repeat(np.arange(len(of_row), dtype=np.intp), many)
    rank = np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
    first = np.cumsum(lines) - lines
    return row, np.argsort(of_line, kind="stable")[first[of_row[row]] + rank]


def _column(reader: ReleaseReader, name: str, values: int) -> list[_Column]:
    """Return how the rows lie in the parts of a column; nothing for one that cannot be divided."""
    regions = _parts(reader, name)
    if regions is None:
        return []
    shares = _spread_out(regions)
    if name in reader.release.cells:
        shares = (shares + _spread_out(reader.by_frequency(name, regions))) / 2
        kind = reader.release.cells[name].index[reader.release.classes].astype(np.intp)
    else:
        kind = reader.point_values(name)[1]
    distinct, index = np.unique(shares, axis=0, return_inverse=True)
    if len(distinct) * values > _MOST_CELLS:
        return []
    return [_Column(index.reshape(-1).astype(np.intp)[kind], distinct)]


def _parts(reader: ReleaseReader, name: str) -> ColumnRegions | None:
    """Divide a column: numbers where equally many rows begin or end, words one by one, the rarest together."""
    cells, count = reader.column(name), reader.cells_of(name)
    if isinstance(cells, Intervals):
        there = np.asarray(cells.lo <= cells.hi)
        ends = np.sort(np.concatenate([cells.lo[there], cells.hi[there]]))
        at = ends[np.arange(1, _PARTS) * len(ends) // _PARTS].tolist() if len(ends) else []
        cuts = [LineCut(value) for value in dict.fromkeys(at)]
        return ColumnRegions(LineDivision(cells, cuts, []), np.arange(len(cuts) + 2), len(cuts) + 2)
    if not isinstance(cells, WordSets) or cells.open_cells is not None or not count:
        return None
    words = len(cells.words) + 1
    region = np.arange(words)
    if words > _WORDS_APART:
        division = WordDivision(cells, [])
        often = division.counts(region, words).sum(axis=1) if words * count <= _MOST_CELLS else np.zeros(words)
        region[np.argsort(-often, kind="stable")] = np.minimum(np.arange(words), _WORDS_APART - 1)
    return ColumnRegions(WordDivision(cells, []), region, min(words, _WORDS_APART))


def _spread_out(regions: ColumnRegions) -> FloatArray:
    """Return which share of each cell (rows) lies in each part."""
    spread = regions.spread()
    found = np.asarray(spread.amounts / spread.measure, np.float64).T
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), _LEAST), np.float64)


def _likelihood(column: _Column, row: IndexArray, value: IndexArray, values: int, chance: FloatArray) -> FloatArray:
    """Return by how much likelier the cell of each pair's row is beside its value than beside any (logarithms)."""
    kinds = len(column.shares)
    place = column.kind[row] * values + value
    beside = column.shares.T @ sums_of(place, chance, kinds * values).reshape(kinds, values)  # (parts, values)
    usual = beside.sum(axis=1) / max(beside.sum(), _LEAST)
    theirs = (beside + SMOOTHED * usual[:, None]) / (beside.sum(axis=0) + SMOOTHED)
    ratio = (column.shares @ theirs) / np.maximum(column.shares @ usual, _LEAST)[:, None]
    return np.asarray(np.log(np.maximum(ratio, _LEAST)).reshape(-1)[place], np.float64)


def _highest(found: FloatArray, row: IndexArray, rows: int) -> FloatArray:
    """Return for each pair the largest number of its row, so that no power overflows."""
    first = np.searchsorted(row, np.arange(rows))  # pairs lie row by row
    highest: FloatArray = np.maximum.reduceat(found, np.minimum(first, len(found) - 1))[row]
    return highest
