"""The pieces that a release cuts cells into, and whether each keeps the promise in every release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.releases.cell_types import dtype_named
from reveil.tables.notation import parsed
from reveil.tables.schema import Column, Role
from reveil.verification.arrays import Ints, marks_of, number_of_name, whole
from reveil.verification.counting import GroupCounts, Tally, ValueRelations, coded
from reveil.verification.judges.base import ValueJudge
from reveil.verification.judges.t_closeness import TCloseness
from reveil.verification.refinement.cells import NEW, TABLE, PastCells
from reveil.verification.shown import unsafe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.verification.judges.base import GroupJudge
    from reveil.verification.record import Record
    from reveil.verification.shown import Shown


@dataclass(frozen=True)
class CellPieces:
    """A piece are the people of a cell in one group, or the members of a touched cell who are not published.

    ``of_row`` is the piece of each row that is about somebody. ``table`` has ``piece``, ``cell``, ``group`` (-1: not
    published), ``size``, and ``fakes``: how many of the size are stood in for by counterfeits.
    """

    of_row: Ints = field(repr=False)
    table: pl.DataFrame = field(repr=False)

    @classmethod
    def of(cls, shown: Shown, past: PastCells) -> CellPieces:
        """Cut the cells by the groups."""
        group = shown.group.astype(np.int64)
        rows = pl.DataFrame({"cell": past.cell, "group": group})
        named = rows.group_by("cell", "group").len("size").sort("cell", "group").with_row_index("piece")
        of_row = rows.join(named, on=["cell", "group"], how="left", maintain_order="left")["piece"].to_numpy()
        named = named.with_columns(pl.col("piece", "size").cast(pl.Int64), fakes=pl.lit(0, pl.Int64))
        fakes = shown.groups.fakes
        if fakes.any():
            # A counterfeit stands in for a member of the cell that its group lies in.
            with_fakes = named.filter(pl.col("group").is_in(np.flatnonzero(fakes).tolist()))
            if with_fakes["group"].is_duplicated().any() or (with_fakes["cell"] == NEW).any():
                raise unsafe("counterfeits are in a group that lies in no cell, and stand in for nobody")
            more = pl.Series(fakes[named["group"].to_numpy()])
            named = named.with_columns(size=pl.col("size") + more, fakes=more)
        there = named.filter(pl.col("cell") != NEW).group_by("cell").agg(there=pl.col("size").sum())
        rest = there.join(past.sizes, on="cell", how="left").with_columns(size=pl.col("size") - pl.col("there"))
        if rest["size"].null_count() or (rest["size"] < 0).any():
            raise unsafe("a cell has more members than were ever told of it")
        rest = rest.filter(pl.col("size") > 0).sort("cell")
        if named.filter(pl.col("fakes") > 0)["cell"].is_in(rest["cell"].implode()).any():
            raise unsafe("counterfeits stand in for some of the absent members of a cell, and not for all")
        absent = rest.select(
            piece=pl.int_range(named.height, named.height + rest.height, dtype=pl.Int64, eager=True),
            cell="cell",
            group=pl.lit(-1, pl.Int64),
            size="size",
            fakes=pl.lit(0, pl.Int64),
        )
        return cls(of_row.astype(np.int64), pl.concat([named, absent.select(named.columns)]))


def check_pieces(
    shown: Shown, past: PastCells, pieces: CellPieces, demands: Sequence[GroupJudge], record: Record
) -> None:
    """Refuse a piece that does not keep the promise with the values of some release."""
    _check_changes(shown, past)
    sizes = pieces.table.sort("piece")["size"].to_numpy().astype(np.int64)
    for demand in demands:
        if not isinstance(demand, ValueJudge):
            _judge(demand, GroupCounts(sizes))
    for name in shown.sensitive:
        asked = [demand for demand in demands if isinstance(demand, ValueJudge) and demand.concerns(name)]
        if asked:
            _judge_values(shown, name, asked, sizes, versions_of(shown, past, pieces, name), record)


def _check_changes(shown: Shown, past: PastCells) -> None:
    """Refuse a group in which a value changed beside records of people who are not in the table, or counterfeits."""
    if shown.dirty is None:
        return
    changed = np.zeros(len(shown.real), np.bool_)
    for name in shown.sensitive:
        last = past.last(shown, name)
        changed |= (last != pl.Series(shown.row_marks(name))).fill_null(False).to_numpy()
    many = len(shown.groups.numbers)
    moved = np.bincount(shown.group[changed], minlength=many) > 0
    mixed = np.bincount(shown.group[shown.dirty[shown.real]], minlength=many) > 0
    if (moved & (mixed | (shown.groups.fakes > 0))).any():
        raise unsafe("a value changed beside records of people who are not in the table")


def versions_of(shown: Shown, past: PastCells, pieces: CellPieces, name: str) -> pl.DataFrame:
    """Return ``piece``, ``release``, ``value`` and ``number``: what each piece showed in each version, and today."""
    counts, today = past.counts[name], shown.number
    rows = pl.DataFrame({"piece": pieces.of_row, "who": shown.who[shown.real], "cell": past.cell})
    asked = rows.join(counts.select("cell", "release").unique(), on="cell")
    values = past.then(name, asked["who"].to_numpy(), asked["release"].to_numpy())
    then = asked.select("piece", "cell", "release", value=pl.Series(values, dtype=pl.Int64))
    now = pl.DataFrame({"piece": pieces.of_row, "release": np.full(len(rows), today), "value": shown.row_marks(name)})
    counted = (
        pl.concat([then.select("piece", "release", "value"), now]).group_by("piece", "release", "value").len("number")
    )
    # Who is absent, or stood in for: all that was told of the cell without what was told of those who are there.
    there = then.group_by("cell", "release", "value").len("there")
    left = counts.join(there, on=["cell", "release", "value"], how="full", coalesce=True)
    left = left.with_columns(number=pl.col("number").fill_null(0) - pl.col("there").fill_null(0).cast(pl.Int64))
    if (left["number"] < 0).any():
        raise unsafe("somebody was told a value that was never told of their cell")
    away = pieces.table.filter((pl.col("group") < 0) | (pl.col("fakes") > 0)).select("piece", "cell", "fakes")
    rest = away.join(left.filter(pl.col("number") > 0), on="cell")
    newest = rest.group_by("piece").agg(release=pl.col("release").max())
    stand_ins = rest.filter(pl.col("fakes") > 0).join(newest, on=["piece", "release"])
    stand_ins = stand_ins.with_columns(release=pl.lit(today, pl.Int64))
    every = [counted, rest, stand_ins]
    kinds = {"piece": pl.Int64, "release": pl.Int64, "value": pl.Int64, "number": pl.Int64}
    both = pl.concat([frame.select(kinds.keys()).cast(kinds) for frame in every])  # type: ignore[arg-type]
    return both.group_by("piece", "release", "value").agg(pl.col("number").sum())


def _judge_values(
    shown: Shown, name: str, demands: Sequence[ValueJudge], sizes: Ints, rows: pl.DataFrame, record: Record
) -> None:
    compared = any(isinstance(demand, TCloseness) for demand in demands)
    tables = _tables(shown, name, record) if compared else None
    marks = np.unique(rows["value"].to_numpy() if tables is None else np.concatenate([rows["value"], tables["value"]]))
    code, scale = (
        (np.arange(len(marks)), ValueRelations(len(marks))) if tables is None else _scaled(shown, name, marks, record)
    )
    for release in rows["release"].unique().sort():
        of_release = rows.filter(pl.col("release") == release).sort("piece")
        numbers, place = np.unique(of_release["piece"].to_numpy(), return_inverse=True)
        value = code[np.searchsorted(marks, of_release["value"].to_numpy())]
        order = np.lexsort((value, place))
        table = np.zeros(scale.size, np.int64)
        if tables is not None:
            theirs = tables.filter(pl.col("release") == release)
            np.add.at(table, code[np.searchsorted(marks, theirs["value"].to_numpy())], theirs["number"].to_numpy())
        count = of_release["number"].to_numpy()[order]
        tally = Tally(place[order].astype(np.int64), value[order], count, len(numbers), table, scale)
        if (tally.total != sizes[numbers]).any():
            raise unsafe("the values of a piece do not add up to its members")
        for demand in demands:
            _judge(demand, GroupCounts(sizes[numbers], {name: tally}))


def _tables(shown: Shown, name: str, record: Record) -> pl.DataFrame:
    """Return ``release``, ``value`` and ``number``: the table of each release, today's included."""
    rows = record.rows(TABLE, "attribute", np.array([number_of_name(name)]))
    marks = pl.Series(whole(rows["high"].to_numpy(), rows["low"].to_numpy()), dtype=pl.Int64)
    before = rows.select("release", "number", value=marks)
    now = pl.DataFrame({"value": shown.marks(name)}).group_by("value").agg(number=pl.len().cast(pl.Int64))
    now = now.select(pl.lit(shown.number, pl.Int64).alias("release"), "number", "value")
    return pl.concat([before.cast(dict(now.schema)), now])  # type: ignore[arg-type]


def _scaled(shown: Shown, name: str, marks: Ints, record: Record) -> tuple[Ints, ValueRelations]:
    """Return the code of each mark, which says how the values relate, and their scale."""
    texts = pl.concat([record.texts(name).alias(name), shown.texts(name).alias(name)]).unique()
    found = marks_of(texts)
    order = np.argsort(found)
    place = np.minimum(np.searchsorted(found[order], marks), max(len(found) - 1, 0))
    if not len(found) or (found[order][place] != marks).any():
        raise unsafe("a value was told before that nobody knows any more")
    kind = shown.release.manifest.column(name).type
    values = parsed(texts.gather(order[place]), dtype_named(kind)).alias(name)
    schema = shown.schema if shown.snapshot is None else shown.snapshot.schema
    column = Column(name, Role.SENSITIVE) if schema is None else schema[name]
    code, scale = coded(values, values, column)
    return code.astype(np.int64), scale


def _judge(demand: GroupJudge, counts: GroupCounts) -> None:
    good = demand.holds(counts)
    if not good.all():
        raise unsafe(
            f"{int((~good).sum()):,} sets of people that all releases together tell apart do not satisfy {demand!r}"
        )
