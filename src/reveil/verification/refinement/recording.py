"""What is to be recorded of a release that cut cells into pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.verification.arrays import Ints, halves, number_of_name
from reveil.verification.judges.t_closeness import TCloseness
from reveil.verification.record import Entry
from reveil.verification.refinement.cells import CELL, COUNTS, NEW, NEXT, SIZES, TABLE, VALUE, PastCells
from reveil.verification.refinement.pieces import CellPieces, versions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.verification.judges.base import GroupJudge
    from reveil.verification.record import Update
    from reveil.verification.shown import Shown


def recorded(shown: Shown, past: PastCells, pieces: CellPieces, demands: Sequence[GroupJudge]) -> Update:
    """Number the pieces as cells: one that is all of its cell, and those who are absent, keep the number."""
    table = pieces.table.join(past.sizes.rename({"size": "before"}), on="cell", how="left")
    table = table.with_columns(kept=(pl.col("group") < 0) | (pl.col("size") == pl.col("before")).fill_null(False))
    fresh = table.filter(~pl.col("kept")).sort("piece")
    numbers = past.next_cell + np.arange(fresh.height)
    table = table.sort("piece")
    number = table["cell"].to_numpy().astype(np.int64).copy()
    number[fresh["piece"].to_numpy()] = numbers
    kept = table["kept"].to_numpy()
    moved = ~kept[pieces.of_row]
    who = shown.who[shown.real]
    sizes = pl.concat([fresh.select("piece", "size"), table.filter(pl.col("group") < 0).select("piece", "size")])
    torn = fresh.filter(pl.col("cell") != NEW)["cell"].unique()
    # A torn cell lives on as its absent members, or not at all.
    gone = torn.filter(~torn.is_in(table.filter(pl.col("group") < 0)["cell"].implode()))
    entries = [
        Entry(CELL, CELL.frame(who=who[moved], cell=number[pieces.of_row[moved]])),
        Entry(
            SIZES,
            SIZES.frame(cell=number[sizes["piece"].to_numpy()], size=sizes["size"]),
            pl.DataFrame({"cell": gone.cast(pl.Int64)}),
        ),
        Entry(NEXT, NEXT.frame(release=[shown.number], next_cell=[past.next_cell + fresh.height])),
    ]
    counts, cleared, values, tables = [COUNTS.none()], [COUNTS.none()], [VALUE.none()], [TABLE.none()]
    for name in shown.sensitive:
        compared = any(isinstance(demand, TCloseness) and demand.concerns(name) for demand in demands)
        attribute = number_of_name(name)
        rows = versions_of(shown, past, pieces, name)
        changed = _changed(shown, past, name)
        mark = shown.row_marks(name)
        high, low = halves(mark[changed])
        many = int(changed.sum())
        values.append(
            VALUE.frame(
                who=who[changed],
                attribute=np.full(many, attribute),
                release=np.full(many, shown.number),
                high=high,
                low=low,
            )
        )
        # Pieces that keep the number of their cell have their versions; today's is one where somebody changed.
        new = np.zeros(table.height, np.bool_)
        new[pieces.of_row[changed]] = True
        if compared:  # each release is judged beside a table of its own
            new[pieces.of_row] = True
        today = pl.col("release") == shown.number
        piece = rows["piece"].to_numpy()
        wanted = ~kept[piece] | new[piece]
        absent = (table["group"].to_numpy() < 0)[piece]
        rows = rows.filter(pl.Series(wanted | absent) & (~today | pl.Series(new[piece] | ~kept[piece])))
        counts.append(_counted(rows, number, attribute))
        ended = past.counts[name].join(pl.DataFrame({"cell": torn.cast(pl.Int64)}), on="cell", how="semi")
        high, low = halves(ended["value"].to_numpy())
        cleared.append(
            COUNTS.frame(
                cell=ended["cell"],
                attribute=np.full(ended.height, attribute),
                release=ended["release"],
                high=high,
                low=low,
                number=ended["number"],
            )
        )
        if compared:
            told = pl.DataFrame({"value": shown.marks(name)}).group_by("value").len("number")
            high, low = halves(told["value"].to_numpy())
            same = {"attribute": np.full(told.height, attribute), "release": np.full(told.height, shown.number)}
            tables.append(TABLE.frame(**same, high=high, low=low, number=told["number"]))
    entries.append(Entry(COUNTS, pl.concat(counts), pl.concat(cleared).select(COUNTS.keys)))
    entries += [Entry(VALUE, pl.concat(values)), Entry(TABLE, pl.concat(tables))]
    return tuple(entries)


def _changed(shown: Shown, past: PastCells, name: str) -> np.ndarray:
    """Return whose value is told for the first time, or is another than before."""
    last = past.last(shown, name)
    return (last != pl.Series(shown.row_marks(name))).fill_null(True).to_numpy()


def _counted(rows: pl.DataFrame, number: Ints, attribute: int) -> pl.DataFrame:
    high, low = halves(rows["value"].to_numpy())
    return COUNTS.frame(
        cell=number[rows["piece"].to_numpy()],
        attribute=np.full(rows.height, attribute),
        release=rows["release"],
        high=high,
        low=low,
        number=rows["number"],
    )
