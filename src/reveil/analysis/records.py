"""``release.sample``: plain records that agree with a release, for tools that cannot read ranges.

Every record comes from a published row. Of the rows of a group so many are left out, by dice, as the manifest says that
it has counterfeits; inside a cell values are drawn evenly, column by column (where boxes are nested, until the record
is in none of the boxes inside); and where the sensitive values stand in a second table, those of a group are dealt to
its rows by dice. As many records as the release has make one of the tables that it could be of.

What was suppressed stays missing: a value that the release does not tell is null here.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.analysis.reader import reader_of
from reveil.core.errors import InputError
from reveil.releases.nesting import nesting_of
from reveil.releases.table import COUNT
from reveil.tables.expressions.lines import Intervals
from reveil.tables.expressions.positions import is_line
from reveil.tables.expressions.word_sets import WordSets
from reveil.tables.notation import SUPPRESSED_VALUE, Form, from_text

if TYPE_CHECKING:
    from reveil.analysis.reader import ReleaseReader
    from reveil.core.arrays import BoolArray
    from reveil.releases.nesting import Nesting
    from reveil.releases.release import Release
    from reveil.tables.expressions.regions import IndexArray, Numbers
    from reveil.tables.schema import Schema

MOST_DRAWS = 200  # of a record in nested boxes; what is left then has next to no room, and its box answers for it


def sample(release: Release, n: int | None = None, seed: int = 0, schema: Schema | None = None) -> pl.DataFrame:
    """Draw records; each row serves as often as the others, or once more."""
    for name, given in (("n", 0 if n is None else n), ("seed", seed)):
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise InputError(f"{name} must be a whole number from 0 up, not {given!r}")
    if release.seconds:
        raise InputError(
            "each sensitive column of this release has groups of its own: which values go together is told nowhere, so "
            "that no records can be drawn",
            hint="Ask for counts, means and crosstabs with quasi columns.",
        )
    reader, rng = reader_of(release, schema), np.random.default_rng(seed)
    lines = _dealt(reader, rng) if reader.apart else None
    rows = _real_rows(reader, rng)
    wanted = len(rows) if n is None else n
    if wanted and not len(rows):
        raise InputError("this release has no records to draw from")
    taken = np.concatenate(
        [np.tile(rows, wanted // max(len(rows), 1)), rng.permutation(rows)[: wanted % max(len(rows), 1)]]
    )
    taken = rng.permutation(taken).astype(np.intp)
    drawn = _cells(reader, taken, rng)
    columns: dict[str, pl.Series] = {}
    for name in (*release.columns, *reader.apart):
        if name in drawn:
            columns[name] = drawn[name]
        elif lines is not None and name in reader.apart and release.batch is not None:
            columns[name] = _plain_values(release.batch[name].gather(lines[taken]))
        else:
            columns[name] = _plain_values(release.values[name].gather(taken))
    order = [column.name for column in release.manifest.columns if column.name in columns]
    return pl.DataFrame({name: columns[name] for name in order})


def _real_rows(reader: ReleaseReader, rng: np.random.Generator) -> IndexArray:
    """Return rows without counterfeits: of each group as many fewer as it has, which ones by dice."""
    groups = reader.groups
    order = rng.permutation(len(groups.index))
    order = order[np.argsort(groups.index[order], kind="stable")]
    group = groups.index[order]
    rank = np.arange(len(order)) - np.searchsorted(group, group)
    rows = order[rank >= groups.fakes[group]]
    return rng.permutation(rows)[: max(len(rows) - reader.unplaced, 0)].astype(np.intp)


def _dealt(reader: ReleaseReader, rng: np.random.Generator) -> IndexArray:
    """Deal the lines of the second table to the rows of their groups; return the line of each row."""
    batch = reader.release.batch
    if batch is None:
        raise TypeError("this release has one table")
    line = np.repeat(np.arange(batch.height), batch[COUNT].to_numpy())
    line = rng.permutation(line)
    line = line[np.argsort(reader.second.group[line], kind="stable")]
    rows = np.argsort(reader.groups.index, kind="stable")
    found = np.empty(len(rows), np.intp)
    found[rows] = line
    return found


def _plain_values(values: pl.Series) -> pl.Series:
    """Return values with those that were suppressed missing."""
    if values.dtype != pl.String:
        return values
    return values.set((values == SUPPRESSED_VALUE).fill_null(value=False), None)


def _cells(reader: ReleaseReader, rows: IndexArray, rng: np.random.Generator) -> dict[str, pl.Series]:
    """Draw a point of the box of each row."""
    release = reader.release
    classes = release.classes[rows]
    cells = {name: cells_of.index[classes].astype(np.intp) for name, cells_of in release.cells.items()}
    places = {name: _drawn(reader, name, cells_of, rng) for name, cells_of in cells.items()}
    nesting = nesting_of(release)
    if nesting is not None:
        _leave_inner(reader, nesting, classes.astype(np.intp), cells, places, rng)
    return {name: _values(reader, name, places_of) for name, places_of in places.items()}


def _drawn(reader: ReleaseReader, name: str, cells: IndexArray, rng: np.random.Generator) -> Numbers:
    """Draw a place in each cell: on the line of the column, or the number of a word; NaN is null."""
    column = reader.column(name)
    dice = rng.random(len(cells))
    if isinstance(column, Intervals):
        null = np.zeros(len(cells)) if column.null_share is None else column.null_share[cells]
        missing = dice < null
        again = rng.random(len(cells))
        lo, hi = column.lo[cells], column.hi[cells]
        if column.exact:
            width = (hi - lo + 1).astype(np.float64)
            step = np.minimum(np.floor(again * width), width - 1)
            found = np.array([int(a) + int(b) for a, b in zip(lo, step, strict=True)], object)
            found[missing] = None
            return found
        with np.errstate(invalid="ignore"):  # of infinite ends
            between = np.where(lo == hi, lo, np.clip(lo * (1 - again) + hi * again, lo, hi))
        return np.where(missing, np.nan, between)
    if not isinstance(column, WordSets):
        raise InputError(
            f"column {name!r} is published as labels of a hierarchy that is not at hand: no value can be drawn",
            hint="Pass the schema (schema=...) whose hierarchy says what lies under a label.",
        )
    size = column.sizes[cells]
    place = np.minimum(np.floor(dice * size), size - 1).astype(np.intp)
    if column.members is not None:
        order = np.argsort(column.members[0], kind="stable")
        starts = np.searchsorted(column.members[0][order], np.arange(column.cells))
        return np.asarray(column.members[1][order][starts[cells] + place], np.float64)
    lo, hi, _ = column.runs  # type: ignore[misc]  # one of the two is given
    return np.where(place > hi[cells] - lo[cells], len(column.words), lo[cells] + place).astype(np.float64)


def _leave_inner(
    reader: ReleaseReader,
    nesting: Nesting,
    classes: IndexArray,
    cells: dict[str, IndexArray],
    places: dict[str, Numbers],
    rng: np.random.Generator,
) -> None:
    """Draw again whatever lies in a box further inside."""
    children = nesting.children
    unsettled = np.flatnonzero(children.lengths[classes] > 0)
    for _ in range(MOST_DRAWS):
        if not len(unsettled):
            return
        owner = classes[unsettled]
        many = children.lengths[owner]
        record = np.repeat(unsettled, many)
        inner = children.items[children.places(owner)[1]]
        inside = np.ones(len(record), np.bool_)
        for name, place in places.items():
            inside &= _holds(reader, name, nesting.index[name][inner].astype(np.intp), place[record])
        unsettled = np.unique(record[inside])
        for name, place in places.items():
            place[unsettled] = _drawn(reader, name, cells[name][unsettled], rng)


def _holds(reader: ReleaseReader, name: str, cells: IndexArray, places: Numbers) -> BoolArray:
    """Return whether each cell has the place beside it."""
    column = reader.column(name)
    if isinstance(column, Intervals):
        missing = np.array([place is None or math.isnan(place) for place in places], np.bool_)
        at = np.where(missing, 0, places)
        return np.where(missing, column.null[cells], (column.lo[cells] <= at) & (at <= column.hi[cells])).astype(
            np.bool_
        )
    if not isinstance(column, WordSets):
        raise TypeError(column)
    word = places.astype(np.int64)
    if column.members is not None:
        key = column.members[0] * (len(column.words) + 1) + column.members[1]
        return np.isin(cells * (len(column.words) + 1) + word, key)
    lo, hi, null = column.runs  # type: ignore[misc]
    return np.where(word == len(column.words), null[cells], (lo[cells] <= word) & (word <= hi[cells])).astype(np.bool_)


def _values(reader: ReleaseReader, name: str, places: Numbers) -> pl.Series:
    """Return drawn places as values of the column."""
    column, dtype = reader.column(name), reader.dtype(name)
    if isinstance(column, WordSets):
        texts = pl.Series(name, [*column.words, None], dtype=pl.String).gather(places.astype(np.int64))
        return from_text(texts, Form.VALUE, dtype) if is_line(dtype) or dtype == pl.Boolean else texts
    if dtype.is_float():
        return pl.Series(name, places.astype(np.float64)).fill_nan(None).cast(dtype)
    if isinstance(dtype, pl.Decimal):
        written = [None if at is None else str(Decimal(int(at)).scaleb(-dtype.scale)) for at in places]
        return pl.Series(name, written, dtype=pl.String).cast(dtype)
    if dtype.is_integer():
        return pl.Series(name, list(places), dtype=dtype)
    whole = pl.Series(name, list(places), dtype=pl.Int32 if dtype == pl.Date else pl.Int64)
    return whole.cast(dtype)
