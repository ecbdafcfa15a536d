"""The values of one column in the rows that satisfy an expression: what means and quantiles are made of.

An *entry* is a part of a cell: so many records are expected in it, spread evenly from ``start`` to ``end``. A *holder*
is a row (or, where the values stand in a second table, a value), with the least and the largest value that it may have,
whether it certainly is among the records asked for, and whether it may be: of these hard bounds are made.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from reveil.analysis.asking import put
from reveil.analysis.frequencies import WeighedLine
from reveil.analysis.scales import scale_of
from reveil.core.arrays import sums_of
from reveil.core.errors import InputError
from reveil.tables.expressions.lines import LineDivision
from reveil.tables.expressions.positions import FIRST, LAST
from reveil.tables.expressions.word_sets import WordDivision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.analysis.asking import AskedRows
    from reveil.analysis.reader import ReleaseReader
    from reveil.analysis.scales import ValueScale
    from reveil.core.arrays import BoolArray
    from reveil.tables.expressions import Expression
    from reveil.tables.expressions.regions import FloatArray, IndexArray

MOST_WORDS = 500


@dataclass(frozen=True)
class CellParts:
    """Parts of cells: the unit of rows, the chance of each of its rows to be there, and where the value then is."""

    unit: IndexArray
    chance: FloatArray
    start: FloatArray
    end: FloatArray
    mean: FloatArray
    variance: FloatArray


@dataclass(frozen=True)
class Holders:
    """Who may have a value, so many of each: between which ends it is, and whether they certainly are asked for."""

    many: FloatArray
    lo: FloatArray
    hi: FloatArray
    certain: BoolArray


@dataclass(frozen=True)
class ValuesAsked:
    """A column of the records that satisfy: its scale, entries (cells evenly, and by frequency), and holders.

    Without ``holders`` there are no hard bounds: records were left out or show a value of earlier, and may have any.
    """

    asked: AskedRows
    scale: ValueScale
    even: CellParts
    weighed: CellParts
    holders: Holders | None


def values_asked(
    reader: ReleaseReader, name: str, expression: str | Expression | None, *, distances: bool
) -> ValuesAsked:
    """Read a column under an expression; records without a value in it are not among those asked for."""
    scale = scale_of(reader, name, distances=distances)
    asked = put(reader, expression, (name,), fine=name in reader.release.cells)
    by_frequency = asked.by_frequency()
    even, weighed = (_entries(part, scale, name) for part in (asked, by_frequency))
    if reader.left_out != 0 or reader.stale((*asked.first, *asked.second, name)):
        return ValuesAsked(asked, scale, even, weighed, None)
    holders = _of_lines(asked, scale, name) if name in reader.apart else _of_rows(asked, scale, name)
    return ValuesAsked(asked, scale, even, weighed, holders)


def _entries(asked: AskedRows, scale: ValueScale, name: str) -> CellParts:
    """List the parts of cells."""
    parts = list(_parts(asked, scale, name))
    nothing = CellParts(np.zeros(0, np.intp), *(np.zeros(0),) * 5)
    return CellParts(
        *(np.concatenate([getattr(block, part.name) for block in (nothing, *parts)]) for part in fields(CellParts))
    )


def _parts(asked: AskedRows, scale: ValueScale, name: str) -> Iterator[CellParts]:
    reader, units = asked.reader, asked.units
    present = _present(asked, name)
    if name in reader.apart:
        # One entry for each value: a quantile needs to know where it is.
        distinct, index = reader.point_values(name)
        each, widths = scale.numbers(distinct), scale.widths(distinct)
        numbers = each[index]
        share = asked.answers(asked.along(name, present))[0]
        for at in np.unique(numbers[np.isfinite(numbers)]):
            chance = _chance(asked, share, asked.sorted_values((numbers == at).astype(np.float64)))
            yield _made(chance, np.full(len(units), at), scale, float(widths[each == at][0]))
        return
    if name not in reader.release.cells:
        numbers = scale.numbers(reader.point_values(name)[0])[units.index[name]]
        share = asked.answers(asked.along(name, present))[0]
        yield _made(np.where(np.isfinite(numbers), _chance(asked, share), 0.0), numbers, scale)
        return
    for piece in np.flatnonzero(present):
        share = asked.answers(asked.along(name, np.arange(len(present)) == piece))[0]
        chance = _chance(asked, share)
        unit = np.flatnonzero(chance > 0)
        if len(unit):
            yield CellParts(unit, chance[unit], *_piece(asked, scale, name, int(piece), units.index[name][unit]))


def _made(chance: FloatArray, at: FloatArray, scale: ValueScale, width: float = 0.0) -> CellParts:
    """Return parts that are one value each, or one bin of this width around it."""
    unit = np.flatnonzero(chance > 0)
    where = at[unit]
    spread = np.full(len(unit), width**2 / 12)
    return CellParts(unit, chance[unit], where - width / 2, where + width / 2 + scale.whole, where, spread)


def _present(asked: AskedRows, name: str) -> BoolArray:
    """Return which regions of a column hold values: all but null, and what no cell is known to have."""
    regions = asked.regions[name]
    found = np.ones(regions.number, np.bool_)
    null = np.asarray(regions.division.truths[-1], np.bool_)  # asked last: that there is no value
    found[regions.region[null]] = False
    if isinstance(regions.division, WordDivision) and regions.number == len(null):
        found[len(regions.division.words.words) :] = False
    return found


def _chance(asked: AskedRows, share: FloatArray, values: FloatArray | None = None) -> FloatArray:
    """Return the chance of a row of each unit, over the sorts of values and with counterfeits taken out."""
    reader, units = asked.reader, asked.units
    chance = share[0]
    if asked.second:
        part = (asked.sorted_values() if values is None else values) / np.maximum(reader.groups.rows, 1)[:, None]
        chance = (part[units.group].T * share).sum(axis=0)
    found: FloatArray = (
        chance * reader.placed * np.where(units.group >= 0, reader.real[np.maximum(units.group, 0)], 1.0)
    )
    return found


def _piece(asked: AskedRows, scale: ValueScale, name: str, piece: int, cells: IndexArray) -> tuple[FloatArray, ...]:
    """Return where a piece of a column lies in each cell: start, end, mean and variance."""
    division = asked.regions[name].division
    if isinstance(division, WordDivision):
        if len(division.words.words) > MOST_WORDS:
            raise InputError(f"column {name!r} has more than {MOST_WORDS} values in sets", hint="Ask for counts.")
        at = np.full(len(cells), scale.of_words(division.words.words)[piece])
        return at, at + scale.whole, at, np.zeros(len(cells))
    if not isinstance(division, LineDivision):
        raise TypeError(division)
    bounds, line = [FIRST, *division.cuts, LAST], division.line
    lo, hi = line.lo[cells].astype(np.float64), line.hi[cells].astype(np.float64) + scale.whole
    start = np.maximum(lo, float(bounds[piece].value))
    end = np.maximum(np.minimum(hi, float(bounds[piece + 1].value)), start)
    mean, variance = (start + end - scale.whole) / 2, np.maximum((end - start) ** 2 - scale.whole, 0) / 12
    if isinstance(line, WeighedLine):
        mean = np.clip(line.means(start, end, mean), start, np.maximum(end - scale.whole, start))
    return start, end, mean, variance


def _of_rows(asked: AskedRows, scale: ValueScale, name: str) -> Holders:
    """Return the rows that may be among those asked for, with the ends of their values."""
    reader, units = asked.reader, asked.units
    present = _present(asked, name)
    certain, possible = asked.reached(asked.answers(asked.along(name, present)))
    lo, hi = np.full(len(units), np.inf), np.full(len(units), -np.inf)
    if name not in reader.release.cells:
        lo = hi = scale.numbers(reader.point_values(name)[0])[units.index[name]]
    for piece in np.flatnonzero(present) if name in reader.release.cells else ():
        some = asked.reached(asked.answers(asked.along(name, np.arange(len(present)) == piece)))[1]
        unit = np.flatnonzero(some)
        if len(unit):
            start, end, *_ = _piece(asked, scale, name, int(piece), units.index[name][unit])
            lo[unit] = np.minimum(lo[unit], start)
            hi[unit] = np.maximum(hi[unit], np.maximum(end - scale.whole, start))
    sure = certain & (reader.unplaced == 0)
    if reader.release.manifest.counterfeits.total:
        sure = sure & (reader.groups.fakes[np.maximum(units.group, 0)] == 0) | (sure & (units.group < 0))
    return Holders(units.sizes[possible], lo[possible], hi[possible], sure[possible])


def _of_lines(asked: AskedRows, scale: ValueScale, name: str) -> Holders:
    """Return the values of the second table that some row asked for may have."""
    reader, units = asked.reader, asked.units
    _, certain, possible = asked.answers(asked.along(name, _present(asked, name)))
    groups, sort = len(reader.groups.rows), asked.sort_of_lines()

    def of_groups(told: BoolArray) -> FloatArray:
        return np.stack(
            [sums_of(units.group, shares_of_value, groups) for shares_of_value in told.astype(np.float64)], axis=1
        )

    some, lacking = of_groups(possible) > 0, of_groups(~certain) > 0
    group = reader.second.group
    may = some[group, sort]
    sure = ~lacking[group, sort] & (reader.groups.fakes[group] == 0) & (reader.unplaced == 0)
    distinct, index = reader.point_values(name)
    lo, hi = (ends[index] for ends in scale.ends(distinct))
    may &= ~np.isnan(lo)
    return Holders(reader.second.counts[may], lo[may], hi[may], sure[may])
