"""Can the published rows be these records? The matching behind verification without placements.

Records with equal quasi codes and equal values are one *type*; rows of one class with equal values are one *slot*.
A type may go to a slot of the same values whose box holds it. The release is a publication of the snapshot when
all the rows can be filled: when the maximum flow from types to slots equals the number of rows. (Every row is then
some record's; records left over are the suppressed ones.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from reveil.kernels import ranges

if TYPE_CHECKING:
    from collections.abc import Callable

    from reveil.statistics import BoolArray, CodeArray

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Candidates:
    """Records (``points`` and ``record_values``), boxes per class, and rows (``classes`` and ``row_values``).

    ``exact(point, box)`` decides pairs that the hulls ``lo..hi`` admit.
    """

    points: CodeArray
    record_values: IntArray
    lo: CodeArray
    hi: CodeArray
    classes: CodeArray
    row_values: IntArray
    exact: Callable[[IntArray, IntArray], BoolArray]


def points_in_boxes(points: CodeArray, lo: CodeArray, hi: CodeArray) -> tuple[IntArray, IntArray]:
    """Return all pairs (point, box) with the point inside the box."""
    points, lo, hi = (np.ascontiguousarray(array, np.int32) for array in (points, lo, hi))
    if not len(points):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    tree = ranges.build(points)
    indptr = np.zeros(len(lo) + 1, np.int64)
    ranges.search(points, *tree, lo, hi, indptr, np.zeros(0, np.int64))
    indptr = np.cumsum(indptr)
    found = np.zeros(int(indptr[-1]), np.int64)
    if len(found):
        ranges.search(points, *tree, lo, hi, indptr, found)
    return found, np.repeat(np.arange(len(lo)), np.diff(indptr))


def assignable(given: Candidates) -> bool:
    """Return whether every row can be a different record, inside its box and with its values."""
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
    slots = (
        pl.DataFrame({"box": given.classes.astype(np.int64), "value": given.row_values})
        .group_by("box", "value")
        .agg(pl.len().cast(pl.Int64).alias("rows"))
        .with_row_index("slot")
    )
    point = places["point"].to_numpy().astype(np.int64)
    place, box = points_in_boxes(given.points[point], given.lo, given.hi)
    good = given.exact(point[place], box)
    pairs = pl.DataFrame({"place": place[good].astype(np.uint32), "box": box[good]})
    edges = pairs.join(types, on="place").join(slots, on=["box", "value"]).select("type", "slot", "records", "rows")
    return fillable(edges, types["records"].to_numpy(), slots["rows"].to_numpy())


def fillable(edges: pl.DataFrame, records: IntArray, rows: IntArray, most: IntArray | None = None) -> bool:
    """Return whether the slots can be filled. ``edges`` has the pairs (type, slot) that fit, ``most`` how often."""
    total = int(rows.sum())
    if total > int(records.sum()):
        return False
    kind, slot = edges["type"].to_numpy().astype(np.int64), edges["slot"].to_numpy().astype(np.int64)
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
        rows = rows - np.bincount(slot[forced], weights=records[kind[forced]], minlength=len(rows)).astype(np.int64)
        if (rows < 0).any():
            return False
        kind, slot = kind[~forced], slot[~forced]
        records = np.where(degree == 1, 0, records)
        total = int(rows.sum())
    if total == 0:
        return True
    # Source, types, slots, sink.
    source, sink = 0, len(records) + len(rows) + 1
    tail = np.concatenate([np.zeros(len(records), np.int64), kind + 1, np.arange(len(rows)) + len(records) + 1])
    head = np.concatenate([np.arange(len(records)) + 1, slot + len(records) + 1, np.full(len(rows), sink)])
    through = np.minimum(records[kind], rows[slot])
    capacity = np.concatenate([records, through if most is None else np.minimum(through, most), rows]).astype(np.int32)
    keep = capacity > 0
    graph = coo_array((capacity[keep], (tail[keep], head[keep])), shape=(sink + 1, sink + 1)).tocsr()
    return int(maximum_flow(graph, source, sink).flow_value) == total
