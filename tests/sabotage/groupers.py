"""Groupers that lose, double or swap records or keep less than they should, and recoders that write other cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

import reveil as rv
from reveil.core import registry
from reveil.grouping.recoders import boxes
from reveil.guarantees import assembly
from reveil.guarantees.draft import Rows
from reveil.guarantees.static import deciding
from reveil.series import publishing
from tests.sabotage.registry import sabotage
from tests.sabotage.scenes import FRAME, NUMBERS, PAID, PLAIN, anonymized, released

TYPED = rv.Schema(
    identifiers="pid",
    quasi=["age", "town"],
    sensitive="ill",
    types={"age": "number", "town": "text", "ill": "text"},
)
GRID = rv.SafeGrid(beta=0.9, epsilon=3.0, scales={"age": [0, 30, 50, 100]})
COARSE = pl.concat([FRAME] * 6).with_columns(
    pid=pl.int_range(288), town=pl.lit("t1"), ill=pl.Series(["flu", "gout"] * 144)
)
WAYS = {
    "anatomy": (rv.Anatomy(), rv.DistinctDiversity(3), FRAME, PLAIN),
    "bang": (rv.BangA(), rv.KAnonymity(4), FRAME, PLAIN),
    "fragmentation": (rv.Fragmentation(), rv.TCloseness(0.4), PAID, NUMBERS),
    "microaggregation": (rv.Microaggregation(), rv.KAnonymity(4) & rv.TCloseness(0.4), PAID, NUMBERS),
    "mondrian": (rv.Mondrian(), rv.KAnonymity(4), FRAME, PLAIN),
    "rtree": (rv.RPlusTree(), rv.KAnonymity(4), FRAME, PLAIN),
    "sabre": (rv.Sabre(), rv.KAnonymity(4) & rv.TCloseness(0.4), PAID, NUMBERS),
    "safe-grid": (GRID, rv.KAnonymity(4), COARSE, TYPED),
    "stack-deal": (rv.StackDeal(), rv.KAnonymity(3) & rv.DistinctDiversity(3), FRAME, PLAIN),
}


def over_each_method(name):
    """Sabotage each grouper in three ways."""
    method, model, frame, schema = WAYS[name]
    cls = registry.find("groupers", name)
    own = {"frame": frame, "schema": schema}

    def loses(patch, tmp_path):
        right = cls.group

        def wrong(self, codes, asked, rng):
            made = right(self, codes, asked, rng)
            offsets = made.offsets.copy()
            offsets[-1] -= 1
            return replace(made, order=made.order[:-1], offsets=offsets)

        def generous(partition, limit, codes, method):
            return partition

        patch.setattr(cls, "group", wrong)
        patch.setattr(deciding, "_within_limit", generous)
        anonymized(model, method, **own)

    if name != "safe-grid":  # a sample leaves out whom the dice leave out
        sabotage(f"grouper {name}", name=f"{name} loses a record")(loses)

    @sabotage(f"grouper {name}", name=f"{name} publishes a record twice")
    def doubles(patch, tmp_path):
        def twice(draft):
            """The first record instead of the last one."""
            rows = draft.rows
            at = np.append(np.arange(len(rows) - 1), 0)
            values = {name: replace(own, index=own.index[at]) for name, own in rows.values.items()}
            group = None if rows.group is None else rows.group[at]
            return replace(draft, rows=Rows(rows.record[at], rows.box[at], group, values))

        right = publishing.decide_static
        patch.setattr(publishing, "decide_static", lambda *args, **more: twice(right(*args, **more)))
        anonymized(model, method, **own)

    @sabotage(f"grouper {name}", name=f"{name} swaps two records")
    def swaps(patch, tmp_path):
        def wrong(made):
            classes = made.release.classes.copy()
            row = int(np.flatnonzero(classes != classes[0])[0])
            classes[[0, row]] = classes[[row, 0]]
            return replace(made, release=replace(made.release, classes=classes))

        released(patch, wrong)
        anonymized(model, method, **own)


for _name in WAYS:
    over_each_method(_name)


@sabotage("grouper safe-grid")
def a_sample_with_a_rare_row(patch, tmp_path):
    right = rv.SafeGrid.group
    patch.setattr(rv.SafeGrid, "group", lambda self, codes, model, rng: right(self, codes, rv.KAnonymity(1), rng))
    rare = COARSE.with_columns(ill=COARSE["ill"].scatter([0], ["mumps"]))
    anonymized(rv.KAnonymity(4), rv.SafeGrid(beta=0.999, epsilon=8.0, scales=GRID.scales), rare, TYPED)


@sabotage("grouper safe-grid")
def a_sample_that_claims_a_smaller_delta(patch, tmp_path):
    from reveil.grouping import sampling

    patch.setattr(sampling, "delta_of", lambda k, beta, epsilon: 1e-9)
    anonymized(rv.KAnonymity(4), GRID, COARSE, TYPED)


def recoding(name, cls, change, title):
    """Let a recoder return something else."""
    way = {"boxes": "mondrian", "anatomy": "anatomy", "grid": "safe-grid", "nested": "bang"}[name]
    method, model, frame, schema = WAYS[way]
    method = rv.BangA(form="nested") if name == "nested" else method

    @sabotage(f"recoder {name}", name=title)
    def run(patch, tmp_path):
        right = cls.recode
        patch.setattr(cls, "recode", lambda self, codes, partition: change(right(self, codes, partition)))
        anonymized(model, method, frame, schema)


def narrower(made):
    """An interval that ends before its last record."""
    own = made.cells["age"]
    lo, hi, null = (own.distinct.struct.field(key) for key in ("lo", "hi", "null"))
    wide = int((hi - lo).arg_max())
    cells = pl.DataFrame({"lo": lo, "hi": hi.scatter([wide], [lo[wide]]), "null": null}).to_struct("age")
    return replace(made, cells={**made.cells, "age": replace(own, distinct=cells)})


def another_member(made):
    """A set in which one member is replaced by another value."""
    own = made.cells["town"]
    lists = [["t0"] if at == 0 and cell != ["t0"] else cell for at, cell in enumerate(own.distinct.to_list())]
    if lists[0] == own.distinct.to_list()[0]:
        lists[0] = ["t5"]
    cells = pl.Series("town", lists, dtype=pl.List(pl.String))
    return replace(made, cells={**made.cells, "town": replace(own, distinct=cells)})


def reversed_sets(made):
    """Sets with their members in another order."""
    own = made.cells["town"]
    return replace(made, cells={**made.cells, "town": replace(own, distinct=own.distinct.list.reverse())})


def swapped(made):
    """Two records with each other's class."""
    classes = made.classes.copy()
    there = np.flatnonzero(classes >= 0)
    other = int(there[classes[there] != classes[there[0]]][0])
    classes[[there[0], other]] = classes[[other, there[0]]]
    return replace(made, classes=classes)


