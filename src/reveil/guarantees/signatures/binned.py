"""The groups of a bin: some buckets of signatures, or a part of a large one, split and published by themselves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.effort import Effort
from reveil.grouping.cut_tree import quasi_column
from reveil.grouping.recoders.boxes import BoxRecoder
from reveil.grouping.suppression import certainty_penalty
from reveil.guarantees.signatures.forms import as_formed
from reveil.guarantees.signatures.machine import bucketed
from reveil.guarantees.signatures.searching import search_of
from reveil.guarantees.signatures.space import CodePoints, Space
from reveil.guarantees.static.in_shards import NUMBER, SEAT, WIDTH, Shape, cell_column
from reveil.models.encoding import Attribute, Codes
from reveil.releases.release import taken
from reveil.releases.table import PublishedTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.core.numbering import Scattered
    from reveil.core.randomness import Dice
    from reveil.grouping.recoders.base import Recoded
    from reveil.guarantees.signatures.machine import Groups
    from reveil.guarantees.signatures.sets import Sets
    from reveil.tables.notation import Form

VALUE, SIGN, KEPT, BIN, NUMBERED = "value", "sign", "kept", "bin", "numbered"
_NEWCOMER = 2  # in the column KEPT, which is 0 for who keeps a signature, 1 for movers


def typed_rows(shape: Shape) -> tuple[pl.Schema, Mapping[str, Form]]:
    """Return the columns of published rows on their way, and the forms of the generalised ones."""
    typed, forms = shape.example()
    types: dict[str, pl.DataType] = {NUMBER: pl.Int64(), SEAT: pl.Int64(), SIGN: pl.Int32(), KEPT: pl.Int8()}
    types |= {WIDTH: pl.Float64(), NUMBERED: pl.Int32()}
    return pl.Schema(types | {cell_column(c): typed.schema[name] for c, name in enumerate(shape.published)}), forms


@dataclass(frozen=True)
class SplitBins:
    """Work: the published rows of a bin.

    ``base`` (bins) is how many groups are in the bins before, by which groups get their ``numbers``; ``seats`` are the
    dice of rows about nobody, ``points`` those that stand for places where nearness is not looked at.
    """

    shape: Shape
    sets: Sets
    base: IntArray = field(repr=False)
    numbers: Scattered
    values: pl.Series = field(repr=False)
    effort: str
    seats: Dice
    points: Dice | None
    returns: pl.Schema

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Split the buckets of a bin, all of whose records are here."""
        if not table.height:
            return self.returns.to_frame()
        at, rows = int(table[BIN][0]), table.sort(NUMBER)
        n, domains = rows.height, self.shape.domains
        quasi = tuple(Attribute(domain, rows[quasi_column(a)].to_numpy()) for a, domain in enumerate(domains.quasi))
        codes = Codes(quasi, (), n)
        kept = rows[KEPT].to_numpy()
        groups = split_bin(codes, rows, self.sets, self.effort, self.points and self.points.child("bin", at))
        if groups.size != self.base[at + 1] - self.base[at]:
            raise ValueError("a bin has another number of groups than was decided")
        partition = as_formed(codes, groups)
        recoded = BoxRecoder().recode(codes, partition)
        classes = _boxes(groups, recoded)
        number = (self.numbers[self.base[at] + np.arange(groups.size)] + 1).astype(np.int32)[groups.group]
        (name,) = self.shape.values
        values = pl.DataFrame([taken(self.values, groups.value).alias(name)])
        typed = PublishedTable(self.shape.published, recoded.cells, classes, values).typed
        lost = groups.record < 0
        width = np.zeros(len(lost))
        width[0] = certainty_penalty(codes, partition)  # of all the rows, on one of them
        beside = {
            NUMBER: np.append(rows[NUMBER].to_numpy(), -1)[groups.record],
            SEAT: np.append(rows[SEAT].to_numpy(), 0)[groups.record],
            SIGN: groups.signature[groups.group],
            KEPT: np.append(kept, np.int8(0))[groups.record],
            WIDTH: width,
            NUMBERED: number,
        }
        dice = self.seats.child("bin", at).bits(int(lost.sum())) >> np.uint64(1)
        beside[SEAT][lost] = dice.astype(np.int64)
        renamed = {cell_column(c): typed[name] for c, name in enumerate(self.shape.published)}
        return pl.DataFrame({**beside, **renamed}).select(self.returns.names()).cast(dict(self.returns))  # type: ignore[arg-type]


def split_bin(codes: Codes, rows: pl.DataFrame, sets: Sets, effort: str, dice: Dice | None = None) -> Groups:
    """Split each bucket of a bin, and exchange records as long as the effort allows; records are places in ``rows``.

    Near records go together, or whom the dice choose.
    """
    used, place = np.unique(rows[SIGN].to_numpy(), return_inverse=True)
    records = np.arange(codes.n, dtype=np.int32)
    buckets = bucketed(sets.take(used), place, rows[VALUE].to_numpy(), records)
    search = search_of(effort, codes)
    points = CodePoints(codes) if dice is None else Space.nowhere(codes.n, dice).points
    groups = buckets.split(points, swap=effort == Effort.QUICK)
    if search is not None:
        groups = search.exchanged_among(groups, np.asarray(rows[KEPT].to_numpy() == _NEWCOMER, np.bool_))
    # The sets of these groups are places among those of the whole release.
    return replace(groups, signature=used[groups.signature], sets=sets)


def _boxes(groups: Groups, recoded: Recoded) -> CodeArray:
    """Return the class of each row; a row about nobody has the box of its group."""
    real = groups.record >= 0
    of_group = np.full(groups.size, -1, np.int32)
    of_group[groups.group[real]] = recoded.classes[groups.record[real]]
    return of_group[groups.group]
