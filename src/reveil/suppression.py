"""Suppression: leave out the groups that lose most, within a limit.

A few odd records (the only centenarian, the one patient from far away) end in groups with very wide boxes. Leaving
such groups out costs few records and is worth more than publishing them. The choice looks at boxes and sizes only,
never at a sensitive value. Suppressed records are not in the file, form no group and are counted in the manifest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.statistics import BoolArray, Boxes, GroupStats, Histogram, Partition

if TYPE_CHECKING:
    from reveil.codes import Codes
    from reveil.models.base import Model

FloatArray = npt.NDArray[np.float64]


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


def _widths(codes: Codes, partition: Partition) -> FloatArray:
    """Return the sum over attributes of each group's normalised width."""
    rows = codes.matrix()[partition.order]
    # Null as an ordinary last code: its position counts as one step beyond the largest value.
    no_null = [np.iinfo(np.int32).max] * len(codes.quasi)
    boxes = Boxes.of_segments(rows, partition.offsets[:-1], partition.offsets[1:], no_null)
    widths = [a.positions[boxes.hi[i]] - a.positions[boxes.lo[i]] for i, a in enumerate(codes.quasi)]
    return np.asarray(np.sum(widths, axis=0), np.float64)


def _statistics(codes: Codes, partition: Partition) -> GroupStats:
    starts, ends = partition.offsets[:-1], partition.offsets[1:]
    histograms = {
        a.name: Histogram.of_segments(a.codes[partition.order], starts, ends, a.domain) for a in codes.sensitive
    }
    return GroupStats(partition.sizes, histograms, codes.references(partition.order))
