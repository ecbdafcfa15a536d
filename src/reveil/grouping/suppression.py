"""Suppression: leave out the records that stretch their group most, within a limit.

A few odd records (the only centenarian, the one patient from far away) force a coarse box on the nine others beside
them. Leaving such a record out costs its own cells and narrows the cells of all who stay. It is left out only where
that is worth it: where the certainty penalty, in which a suppressed record counts fully, becomes smaller. The choice
looks at boxes and sizes, and at sensitive values only to keep the model. Suppressed records are not in the file, form
no group and are counted in the manifest.

Groups that were formed for narrow cells have odd records together in the smallest groups that are allowed, and nobody
can leave those. So a method that searches for narrow cells (:meth:`reveil.grouping.groupers.base.Grouper.unsearched`)
is asked twice: without the search, to see who stretches most, and then with it about those who stay. Of all these
groupings the one is taken that costs least, so a limit never makes a release worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import BoolArray, offsets_of
from reveil.core.kernels import outliers
from reveil.grouping.groupers.base import part_by_part
from reveil.models.statistics import Boxes, GroupStats, Histogram, Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.randomness import Dice
    from reveil.grouping.groupers.base import Grouper
    from reveil.models.base import Model
    from reveil.models.encoding import Codes


def group_without_stretching(
    codes: Codes, partition: Partition, model: Model, method: Grouper, limit: int, rng: Dice
) -> Partition:
    """Leave out at most ``limit`` records of the table, those that ``partition`` leaves out among them."""

    def without(found: Partition) -> Partition:
        return suppress_stretching(codes, found, model, limit - codes.n + len(found.order))

    tried = [partition, without(partition)]
    plain = method.unsearched()
    if plain is not None:
        tried.append(without(plain.group(codes, model, rng.child("unsearched"))))
        kept = np.sort(tried[-1].order)
        stay = Partition(kept, np.array([0, len(kept)], np.int64), codes.n)
        again = rng.child("again")
        tried.append(part_by_part(stay, lambda records, _: method.group(codes.take(records), model, again)))
    return min(tried, key=lambda found: certainty_penalty(codes, found))


def certainty_penalty(codes: Codes, partition: Partition, occurring: Sequence[int] | None = None) -> float:
    """Return the width of all published cells together, by the weights of columns; what is left out counts fully.

    ``occurring`` is how many values of each attribute occur, where the records at hand are a part of a table.
    """
    starts, ends, sizes = partition.offsets[:-1], partition.offsets[1:], partition.sizes
    rows = codes.columns(partition.order) if partition.rows is None else partition.rows
    boxes = Boxes.of_segments(rows, starts, ends, [a.null_code for a in codes.quasi])
    total = 0.0
    for a, attribute in enumerate(codes.quasi):
        size, occurs = attribute.null_code, boxes.lo[a] <= boxes.hi[a]
        low, high = np.where(occurs, boxes.lo[a], 0), np.where(occurs, boxes.hi[a], 0)
        if attribute.listed:
            seen = Histogram.of_segments(rows[:, a], starts, ends, size + 1)
            values = np.bincount(seen.groups[seen.codes < size], minlength=len(sizes))
            width = np.maximum(values - 1, 0) / max(size - 1, 1)
        elif attribute.taxonomy is not None:
            node = attribute.taxonomy.cover(low.astype(np.int32), high.astype(np.int32))
            width = (attribute.taxonomy.hi[node] - attribute.taxonomy.lo[node]) / max(size - 1, 1)
        else:
            width = attribute.positions[high] - attribute.positions[low]
        different = int((np.unique(attribute.codes) < size).sum()) if occurring is None else occurring[a]
        beside = 1 / max(different, 1)
        width = np.minimum(np.where(occurs, width + boxes.null[a] * beside, 0.0), 1.0)
        total += attribute.weight * (float((width * sizes).sum()) + codes.n - len(partition.order))
    return total


def suppress_stretching(codes: Codes, partition: Partition, model: Model, limit: int) -> Partition:
    """Leave out at most ``limit`` records, one a group at a time, most worth first, while it is worth it.

    A model that compares groups with the table (t-closeness) is asked about everything at the end, because the table
    has changed; if it no longer holds, nobody is left out.
    """
    positions = [attribute.positions for attribute in codes.quasi]
    # A missing value lies nowhere, and what it adds to a cell is not a distance: groups that have one are left alone.
    at = outliers.Positions(
        np.concatenate([np.append(p[:-1], np.nan) for p in positions]), offsets_of([len(p) for p in positions])[:-1]
    )
    now, left = partition, limit
    stuck: BoolArray = np.zeros(partition.n_groups, np.bool_)  # groups whose next record the model needs
    while left > 0:
        found = outliers.Worth(np.empty(now.n_groups), np.empty(now.n_groups, np.int64))
        gain, who = found
        rows = codes.columns(now.order)
        outliers.find(rows, now.offsets[:-1], now.offsets[1:], at, model.minimum_size, found)
        worth = np.flatnonzero((who >= 0) & ~stuck)
        chosen = worth[np.argsort(-gain[worth], kind="stable")][:left]
        if not len(chosen):
            break
        smaller = _without(now, who[chosen])
        if model.tags.reads_values:
            valid = model.verdict(_statistics(codes, smaller))
            bad = chosen[~valid[chosen]]
            stuck[bad] = True
            chosen = np.setdiff1d(chosen, bad)
            smaller = _without(now, who[chosen])
        left -= len(chosen)
        now = smaller
    if model.tags.reads_values and not model.verdict(_statistics(codes, now)).all():
        return partition
    return now


def _without(partition: Partition, places: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Partition:
    """Take the records at some places of the order out."""
    kept: BoolArray = np.ones(len(partition.order), np.bool_)
    kept[places] = False
    before = offsets_of(kept)
    return Partition(partition.order[kept], before[partition.offsets], partition.n)


def _statistics(codes: Codes, partition: Partition) -> GroupStats:
    starts, ends = partition.offsets[:-1], partition.offsets[1:]
    histograms = {
        a.name: Histogram.of_segments(a.codes[partition.order], starts, ends, a.domain) for a in codes.sensitive
    }
    return GroupStats(partition.sizes, histograms, codes.references(partition.order))
