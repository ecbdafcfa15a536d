"""Nested regions: each group is published with the box of the region that encloses it, and the region's level.

A box may lie inside another. The inner one wins: a row stands for the part of its box that no box further inside
(with a higher level) holds. Numbers and dates become the interval from the lowest to the highest published value in
the region; all other attributes the set of their values in the region, taxonomies too: the label of a node would cover
more than the region, and boxes would no longer be nested or disjoint. Null is marked beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError
from reveil.grouping.recoders.base import Recoded, Recoder
from reveil.models.encoding import Kind
from reveil.releases.parsing import classes_of
from reveil.releases.table import Cells
from reveil.tables.notation import Form

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, CodeArray
    from reveil.models.encoding import Attribute, Codes
    from reveil.models.statistics import Partition

_DECLARED = (Kind.ORDERED, Kind.TAXONOMY)  # what values there are is public, whether they occur or not


class NestedRecoder(Recoder):
    """Publishes every group as the enclosing region of a partition that has regions, with a column ``level``.

    Guarantee: for published records, a published box holds a record exactly when its region does. So boxes are nested
    or disjoint as regions are, and the innermost box that holds a record is that of its group.
    Assumes: the regions of the partition are nested or disjoint, and each record is in the innermost that holds it.
    Verification asks that again, from the bytes.
    Does not protect against: more than the partition does. Boxes are made of regions and of the quasi values that
    published records have; no sensitive value is looked at, so the form is as *blind* as the grouping. A value of a
    suppressed record is in no cell, unless it was declared.
    Source: the BANG file's public release, "enclosing hyper-rectangular region" with a level column.
    """

    needs_regions: ClassVar[bool] = True

    def recode(self, codes: Codes, partition: Partition) -> Recoded:
        """Build the cells of every group, once per distinct cell."""
        regions = partition.regions
        if regions is None:
            raise ConfigError(
                "this method makes no nested regions to publish",
                hint="Publish boxes, or use the method 'bang' with form = \"nested\".",
            )
        made = {
            attribute.name: _cells(attribute, attribute.codes[partition.order], regions.lo[:, a], regions.hi[:, a])
            for a, attribute in enumerate(codes.quasi)
        }
        # Groups with the same region are one group to a reader. The same box at two levels has no room for the outer.
        keys = [column_cells.index for column_cells in made.values()]
        depth = regions.level - regions.level.min(initial=0)
        class_of_group, first = classes_of([*keys, depth], partition.n_groups)
        cells = {
            name: Cells(column_cells.form, column_cells.distinct, column_cells.index[first])
            for name, column_cells in made.items()
        }
        classes = np.append(class_of_group, np.int32(-1))[partition.labels]
        return Recoded(cells, classes, len(first), regions.level[first].astype(np.int32))


def _cells(attribute: Attribute, published: CodeArray, lo: CodeArray, hi: CodeArray) -> Cells:
    """Build the cells of one attribute from ranges of codes."""
    size = attribute.null_code
    seen = np.zeros(size + 1, np.bool_)
    seen[published] = True
    missing: BoolArray = (hi >= size) & seen[size]
    there = np.arange(size) if attribute.kind in _DECLARED else np.flatnonzero(seen[:size])
    # Ranges of what is there: from the first value at or above lo to the last at or below hi.
    start = np.searchsorted(there, lo, "left").astype(np.int64)
    end = np.searchsorted(there, hi, "right").astype(np.int64)
    end = np.maximum(start, end)
    key = (start * (len(there) + 1) + end) * 2 + missing
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    start, end, null = start[first], end[first], missing[first]
    if attribute.kind is Kind.INTERVAL:
        alone = pl.Series(start == end)
        ends = {}
        for name, place in (("lo", start), ("hi", end - 1)):
            values = attribute.domain.gather(there[np.where(alone, 0, place)]) if len(there) else attribute.domain
            taken = values if len(there) else pl.Series([None] * len(first), dtype=attribute.domain.dtype)
            ends[name] = pl.select(pl.when(~alone).then(taken)).to_series()
        cells = pl.DataFrame({**ends, "null": pl.Series(null)}).to_struct(attribute.name)
        return Cells(Form.INTERVAL, cells, index.astype(np.int32))
    domain = attribute.domain.to_list()
    lists: list[list[str | None]] = []
    for a, b, also in zip(start.tolist(), end.tolist(), null.tolist(), strict=True):
        names = [domain[code] for code in there[a:b].tolist()]
        # A declared order is kept; a set is read by name.
        lists.append([*(names if attribute.kind is Kind.ORDERED else sorted(names)), *([None] if also else [])])
    return Cells(Form.SET, pl.Series(attribute.name, lists, dtype=pl.List(pl.String)), index.astype(np.int32))
