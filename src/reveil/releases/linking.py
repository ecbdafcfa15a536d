"""Which published group is whose? The owner's records placed in a release, as many as can be.

A record may be in a group that has a row whose cells admit its quasi codes and, as often as records of that value are
placed in it, a row with its sensitive value. Records alike in codes and value are one *type*; classes whose cells admit
the same codes are one *box*; the rows of a group with one value are a *slot*. A type reaches slots through the boxes
that hold it, so that neither many records alike nor many groups alike cost more than a few. Where boxes are nested, a
record can only be in the innermost box that holds it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.arrays import BoolArray, CodeArray, IntArray, offsets_of_sorted
from reveil.core.errors import DataError, VerificationError
from reveil.models.encoding import Attribute, Codes, Kind
from reveil.releases.admitted import Admitted, admitted_codes
from reveil.releases.box_search import points_inside
from reveil.releases.nesting import evenly, nesting_of
from reveil.releases.parsing import classes_of
from reveil.releases.table import Cells
from reveil.tables.notation import Form
from reveil.tables.snapshot import canonical_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.releases.release import Release
    from reveil.tables.expressions.regions import Numbers


@dataclass(frozen=True)
class Placed:
    """The group of each record, -1 for those that were not published; and who could be in more than one."""

    groups: CodeArray = field(repr=False)
    several: BoolArray = field(repr=False)

    @property
    def ambiguous(self) -> int:
        """How many records could be in more than one group."""
        return int(self.several.sum())

    @property
    def placed(self) -> int:
        """How many records have a group."""
        return int((self.groups >= 0).sum())


@dataclass(frozen=True)
class DistinctBoxes:
    """The distinct boxes: the one of each class, their hulls, and the exact test for what hulls cannot say.

    Nested boxes are boxes of one class each: there it matters which of two that look alike is inside.
    """

    of_class: CodeArray
    lo: CodeArray
    hi: CodeArray
    exact: tuple[tuple[int, Admitted, CodeArray], ...]  # attribute, its cells, and the cell of each box
    parent: IntArray | None = None  # where boxes are nested, the box directly around each; -1: none
    depth: Numbers | None = None  # and how many combinations of values it has in the columns that are not known
    whole: bool = False  # whether all columns are known: then a point is in one box of a nest, the innermost

    @property
    def hulls_suffice(self) -> bool:
        """Whether a point inside the hull of a box is inside the box, and no box hides another."""
        return not self.exact and self.parent is None

    def contain(self, boxes: IntArray, codes: CodeArray) -> BoolArray:
        """Return whether each box holds the codes beside it, which are inside its hull."""
        good = np.ones(len(boxes), np.bool_)
        for attribute, admitted, cells in self.exact:
            good &= admitted.contains(cells[boxes], codes[:, attribute])
        return good


def place(release: Release, codes: Codes, values: pl.Series | pl.DataFrame) -> Placed:
    """Place records in the groups of a release: as many as possible, each value of a group at most as often as told.

    ``codes`` are those of the records, ``values`` their sensitive values: a column, or several, with the names they
    have in the release. Of columns that the release does not have nothing is known.
    """
    groups = np.full(codes.n, -1, np.int32)
    row_groups = release.classes if release.groups is None else release.groups
    value_groups, published = release.group_values()
    if isinstance(values, pl.Series):
        values = values.to_frame()
    record_value, told = np.zeros(codes.n, np.int64), np.zeros(len(value_groups), np.int64)
    if values.width:
        record_value, told = _numbered(values, published, codes.n)
    if not len(told) or not codes.n:
        return Placed(groups, np.zeros(codes.n, np.bool_))
    known = tuple(a for a in codes.quasi if a.name in release.cells)
    boxes = boxes_of(release, known)
    room = int(told.max()) + 1
    # Slots: (group, value); doors: (box, value), which lead to the slots of the groups that have the box.
    slot_key, slot_rows = np.unique(value_groups.astype(np.int64) * room + told, return_counts=True)
    slots = pl.DataFrame({"group": slot_key // room, "value": slot_key % room}).with_row_index("slot")
    seats = pl.DataFrame({"box": boxes.of_class[release.classes], "group": row_groups.astype(np.int64)}).unique()
    ways = seats.join(slots, on="group").sort("box", "value", "slot")
    door_key = ways["box"].to_numpy().astype(np.int64) * room + ways["value"].to_numpy()
    doors, way_door = np.unique(door_key, return_inverse=True)
    way_slot = ways["slot"].to_numpy().astype(np.int64)

    matrix = np.stack([*(a.codes for a in known), record_value.astype(np.int32)], axis=1)
    kind, first = classes_of(list(matrix.T + 1), codes.n)  # an unknown value is -1
    points = np.ascontiguousarray(matrix[first], np.int32)
    records = np.bincount(kind).astype(np.int64)
    type_, door = _doors_of(points, boxes, doors // room, (doors % room).astype(np.int32))

    lowest, highest = _group_span(type_, door, len(records), way_door, slot_key[way_slot] // room, len(doors))
    several = (lowest < highest)[kind]
    # A type with one group to go to fills it first: that costs nobody else more than it gains.
    single = np.flatnonzero(lowest == highest)
    goal = np.searchsorted(slot_key, lowest[single] * room + points[single, -1])
    fits = _fill(goal, records[single], slot_rows)
    left = slot_rows - np.bincount(goal, weights=fits, minlength=len(slot_rows)).astype(np.int64)
    units = [(np.repeat(single, fits), np.repeat(goal, fits))]
    open_ = lowest[type_] < highest[type_]
    if open_.any():
        units.append(_flow(type_[open_], door[open_], records, way_door, way_slot, left))
    unit_type, unit_slot = (np.concatenate([unit[i] for unit in units]) for i in (0, 1))
    _hand_out(groups, kind, unit_type, (slot_key // room)[unit_slot])
    return Placed(groups, several)


def _numbered(records: pl.DataFrame, published: pl.DataFrame, n: int) -> tuple[IntArray, IntArray]:
    """Number the published combinations of values; return those of the records (-1: never published) and the rows."""
    if records.height != n:
        raise ValueError("the values must be those of the records")
    missing = [name for name in records.columns if name not in published.columns]
    if missing:
        raise DataError(
            f"the release does not publish column {missing[0]!r} as values",
            column=missing[0],
            hint="It is sensitive in the config: use the config that the release was made with.",
        )
    ours, others = records.to_dict(), published.select(records.columns).to_dict()
    for name in records.columns:
        if ours[name].dtype != others[name].dtype or ours[name].dtype.is_float():
            ours[name], others[name] = canonical_text(ours[name]), canonical_text(others[name])
    rows = pl.DataFrame(others)
    distinct = rows.unique(maintain_order=True).with_row_index("\0number")
    numbers = [
        table.join(distinct, on=records.columns, how="left", maintain_order="left", nulls_equal=True)["\0number"]
        .cast(pl.Int64)
        .fill_null(-1)
        .to_numpy()
        for table in (pl.DataFrame(ours), rows)
    ]
    return numbers[0], numbers[1]


def boxes_of(release: Release, known: tuple[Attribute, ...]) -> DistinctBoxes:
    """Find the classes that admit the same codes, and the hulls of what they admit."""
    admitted = [_admitted(release.cells[a.name], a) for a in known]
    n_classes = int(release.classes.max(initial=-1)) + 1
    keys = [_alike(admits)[release.cells[a.name].index[:n_classes]] for a, admits in zip(known, admitted, strict=True)]
    nesting = nesting_of(release)
    of_class, first = classes_of(list(keys), n_classes)
    if nesting is not None:
        of_class = first = np.arange(n_classes, dtype=np.int32)
    lo, hi = (np.empty((len(first), len(known)), np.int32) for _ in range(2))
    exact = []
    for i, (attribute, admits) in enumerate(zip(known, admitted, strict=True)):
        cells = release.cells[attribute.name].index[first]
        null = admits.null[cells]
        empty = admits.lo[cells] > admits.hi[cells]
        # Up to the null code where null is admitted, over gaps of sets: the exact test follows.
        lo[:, i] = np.where(null & empty, admits.codes, admits.lo[cells])
        hi[:, i] = np.where(null, admits.codes, admits.hi[cells])
        if null.any() or admits.members is not None:
            exact.append((i, admits, cells))
    if nesting is None:
        return DistinctBoxes(of_class, lo, hi, tuple(exact))
    unknown = [name for name in release.cells if name not in {a.name for a in known}]
    depth = nesting.volumes(unknown)
    return DistinctBoxes(of_class, lo, hi, tuple(exact), nesting.parent, depth, whole=not unknown)


def hidden_pairs(points: CodeArray, boxes: DistinctBoxes) -> IntArray | None:
    """Return the pairs of a point and a nested box around it that boxes further inside take away; None: not nested.

    Pairs are point times number of boxes plus box, ascending. A box is no place for a point when the boxes directly
    inside it hold all that it has there: with all columns known, when one of them holds the point; else when those
    that hold it have together as many combinations of values in the unknown columns, for they share none.
    """
    if boxes.parent is None or boxes.depth is None:
        return None
    n_boxes = len(boxes.lo)
    found, amounts = [np.zeros(0, np.int64)], [boxes.depth[:0]]
    for point, box in pairs_in(points, boxes):
        inner = boxes.parent[box] >= 0
        found.append(point[inner] * n_boxes + boxes.parent[box[inner]])
        amounts.append(boxes.depth[box[inner]])
    pairs = np.concatenate(found)
    if boxes.whole or not len(pairs):
        return np.unique(pairs)
    order = np.argsort(pairs, kind="stable")
    starts = np.flatnonzero(np.diff(pairs[order], prepend=-1))
    taken = np.add.reduceat(np.concatenate(amounts)[order], starts)
    pairs = pairs[order][starts]
    gone: IntArray = pairs[np.asarray(taken >= boxes.depth[pairs % n_boxes], np.bool_)]
    return gone


def open_pairs(hidden: IntArray | None, points: IntArray, boxes: IntArray, n_boxes: int) -> BoolArray:
    """Return which pairs of a point and a box are not hidden."""
    if hidden is None or not len(hidden):
        return np.ones(len(points), np.bool_)
    pairs = points * np.int64(n_boxes) + boxes
    place = np.minimum(np.searchsorted(hidden, pairs), len(hidden) - 1)
    found: BoolArray = hidden[place] != pairs
    return found


def pairs_in(points: CodeArray, boxes: DistinctBoxes) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, in portions, all pairs of a point and a box that holds it."""
    if not len(points):
        return
    for point, box in points_inside(*evenly(points, boxes.lo, boxes.hi)):
        good = boxes.contain(box, points[point])
        yield point[good], box[good]


