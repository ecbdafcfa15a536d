"""Cells of a table in shards give the groups that the whole table gives."""

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reveil.core.errors import InfeasibleError
from reveil.core.randomness import Dice
from reveil.engines.disk import DiskEngine
from reveil.engines.memory import MemoryEngine
from reveil.grouping import cut_tree, top_cuts
from reveil.grouping.groupers import _cutting
from reveil.grouping.groupers._cutting import Cell
from reveil.grouping.groupers.base import check_feasible
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.encoding import encode
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.t_closeness import TCloseness
from reveil.tables.snapshot import read_snapshot
from reveil.testing import check_work, tables

METHODS = [
    Mondrian(),
    Mondrian(effort="quick"),
    Mondrian(effort="quick", choose="degeneracy"),
    Mondrian(choose="gain"),
    Mondrian(choose="loss", effort="thorough"),
]
MODELS = [
    KAnonymity(3),
    KAnonymity(2) & DistinctDiversity(2),
    KAnonymity(2) & FrequencyDiversity(2),
    KAnonymity(2) & TCloseness(0.4),
]


def table_of(codes, seed):
    columns = {cut_tree.quasi_column(a): own.codes for a, own in enumerate(codes.quasi)}
    columns |= {cut_tree.sensitive_column(s): own.codes for s, own in enumerate(codes.sensitive)}
    ties = Dice.of_seed(seed).child("ties").bits(codes.n)
    return pl.DataFrame({"number": np.arange(codes.n), "tie": ties, **columns})


def groups_in_shards(engine, codes, model, method, rows, seed, sizes):
    """Return the groups as sets of records."""
    table = table_of(codes, seed)
    ends = np.cumsum(sizes)
    shards = engine.scatter([table[e - s : e] for e, s in zip(ends, sizes, strict=True)], table.schema)
    quasi, sensitive = [a.meaning for a in codes.quasi], [a.meaning for a in codes.sensitive]
    top = top_cuts.top_cells(shards, quasi, sensitive, model, method, rows, 1000)
    place = cut_tree.PlaceInCells(top.tree, len(quasi))
    found = []
    for (cell,), own in place(shards.collect()).partition_by(cut_tree.CELL, as_dict=True).items():
        records = own["number"].to_numpy()
        whole = Cell(own["tie"].to_numpy(), top.occurring)
        inner = method.group_cell(codes.take(records), model, Dice.of_seed(seed), whole, top.references)
        assert len(records) <= rows or top.tree.attribute[cell] < 0
        found += [frozenset(records[inner.order[a:b]]) for a, b in zip(inner.offsets, inner.offsets[1:], strict=False)]
    return sorted(found, key=min), len(np.flatnonzero(top.tree.attribute < 0))


def groups_in_memory(codes, model, method, seed):
    found = method.group(codes, model, Dice.of_seed(seed))
    bounds = zip(found.offsets, found.offsets[1:], strict=False)
    return sorted((frozenset(found.order[a:b].tolist()) for a, b in bounds), key=min)


@pytest.fixture
def tiny(monkeypatch):
    """Nodes of eight records are large, and exchanges stay among twelve."""
    monkeypatch.setattr(_cutting, "WHOLE", 8)
    monkeypatch.setattr(_cutting, "_SUBTREE", 12)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.chosen}-{m.effort}")
def test_shards_give_the_groups_of_the_whole_table(tiny, model, method):
    @settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
    @given(tables(min_rows=20, max_rows=90), st.integers(0, 3), st.sampled_from([12, 25]), st.booleans())
    def same(table, seed, rows, disk):
        codes = encode(read_snapshot(table.frame, table.schema))
        if not codes.sensitive or not codes.quasi:
            return
        try:
            check_feasible(codes, model)
        except InfeasibleError:
            return
        sizes = [codes.n // 3, 0, codes.n - codes.n // 3]
        with DiskEngine(rows, workers=1) if disk else MemoryEngine(rows) as engine:
            found, _ = groups_in_shards(engine, codes, model, method, rows, seed, sizes)
        assert found == groups_in_memory(codes, model, method, seed)

    same()


def test_cells_are_many_and_works_keep_to_the_contract(tiny):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.integers(0, 40, 300), "b": rng.integers(0, 9, 300), "s": rng.integers(0, 5, 300)})
    from reveil.tables.schema import Schema

    codes = encode(read_snapshot(frame, Schema(quasi=("a", "b"), sensitive="s")))
    method, model = Mondrian(), KAnonymity(3) & DistinctDiversity(2)
    with DiskEngine(25) as engine:
        found, cells = groups_in_shards(engine, codes, model, method, 25, 1, [100, 100, 100])
    assert cells > 10
    assert found == groups_in_memory(codes, model, method, 1)
    table = table_of(codes, 1)
    tree, _ = cut_tree.CutTree.uncut().with_cuts({0: cut_tree.CellCut(0, 20, 150)})
    check_work(cut_tree.CountCodes(tree, (1, 2), (41, 10)), table)
    check_work(cut_tree.CountHalves(tree, {1: (cut_tree.CellCut(1, 4, 3),)}, 2, (6,)), table)
    check_work(cut_tree.PlaceInCells(tree, 2), table)
