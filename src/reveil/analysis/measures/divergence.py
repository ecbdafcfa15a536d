"""The Kullback-Leibler divergence of the release from the raw table."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.analysis.measures.base import Meaning, Subject, Sum, SummedMeasure, Sums
from reveil.core.arrays import CodeArray, IntArray, offsets_of
from reveil.core.kernels import densities, ranges
from reveil.releases.nesting import wide_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.analysis.measures.columns import MeasuredColumn
    from reveil.core.json_values import JSON
    from reveil.models.encoding import FloatArray
    from reveil.releases.nesting import Nesting
    from reveil.tables.expressions.regions import Numbers

CHUNK = 1 << 15  # points that one thread takes at a time
FINENESS = 1 << 30  # at most, of twice a place in the order of an attribute


class Divergence(SummedMeasure):
    """``kl``: how far the joint distribution of the quasi attributes in the release is from the raw one, in bits.

    *Definition*: the sum over the distinct raw points of p log2(p/q), p being the point's share of the raw records
    and q what the release puts there when each published row's mass is spread evenly over the codes of its box
    (numbers and sets: the values that occur; taxonomies and declared orders: all; null where it occurs); where boxes
    are nested, over those that no box further inside has.
    *Range*: from 0 (the same distribution) up; smaller is better; no value where the release puts nothing on a raw
    point, which no release of this snapshot does. *Suppressed and withheld records* are spread over the whole domain.
    *Counterfeits* are rows like others, for their mass is in the table. *Source*: 000, 2.5.1.3 (Kifer, Gehrke 2006).
    """

    meanings: ClassVar = {"kl": Meaning("bits between the raw and the published joint distribution", "smaller")}
    place: ClassVar = 40

    def of_points(self, subject: Subject) -> Sums:
        """Compare the two densities where there are records.

        Densities are taken relative to an even one over the whole domain, because volumes outgrow numbers.
        """
        columns = subject.columns
        points, counts = distinct_points(columns)
        total = subject.rows + subject.left_out
        whole = sum(float(np.log2(max(column.domain, 1))) for column in columns)
        volume = sum(np.log2(np.maximum(column.admits, 1))[column.index] for column in columns)
        weights = subject.class_rows / total * np.exp2(whole - volume)
        if subject.nesting is not None:
            weights = block_weights(subject.nesting, columns, weights)
        density = np.maximum(box_weights(columns, points, weights), 0) + subject.left_out / total
        p = counts / subject.records
        with np.errstate(divide="ignore"):
            return {"kl": float((p * (np.log2(p) + whole - np.log2(density))).sum())}

    def figures(self, sums: Mapping[str, Sum], subject: Subject) -> Mapping[str, JSON]:  # noqa: ARG002
        """Return the sum, which is none where the release puts nothing on a record."""
        kl = float(sums["kl"])
        return {"kl": max(kl, 0.0) if np.isfinite(kl) else None}


def block_weights(nesting: Nesting, columns: Sequence[MeasuredColumn], weights: FloatArray) -> FloatArray:
    """Turn the weight on each point of a box into one on each point of its block, as weights of nested boxes.

    The weights of all the boxes around a point add up to that of the innermost: each has its own less its parent's.
    """
    sizes = [np.maximum(column.admits, 1)[column.index] for column in columns]
    volumes: Numbers = np.ones(len(weights), wide_type(sizes))
    for widths in sizes:
        volumes = volumes * widths.astype(volumes.dtype)
    inner = np.flatnonzero(nesting.parent >= 0)
    left = volumes.copy()
    np.subtract.at(left, nesting.parent[inner], volumes[inner])
    # A block without a point of the snapshot's has no record of it to account for.
    density = weights * np.where(left > 0, volumes / np.where(left > 0, left, 1), 0.0).astype(np.float64)
    around = np.zeros(len(density))
    around[inner] = density[nesting.parent[inner]]
    return np.asarray(density - around, np.float64)


def distinct_points(columns: Sequence[MeasuredColumn]) -> tuple[CodeArray, IntArray]:
    """Return the distinct raw points, near ones near each other, and how many records each has."""
    key = np.zeros(len(columns[0].attribute.codes), np.int64)
    room = 1
    for column in columns:
        size = column.attribute.null_code + 1
        if room * size >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            room = int(key.max(initial=0)) + 1
        key = key * size + column.attribute.codes
        room *= size
    order = np.argsort(key)
    ascending = key[order]
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    first = order[starts]
    points = np.empty((len(first), len(columns)), np.int32)
    for a, column in enumerate(columns):
        points[:, a] = column.attribute.codes[first]
    return points, np.diff(starts, append=len(key))


def box_weights(columns: Sequence[MeasuredColumn], points: CodeArray, weights: FloatArray) -> FloatArray:
    """Return for each point the sum of the weights of the classes whose box holds it."""
    # The tree knows boxes from end to end: over gaps in sets, and up to the null code where null is admitted.
    low, high = (np.stack(ends) for ends in zip(*map(hull, columns), strict=True))
    filled = np.flatnonzero((low <= high).all(axis=0))  # a fake's box may admit nothing that the snapshot knows
    if not len(filled):
        return np.zeros(len(points))
    # Boxes near each other in all attributes alike, whatever the number of codes, belong under one node.
    scale = np.array([FINENESS // (column.attribute.null_code + 1) for column in columns])
    middles = (low + high)[:, filled] * scale[:, None]
    index = ranges.build(np.ascontiguousarray(middles.T, np.int32))
    chosen = filled[index.order]
    boxes = np.ascontiguousarray(np.concatenate([low, high])[:, chosen].T, np.int32)
    hulls = densities.hulls(index.start, index.end, boxes)
    tree = densities.BoxTree(index.start, index.end, index.child, hulls, boxes, weights[chosen])
    exact = _exact_cells(columns, chosen)
    out = np.zeros(len(points))

    def run(first: int) -> None:
        part = slice(first, first + CHUNK)
        densities.weights_on(points[part], tree, exact, out[part])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(run, range(0, len(points), CHUNK)))
    return out


def hull(column: MeasuredColumn) -> tuple[IntArray, IntArray]:
    """Return the ends of each class's cell, the null code being the highest."""
    admitted = column.admitted
    low = np.where(admitted.null & (admitted.lo > admitted.hi), column.attribute.null_code, admitted.lo)
    high = np.where(admitted.null, column.attribute.null_code, admitted.hi)
    return low[column.index].astype(np.int64), high[column.index].astype(np.int64)


def _exact_cells(columns: Sequence[MeasuredColumn], chosen: IntArray) -> densities.ExactCells:
    """Return what is not told by the hull: of attributes with sets or nulls, for the chosen classes."""
    loose = [a for a, c in enumerate(columns) if c.admitted.members is not None or c.admitted.null.any()]
    hi = np.zeros((len(loose), len(chosen)), np.int32)
    null, cells = np.zeros(hi.shape, np.bool_), np.full(hi.shape, -1, np.int64)
    sizes, members, before = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for j, a in enumerate(loose):
        column = columns[a]
        index = column.index[chosen]
        hi[j], null[j] = column.admitted.hi[index], column.admitted.null[index]
        if column.admitted.members is not None:
            cells[j] = index + before
            sizes.append(column.values)
            members.append(column.member_cells[1])
            before += len(column.values)
    offsets = offsets_of(np.concatenate(sizes))
    listed = np.concatenate(members).astype(np.int32)
    return densities.ExactCells(np.array(loose, np.int64), hi, null, cells, offsets, listed)