def _admitted(cells: Cells, attribute: Attribute) -> Admitted:
    """Return what cells admit; values that the snapshot does not have admit nothing."""
    other_type = cells.form is Form.INTERVAL and (
        attribute.kind is not Kind.INTERVAL or cells.distinct.struct.field("lo").dtype != attribute.domain.dtype
    )
    try:
        if not other_type:
            return admitted_codes(cells, attribute)
    except VerificationError:
        pass
    return admitted_codes(Cells(Form.FOREIGN, cells.text, cells.index), attribute)


def _alike(admitted: Admitted) -> CodeArray:
    """Number the cells by what they admit."""
    empty = admitted.lo > admitted.hi
    lists = np.zeros(len(admitted.lo), np.int64)
    if admitted.members is not None:
        ends = offsets_of_sorted(admitted.members // (admitted.codes + 1), len(admitted.lo))
        codes = admitted.members % (admitted.codes + 1)
        seen: dict[bytes, int] = {}
        for cell in np.flatnonzero(np.diff(ends)):
            lists[cell] = seen.setdefault(codes[ends[cell] : ends[cell + 1]].tobytes(), len(seen) + 1)
    parts = [np.where(empty, 0, admitted.lo + 1), np.where(empty, 0, admitted.hi + 1), admitted.null * 1, lists]
    return classes_of(parts, len(lists))[0]


def _doors_of(
    points: CodeArray, boxes: DistinctBoxes, door_box: IntArray, door_value: CodeArray
) -> tuple[IntArray, IntArray]:
    """Return all pairs of a type and a door whose box holds it; the value is one more attribute of both."""
    lo, hi = (
        np.ascontiguousarray(np.column_stack([hull[door_box], door_value]), np.int32) for hull in (boxes.lo, boxes.hi)
    )
    # A box further inside takes a record away whatever its value: then it is in no group that has the value.
    hidden = hidden_pairs(np.ascontiguousarray(points[:, :-1]), boxes)
    found: list[tuple[IntArray, IntArray]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for type_, door in points_inside(points, lo, hi):
        good = boxes.contain(door_box[door], points[type_])
        good &= open_pairs(hidden, type_, door_box[door], len(boxes.lo))
        found.append((type_[good], door[good]))
    return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])


