"""What was told before of the people in a release and of their cells.

The *cell* of a person are the people who were in the same group, or absent, in every release so far. Of each cell its
size is kept (people who were erased are counted), and the values of its members in every release in which one of them
was told another: a *version*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.verification.arrays import Ints, number_of_name, whole
from reveil.verification.record import Kept
from reveil.verification.shown import unsafe

if TYPE_CHECKING:
    from reveil.verification.record import Record
    from reveil.verification.shown import Shown

CELL = Kept("judged_cells", whole=("cell",))
VALUE = Kept("judged_values", keys=("attribute", "release"), whole=("high", "low"), outlives=False)
SIZES = Kept("judged_cell_sizes", keys=("cell",), whole=("size",), personal=False)
COUNTS = Kept(
    "judged_cell_values", keys=("cell", "attribute", "release", "high", "low"), whole=("number",), personal=False
)
TABLE = Kept("judged_tables", keys=("attribute", "release", "high", "low"), whole=("number",), personal=False)
NEXT = Kept("judged_cell_numbers", keys=("release",), whole=("next_cell",), personal=False)

NEW = -1  # the cell of who was never published


@dataclass(frozen=True)
class PastCells:
    """The cell of each row that is about somebody, the sizes of these cells, and what was told, column by column.

    ``told`` has ``who``, ``release`` and ``value`` (a mark): from that release on. ``counts`` has ``cell``,
    ``release``, ``value`` and ``number``: the versions of the cells.
    """

    cell: Ints = field(repr=False)
    sizes: pl.DataFrame = field(repr=False)
    told: dict[str, pl.DataFrame] = field(repr=False)
    counts: dict[str, pl.DataFrame] = field(repr=False)
    next_cell: int

    @classmethod
    def of(cls, shown: Shown, record: Record) -> PastCells:
        """Read it from the record."""
        who = shown.who[shown.real]
        known = record.of(CELL, who)
        people = pl.DataFrame({"who": who})
        cell = people.join(known, on="who", how="left", maintain_order="left")["cell"].fill_null(NEW).to_numpy()
        touched = np.unique(cell[cell != NEW])
        values, counts = record.of(VALUE, who), record.rows(COUNTS, "cell", touched)
        told_of, counts_of = {}, {}
        for name in shown.sensitive:
            number = number_of_name(name)
            mine = values.filter(pl.col("attribute") == number)
            told_of[name] = mine.select("who", "release", value=_marks(mine))
            theirs = counts.filter(pl.col("attribute") == number)
            counts_of[name] = theirs.select("cell", "release", "number", value=_marks(theirs))
        following = record.rows(NEXT)["next_cell"].max()
        return cls(
            cell.astype(np.int64),
            record.rows(SIZES, "cell", touched),
            told_of,
            counts_of,
            0 if following is None else int(following),  # type: ignore[arg-type]
        )

    def last(self, shown: Shown, name: str) -> pl.Series:
        """Return the value with which each row's person was told last; null for who never was."""
        told = self.told[name].sort("release").group_by("who", maintain_order=True).agg(pl.col("value").last())
        people = pl.DataFrame({"who": shown.who[shown.real]})
        return people.join(told, on="who", how="left", maintain_order="left")["value"]

    def then(self, name: str, who: Ints, release: Ints) -> Ints:
        """Return the value each person was told with by a release: from the last entry that is not later."""
        told = self.told[name]
        asked = pl.DataFrame({"who": who, "release": release}).with_row_index("at").sort("release")
        found = asked.join_asof(
            told.sort("release"), on="release", by="who", strategy="backward", check_sortedness=False
        )
        values = found.sort("at")["value"]
        if values.null_count():
            raise unsafe("somebody is in a cell that was told before, and nobody knows with which value")
        return values.to_numpy()


def _marks(rows: pl.DataFrame) -> pl.Series:
    return pl.Series(whole(rows["high"].to_numpy(), rows["low"].to_numpy()))
