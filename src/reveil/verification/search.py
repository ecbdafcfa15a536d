"""Can the published rows be these records? Searched where nobody says which row is whose."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import VerificationError
from reveil.releases.table import COUNT, GROUP
from reveil.verification.geometry import points_in_boxes
from reveil.verification.matching import Seats, fillable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.releases.release import Release
    from reveil.tables.snapshot import Snapshot
    from reveil.verification.arrays import Codes, Ints
    from reveil.verification.cells import QuasiColumn
    from reveil.verification.counting import PublishedGroups

NOT_THE_RECORDS = "the published rows cannot be the records of this snapshot"
ANOTHER_SNAPSHOT = "Some row has no record inside its box with its values. Is this the snapshot that was published?"
_WIDEST = (1 << 31) - 1
_SOME_POINTS, _SOME_BOXES = 1 << 12, 1 << 6


@dataclass(frozen=True)
class _Places:
    """The different points of the records, the point of each record, and which class's box holds which point."""

    of_record: Ints = field(repr=False)
    fits: pl.DataFrame = field(repr=False)  # point, box


def check_beyond(release: Release, lines: Sequence[QuasiColumn]) -> None:
    """Check that values which nobody has stand in boxes of dirty records only: one in each at least."""
    told = [line.beyond[release.cells[line.name].index] for line in lines if line.beyond is not None]
    if told and int(np.logical_or.reduce(told).sum()) > release.manifest.dirty:
        raise VerificationError(
            "more boxes have values that the snapshot does not than there are dirty records", hint=ANOTHER_SNAPSHOT
        )


def check_assignment(
    release: Release,
    snapshot: Snapshot,
    lines: Sequence[QuasiColumn],
    groups: PublishedGroups,
    *,
    loose: int = 0,
    deepest: Codes | None = None,
) -> None:
    """Search an assignment of all rows but counterfeits and dirty ones to records; any will do. Exact.

    ``loose`` rows need not have the values of a record; then it is exact for the others. ``deepest``: where boxes are
    nested, the level of the innermost box that holds each record.
    """
    raw, told = _values(snapshot, release)
    empty = release.manifest.dirty + loose
    if release.groups is None:
        slots = _rows_alike({"box": release.classes, "value": told})
    else:
        slots = _rows_alike({"box": release.classes, "group": groups.of_row, "value": told})
    fits, kinds = candidates(release, lines, raw, slots, deepest)
    seats = None
    if groups.fakes.any():
        seats = Seats(slots["group"].to_numpy().astype(np.int64), groups.real)
    many = slots["rows"].to_numpy().astype(np.int64)
    if not fillable(fits, kinds, many, seats=seats, empty=empty):
        raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)


def check_two_tables(
    release: Release, batch: pl.DataFrame, snapshot: Snapshot, lines: Sequence[QuasiColumn], groups: PublishedGroups
) -> None:
    """Check a two-table release without placements: records must be able to fill either table.

    Where cells are exact and nothing is counterfeit, rows must be the records as far as quasi and plain columns go,
    records must be able to fill the sensitive table, each in a group that has a row like it, and so must the rows of
    each group: exact unless people with equal quasi values are in different groups. With boxes or counterfeits, records
    must be able to fill the first table up to the counterfeits of each group, each with a value that the group has, and
    likewise the second: exact for each of the two. That one and the same assignment fills both, only placements say.
    """
    names = batch.columns[1:-1]
    raw, told = numbered_alike(snapshot.frame.select(names), batch.drop(GROUP, COUNT))
    plain, row_plain = _values(snapshot, release)
    places = _places(release, lines)
    records = pl.DataFrame({"point": places.of_record, "plain": plain, "value": raw})
    kinds = records.group_by("point", "plain", "value").len("records").with_row_index("kind")
    place = np.searchsorted(groups.numbers, batch[GROUP].to_numpy())
    second = pl.DataFrame({"group": place, "value": told, "rows": batch[COUNT]}).with_row_index("slot")
    first = _rows_alike({"box": release.classes, "plain": row_plain, "group": groups.of_row}).rename({"slot": "seat"})
    second = second.cast({"group": pl.Int64, "value": pl.Int64})
    fits = places.fits.join(kinds, on="point").join(first, on=["box", "plain"]).join(second, on=["group", "value"])
    many = kinds["records"].to_numpy().astype(np.int64)
    good = all(
        fillable(
            fits.select("kind", pl.col(key).alias("slot")).unique(),
            many,
            table["rows"].to_numpy().astype(np.int64),
            seats=Seats(table["group"].to_numpy().astype(np.int64), groups.real),
        )
        for key, table in (("seat", first), ("slot", second))
    )
    exact = all(line.exact() is not None for line in lines)
    if good and exact and not groups.fakes.any():
        # A seat stands for one point: it has as many records as rows, and takes values that its records have.
        pairs = fits.group_by("seat", "slot").agg(pl.col("records").sum())
        told_rows = second["rows"].to_numpy().astype(np.int64)
        good = _enough(first, places, plain) and fillable(
            pairs.select(pl.col("seat").alias("kind"), "slot"),
            first["rows"].to_numpy().astype(np.int64),
            told_rows,
            most=pairs["records"].to_numpy().astype(np.int64),
        )
    if not good:
        raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)


def _enough(first: pl.DataFrame, places: _Places, plain: Ints) -> bool:
    """Return whether there are as many records of each exact point as rows that name it."""
    there = pl.DataFrame({"point": places.of_record, "plain": plain}).group_by("point", "plain").len("records")
    one = places.fits.unique("box")
    asked = first.join(one, on="box", how="left").group_by("point", "plain").agg(pl.col("rows").sum())
    both = asked.join(there, on=["point", "plain"], how="left")
    return bool((both["rows"] <= both["records"].fill_null(0)).all())