def _group_span(
    type_: IntArray, door: IntArray, types: int, way_door: IntArray, way_group: IntArray, doors: int
) -> tuple[IntArray, IntArray]:
    """Return the lowest and the highest group that each type can go to; where there is none, none is lower."""
    beyond = np.iinfo(np.int64).max
    door_low, door_high = np.full(doors, beyond), np.full(doors, -1, np.int64)
    np.minimum.at(door_low, way_door, way_group)
    np.maximum.at(door_high, way_door, way_group)
    low, high = np.full(types, beyond), np.full(types, -1, np.int64)
    np.minimum.at(low, type_, door_low[door])
    np.maximum.at(high, type_, door_high[door])
    return low, high


def _fill(goal: IntArray, wanted: IntArray, room: IntArray) -> IntArray:
    """Return how many of the wanted places each gets, first come first served."""
    order = np.argsort(goal, kind="stable")
    sums = np.cumsum(wanted[order]) - wanted[order]
    starts = np.flatnonzero(np.diff(goal[order], prepend=-1))
    before = sums - np.repeat(sums[starts], np.diff(np.append(starts, len(goal))))
    fits = np.empty_like(wanted)
    fits[order] = np.clip(room[goal[order]] - before, 0, wanted[order])
    return fits


def _flow(
    type_: IntArray, door: IntArray, records: IntArray, way_door: IntArray, way_slot: IntArray, left: IntArray
) -> tuple[IntArray, IntArray]:
    """Place the types that have a choice: a maximum flow through doors to slots. Return type and slot of each unit."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    useful = (left[way_slot] > 0) & np.isin(way_door, door)
    way_door, way_slot = way_door[useful], way_slot[useful]
    types, tail = np.unique(type_, return_inverse=True)
    doors, both = np.unique(np.concatenate([door, way_door]), return_inverse=True)
    slots, head = np.unique(way_slot, return_inverse=True)
    # Nodes: source, types, doors, slots, sink.
    at_door, at_slot = 1 + len(types), 1 + len(types) + len(doors)
    sink = at_slot + len(slots)
    middle, middle_out = at_door + both[: len(door)], at_door + both[len(door) :]
    tails = np.concatenate([np.zeros(len(types), np.int64), tail + 1, middle_out, np.arange(len(slots)) + at_slot])
    heads = np.concatenate([np.arange(len(types)) + 1, middle, head + at_slot, np.full(len(slots), sink)])
    capacity = np.concatenate([records[types], records[type_], left[way_slot], left[slots]]).astype(np.int32)
    graph = coo_array((capacity, (tails, heads)), shape=(sink + 1, sink + 1)).tocsr()
    flow = maximum_flow(graph, 0, sink).flow.tocoo()
    source, goal, amount = flow.row.astype(np.int64), flow.col.astype(np.int64), flow.data.astype(np.int64)
    into = (amount > 0) & (source >= 1) & (source < at_door) & (goal >= at_door)
    out = (amount > 0) & (source >= at_door) & (source < at_slot) & (goal >= at_slot)
    # As many come out of a door as go in, and it does not matter who goes where.
    arriving = np.repeat(np.flatnonzero(into), amount[into])
    leaving = np.repeat(np.flatnonzero(out), amount[out])
    arriving = arriving[np.argsort(goal[arriving], kind="stable")]
    leaving = leaving[np.argsort(source[leaving], kind="stable")]
    return types[source[arriving] - 1], slots[goal[leaving] - at_slot]


def _hand_out(groups: CodeArray, kind: CodeArray, unit_type: IntArray, unit_group: IntArray) -> None:
    """Give the records of each type the places that the type got, in their order."""
    records, units = np.argsort(kind, kind="stable"), np.argsort(unit_type, kind="stable")
    types = unit_type[units]
    rank = np.arange(len(types)) - np.searchsorted(types, types)
    groups[records[np.searchsorted(kind[records], types) + rank]] = unit_group[units]
