"""The absent members of cells: who of them may be published as a dirty record, and who of them should be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.guarantees.refinement.ledgers import CELLS, TOLD_VALUES
from reveil.guarantees.refinement.past import ToldValues
from reveil.models.statistics import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.guarantees.refinement.judging import Judge
    from reveil.guarantees.refinement.reading import Reading
    from reveil.vault.protocol import Book

ROUNDS = 6  # how often the number of helpers is doubled


@dataclass(frozen=True)
class Absent:
    """Members of some cells who are not published by themselves, by their places here.

    ``person`` is their number in the vault, ``cell`` the place of their cell, ``quasi`` their last record in codes that
    last, ``told`` their values per attribute, by place. ``able``: everything that a record needs is known of them.
    """

    person: CodeArray = field(repr=False)
    cell: CodeArray = field(repr=False)
    quasi: Mapping[str, CodeArray] = field(repr=False)
    told: tuple[ToldValues, ...] = field(repr=False)
    able: BoolArray = field(repr=False)

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.person)

    def last(self, attribute: int) -> CodeArray:
        """Return the value that each was told with last, in the model's codes."""
        return self.told[attribute].at(np.arange(self.size), np.full(self.size, np.iinfo(np.int32).max, np.int64))


def absent_of(book: Book, reading: Reading, cells: IntArray, quasi: Iterable[str]) -> Absent:
    """Read the absent members of some cells, given by their places."""
    past = reading.past
    rows = book.rows(CELLS, "cell", past.numbers[cells])
    record = rows["record"].to_numpy()
    gone = (record < 0) | reading.rests[np.maximum(record, 0)] if len(record) else record < 0
    person = rows["person"].to_numpy()[gone]
    place = np.searchsorted(past.numbers, rows["cell"].to_numpy()[gone]).astype(np.int32)
    order = np.argsort(person)
    person, place, here = person[order], place[order], (record[gone] >= 0)[order]
    last = book.last(person)
    missing = np.full(len(person), -1, np.int32)
    records = {name: last.get(name, missing) for name in quasi}
    able = ~here
    for codes in records.values():
        able &= codes >= 0
    told = []
    rows = book.rows(TOLD_VALUES, "person", person) if reading.codings else pl.DataFrame()
    for coding in reading.codings:
        mine = rows.filter(pl.col("attribute") == coding.number)
        mine = mine.select(
            "release",
            unit=pl.Series(np.searchsorted(person, mine["person"].to_numpy())),
            value=pl.Series(coding.of_model[mine["value"].to_numpy()]),
        )
        told.append(ToldValues.of(mine, "unit"))
        known = np.zeros(len(person), np.bool_)
        known[mine["unit"].to_numpy()] = True
        able &= known
    return Absent(person, place, records, tuple(told), able)


def helpers(
    judge: Judge, present: BoolArray, wanting: BoolArray, absent: Absent, rank: npt.NDArray[np.integer]
) -> BoolArray:
    """Choose which of the absent are published beside the present, as few as make both pieces valid.

    ``wanting`` are cells whose absent are valid and whose present are not. The absent are taken in the order of
    ``rank``, which must not depend on values; their number is doubled until both pieces are valid or the helpers
    would outnumber the present. The answer is nobody for cells where that fails.
    """
    past = judge.past
    here = past.count(present)
    candidate = np.flatnonzero(absent.able & wanting[absent.cell])
    order = candidate[np.lexsort((rank[candidate], absent.cell[candidate]))]
    cell = absent.cell[order]
    first = np.searchsorted(cell, cell)  # where the candidates of the same cell begin
    turn = np.arange(len(order)) - first
    least = min(judge.model.minimum_size, int(past.sizes.max(initial=0)) + 1)
    number = np.maximum(least - here, 1)
    most = np.minimum(here, past.sizes - here - least)
    chosen = np.zeros(absent.size, np.bool_)
    searching = wanting & (number <= most)
    for _ in range(ROUNDS):
        if not searching.any():
            break
        mine = order[(turn < number[cell]) & searching[cell]]
        taken = np.bincount(absent.cell[mine], minlength=past.n_cells)
        trial = np.zeros(absent.size, np.bool_)
        trial[mine] = True
        good = searching & (taken == number) & _both_valid(judge, present, here, absent, trial, taken)
        chosen |= trial & good[absent.cell]
        searching &= ~good
        number = np.where(searching & (number < most), np.minimum(2 * number, most), number + most)
        searching &= number <= most
    return chosen


def _both_valid(
    judge: Judge, present: BoolArray, here: IntArray, absent: Absent, trial: BoolArray, taken: IntArray
) -> BoolArray:
    """Return the cells in which the present with some helpers are a valid piece, and so are the others."""
    past = judge.past
    beside, left = [], []
    for versions, told in zip(past.versions, absent.told, strict=True):
        unit, version, value = versions.of_units(absent.cell, told)
        tried = trial[unit]
        more = Histogram.of(version[tried], value[tried], len(versions.cell), versions.attribute.domain)
        mine = versions.histogram(present).merge(more)
        beside.append(mine)
        left.append(versions.counts.less(mine))
    return judge.of_members(here + taken, beside) & judge.of_members(past.sizes - here - taken, left)
