"""Suppression: leave out the groups that lose most, within a limit.

A few odd records (the only centenarian, the one patient from far away) end in groups with very wide boxes. Leaving
such groups out costs few records and is worth more than publishing them. The choice looks at boxes and sizes only,
never at a sensitive value. Suppressed records are not in the file, form no group and are counted in the manifest.
"""

from __future__ import annotations

import numpy as np

from reveil.codes import Codes
from reveil.kernels import segments
from reveil.models.base import Model
from reveil.statistics import BoolArray, GroupStats, Histogram, Partition


def suppress_widest(codes: Codes, partition: Partition, model: Model, limit: int) -> Partition:
    """Leave out the widest groups, together at most ``limit`` records, and never all groups.

    A model that compares groups with the table (t-closeness) is asked again, because the table has changed; fewer
    groups are left out until all that remain are valid.
    """
    widths = _widths(codes, partition)
    order = np.argsort(-widths, kind="stable")
    order = order[widths[order] > 0][: partition.n_groups - 1]
    fits = int(np.searchsorted(np.cumsum(partition.sizes[order]), limit, side="right"))
    while fits:
        kept: BoolArray = np.ones(partition.n_groups, np.bool_)
        kept[order[:fits]] = False
        smaller = partition.keep(kept)
        if not model.tags.reads_values or model.verdict(_statistics(codes, smaller)).all():
            return smaller
        fits //= 2
    return partition


def _widths(codes: Codes, partition: Partition) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the sum over attributes of each group's normalised width."""
    rows = codes.matrix()[partition.order]
    starts, ends = partition.offsets[:-1], partition.offsets[1:]
    shape = (rows.shape[1], partition.n_groups)
    lo, hi, null = np.empty(shape, np.int32), np.empty(shape, np.int32), np.empty(shape, np.bool_)
    # With null as an ordinary last code, its position counts as one step beyond the largest value.
    segments.boxes(rows, starts, ends, np.full(shape[0], np.iinfo(np.int32).max, np.int32), lo, hi, null)
    return np.sum([a.positions[hi[i]] - a.positions[lo[i]] for i, a in enumerate(codes.quasi)], axis=0)


def _statistics(codes: Codes, partition: Partition) -> GroupStats:
    starts, ends = partition.offsets[:-1], partition.offsets[1:]
    histograms = {
        a.name: Histogram(*segments.histogram(a.codes[partition.order], starts, ends, np.zeros(a.domain, np.int32)), a.domain)
        for a in codes.sensitive
    }
    return GroupStats(partition.sizes, histograms, codes.references(partition.order))
