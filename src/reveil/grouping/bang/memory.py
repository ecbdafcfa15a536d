"""What a series keeps of a BANG file between releases: cut points, regions and the tree over them, no record.

The next snapshot is put into the same regions: where nobody came and nobody left, blocks and groups are the same, and
so are the boxes that are published.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.json_values import JSON, list_in, object_in, whole_in
from reveil.grouping.bang.dendrogram import Dendrogram
from reveil.grouping.bang.file import BangFile
from reveil.grouping.bang.index import Filed, in_cell_order
from reveil.grouping.bang.keys import interleaved
from reveil.grouping.bang.scales import Scale, Scales
from reveil.models.encoding import Codes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reveil.models.encoding import Attribute

Layout = dict[str, JSON]

WORN = 4  # times as many records in the fullest cell as in that of a scale made now


def kept_scales(
    method: Mapping[str, JSON],
    codes: Codes,
    given: Mapping[str, Sequence[object]] | None,
    layout: Mapping[str, JSON] | None,
    *,
    part: bool = False,
) -> tuple[Scales, Layout]:
    """Return the scales of the earlier releases, of columns that are new those made now; and what to keep of them.

    ``method`` is the method with its settings; one with other settings than before starts anew. A scale that nobody
    gave is made anew where values have moved on (dates of later years all fall into the last cell); that looks at quasi
    values alone. It is not for ``part`` of a table, which need not look like the whole.
    """
    known = dict(object_in(layout["scales"])) if layout is not None and layout.get("method") == method else {}
    scales = {scale.name: scale for scale in Scales.from_state(known).scales}
    if not part:
        mine = [attribute for attribute in codes.quasi if attribute.name not in (given or {})]
        scales = {name: scale for name, scale in scales.items() if not any(_worn(scale, a, method) for a in mine)}
    # Cut points of a scale that is there are not read again: categories may be gone now, or in another order.
    fresh = replace(codes, quasi=tuple(attribute for attribute in codes.quasi if attribute.name not in scales))
    scales |= {scale.name: scale for scale in Scales.of(fresh, given, quantile=bool(method["quantile"])).scales}
    used = Scales(tuple(scales[attribute.name] for attribute in codes.quasi))
    return used, {"method": dict(method), "scales": {**known, **used.state()}}


def _worn(scale: Scale, attribute: Attribute, method: Mapping[str, JSON]) -> bool:
    """Return whether a scale of this attribute crowds its records: far more of them in one cell than one made now."""
    if scale.name != attribute.name:
        return False
    now = Scales.of(Codes((attribute,), (), len(attribute.codes)), quantile=bool(method["quantile"])).scales[0]
    crowd, usual = (
        int(np.bincount(by_scale.of_codes(attribute)[attribute.codes]).max(initial=0)) for by_scale in (scale, now)
    )
    return crowd > WORN * max(usual, whole_in(method["block"]))


def without_values(layout: Mapping[str, JSON], values: Mapping[str, pl.Series]) -> Layout:
    """Return a layout without values that are not among those that somebody still has; given cut points stay.

    A cell then starts at the next value in it that somebody has. Nobody who is there falls into another cell: one that
    held nobody else is not started any more, and regions stay what they are.
    """
    given = object_in(object_in(layout["method"]).get("scales") or {})
    none = pl.Series([], dtype=pl.String)
    kept = {
        name: state if name in given else _among(object_in(state), values.get(name, none))
        for name, state in object_in(layout["scales"]).items()
    }
    return {**layout, "scales": kept}


def _among(state: Mapping[str, JSON], left: pl.Series) -> Layout:
    """Return the state of a scale with values that are left only."""
    texts, cells = pl.Series(list_in(state["values"]), dtype=pl.String), np.array(list_in(state["cells"]), np.int64)
    if not state["interval"]:
        there = texts.is_in(left.implode()).to_numpy()
        return {**state, "values": texts.filter(there).to_list(), "cells": cells[there].tolist()}
    both = pl.concat([texts, left.rename(texts.name)])
    numbers = both.cast(pl.Float64, strict=False)
    # Dates and times are written so that their texts have the order of the values.
    ranks = (both if numbers.null_count() else numbers).rank("dense").cast(pl.Int64).to_numpy()
    starts, others = ranks[: len(texts)], ranks[len(texts) :]
    order = np.argsort(others, kind="stable")
    nearest = np.searchsorted(others[order], starts)
    found = np.append(others[order], np.iinfo(np.int64).max)[nearest]
    there = found < np.append(starts[1:], np.iinfo(np.int64).max)
    return {**state, "values": left.gather(order[nearest[there]]).to_list(), "cells": cells[there].tolist()}


def remembered_blocks(
    method: Mapping[str, JSON],
    codes: Codes,
    given: Mapping[str, Sequence[object]] | None,
    layout: Mapping[str, JSON] | None,
    *,
    part: bool = False,
) -> tuple[Filed, Dendrogram, Layout]:
    """Put a snapshot into the regions of the earlier releases; return its blocks, the tree over them, what to keep.

    Too large blocks become nodes over two, too small ones are dissolved, and the tree keeps its shape elsewhere. No
    sensitive value is looked at. A release of other columns, or with a scale made anew, starts its regions anew. What
    is kept of a whole table stays as it was when ``part`` of one is published, so that the next whole one finds it
    again.
    """
    scales, kept = kept_scales(method, codes, given, layout, part=part)
    codes = in_cell_order(codes, scales)
    keys = interleaved(scales.cells(codes), scales.bits)
    names = [attribute.name for attribute in codes.quasi]
    blocks = layout.get("blocks") if layout is not None and layout.get("method") == method else None
    before = object_in(layout["scales"]) if layout is not None else None
    same = before is not None and all(before.get(name) == state for name, state in scales.state().items())
    if blocks is not None and object_in(blocks)["columns"] == names and same:
        file = BangFile.from_state(object_in(object_in(blocks)["directory"]), keys)
        tree = _tree_of(object_in(object_in(blocks)["tree"]))
        for change in file.take_log():
            tree = tree.split(change.a, change.b) if change.split else tree.without(change.a)
        filed = _filed(codes, scales, file)
    else:
        file = BangFile.build(keys, scales.bits, whole_in(method["block"]))
        filed = _filed(codes, scales, file)
        tree = filed.dendrogram()
    # Numbers are those of the regions in their order, here and in what is kept.
    tree = replace(tree, leaves=tree.leaves[file.numbers])
    if part and blocks is not None:
        kept["blocks"] = blocks
    else:
        kept["blocks"] = {"columns": names, "directory": file.state(), "tree": _tree_state(tree)}
    return filed, tree, kept


def _tree_state(tree: Dendrogram) -> dict[str, JSON]:
    """Return a tree as plain values that JSON can hold: its nodes from the root down, those that are left over not."""
    levels = [np.array([tree.root], np.int32)]
    while len(levels[-1]):
        inner = levels[-1][tree.left[levels[-1]] >= 0]
        levels.append(np.concatenate([tree.left[inner], tree.right[inner]]))
    nodes = np.concatenate(levels)
    number = np.full(len(tree.left) + 1, -1, np.int32)  # the last one stands for no child
    number[nodes] = np.arange(len(nodes), dtype=np.int32)
    left, right, leaves = (number[links].tolist() for links in (tree.left[nodes], tree.right[nodes], tree.leaves))
    return {"left": left, "right": right, "leaves": leaves}


def _tree_of(state: Mapping[str, JSON]) -> Dendrogram:
    """Undo :func:`_tree_state`."""
    left, right, leaves = (np.array(state[key], np.int32) for key in ("left", "right", "leaves"))
    parents = np.full(len(left), -1, np.int32)
    inner = np.flatnonzero(left >= 0).astype(np.int32)
    parents[left[inner]], parents[right[inner]] = inner, inner
    return Dendrogram(left, right, parents, leaves, 0)


def _filed(codes: Codes, scales: Scales, file: BangFile) -> Filed:
    records, offsets = file.records()
    return Filed(codes, scales, file.regions, records, offsets)
