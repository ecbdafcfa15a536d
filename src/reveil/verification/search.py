"""Can the published rows be these records? An assignment is searched where nobody says which row is whose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.assignment import Candidates, Seats, assignable, fillable, points_in_boxes
from reveil.errors import VerificationError
from reveil.nesting import evenly, nesting_of
from reveil.release import COUNT, GROUP, classes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from reveil.admitted import Admitted
    from reveil.codes import Codes
    from reveil.groups import Groups
    from reveil.release import Release
    from reveil.snapshot import Snapshot
    from reveil.statistics import BoolArray, CodeArray

IntArray = npt.NDArray[np.int64]

_BOXES = 1 << 14  # nested boxes that are searched at a time
NOT_THE_RECORDS = "the published rows cannot be the records of this snapshot"
ANOTHER_SNAPSHOT = "Some row has no record inside its box with its values. Is this the snapshot that was published?"


@dataclass(frozen=True)
class _Space:
    """The records as points, and the classes as boxes around them.

    The search works on hulls ``lo..hi``: up to the null code where null is admitted, over gaps of sets. ``exact``
    decides.
    """

    points: CodeArray
    lo: CodeArray
    hi: CodeArray
    exact: Callable[[IntArray, IntArray], BoolArray]


def deepest_levels(release: Release, codes: Codes, admitted: Mapping[str, Admitted]) -> CodeArray | None:
    """Return, where boxes are nested, the level of the innermost box that holds each record; -1 where none does.

    Two boxes of one level that hold the same record are no nesting, and neither are boxes that overlap without one
    being inside the other: then this raises.
    """
    if release.levels is None:
        return None
    nesting_of(release)
    space = _space(release, codes, admitted)
    kind, first = classes_of(list(space.points.T), len(space.points))
    levels = np.full(len(first), -1, np.int32)
    points, lo, hi = evenly(space.points[first], space.lo, space.hi)
    for start in range(0, len(lo), _BOXES):
        part = slice(start, start + _BOXES)
        point, box = points_in_boxes(points, lo[part], hi[part])
        good = space.exact(first[point].astype(np.int64), box + start)
        np.maximum.at(levels, point[good], release.levels[box[good] + start])
    return levels[kind]


def _space(
    release: Release, codes: Codes, admitted: Mapping[str, Admitted], deepest: CodeArray | None = None
) -> _Space:
    """Return points and boxes; with ``deepest``, a box holds only records that no box further inside does."""
    points = np.stack([a.codes for a in codes.quasi], axis=1)
    cells = {a.name: release.cells[a.name].index for a in codes.quasi}
    lo = np.stack([admitted[a.name].lo[cells[a.name]] for a in codes.quasi], axis=1)
    hi = np.stack([admitted[a.name].hi[cells[a.name]] for a in codes.quasi], axis=1)
    null = np.stack([admitted[a.name].null[cells[a.name]] for a in codes.quasi], axis=1)
    null_codes = np.array([a.null_code for a in codes.quasi], np.int32)
    low = np.where(null & (lo > hi), null_codes, lo).astype(np.int32)
    high = np.where(null, null_codes, hi).astype(np.int32)

    def exact(point: IntArray, box: IntArray) -> BoolArray:
        good = np.ones(len(point), np.bool_)
        for a, attribute in enumerate(codes.quasi):
            good &= admitted[attribute.name].contains(cells[attribute.name][box], points[point, a])
        if deepest is not None and release.levels is not None:
            good &= release.levels[box] == deepest[point]
        return good

    if deepest is not None:
        return _Space(*evenly(points, low, high), exact)
    return _Space(points, low, high, exact)


def check_beyond(release: Release, admitted: Mapping[str, Admitted]) -> None:
    """Check that values which the snapshot does not have stand in boxes of dirty records only: one in each at least."""
    told = [own.beyond[release.cells[name].index] for name, own in admitted.items() if own.beyond is not None]
    if told and int(np.logical_or.reduce(told).sum()) > release.manifest["dirty"]:
        raise VerificationError(
            "more boxes have values that the snapshot does not than there are dirty records", hint=ANOTHER_SNAPSHOT
        )


def check_assignment(
    release: Release,
    snapshot: Snapshot,
    codes: Codes,
    admitted: Mapping[str, Admitted],
    groups: Groups,
    *,
    loose: int = 0,
    deepest: CodeArray | None = None,
) -> None:
    """Search an assignment of all published rows but counterfeits and dirty ones to records; any will do. Exact.

    ``loose`` rows need not have the values of a record; then it is exact for the others. ``deepest``: where boxes are
    nested, the level of the innermost box that holds each record.
    """
    record_values, row_values = _joint_values(snapshot, release)
    space = _space(release, codes, admitted, deepest)
    if release.groups is None:
        given = Candidates(space.points, record_values, space.lo, space.hi, release.classes, row_values, space.exact)
    else:
        given = _by_group(release, space, record_values, row_values, groups)
    if not assignable(replace(given, empty=release.manifest["dirty"] + loose)):
        raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)


def _by_group(
    release: Release, space: _Space, record_values: IntArray, row_values: IntArray, groups: Groups
) -> Candidates:
    """Return the candidates for rows of different groups.

    Boxes of different groups may overlap everywhere. So the values become one more attribute of points and boxes, the
    widest, and the search goes by it first: it does not find what a value forbids anyway.
    """
    rows = pl.DataFrame({"group": groups.index, "value": row_values, "class": release.classes})
    slots = rows.group_by("group", "value").agg(pl.col("class").first()).with_row_index("slot")
    slot = rows.join(slots, on=["group", "value"], how="left", maintain_order="left")["slot"].to_numpy()
    values, owner = slots["value"].to_numpy(), slots["class"].to_numpy()
    widest = (2**31 - 1) // (int(max(record_values.max(initial=0), row_values.max(initial=0))) + 1)
    beside = (values * widest).astype(np.int32)[:, None]
    none = np.zeros(1, np.int64)
    return Candidates(
        np.hstack([space.points, (record_values * widest).astype(np.int32)[:, None]]),
        np.broadcast_to(none, len(record_values)),
        np.hstack([space.lo[owner], beside]),
        np.hstack([space.hi[owner], beside]),
        slot.astype(np.int32),
        np.broadcast_to(none, len(row_values)),
        lambda point, box: space.exact(point, owner[box]),
        Seats(slots["group"].to_numpy().astype(np.int64), groups.real) if groups.fakes.any() else None,
    )


def check_two_tables(
    release: Release,
    batch: pl.DataFrame,
    snapshot: Snapshot,
    codes: Codes,
    admitted: Mapping[str, Admitted],
    groups: Groups,
) -> None:
    """Check a two-table release without placements.

    Where its cells are exact and nothing is counterfeit, the rows must be the records as far as quasi and plain
    columns go; records must be able to fill the sensitive table, each in a group that has a row like it; and so must
    the rows of each group, by records like them. Together that is exact unless people with equal quasi values are in
    different groups: there only the placements can say more.

    With boxes or counterfeits, records must be able to fill the first table up to the counterfeits of each group,
    each with a value that the group has; and likewise the second, each in a group that has a row whose box holds it.
    For each of the two tables that is exact. It is not for both at once: that one and the same assignment fills both,
    only the placements can say.
    """
    exact = [_exact_codes(own) for own in admitted.values()]
    if groups.fakes.any() or any(own is None for own in exact):
        good = _boxes_fit(release, batch, snapshot, _space(release, codes, admitted), groups)
    else:
        cells = {name: own for name, own in zip(admitted, exact, strict=True) if own is not None}
        good = _exact_fit(release, batch, snapshot, codes, cells)
    if not good:
        raise VerificationError(NOT_THE_RECORDS, hint=ANOTHER_SNAPSHOT)


def _exact_codes(own: Admitted) -> CodeArray | None:
    """Return the code that each cell stands for, or None if one may stand for several."""
    one = np.where(own.null, own.lo > own.hi, own.lo == own.hi).all()  # null alone, or one value alone
    return np.where(own.lo <= own.hi, own.lo, own.codes).astype(np.int32) if one else None


def _boxes_fit(release: Release, batch: pl.DataFrame, snapshot: Snapshot, space: _Space, groups: Groups) -> bool:
    """Return whether the records can take the seats of the first table, and those of the second."""
    value, told_value = _numbered(snapshot.frame.select(batch.columns[1:-1]), batch.drop(GROUP, COUNT))
    plain, row_plain = _joint_values(snapshot, release)
    names = [f"q{a}" for a in range(space.points.shape[1])]
    records = pl.DataFrame(dict(zip(names, space.points.T, strict=True))).with_row_index("record")
    records = records.with_columns(value=value, plain=plain)
    places = records.group_by(names).agg(pl.col("record").first()).with_row_index("place")
    types = records.drop("record").join(places, on=names).group_by("place", "plain", "value").len("records")
    types = types.with_row_index("type")
    point = places["record"].to_numpy().astype(np.int64)
    place, box = points_in_boxes(space.points[point], space.lo, space.hi)
    good = space.exact(point[place], box)
    pairs = pl.DataFrame({"place": place[good].astype(np.uint32), "box": box[good]})
    group = np.searchsorted(groups.numbers, batch[GROUP].to_numpy())
    slots = pl.DataFrame({"group": group, "value": told_value, "rows": batch[COUNT]}).with_row_index("slot")
    rows = pl.DataFrame({"box": release.classes.astype(np.int64), "plain": row_plain, "group": groups.index})
    seats = rows.cast({"group": slots.schema["group"]}).group_by("box", "plain", "group").len("rows")
    seats = seats.with_row_index("seat")
    edges = pairs.join(types, on="place").join(seats, on=["box", "plain"]).join(slots, on=["group", "value"])
    return all(
        fillable(
            edges.select("type", pl.col(kind).alias("slot")).unique(),
            types["records"].to_numpy().astype(np.int64),
            own["rows"].to_numpy().astype(np.int64),
            seats=Seats(own["group"].to_numpy().astype(np.int64), groups.real),
        )
        for kind, own in (("seat", seats), ("slot", slots))
    )


def _exact_fit(
    release: Release, batch: pl.DataFrame, snapshot: Snapshot, codes: Codes, exact: Mapping[str, CodeArray]
) -> bool:
    """Return whether rows with exact cells can be the records."""
    quasi = {name: own[release.cells[name].index[release.classes]] for name, own in exact.items()}
    names = [*quasi, *release.values.columns]
    rows = pl.DataFrame({**quasi, **{n: release.values[n] for n in release.values.columns}})
    plain = {n: snapshot.frame[n] for n in release.values.columns}
    records = pl.DataFrame({**{a.name: a.codes for a in codes.quasi}, **plain})
    raw = snapshot.frame.select(batch.columns[1:-1])
    value, batch_value = _numbered(raw, batch.drop(GROUP, COUNT))
    # Number the combinations of quasi and plain values in both, and let each record type find its groups.
    point, row_point = _numbered(records, rows.select(names))
    types = pl.DataFrame({"point": point, "value": value}).group_by("point", "value").len("records")
    types = types.with_row_index("type")
    slots = batch.select(GROUP, pl.col(COUNT).alias("rows")).with_columns(value=batch_value).with_row_index("slot")
    seats = pl.DataFrame({"point": row_point, GROUP: release.groups}).group_by("point", GROUP).len("seats")
    seats = seats.with_row_index("seat")
    edges = seats.join(types, on="point").join(slots, on=[GROUP, "value"])
    left = np.bincount(point, minlength=int(row_point.max(initial=0)) + 1) - np.bincount(
        row_point, minlength=int(point.max(initial=0)) + 1
    )
    told = slots["rows"].to_numpy()
    taken = edges.select(pl.col("seat").alias("type"), "slot")
    return (
        not (left < 0).any()
        and fillable(edges, types["records"].to_numpy(), told)
        and fillable(taken, seats["seats"].to_numpy(), told, edges["records"].to_numpy())
    )


def _joint_values(snapshot: Snapshot, release: Release) -> tuple[IntArray, IntArray]:
    """Number the combinations of values in records and rows alike."""
    if not release.values.columns:
        return np.zeros(snapshot.frame.height, np.int64), np.zeros(len(release.classes), np.int64)
    return _numbered(snapshot.frame.select(release.values.columns), release.values)


def _numbered(one: pl.DataFrame, other: pl.DataFrame) -> tuple[IntArray, IntArray]:
    """Number the distinct rows of two tables with the same columns alike."""
    both = pl.concat([one, other.select(one.columns).cast(dict(one.schema))])  # type: ignore[arg-type]
    number = both.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64)
    return number[: one.height], number[one.height :]
