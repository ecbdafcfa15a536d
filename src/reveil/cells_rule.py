"""Is every piece of every cell valid? The rule of refinement, checked from published values and placements.

The code here shares nothing with what forms groups and repairs cells. It takes the published rows, who is behind them,
and what the vault knew before, and counts again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.errors import VerificationError
from reveil.models.base import Model, ValueModel
from reveil.statistics import GroupStats, Histogram, Reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.codes import SensitiveAttribute
    from reveil.statistics import BoolArray, CodeArray, IntArray

_NOBODY = -1  # the cell of who was never published


@dataclass(frozen=True)
class Before:
    """What was told before a release of the people in it and of their cells.

    ``cell`` is the cell of each published person (any number; -1: never published before), ``sizes`` the size of each
    cell (``cell``, ``size``). Per attribute, ``told`` has ``person`` (a place), ``release`` and ``value``, and
    ``counts`` has ``cell``, ``release``, ``value`` and ``count``, for every release in which a value in the cell
    changed. ``dirty`` marks the people who are published though nobody asked for them. ``attributes`` are how values
    relate, and ``tables`` the table of each release, where a model compares with it.
    """

    release: int
    cell: IntArray = field(repr=False)
    dirty: BoolArray = field(repr=False)
    sizes: pl.DataFrame = field(repr=False)
    attributes: tuple[SensitiveAttribute, ...] = field(repr=False)
    told: tuple[pl.DataFrame, ...] = field(repr=False)
    counts: tuple[pl.DataFrame, ...] = field(repr=False)
    tables: Mapping[str, Mapping[int, IntArray]] = field(repr=False)


@dataclass(frozen=True)
class Shown:
    """What a release shows: the group of each published person, and per attribute the value, in the codes of before.

    ``fakes`` (``cell``, ``number``) says for how many members of a cell counterfeits stand in.
    """

    group: CodeArray = field(repr=False)
    values: tuple[CodeArray, ...] = field(repr=False)
    fakes: pl.DataFrame = field(repr=False)


def check_cells(model: Model, before: Before, shown: Shown) -> None:
    """Raise unless every piece that a release cuts any cell into is valid with the values of every release.

    A piece is: the people of a cell in one group; the members of a touched cell who are not published. In a group with
    dirty records or counterfeits nobody's value may be another than was told last.
    """
    people = pl.DataFrame(
        {
            "person": np.arange(len(before.cell)),
            "cell": before.cell,
            "group": shown.group.astype(np.int64),
            "dirty": before.dirty,
        }
    )
    changed = np.zeros(len(before.cell), np.bool_)
    for told, now in zip(before.told, shown.values, strict=True):
        last = told.sort("release").group_by("person", maintain_order=True).agg(pl.col("value").last())
        changed[last["person"].to_numpy()] |= last["value"].to_numpy() != now[last["person"].to_numpy()]
    faked = pl.Series(np.isin(before.cell, shown.fakes["cell"].to_numpy()))
    mixed = people.with_columns(changed=pl.Series(changed), dirty=pl.col("dirty") | faked)
    helped = mixed.group_by("group").agg(pl.col("changed", "dirty").any())
    if (helped["changed"] & helped["dirty"]).any():
        raise _broken("a value changed beside records of people who are not in the table")
    sizes = before.sizes.join(shown.fakes, on="cell", how="left").with_columns(pl.col("number").fill_null(0))
    pieces, members = _pieces(people, sizes)
    for part in model.parts:
        if not isinstance(part, ValueModel):
            _judge(part, GroupStats(pieces["size"].to_numpy().astype(np.int64)))
    for attribute, told, counts, now in zip(before.attributes, before.told, before.counts, shown.values, strict=True):
        rows = _values(before, people, members, pieces, told, counts, now)
        for part in model.parts:
            if isinstance(part, ValueModel) and part.concerns(attribute.name):
                _judge_values(part, attribute, pieces, rows, before.tables.get(attribute.name))


def _pieces(people: pl.DataFrame, sizes: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return all pieces (``piece``, ``cell``, ``size``, ``absent``) and who is in which (``piece``, ``person``).

    ``absent`` is 1 for those members of a cell who are not published, and ``more`` how many members of a piece are
    stood in for by counterfeits.
    """
    named = people.select("cell", "group").unique().sort("cell", "group").with_row_index("piece")
    members = people.join(named, on=["cell", "group"], how="left").select("piece", "person")
    own = members.group_by("piece").agg(size=pl.len())
    named = named.join(own, on="piece").with_columns(absent=pl.lit(0, pl.Int64))
    faked = sizes.filter(pl.col("number") > 0).select("cell", fakes="number")
    named = named.join(faked, on="cell", how="left").with_columns(more=pl.col("fakes").fill_null(0).cast(pl.Int64))
    out = people.filter(pl.col("cell") != _NOBODY).group_by("cell").agg(there=pl.len())
    rest = (
        out.join(sizes, on="cell", how="left")
        .with_columns(size=pl.col("size") - pl.col("there") - pl.col("number"))
        .sort("cell")
    )
    if rest["size"].null_count() or (rest["size"] < 0).any():
        raise _broken("a cell has more members than the vault knows")
    rest = rest.filter(pl.col("size") > 0)
    first = named.height
    absent = rest.select(
        piece=pl.Series(np.arange(first, first + rest.height), dtype=pl.UInt32),
        cell="cell",
        size=pl.col("size").cast(pl.Int64),
        absent=pl.lit(1, pl.Int64),
        more=pl.lit(0, pl.Int64),
    )
    every = [
        named.select("piece", "cell", pl.col("size").cast(pl.Int64) + pl.col("more"), "absent", "more"),
        absent,
    ]
    return pl.concat(every), members


