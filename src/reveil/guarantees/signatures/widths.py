"""How wide the cells of a group come out, and how far the quasi values of two sensitive values lie apart.

Where a group has no cells of its own (the values stand in a second table, and boxes are those of other classes), its
width is nothing that anybody sees. What it costs then is what a count loses: a window that holds some members and not
others. The chance of that grows with the records that lie between them, so the share of these is the width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.kernels.assigning import NODE, SET, SPAN, CellWidths

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.models.encoding import Attribute, Codes
    from reveil.tables.hierarchy import Taxonomy

FloatArray = npt.NDArray[np.float64]
MOST_LEAVES = 2_048  # of a taxonomy whose nodes are kept for every pair of leaves; larger ones count as lines
_COUNTED = 1 << 20  # cells of a table of counts that may be made whatever the number of records
QUANTILES = 16  # at which the distributions of a number are compared


def published_widths(codes: Codes, records: CodeArray) -> CellWidths:
    """Return what the width of a cell of some records is made of, for every quasi column; see ``gcp``."""
    columns = len(codes.quasi)
    numbers = np.empty((len(records), columns), np.int32)
    places = np.zeros((len(records), columns))
    kinds, starts, sizes = (np.zeros(columns, np.int64) for _ in range(3))
    unit, null, most = (np.zeros(columns) for _ in range(3))
    nodes: list[FloatArray] = [np.zeros(1)]
    at = 1
    for a, attribute in enumerate(codes.quasi):
        size, weight = attribute.null_code, attribute.weight
        here = attribute.codes[records]
        numbers[:, a] = np.where(here < size, here, -1)
        places[:, a] = attribute.positions[here] * weight
        kinds[a], most[a] = _kind(attribute), weight
        unit[a] = weight / max(size - 1, 1)
        null[a] = weight / max(_occurring(attribute), 1)
        if kinds[a] == NODE and attribute.taxonomy is not None:
            nodes.append(_nodes(attribute.taxonomy) * weight)
            starts[a], sizes[a] = at, size
            at += size * size
    return CellWidths(kinds, numbers, places, starts, sizes, np.concatenate(nodes), unit, null, most)


def _occurring(attribute: Attribute) -> int:
    """Return how many values occur in the table."""
    return int(np.count_nonzero(np.bincount(attribute.codes, minlength=attribute.null_code + 1)[: attribute.null_code]))


def linked_widths(codes: Codes, records: CodeArray) -> CellWidths:
    """Return widths of groups without cells of their own: the share of all records between their members, by column.

    A missing value lies behind all others.
    """
    columns = len(codes.quasi)
    numbers, places = np.empty((len(records), columns), np.int32), np.empty((len(records), columns))
    for a, attribute in enumerate(codes.quasi):
        numbers[:, a] = attribute.codes[records]
        places[:, a] = _middles(attribute)[numbers[:, a]] * attribute.weight
    none, nothing = np.zeros(columns, np.int64), np.zeros(columns)
    most = np.array([attribute.weight for attribute in codes.quasi], np.float64)
    kinds = np.full(columns, SPAN, np.int64)
    return CellWidths(kinds, numbers, places, none, none, np.zeros(1), nothing, nothing, most)


def _middles(attribute: Attribute) -> FloatArray:
    """Return the share of the records up to the middle of those of each code."""
    counts = np.bincount(attribute.codes, minlength=attribute.null_code + 1)
    return np.asarray((np.cumsum(counts) - counts / 2) / max(len(attribute.codes), 1), np.float64)


def _kind(attribute: Attribute) -> int:
    if attribute.listed:  # a cell holds the values that occur and no others
        return SET
    small = attribute.taxonomy is not None and attribute.null_code <= MOST_LEAVES
    return NODE if small else SPAN


def _nodes(taxonomy: Taxonomy) -> FloatArray:
    """Return the width of the lowest node over each pair of leaves."""
    size = len(taxonomy.leaves)
    one, other = np.divmod(np.arange(size * size, dtype=np.int32), np.int32(size))
    node = taxonomy.cover(np.minimum(one, other), np.maximum(one, other))
    return _node_widths(taxonomy)[node]


def _node_widths(taxonomy: Taxonomy) -> FloatArray:
    return np.asarray((taxonomy.hi - taxonomy.lo) / max(len(taxonomy.leaves) - 1, 1), np.float64)


def value_distances(codes: Codes, values: CodeArray, wanted: IntArray, *, linked: bool = False) -> FloatArray:
    """Return how far the records of each two sensitive values lie apart, column by column: (wanted, wanted).

    For numbers, dates and orders this is the Wasserstein distance of the two distributions; for taxonomies too, on the
    tree in which two leaves are as far apart as their lowest common node is wide; for sets half the sum of the
    differences of shares. A value that nobody has lies where the whole table lies. ``linked``: all columns are lines,
    on which the records between two places are their distance (see :func:`linked_widths`).
    """
    from scipy.spatial.distance import cdist  # takes a while to load, and quick releases measure nothing

    place = np.full(int(max(wanted.max(initial=0), values.max(initial=0))) + 1, len(wanted), np.int64)
    place[wanted] = np.arange(len(wanted))
    of_record = place[values]
    many = len(wanted)
    parts = [
        (
            _quantiles(_middles(attribute), attribute.codes, of_record, many) / QUANTILES
            if linked
            else _embedded(attribute, of_record, many)
        )
        * attribute.weight
        for attribute in codes.quasi
    ]
    where = np.hstack(parts)
    return np.asarray(cdist(where, where, "cityblock"), np.float64)


def _embedded(attribute: Attribute, of_record: IntArray, many: int) -> FloatArray:
    """Return a point for each value such that sums of absolute differences are the distances: (values, numbers)."""
    kind = _kind(attribute)
    if kind == SPAN:
        return _quantiles(attribute.positions, attribute.codes, of_record, many) / QUANTILES
    size = attribute.null_code + 1
    counts = np.bincount(of_record * size + attribute.codes, minlength=(many + 1) * size).reshape(many + 1, size)
    counts[-1] = counts.sum(axis=0)  # of everybody
    rows = np.where(counts[:-1].sum(axis=1, keepdims=True) > 0, counts[:-1], counts[-1])
    shares = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    if kind == SET or attribute.taxonomy is None:
        return np.asarray(shares / max(size - 2, 1) / 2, np.float64)
    taxonomy = attribute.taxonomy
    width = _node_widths(taxonomy)
    found = []
    for above, level in zip(taxonomy.levels[:-1], taxonomy.levels[1:], strict=True):
        edge = (width[above] - width[level]) / 2
        used, inside = np.unique(level, return_inverse=True)
        held = np.zeros((many, len(used)))
        np.add.at(held.T, inside, shares[:, :-1].T)
        edges = np.zeros(len(used))
        edges[inside] = edge
        found.append(held * edges)
    return np.hstack([*found, shares[:, -1:] / max(size - 1, 1)])


def _quantiles(places: FloatArray, codes: CodeArray, of_record: IntArray, many: int) -> FloatArray:
    """Return the quantiles of a number for each value; those of all records for values that nobody has.

    They are read off the counts of (value, code): ``places``, where each code lies, ascend.
    """
    size = len(places)
    if (many + 1) * size > max(len(of_record), _COUNTED):  # too many for a table: records are sorted
        return _sorted_quantiles(places[codes], of_record, many)
    counts = np.bincount(of_record * size + codes, minlength=(many + 1) * size).reshape(many + 1, size)
    table = np.vstack([counts[:many], counts.sum(axis=0)])
    below, have = np.cumsum(table, axis=1), table.sum(axis=1)
    steps = (np.arange(QUANTILES) + 0.5) / QUANTILES
    found = np.empty((many + 1, QUANTILES))
    for v in range(many + 1):
        code = np.searchsorted(below[v], (steps * have[v]).astype(np.int64), side="right")
        found[v] = places[np.minimum(code, size - 1)]
    return np.where(have[:many, None] > 0, found[:many], found[many])


def _sorted_quantiles(places: FloatArray, of_record: IntArray, many: int) -> FloatArray:
    order = np.lexsort((places, of_record))
    counts = np.bincount(of_record, minlength=many + 1)[:many]
    starts = np.cumsum(counts) - counts
    steps = (np.arange(QUANTILES) + 0.5) / QUANTILES
    at = starts[:, None] + (steps * counts[:, None]).astype(np.int64)
    found = places[order[np.minimum(at, len(order) - 1)]]
    every = np.sort(places)[(steps * len(places)).astype(np.int64)]
    return np.where(counts[:, None] > 0, found, every)
