"""Boxes: each group is published with the closure of its quasi values, column by column.

Numbers and dates become intervals, declared orders all the values from the lowest to the highest, other categories the
set of values that occur; so do taxonomies, or the lowest node over the group where one label is asked for. Null is
marked beside them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.arrays import BoolArray, CodeArray, ranks_in_rows
from reveil.grouping.recoders.base import Recoded, Recoder
from reveil.models.encoding import Attribute, Codes, Kind
from reveil.models.statistics import Boxes, Histogram, Partition
from reveil.releases.different_cells import places_in
from reveil.releases.parsing import classes_of
from reveil.releases.table import Cells
from reveil.tables.notation import Form, label_cells


class BoxRecoder(Recoder):
    """Publishes every group as one box."""

    def recode(self, codes: Codes, partition: Partition) -> Recoded:
        """Build the cells of every group, once per distinct cell."""
        rows = codes.columns(partition.order) if partition.rows is None else partition.rows
        cells, class_of_group, classes = boxed(codes, rows, partition.offsets)
        return Recoded(cells, np.append(class_of_group, np.int32(-1))[partition.labels], classes)


def boxed(
    codes: Codes, rows: CodeArray, offsets: npt.NDArray[np.int64]
) -> tuple[dict[str, Cells], npt.NDArray[np.int32], int]:
    """Return the cells of every class, the class of every group and the number of classes.

    ``rows`` has the quasi codes of the members, group by group; a record may be in several groups.
    """
    starts, ends = offsets[:-1], offsets[1:]
    boxes = Boxes.of_segments(rows, starts, ends, [a.null_code for a in codes.quasi])
    made: dict[str, Cells] = {}
    for a, attribute in enumerate(codes.quasi):
        lo, hi, null = boxes.lo[a], boxes.hi[a], boxes.null[a]
        if attribute.listed:
            made[attribute.name] = _set_cells(attribute, rows[:, a], starts, ends)
        else:
            made[attribute.name] = _span_cells(attribute, lo, hi, null)
    # To a reader, groups with equal cells are one group; so they are here.
    class_of_group, first = classes_of([column_cells.index for column_cells in made.values()], len(starts))
    cells = {
        name: Cells(column_cells.form, column_cells.distinct, column_cells.index[first])
        for name, column_cells in made.items()
    }
    return cells, class_of_group, len(first)


def _span_cells(attribute: Attribute, lo: CodeArray, hi: CodeArray, null: BoolArray) -> Cells:
    """Cells that are an interval of codes, or the closure of one."""
    size = attribute.null_code + 1
    key = (lo.astype(np.int64) * size + np.maximum(hi, 0)) * 2 + null
    distinct, first, index = np.unique(key, return_index=True, return_inverse=True)
    del distinct
    low, high, missing = lo[first], hi[first], pl.Series(null[first])
    alone = low > high  # null and nothing else
    if attribute.kind is Kind.INTERVAL:
        ends = {name: _values(attribute.domain, code, alone) for name, code in (("lo", low), ("hi", high))}
        cells = pl.DataFrame({**ends, "null": missing}).to_struct(attribute.name)
        return Cells(Form.INTERVAL, cells, index.astype(np.int32))
    if attribute.taxonomy is not None:
        taxonomy = attribute.taxonomy
        node = taxonomy.cover(np.where(alone, 0, low), np.where(alone, 0, high))
        labels = _values(pl.Series(taxonomy.labels, dtype=pl.String), node, alone)
        exact = pl.Series(taxonomy.lo[node] == taxonomy.hi[node])
        return _merged(
            Cells(Form.LABEL, label_cells(labels, missing, exact=exact).alias(attribute.name), index.astype(np.int32))
        )
    # All codes from the lowest to the highest, and the one of null behind them where it is there.
    lowest, many = np.where(alone, 0, low).astype(np.int64), np.where(alone, 0, high - low + 1).astype(np.int64)
    sizes = many + null[first]
    inside = ranks_in_rows(sizes)
    flat = np.where(inside < np.repeat(many, sizes), np.repeat(lowest, sizes) + inside, attribute.null_code)
    return _lists(attribute, flat, sizes, index.astype(np.int32))


def _set_cells(
    attribute: Attribute, codes: CodeArray, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> Cells:
    """Cells that are the set of codes which occur."""
    seen = Histogram.of_segments(codes, starts, ends, attribute.null_code + 1)
    lists = pl.DataFrame({"group": seen.groups, "code": seen.codes}).group_by("group", maintain_order=True).agg("code")
    distinct = lists.select("code").unique(maintain_order=True).with_row_index("place")
    index = lists.join(distinct, on="code", how="left", maintain_order="left")["place"].to_numpy().astype(np.int32)
    sizes = distinct["code"].list.len().to_numpy().astype(np.int64)
    return _lists(attribute, distinct["code"].explode().to_numpy(), sizes, index)


def _lists(
    attribute: Attribute, codes: npt.NDArray[np.integer], sizes: npt.NDArray[np.int64], index: CodeArray
) -> Cells:
    """Build list cells from codes, one list after the other: by name, or in the declared order, a null last."""
    names, place = attribute.domain.cast(pl.String), np.repeat(np.arange(len(sizes)), sizes)
    texts = pl.concat([names, pl.Series(attribute.name, [None], dtype=pl.String)])
    if attribute.kind is not Kind.ORDERED:
        # All at once: polars sorts one list after the other, each with more ado than work.
        order = np.append(names.arg_sort().to_numpy().astype(np.int64), len(names))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        codes = order[np.sort(place * len(order) + rank[codes]) % len(order)]
    flat = pl.DataFrame({"place": pl.Series(place).set_sorted(), "text": texts.gather(codes)})
    cells = flat.group_by("place", maintain_order=True).agg("text")["text"].alias(attribute.name)
    return Cells(Form.SET, cells, index)


def _merged(cells: Cells) -> Cells:
    """Let equal cells be one: different spans may have the same closure."""
    distinct = cells.distinct.unique(maintain_order=True)
    return Cells(cells.form, distinct, places_in(cells.distinct, distinct)[cells.index])


def _values(domain: pl.Series, codes: npt.NDArray[np.integer], missing: BoolArray) -> pl.Series:
    """Return the values of codes, null where missing."""
    if len(domain) == 0:
        return pl.Series([None] * len(codes), dtype=domain.dtype)
    taken = domain.gather(np.where(missing, 0, codes))
    return pl.select(pl.when(pl.Series(~missing)).then(taken)).to_series()