def _values(
    before: Before,
    people: pl.DataFrame,
    members: pl.DataFrame,
    pieces: pl.DataFrame,
    told: pl.DataFrame,
    counts: pl.DataFrame,
    now: CodeArray,
) -> pl.DataFrame:
    """Return ``piece``, ``release``, ``value`` and ``count``: what each piece shows in each release that matters."""
    today = before.release
    versions = counts.select("cell", "release").unique()
    cells = people.select("person", "cell")
    asked = members.join(cells, on="person").join(versions, on="cell").select("piece", "person", "cell", "release")
    then = asked.with_columns(value=_told_by(told, asked["person"].to_numpy(), asked["release"].to_numpy()))
    if (then["value"] < 0).any():
        raise _broken("the vault does not know what somebody was told")
    values = pl.Series(now.astype(np.int64))
    current = members.select(
        "piece",
        release=pl.lit(today, pl.Int64),
        value=values.gather(members["person"].to_numpy()),
    )
    shown = pl.concat([then.select("piece", pl.col("release").cast(pl.Int64), pl.col("value").cast(pl.Int64)), current])
    own = shown.group_by("piece", "release", "value").agg(count=pl.len().cast(pl.Int64))
    # Who is absent: all that was told of the cell, without what was told of those who are there.
    once = then.group_by("cell", "release", "value").agg(there=pl.len().cast(pl.Int64))
    left = (
        counts.select("cell", "release", "value", "count")
        .cast(pl.Int64)
        .join(once.cast(pl.Int64), on=["cell", "release", "value"], how="left")
        .with_columns(count=pl.col("count") - pl.col("there").fill_null(0))
    )
    if (left["count"] < 0).any():
        raise _broken("somebody was told a value that the vault does not know")
    last = left.join(left.group_by("cell").agg(release=pl.col("release").max()), on=["cell", "release"])
    last = last.with_columns(release=pl.lit(today, pl.Int64))
    left = pl.concat([left, last]).filter(pl.col("count") > 0)
    away = pieces.filter((pl.col("absent") > 0) | (pl.col("more") > 0)).select(
        "piece", pl.col("cell").cast(pl.Int64), "absent"
    )
    rest = away.join(left, on="cell").filter((pl.col("release") < today) | (pl.col("absent") == 0))
    rest = rest.select("piece", "release", "value", "count")
    every = pl.concat([own.with_columns(pl.col("piece").cast(pl.Int64)), rest.cast(pl.Int64)])
    return every.group_by("piece", "release", "value").agg(pl.col("count").sum())


def _told_by(told: pl.DataFrame, person: IntArray, release: IntArray) -> pl.Series:
    """Return the value each person was told with by a release, from the last row that is not later; -1 for none."""
    if not told.height:
        return pl.Series(np.full(len(person), -1, np.int64))
    span = max(int(told["release"].max()), int(release.max(initial=0))) + 1  # type: ignore[arg-type]
    rows = told.select("person", "value", key=pl.col("person") * span + pl.col("release")).sort("key")
    place = np.searchsorted(rows["key"].to_numpy(), person * span + release, side="right") - 1
    own = (place >= 0) & (rows["person"].to_numpy()[place] == person)
    return pl.Series(np.where(own, rows["value"].to_numpy()[place], -1))


def _judge_values(
    part: ValueModel,
    attribute: SensitiveAttribute,
    pieces: pl.DataFrame,
    rows: pl.DataFrame,
    tables: Mapping[int, IntArray] | None,
) -> None:
    sizes_of = pieces.sort("piece")["size"].to_numpy()
    for release in rows["release"].unique().sort():
        own = rows.filter(pl.col("release") == release)
        numbers, place = np.unique(own["piece"].to_numpy(), return_inverse=True)
        sizes = sizes_of[numbers]
        histogram = Histogram.of_counts(
            place, own["value"].to_numpy(), own["count"].to_numpy(), len(numbers), attribute.domain
        )
        if (histogram.totals != sizes).any():
            raise _broken("the values of a piece do not add up")
        table = np.ones(attribute.domain, np.int64) if tables is None else tables[int(release)]
        reference = Reference(table, attribute.ordered, attribute.levels)
        _judge(part, GroupStats(sizes, {attribute.name: histogram}, {attribute.name: reference}))


def check_sealed(before: Before, shown: Shown, whole: pl.Series, closed: pl.Series) -> None:
    """Raise unless of the ``whole`` cells that are touched everybody is in one group, and of ``closed`` ones nobody."""
    people = pl.DataFrame({"cell": before.cell, "group": shown.group.astype(np.int64)})
    if np.isin(before.cell, closed.to_numpy()).any():
        raise _broken("people of a closed cell would be published")
    own = people.filter(pl.Series(np.isin(before.cell, whole.to_numpy()))).group_by("cell")
    counted = own.agg(here=pl.len(), groups=pl.col("group").n_unique()).join(before.sizes, on="cell")
    counted = counted.join(shown.fakes, on="cell", how="left").with_columns(pl.col("number").fill_null(0))
    if counted.filter((pl.col("groups") > 1) | (pl.col("here") + pl.col("number") != pl.col("size"))).height:
        raise _broken("a cell that stays whole would be cut")


def _judge(part: Model, stats: GroupStats) -> None:
    valid = part.verdict(stats)
    if not valid.all():
        raise _broken(
            f"{int((~valid).sum()):,} sets of people that all releases together tell apart do not satisfy {part!r}"
        )


def _broken(what: str) -> VerificationError:
    return VerificationError(what, hint="This release is not safe and was not published. Please report it.")
