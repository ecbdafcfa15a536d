"""The R+-tree: packing, ties, pages and merges."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.kernels import tiles
from reveil.core.randomness import Dice
from reveil.models.encoding import encode
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital, tables
from reveil.testing.contracts import statistics_of
from tests.core.kernels.plain import tiles as plain

quick = settings(deadline=None, max_examples=40)
LEVELS = np.array([[0, 0, 0, 0, 0, 0], [1, 1, 1, 2, 2, 2], [3, 3, 4, 5, 6, 6], [7, 8, 4, 5, 9, 10]], np.int32)


def grouped(frame, schema, model, method, seed=0):
    codes = encode(read_snapshot(frame, schema))
    return codes, method.group(codes, model, Dice.of_seed(seed))


@quick
@given(
    st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=30), min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([1, 500]),
)
def test_tiles_are_those_of_the_plain_twin(segments, least, dimensions, taxonomy, stretched):
    codes = np.concatenate([np.array(own) for own in segments]).astype(np.int32) * (1 if taxonomy else stretched)
    ends = np.cumsum([len(own) for own in segments])
    starts = ends - [len(own) for own in segments]
    index = np.arange(len(codes), dtype=np.int32)
    scratch = np.zeros(6 * stretched + 1, np.int32)
    tiles.arrange(codes, index, starts, ends, scratch)
    assert not scratch.any()
    levels, paths = (LEVELS, LEVELS.T.tolist()) if taxonomy else (np.zeros((0, 0), np.int32), None)
    slabs, leaves = [], []
    for start, end in zip(starts, ends, strict=True):
        assert index[start:end].tolist() == plain.arrange(codes, range(start, end))
        own = codes[index[start:end]].tolist()
        slabs += [start + place for place in plain.slabs(own, paths, least, dimensions)]
        leaves += [start + place for place in plain.leaves(own, paths, least)]
    assert tiles.slabs(codes, index, starts, ends, levels, least, dimensions).tolist() == slabs
    assert tiles.leaves(codes, index, starts, ends, levels, least).tolist() == leaves


@quick
@given(tables(), st.integers(1, 6), st.integers(2, 4))
def test_leaves_have_k_to_2k_minus_1_records(table, k, fanout):
    if table.frame.height < k:
        return
    _, made = grouped(table.frame, table.schema, rv.KAnonymity(k), rv.RPlusTree(fanout=fanout))
    assert made.sizes.min() >= k
    assert made.sizes.max() <= 2 * k - 1
    assert sorted(made.order.tolist()) == list(range(table.frame.height))


def test_one_record_one_value_and_k_equal_to_n():
    schema = rv.Schema(quasi=["a", "b"])
    alone = rv.anonymize(pl.DataFrame({"a": [1], "b": [None]}), schema, rv.KAnonymity(1), rv.RPlusTree())
    assert alone.table.rows() == [("1", None)]
    same = pl.DataFrame({"a": [7] * 9, "b": ["x"] * 9})
    _, made = grouped(same, schema, rv.KAnonymity(2), rv.RPlusTree())
    assert sorted(made.sizes.tolist()) == [2, 2, 2, 3], "equal records are cut too: leaves keep their size"
    assert rv.anonymize(same, schema, rv.KAnonymity(2), rv.RPlusTree()).manifest["groups"] == 1, "to a reader one group"
    _, whole = grouped(same, schema, rv.KAnonymity(9), rv.RPlusTree())
    assert whole.sizes.tolist() == [9]
    with pytest.raises(rv.InfeasibleError):
        rv.anonymize(same, schema, rv.KAnonymity(10), rv.RPlusTree())


def test_regions_are_disjoint_where_no_value_must_be_cut():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.permutation(600) for name in ("a", "b", "c")})
    release = rv.anonymize(frame, rv.Schema(quasi=["a", "b", "c"]), rv.KAnonymity(7), rv.RPlusTree(), seed=1)
    boxes = release.typed.unique()
    lo = np.stack([boxes[n].struct.field("lo").to_numpy() for n in "abc"], axis=1)
    hi = np.stack([boxes[n].struct.field("hi").to_numpy() for n in "abc"], axis=1)
    meet = (lo[:, None] <= hi[None]).all(axis=2) & (lo[None] <= hi[:, None]).all(axis=2)
    assert meet.sum() == len(boxes), "each box meets itself alone"
    assert len(boxes) >= 600 // 13


def test_a_taxonomy_is_cut_between_its_nodes():
    leaves = {"North": ["n1", "n2", "n3"], "South": ["s1", "s2", "s3"]}
    frame = pl.DataFrame({"zip": ["n1", "n2", "n3", "s1", "s1", "s2", "s3", "s3"]})
    schema = rv.Schema(quasi="zip", hierarchies={"zip": leaves}, cells={"zip": "label"})
    release = rv.anonymize(frame, schema, rv.KAnonymity(3), rv.RPlusTree())
    assert release.table["zip"].value_counts().sort("zip").rows() == [("North", 3), ("South", 5)]


@quick
@given(tables(max_sensitive=1), st.integers(2, 3), st.integers(2, 3))
def test_a_leaf_that_misses_the_model_is_merged_until_it_holds(table, l, fanout):
    model = rv.KAnonymity(2) & rv.FrequencyDiversity(l)
    if not table.schema.sensitive:
        return
    try:
        release = rv.anonymize(table.frame, table.schema, model, rv.RPlusTree(fanout=fanout), seed=1)
    except rv.InfeasibleError:
        return
    assert release.manifest["suppressed"] == 0
    assert release.manifest["guarantee"]["grade"] == "counted"


def test_the_nearest_leaf_of_the_same_page_is_taken_first():
    schema = rv.Schema(quasi="a", sensitive="s")
    model = rv.KAnonymity(2) & rv.DistinctDiversity(2)
    # Leaves of two, from left to right. The second misses the model; the third is nearer, and of another page than it
    # is where a page has two leaves.
    frame = pl.DataFrame({"a": [0, 1, 10, 11, 12, 13, 30, 31], "s": list("xyxxxyxy")})
    near = rv.anonymize(frame, schema, model, rv.RPlusTree(fanout=4), seed=0)
    assert sorted(near.table["a"].unique()) == ["[0, 1]", "[10, 13]", "[30, 31]"]
    paged = rv.anonymize(frame, schema, model, rv.RPlusTree(fanout=2), seed=0)
    assert sorted(paged.table["a"].unique()) == ["[0, 11]", "[12, 13]", "[30, 31]"]


def test_it_is_a_fair_baseline():
    frame = hospital.coded(4000, columns=4)
    schema = rv.Schema(quasi=["q1", "q2", "q3", "q4"], sensitive="disease")
    loss, penalty = {}, {}
    for method in (rv.Mondrian(), rv.RPlusTree()):
        found = rv.measure(frame, rv.anonymize(frame, schema, rv.KAnonymity(10), method, seed=1), schema)
        loss[method.name], penalty[method.name] = found["gcp"], found["dcp"]
    assert loss["rtree"] < 1.5 * loss["mondrian"], "packing is not far behind cutting"
    assert penalty["rtree"] < penalty["mondrian"], "and its leaves are fuller"


def test_values_do_not_move_leaves_under_a_model_on_sizes():
    frame = hospital.coded(300, columns=3)
    schema = rv.Schema(quasi=["q1", "q2", "q3"], sensitive="disease")
    codes, made = grouped(frame, schema, rv.KAnonymity(4), rv.RPlusTree())
    other = frame.with_columns(pl.col("disease").reverse())
    _, again = grouped(other, schema, rv.KAnonymity(4), rv.RPlusTree())
    assert (made.order == again.order).all()
    assert rv.KAnonymity(4).verdict(statistics_of(codes, made)).all()
    assert not rv.RPlusTree().reads_values(rv.KAnonymity(4))
    with pytest.raises(rv.ConfigError, match="looks at who has which value"):
        rv.RPlusTree().refine(codes, rv.DistinctDiversity(2), Dice.of_seed(0), made, blind=True)


def test_dice_and_not_the_order_of_the_file_part_equal_records():
    frame = pl.DataFrame({"age": [4, 5, 5, 5, 5, 6], "disease": ["gout", "flu", "flu", "hiv", "hiv", "gout"]})
    codes = encode(read_snapshot(frame, rv.Schema(quasi="age", sensitive="disease")))  # those of 5 sorted by disease
    found = set()
    for seed in range(60):
        made = rv.RPlusTree().group(codes, rv.KAnonymity(3), Dice.of_seed(seed))
        assert made.sizes.tolist() == [3, 3]
        found.add(frozenset(made.order[:3].tolist()))
    assert found == {frozenset({0, *two}) for two in itertools.combinations((1, 2, 3, 4), 2)}


@pytest.mark.parametrize("fanout", [1, 2.5, True, "8"])
def test_a_fanout_that_cannot_be_is_refused(fanout):
    with pytest.raises(rv.ConfigError, match="fanout must be a whole number from 2 up"):
        rv.RPlusTree(fanout=fanout)
