"""Can the published rows be these records? The matching behind verification without placements.

Records with equal quasi codes and equal values are one *type*; rows of one class with equal values are one *slot*.
A type may go to a slot of the same values whose box holds it. The release is a publication of the snapshot when
all the rows can be filled: when the maximum flow from types to slots equals the number of rows. (Every row is then
some record's; records left over are the suppressed and withheld ones.)

Counterfeits are rows that stay empty. Nobody knows which, but of each group how many: the slots lead to their group,
and a group takes as many records as it has real rows. The flow must fill all the groups. Dirty rows are of people who
are not in the snapshot; nobody knows where they are, only how many: so many rows may stay empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.releases.box_search import points_in_boxes

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.core.arrays import BoolArray, CodeArray, IntArray


@dataclass(frozen=True)
class Seats:
    """The group of each slot (or of each box), and how many records each group takes."""

    group: IntArray
    records: IntArray


@dataclass(frozen=True)
class RecordsAndRows:
    """Records (``points`` and ``record_values``), boxes per class, and rows (``classes`` and ``row_values``).

    ``exact(point, box)`` decides pairs that the hulls ``lo..hi`` admit. Where some rows are counterfeit, ``seats`` has
    the group of each box and how many records each group takes. ``empty`` rows may be somebody else's.
    """

    points: CodeArray
    record_values: IntArray
    lo: CodeArray
    hi: CodeArray
    classes: CodeArray
    row_values: IntArray
    exact: Callable[[IntArray, IntArray], BoolArray]
    seats: Seats | None = None
    empty: int = 0


def assignable(given: RecordsAndRows) -> bool:
    """Return whether every row that is not counterfeit can be a different record, inside its box, with its values."""
    columns = [pl.Series(f"q{a}", given.points[:, a]) for a in range(given.points.shape[1])]
    records = pl.DataFrame(columns).with_row_index("record").with_columns(value=given.record_values)
    names = [c.name for c in columns]
    places = records.group_by(names).agg(pl.col("record").first().alias("point")).with_row_index("place")
    types = (
        records.join(places, on=names)
        .group_by("place", "value")
        .agg(pl.len().cast(pl.Int64).alias("records"))
        .with_row_index("type")
    )
    places_alike = (
        pl.DataFrame({"box": given.classes.astype(np.int64), "value": given.row_values})
        .group_by("box", "value")
        .agg(pl.len().cast(pl.Int64).alias("rows"))
        .with_row_index("slot")
    )
    point = places["point"].to_numpy().astype(np.int64)
    place, box = points_in_boxes(given.points[point], given.lo, given.hi)
    good = given.exact(point[place], box)
    pairs = pl.DataFrame({"place": place[good].astype(np.uint32), "box": box[good]})
    edges = (
        pairs.join(types, on="place").join(places_alike, on=["box", "value"]).select("type", "slot", "records", "rows")
    )
    seats = given.seats and Seats(given.seats.group[places_alike["box"].to_numpy()], given.seats.records)
    available, told = types["records"].to_numpy(), places_alike["rows"].to_numpy()
    return fillable(edges, available, told, seats=seats, empty=given.empty)


def fillable(
    edges: pl.DataFrame,
    records: IntArray,
    rows: IntArray,
    most: IntArray | None = None,
    *,
    seats: Seats | None = None,
    empty: int = 0,
) -> bool:
    """Return whether the slots can be filled, or with ``seats`` the groups of slots; ``empty`` rows need not be.

    ``edges`` has the pairs (type, slot) that fit, ``most`` how often.
    """
    total = int((rows if seats is None else seats.records).sum()) - empty
    if total > int(records.sum()):
        return False
    kind, alike = edges["type"].to_numpy().astype(np.int64), edges["slot"].to_numpy().astype(np.int64)
    if total == int(records.sum()):
        # Nothing is suppressed, so a type with one slot to go to goes there. That settles nearly all of them.
        degree = np.bincount(kind, minlength=len(records))
        if (degree == 0).any():
            return False
        forced = degree[kind] == 1
        if most is not None:
            if (records[kind[forced]] > most[forced]).any():
                return False
            most = most[~forced]
        taken = np.bincount(alike[forced], weights=records[kind[forced]], minlength=len(rows)).astype(np.int64)
        rows = rows - taken
        if seats is not None:
            there = np.bincount(seats.group, weights=taken, minlength=len(seats.records)).astype(np.int64)
            seats = Seats(seats.group, seats.records - there)
        if (rows < 0).any() or (seats is not None and (seats.records < 0).any()):
            return False
        kind, alike = kind[~forced], alike[~forced]
        records = np.where(degree == 1, 0, records)
        total -= int(taken.sum())
    if total <= 0:
        return True
    through = np.minimum(records[kind], rows[alike])
    return _flow(kind, alike, through if most is None else np.minimum(through, most), records, rows, seats) >= total


def _flow(
    kind: IntArray, alike: IntArray, through: IntArray, records: IntArray, rows: IntArray, seats: Seats | None
) -> int:
    """Return how many records can go from types to slots, and from there to the groups that have seats."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    # The source is node 0; then types, slots, groups if there are any, and the sink.
    types, places_alike = np.arange(len(records)) + 1, np.arange(len(rows)) + len(records) + 1
    groups = np.arange(0 if seats is None else len(seats.records)) + len(records) + len(rows) + 1
    sink = len(records) + len(rows) + len(groups) + 1
    if seats is None:
        beyond, ends, ends_at = np.full(len(rows), sink), np.zeros(0, np.int64), np.zeros(0, np.int64)
    else:
        beyond, ends, ends_at = groups[seats.group], groups, seats.records
    tail = np.concatenate([np.zeros(len(records), np.int64), types[kind], places_alike, ends])
    head = np.concatenate([types, places_alike[alike], beyond, np.full(len(ends), sink)])
    capacity = np.concatenate([records, through, rows, ends_at]).astype(np.int32)
    keep = capacity > 0
    graph = coo_array((capacity[keep], (tail[keep], head[keep])), shape=(sink + 1, sink + 1)).tocsr()
    return int(maximum_flow(graph, 0, sink).flow_value)
