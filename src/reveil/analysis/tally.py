"""From the answers of rows to a count: what is expected, what is certain, what is possible, and how far it may be off.

*Expected*: the sum over rows of the chance that the row satisfies, values within a cell being equally likely, columns
independent, and every assignment of a group's values to its rows alike. Of a group with counterfeits every row is as
likely one as any other, so each counts for the share of its group that is real.

*Certain and possible*: a row is certain when every point of its box satisfies, possible when some point does. Where the
values stand in a second table, rows and values of a group are matched in the best and in the worst way: by Koenig's
theorem the most pairs that can be made at once are the fewest rows and values that touch all pairs, and with few sorts
of values all such choices are looked at. (With many sorts, some of them: the bound is then valid, and may be wider.)
Of a group's certain rows as many as it has counterfeits may be no records; and no more rows are records than it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import sums_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.analysis.asking import Answers, AskedRows
    from reveil.core.arrays import BoolArray
    from reveil.tables.expressions.regions import FloatArray

FEW_SORTS = 6  # of which all sets are looked at


@dataclass(frozen=True)
class CountSums:
    """A count of the records of a release.

    ``variances`` and ``deviations`` are, for each class (each group, where values of a second table are asked about),
    the sum over its rows of the variance of each, and of its root. ``linked``: sensitive values were asked about, whose
    link to the other columns a group hides; ``matched``: values of a second table.
    """

    estimate: float
    certain: int
    possible: int
    variances: FloatArray
    deviations: FloatArray
    linked: bool = False
    matched: bool = False


def tally(asked: AskedRows, answers: Answers | None = None) -> CountSums:
    """Count the records of the release that satisfy."""
    found = asked.answers() if answers is None else answers
    return _of_groups(asked, found) if asked.second else _of_rows(asked, found)


def _of_rows(asked: AskedRows, answers: Answers) -> CountSums:
    reader, units = asked.reader, asked.units
    share, certain, possible = (answer[0] for answer in answers)
    mixed = units.group >= 0
    real = np.where(mixed, reader.real[np.maximum(units.group, 0)], 1.0) if mixed.any() else np.ones(len(units))
    chance = share * real
    sure, maybe = units.sizes * certain, units.sizes * possible
    least, most = sure[~mixed].sum(), maybe[~mixed].sum()
    if mixed.any():
        groups = reader.groups
        sure, maybe = (sums_of(units.group[mixed], answer[mixed], len(groups.rows)) for answer in (sure, maybe))
        least += np.maximum(sure - groups.fakes, 0).sum()
        most += np.minimum(maybe, groups.real).sum()
    variance = chance * (1 - chance)
    classes = int(units.owner.max(initial=-1)) + 1
    return CountSums(
        float((units.sizes * chance).sum()),
        round(least),
        round(most),
        sums_of(units.owner, units.sizes * variance, classes),
        sums_of(units.owner, units.sizes * np.sqrt(variance), classes),
        linked=any(name in asked.reader.release.manifest.sensitive for name in asked.first),
    )


def _of_groups(asked: AskedRows, answers: Answers) -> CountSums:
    reader, units = asked.reader, asked.units
    share, certain, possible = answers
    groups, size = reader.groups, len(reader.groups.rows)
    values = asked.sorted_values()

    def over_rows(per_row: FloatArray) -> FloatArray:
        return sums_of(units.group, units.sizes * per_row, size)

    rows = np.maximum(groups.rows, 1).astype(np.float64)
    part = values / rows[:, None]
    chance = (part[units.group].T * share).sum(axis=0)
    expected = over_rows(chance)
    most = _matched(asked, values, possible)
    least = groups.rows - _matched(asked, values, ~certain)
    real = reader.real
    # The variance of a sum over a random matching (Hoeffding 1951), and of which point of its box each row is.
    by_sort = np.stack([over_rows(answer) for answer in share], axis=1) / rows[:, None]
    square = over_rows((part[units.group].T * share**2).sum(axis=0))
    matching = square - over_rows(chance**2) - (values * by_sort**2).sum(axis=1) + expected**2 / rows
    matching = np.maximum(matching, 0) * rows / np.maximum(rows - 1, 1)
    inside = np.maximum(expected - square, 0)
    # Leaving some rows out at random is at most as uncertain as leaving each out by a die of its own.
    variance = real**2 * (matching + inside) + real * (1 - real) * expected
    unsure = over_rows(((chance > 0) & (chance < 1)).astype(np.float64))
    return CountSums(
        float((expected * real).sum()),
        round(np.maximum(least - groups.fakes, 0).sum()),
        round(np.minimum(most, groups.real).sum()),
        variance,
        np.sqrt(variance * unsure),
        linked=True,
        matched=True,
    )


def _matched(asked: AskedRows, values: FloatArray, pairs: BoolArray) -> FloatArray:
    """Return per group the most rows that can be matched with values at once; ``pairs``: (sorts, units) that may be."""
    units, size = asked.units, len(values)
    best = asked.reader.groups.rows.astype(np.float64)
    for taken in _choices(len(pairs)):
        touched = pairs[~taken].any(axis=0)
        best = np.minimum(best, values[:, taken].sum(axis=1) + sums_of(units.group, units.sizes * touched, size))
    return best


def _choices(sorts: int) -> Iterator[BoolArray]:
    """List sets of sorts: all of them where there are few, else none, all, each alone, and all but one."""
    if sorts <= FEW_SORTS:
        for number in range(2**sorts):
            yield (number >> np.arange(sorts)) & 1 > 0
        return
    yield np.zeros(sorts, np.bool_)
    yield np.ones(sorts, np.bool_)
    for one in np.eye(sorts, dtype=np.bool_):
        yield one
        yield ~one