def candidates(
    release: Release, lines: Sequence[QuasiColumn], values: Ints, slots: pl.DataFrame, deepest: Codes | None
) -> tuple[pl.DataFrame, Ints]:
    """Return which kind of records fits which slot, and how many records each kind has.

    Where groups have boxes that overlap everywhere, the values decide more than the boxes do: they are a column of the
    search, the widest, so that the search goes by them first. Where hardly any overlap, boxes alone are searched, of
    which there are fewer than boxes with values.
    """
    keys = [line.codes for line in lines]
    frame = pl.DataFrame({f"q{at}": key for at, key in enumerate(keys)}).with_columns(
        pl.Series("value", values), pl.Series("level", np.zeros(len(values), np.int32) if deepest is None else deepest)
    )
    names = frame.columns
    kinds = frame.group_by(names).len("records").sort(names).with_row_index("kind")
    point = np.stack([kinds[f"q{at}"].to_numpy() for at in range(len(lines))], axis=1).astype(np.int32)
    boxes = slots.select("box").unique(maintain_order=True)
    by_value = _overlap(point, *_hulls(release, lines, boxes["box"].to_numpy()))
    if by_value:
        boxes = slots.select("box", "value").unique(maintain_order=True)
    boxes = boxes.with_row_index("place")
    box = boxes["box"].to_numpy()
    lo, hi = _hulls(release, lines, box)
    if by_value:
        most = int(max(kinds["value"].to_numpy().max(initial=0), boxes["value"].to_numpy().max(initial=0))) + 1
        wide = max(_WIDEST // most, 1)
        value = (boxes["value"].to_numpy() * wide).astype(np.int32)
        point = np.column_stack([point, (kinds["value"].to_numpy() * wide).astype(np.int32)])
        lo, hi = np.column_stack([lo, value]), np.column_stack([hi, value])
    kind, place = points_in_boxes(point, lo, hi)
    good = np.ones(len(kind), np.bool_)
    for at, line in enumerate(lines):
        good &= line.admits(release.cells[line.name].index[box[place]], point[kind, at])
    if deepest is not None and release.levels is not None:
        good &= release.levels[box[place]] == kinds["level"].to_numpy()[kind]
    found = pl.DataFrame({"kind": kind[good], "box": box[place[good]], "value": kinds["value"].to_numpy()[kind[good]]})
    return found.join(slots, on=["box", "value"]).select("kind", "slot"), kinds["records"].to_numpy().astype(np.int64)


def _hulls(release: Release, lines: Sequence[QuasiColumn], box: Codes | Ints) -> tuple[Codes, Codes]:
    """Return where boxes begin and end in each column, over the gaps of their cells."""
    hulls = [[end[release.cells[line.name].index[box]] for end in line.hull] for line in lines]
    return np.stack([lo for lo, _ in hulls], axis=1), np.stack([hi for _, hi in hulls], axis=1)


def _overlap(point: Codes, lo: Codes, hi: Codes) -> bool:
    """Return whether a point is in more than two boxes on average, as some points and boxes have it."""
    if not len(point) or not len(lo):
        return False
    points, boxes = point[:: len(point) // _SOME_POINTS + 1], slice(None, None, len(lo) // _SOME_BOXES + 1)
    least, most = lo[boxes, None], hi[boxes, None]
    inside = ((points >= least) & (points <= most)).all(axis=2)
    return float(inside.mean()) * len(lo) > 2


def _places(release: Release, lines: Sequence[QuasiColumn]) -> _Places:
    """Number the different points of the records, and find all boxes around each."""
    frame = pl.DataFrame({line.name: line.codes for line in lines})
    number = frame.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    first = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
    first[number] = np.arange(len(number))
    points = np.stack([line.codes[first] for line in lines], axis=1)
    cells = [release.cells[line.name].index for line in lines]
    lo = np.stack([line.hull[0][places] for line, places in zip(lines, cells, strict=True)], axis=1)
    hi = np.stack([line.hull[1][places] for line, places in zip(lines, cells, strict=True)], axis=1)
    point, box = points_in_boxes(points, lo, hi)
    good = np.ones(len(point), np.bool_)
    for at, line in enumerate(lines):
        good &= line.admits(cells[at][box], points[point, at])
    return _Places(number, pl.DataFrame({"point": point[good], "box": box[good]}))


def _rows_alike(columns: dict[str, Codes | Ints]) -> pl.DataFrame:
    """Count the rows that are alike."""
    frame = pl.DataFrame({name: codes.astype(np.int64) for name, codes in columns.items()})
    return frame.group_by(frame.columns).len("rows").sort(frame.columns).with_row_index("slot")


def _values(snapshot: Snapshot, release: Release) -> tuple[Ints, Ints]:
    """Number the combinations of values of records and of rows alike."""
    if not release.values.columns:
        return np.zeros(snapshot.frame.height, np.int64), np.zeros(len(release.classes), np.int64)
    return numbered_alike(snapshot.frame.select(release.values.columns), release.values)


def numbered_alike(one: pl.DataFrame, other: pl.DataFrame) -> tuple[Ints, Ints]:
    """Number the distinct rows of two tables with the same columns alike."""
    try:
        both = pl.concat([one, other.select(one.columns).cast(dict(one.schema))])  # type: ignore[arg-type]
    except pl.exceptions.PolarsError:
        raise VerificationError("published columns have another type than in the snapshot") from None
    number = both.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)
    return number[: one.height], number[one.height :]