def off_the_grid(made):
    """A cell that no scale declares."""
    own = made.cells["age"]
    lo, hi, null = (own.distinct.struct.field(key) for key in ("lo", "hi", "null"))
    cells = pl.DataFrame({"lo": lo, "hi": hi + 1, "null": null}).to_struct("age")
    return replace(made, cells={**made.cells, "age": replace(own, distinct=cells)})


def flat(made):
    """Nested boxes, all on one level."""
    return replace(made, levels=np.zeros_like(made.levels))


def upside_down(made):
    """Nested boxes whose levels grow outwards."""
    return replace(made, levels=(made.levels.max() - made.levels).astype(np.int32))


_BOXES, _ANATOMY, _GRID, _NESTED = (registry.find("recoders", own) for own in ("boxes", "anatomy", "grid", "nested"))
recoding("boxes", _BOXES, narrower, "a box that loses its last record")
recoding("boxes", _BOXES, another_member, "a set with another member")
recoding("boxes", _BOXES, reversed_sets, "sets in another order")
recoding("boxes", _BOXES, swapped, "two swapped cells")
recoding("anatomy", _ANATOMY, swapped, "two swapped exact cells")
recoding("grid", _GRID, off_the_grid, "a cell off the grid")
recoding("grid", _GRID, swapped, "two swapped cells of a grid")
recoding("nested", _NESTED, flat, "nested boxes on one level")
recoding("nested", _NESTED, upside_down, "nested boxes upside down")
recoding("nested", _NESTED, swapped, "two swapped nested boxes")


@sabotage("recoder anatomy", "grouper anatomy")
def two_groups_with_each_others_values(patch, tmp_path):
    right = assembly.second_table

    def wrong(groups, values):
        made = right(groups, values)
        first, last = int(made["group"].min()), int(made["group"].max())
        other = made["group"].replace({first: last, last: first})
        return made.with_columns(other).sort(made.columns[:-1])

    patch.setattr(assembly, "second_table", wrong)
    anonymized(rv.DistinctDiversity(3), rv.Anatomy())


@sabotage("recoder anatomy", "grouper anatomy")
def a_second_table_in_the_order_of_the_raw_one(patch, tmp_path):
    right = assembly.second_table
    patch.setattr(assembly, "second_table", lambda groups, values: right(groups, values).reverse())
    anonymized(rv.DistinctDiversity(3), rv.Anatomy())


@sabotage("recoder boxes")
def an_unsorted_set_that_shows_the_raw_order(patch, tmp_path):
    right = boxes._lists

    def wrong(attribute, codes, sizes, index):
        made = right(attribute, codes, sizes, index)
        return replace(made, distinct=made.distinct.list.sort(descending=True))

    patch.setattr(boxes, "_lists", wrong)
    anonymized(rv.KAnonymity(8))
