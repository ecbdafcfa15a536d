"""A release from elsewhere as a cut of the cells, whatever it did to them.

Who may be in which group is what :mod:`reveil.releases.membership` says, and nothing else: the groups of a component
cannot be told apart from outside, because somebody may be in either. So

- a component of one group, in which everybody is for certain, is a piece like that of any release;
- the groups of a larger component, whose rows are all of people who are in one of them for certain, become *one cell
  that is never cut*: published whole in one class, or absent whole;
- where somebody may have been left out while another took their place, or rows are nobody's, or the people of a larger
  component were told apart before, the cell is *closed*: nobody of it is published any more.

Why a cell of several groups is safe. Fix a membership that is possible. It says of everybody which group they were in,
and in that group their value has the distribution of its rows, which the model accepts. Nobody knows which membership
is the true one, so what is believed of a person is a mixture of the distributions of groups that the model accepts: it
accepts that, too, because it survives unions (take each group so often as the mixture says). A class of all the cell,
or of none of it, shows the values of all of them together, which are known already, and excludes no membership. (A
class of some of them does: of [1, 4] with a, b, c and [3, 9] with c, d, e, where persons at 3 and 4 may be in either,
publish 1 and 2 with a, b, and each of the two has c in two worlds of three.)

Why a cell of which somebody may have been left out is closed: a class of all of them would show the value of who was
left out by difference, and who is likely to be that one has it with more than any group's share. Whether that can be
borne depends on the value, and so may not decide.

A group may hold pieces of several cells and people who are new, and shows the values of all of them together. Of which
pieces that tells the values, and what becomes of the others, is in :mod:`reveil.guarantees.refinement.told_pieces`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError
from reveil.guarantees.refinement.entries import Assignment, Pieces
from reveil.guarantees.refinement.judging import Judge
from reveil.guarantees.refinement.ledgers import CLOSED, SEALED, WHOLE
from reveil.guarantees.refinement.told_pieces import told_apart
from reveil.models.base import ValueModel
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.models.t_closeness import TCloseness
from reveil.tables.snapshot import canonical_text
from reveil.vault.protocol import Entries

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.guarantees.refinement.absent import Absent
    from reveil.guarantees.refinement.reading import Reading
    from reveil.models.base import Model
    from reveil.releases.membership import Membership
    from reveil.vault.protocol import Book


@dataclass(frozen=True)
class Fitted:
    """The pieces that a release makes of cells.

    ``state`` is that of each piece, ``ended`` the cells of which the rest must not be published any more, either.
    ``merged`` persons are in ``cells`` that stay whole.
    """

    cut: Assignment
    state: CodeArray = field(repr=False)
    ended: BoolArray = field(repr=False)
    unsafe_groups: int
    held_back: int
    merged: int
    cells: int

    def sealed(self, reading: Reading, nobody: Absent) -> Entries:
        """Return which cells are not cut any more, or closed."""
        pieces = Pieces.of(reading, self.cut, nobody)
        marked = self.state > 0
        rows = {
            "cell": np.concatenate([pieces.number[marked], reading.past.numbers[self.ended]]).astype(np.int32),
            "state": np.concatenate([self.state[marked], np.full(int(self.ended.sum()), CLOSED)]).astype(np.int32),
        }
        return Entries(SEALED, pl.DataFrame(rows).unique("cell", keep="last", maintain_order=True))


def fitted(reading: Reading, model: Model, members: Membership, shown: dict[str, CodeArray]) -> Fitted:
    """Return the pieces that the groups of a release make of cells, and which of them must not be cut or are closed.

    ``shown`` has the place of the group of each row under ``""``, and the values of the rows by attribute, in the codes
    that the model understands; -1 for a value that nobody ever had.
    """
    past = reading.past
    valid, closed, merged = _components(reading, model, members, shown)
    label = members.of_record.copy()
    label[reading.rests] = -1
    there = np.flatnonzero(label >= 0)
    pairs = np.stack([past.cell[there].astype(np.int64), label[there]], axis=1)
    pieces, first, piece = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    group = np.full(len(label), -1, np.int32)
    group[there] = piece.ravel()
    groups, of_piece, n = group[there], pieces[:, 1], len(first)
    cell, sizes = pieces[:, 0], np.bincount(groups, minlength=n)
    bad = ~_valid(reading, model, group, n, there)
    invalid = np.zeros(len(closed), np.bool_)
    invalid[members.component[~valid]] = True
    apart = np.bincount(of_piece, minlength=len(closed)) > 1
    before = np.append(past.sealed, 0)[cell]
    all_of_it = sizes == np.append(past.sizes, -1)[cell]
    state = np.where(merged[of_piece], WHOLE, np.where(all_of_it, before, 0))
    ends = closed[of_piece] | invalid[of_piece] | bad | (before == CLOSED) | ((before == WHOLE) & ~all_of_it)
    # Who was not in it is a piece, too.
    left = np.zeros(len(label), np.bool_)
    left[there] = True
    touched = past.count(left) > 0
    remain = past.sizes - past.count(left)
    full = ~closed & (
        np.bincount(members.component, members.rows, len(closed)) == np.bincount(label[there], minlength=len(closed))
    )
    known, rest_known = np.ones(n, np.bool_), np.ones(past.n_cells, np.bool_)
    if any(isinstance(part, ValueModel) for part in model.parts):
        known, rest_known = told_apart(past, cell, of_piece, full, left, remain)
    state[ends | ~known | (merged & apart)[of_piece]] = CLOSED
    ended = touched & ((past.sealed == WHOLE) | ~rest_known) & (remain > 0)
    torn = touched & ~Judge(model, past, tables=reading.tables).without(left)
    left_over = int(remain[torn | ended].sum())
    unsafe = ~valid
    broken = np.zeros(len(closed), np.bool_)
    broken[of_piece[bad & known]] = True  # of the others nobody may learn whether they are
    unsafe |= (broken & ~merged & ~closed)[members.component]
    stays = (state == WHOLE) & merged[of_piece]
    return Fitted(
        Assignment(group, np.zeros(0, np.int32), np.zeros(n, np.int64)),
        state.astype(np.int32),
        ended,
        int(unsafe.sum()),
        int(sizes[state == CLOSED].sum()) + left_over,
        int(sizes[stays].sum()),
        int(stays.sum()),
    )


def shown_by(book: Book, reading: Reading, groups: IntArray, values: pl.DataFrame) -> dict[str, CodeArray]:
    """Return the rows of a release as :func:`fitted` takes them."""
    found = {"": groups.astype(np.int32)}
    for coding in reading.codings:
        name = coding.attribute.name
        known = book.values(name)
        texts = canonical_text(values[name]).alias("value").to_frame()
        code = texts.join(known, on="value", how="left", maintain_order="left", nulls_equal=True)["code"]
        stable = code.fill_null(-1).to_numpy().astype(np.int64)
        found[name] = np.where(stable >= 0, np.append(coding.of_model, -1)[stable], -1).astype(np.int32)
    return found


def _components(
    reading: Reading, model: Model, members: Membership, shown: dict[str, CodeArray]
) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Return which groups are valid by what they show, which components are closed, and which are of several groups."""
    component, group = members.component, shown[""]
    n = int(component.max(initial=-1)) + 1
    several = np.bincount(component, minlength=n) > 1
    inside = members.of_record[members.of_record >= 0]
    persons = np.bincount(inside, minlength=n)
    closed = np.zeros(n, np.bool_)
    closed[members.of_record[members.untold]] = True
    spare = np.bincount(component, members.rows, n) > persons
    valid, sure = np.ones(members.n_groups, np.bool_), np.ones(members.n_groups, np.bool_)
    for part in model.parts:
        if not isinstance(part, ValueModel):
            valid &= part.verdict(GroupStats(members.room))
            sure &= part.verdict(GroupStats(persons[component]))
    for versions in reading.past.versions:
        attribute, codes = versions.attribute, shown[versions.name]
        told = codes >= 0
        table = Reference(
            np.bincount(codes[told], minlength=attribute.domain).astype(np.int64), attribute.ordered, attribute.levels
        )
        counts = Histogram.of(group[told], codes[told], members.n_groups, attribute.domain)
        stats = GroupStats(counts.totals, {attribute.name: counts}, {attribute.name: table})
        for part in model.parts:
            if isinstance(part, ValueModel) and part.concerns(attribute.name):
                valid &= part.verdict(stats)
                sure &= _surely(part, persons[component], stats)
    # Rows that are nobody's: whoever is in the group may have any part of its values.
    unsure = np.zeros(n, np.bool_)
    unsure[component[~sure]] = True
    closed |= spare & (several | unsure)
    return np.asarray(valid, np.bool_), closed, several


def _surely(part: ValueModel, sizes: IntArray, stats: GroupStats) -> BoolArray:
    """Return where every part of so many rows is valid; nowhere if the model cannot say."""
    try:
        return part.surely(sizes, stats)
    except ConfigError:
        return np.zeros(len(sizes), np.bool_)


def _valid(reading: Reading, model: Model, group: CodeArray, n_groups: int, there: IntArray) -> BoolArray:
    """Return which pieces are valid, with the values of today and of every release they were in."""
    sizes = np.bincount(group[there], minlength=n_groups).astype(np.int64)
    valid = np.ones(n_groups, np.bool_)
    for part in model.parts:
        if not isinstance(part, ValueModel):
            valid &= part.verdict(GroupStats(sizes))
    for versions in reading.past.versions:
        attribute = versions.attribute
        today = Histogram.of(group[there], attribute.codes[there], n_groups, attribute.domain)
        shown = group[versions.record] >= 0
        pairs = group[versions.record[shown]].astype(np.int64) * (len(versions.cell) + 1) + versions.version[shown]
        keys, place = np.unique(pairs, return_inverse=True)
        then = Histogram.of(place, versions.value[shown], len(keys), attribute.domain)
        for owner, counts in ((np.arange(n_groups), today), (keys // (len(versions.cell) + 1), then)):
            stats = GroupStats(sizes[owner], {attribute.name: counts}, {attribute.name: attribute.reference(there)})
            for part in model.parts:
                if isinstance(part, ValueModel) and part.concerns(attribute.name):
                    if isinstance(part, TCloseness) and counts is then:
                        continue  # the judge compares it with the tables of then when it is published next
                    valid[owner[~part.verdict(stats)]] = False
    return valid
