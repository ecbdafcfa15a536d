"""BangA: neighbours, the dendrogram, its cuts, and groups that are regions."""

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.randomness import Dice
from reveil.grouping.bang.dendrogram import Dendrogram
from reveil.grouping.bang.index import Filed
from reveil.grouping.bang.neighbours import candidates
from reveil.grouping.bang.nesting import published_regions
from reveil.grouping.bang.regions import Regions
from reveil.models.encoding import encode
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.tables.snapshot import read_snapshot
from reveil.testing import hospital, tables
from reveil.testing.contracts import statistics_of

quick = settings(deadline=None, max_examples=25)


def filed(frame, schema, block=2, **options):
    return Filed.of(encode(read_snapshot(frame, schema)), block, **options)


def coarser(coarse, fine):
    """Whether every group of one partition lies in one group of the other."""
    return all(len(set(coarse.labels[fine.labels == g])) == 1 for g in range(fine.n_groups))


@quick
@given(tables(max_rows=30, max_quasi=3, max_sensitive=1), st.integers(1, 4))
def test_every_cut_is_valid_and_a_larger_k_is_coarser(table, block):
    made = filed(table.frame, table.schema, block)
    tree, n = made.dendrogram(), made.codes.n
    before = None
    for k in range(1, n + 1):
        model = rv.KAnonymity(k)
        cut = made.partition(tree.cut(model, made.stats(model)))
        assert sorted(cut.order.tolist()) == list(range(n))
        assert cut.sizes.min() >= k
        if before is not None:
            assert coarser(cut, before)
        before = cut
    assert before.n_groups == 1
    if n >= block:
        model = rv.KAnonymity(1)
        assert tree.cut(model, made.stats(model)).max() + 1 == len(made.regions), "with k up to M groups are blocks"
    with pytest.raises(rv.InfeasibleError):
        tree.cut(rv.KAnonymity(n + 1), made.stats(rv.KAnonymity(n + 1)))


def by_hand(tree, node, valid, blocks_of):
    """The rule of the cut in its own words."""
    left, right = int(tree.left[node]), int(tree.right[node])
    if left < 0:
        return [blocks_of(node)]
    if not blocks_of(left).any() or not blocks_of(right).any():
        return by_hand(tree, left if blocks_of(left).any() else right, valid, blocks_of)
    if valid(blocks_of(left)) and valid(blocks_of(right)):
        return by_hand(tree, left, valid, blocks_of) + by_hand(tree, right, valid, blocks_of)
    return [blocks_of(node)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "model", [rv.KAnonymity(9), rv.DistinctDiversity(3) & rv.KAnonymity(4), rv.TCloseness(0.3), rv.EntropyDiversity(2)]
)
def test_a_cut_follows_its_rule_under_any_model(seed, model):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 40))
    sizes = rng.integers(0, 5, m) + (np.arange(m) == 0) * 9
    groups, values = np.repeat(np.arange(m), sizes), rng.integers(0, 4, int(sizes.sum()))
    histogram = Histogram.of(groups, values, m, 4)
    reference = Reference(histogram.total(), ordered=False)
    lo = rng.random((m, 2))
    tree = Dendrogram.of(sizes, np.ones(m), lo, lo + 0.1, (np.zeros(0, np.int32), np.zeros(0, np.int32)))
    stats = GroupStats(sizes, {"s": histogram}, {"s": reference})

    def blocks_of(node):
        if tree.left[node] < 0:
            return (np.arange(m) == node) & (sizes > 0)
        return blocks_of(int(tree.left[node])) | blocks_of(int(tree.right[node]))

    def valid(blocks):
        one = stats.coarsen(np.where(blocks, 0, 1), 2)
        return bool(model.verdict(one)[0])

    if not valid(sizes > 0):
        with pytest.raises(rv.InfeasibleError):
            tree.cut(model, stats)
        return
    labels = tree.cut(model, stats)
    expected = by_hand(tree, tree.root, valid, blocks_of)
    assert ((labels < 0) == (sizes == 0)).all()
    assert {tuple(np.flatnonzero(labels == g)) for g in range(labels.max() + 1)} == {
        tuple(np.flatnonzero(blocks)) for blocks in expected
    }


def test_no_small_block_is_left_for_the_end():
    # One block touches all the others, the worst case for merging in pairs: still no cut collapses.
    m = 64
    pairs = np.zeros(m - 1, np.int32), np.arange(1, m, dtype=np.int32)
    lo = np.linspace(0, 1, m)[:, None]
    tree = Dendrogram.of(np.full(m, 5), np.ones(m), lo, lo, pairs)
    for round_ in range(4):
        model = rv.KAnonymity(5 * 2**round_)
        assert tree.cut(model, GroupStats(np.full(m, 5))).max() + 1 >= m / 2 ** (round_ + 1)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 18])
def test_neighbours_touch_or_enclose_and_connect_everything(dimensions):
    rng = np.random.default_rng(dimensions)
    bits = (3,) * dimensions
    names = {(0, 0)} | {
        (int(rng.integers(0, 2**level)), level) for level in rng.integers(1, 9, 30).tolist() if level <= sum(bits)
    }
    regions = Regions.named(sorted(names), bits)
    lo, hi = regions.box_cells()
    one, other = candidates(regions)
    assert (one != other).all()
    m = len(regions)
    faces = 0
    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        gap = np.maximum(lo[a], lo[b]) - np.minimum(hi[a], hi[b])  # 1: they touch; up to 0: they overlap
        touching = (gap == 1).sum() == 1 and gap.max() == 1
        nested = gap.max() <= 0
        faces += touching
        assert touching or nested or abs(a - b) <= 2 or regions.parents[a] == regions.parents[b]
    assert len(one) <= m * (2 * min(dimensions, 16) + 4)
    assert faces or m == 1


@quick
@given(tables(max_rows=30, max_quasi=3, max_sensitive=1), st.integers(1, 3), st.integers(1, 9), st.booleans())
def test_nested_groups_are_laminar_and_each_record_is_in_the_innermost(table, block, k, diverse):
    assume(table.schema.sensitive or not diverse)
    model = rv.KAnonymity(k) & rv.DistinctDiversity(2) if diverse else rv.KAnonymity(k)
    made = filed(table.frame, table.schema, block)
    try:
        cut = made.nested(model)
    except rv.InfeasibleError:
        whole = GroupStats(made.sizes, made.stats(model).histograms).whole()
        assert not model.verdict(whole)[0]
        return
    assert sorted(cut.order.tolist()) == list(range(made.codes.n))
    assert model.verdict(statistics_of(made.codes, cut)).all()
    rows = made.codes.matrix()
    lo, hi, level = cut.regions.lo, cut.regions.hi, cut.regions.level
    inside = ((rows[:, None] >= lo) & (rows[:, None] <= hi)).all(axis=2)
    deepest = np.where(inside, level, -1).argmax(axis=1)
    assert (deepest == cut.labels).all(), "the innermost region that holds a record is its group"
    assert (inside.sum(axis=1) == [len(set(level[own])) for own in inside]).all(), "no two of one level"
    for g in range(cut.n_groups):
        for h in range(g):
            overlap = ((lo[g] <= hi[h]) & (lo[h] <= hi[g])).all()
            outer, inner = (g, h) if level[g] < level[h] else (h, g)
            assert not overlap or ((lo[outer] <= lo[inner]) & (hi[inner] <= hi[outer])).all()


def test_what_is_left_at_the_whole_space_joins_the_smallest_region():
    parents = np.array([-1, 0, 1, 0], np.int32)  # the whole space, a region in it with another inside, and one more
    stats = GroupStats(np.array([2, 5, 6, 4]))
    assert published_regions(parents, rv.KAnonymity(4), stats).tolist() == [0, 1, 2, 0]
    assert published_regions(parents, rv.KAnonymity(2), stats).tolist() == [0, 1, 2, 3]
    assert published_regions(parents, rv.KAnonymity(6), stats).tolist() == [0, 0, 2, 0]
    assert published_regions(parents, rv.KAnonymity(12), stats).tolist() == [0, 0, 0, 0]
    assert published_regions(parents, rv.KAnonymity(6), GroupStats(np.array([0, 5, 6, 0]))).tolist() == [0, 0, 0, 0]
    assert published_regions(parents, rv.KAnonymity(5), GroupStats(np.array([0, 5, 6, 0])))[1:3].tolist() == [1, 2]
    with pytest.raises(rv.InfeasibleError):
        published_regions(parents, rv.KAnonymity(18), stats)


@quick
@given(tables(max_rows=25, max_sensitive=1), st.sampled_from(["compact", "nested"]), st.integers(1, 4), st.randoms())
def test_under_k_anonymity_it_is_blind(table, form, k, random):
    assume(table.schema.sensitive and table.frame.height >= k)
    values = table.frame["s0"].to_list()
    random.shuffle(values)
    other = table.frame.with_columns(pl.Series("s0", values, dtype=table.frame["s0"].dtype))
    grouper = rv.BangA(block=2, form=form)
    one, two = (
        grouper.group(encode(read_snapshot(frame, table.schema)), rv.KAnonymity(k), Dice.of_seed(0))
        for frame in (table.frame, other)
    )
    assert one.order.tolist() == two.order.tolist()
    assert one.offsets.tolist() == two.offsets.tolist()
    assert not grouper.reads_values(rv.KAnonymity(k))
    assert grouper.reads_values(rv.DistinctDiversity(2))


def test_models_that_read_values_are_kept_in_the_splits():
    frame, schema = hospital.month(1_500), hospital.schema()
    for model in (rv.KAnonymity(5) & rv.DistinctDiversity(5), rv.KAnonymity(4) & rv.TCloseness(0.3)):
        release = rv.anonymize(frame, schema, model, rv.BangA(), seed=1)
        assert release.manifest["guarantee"]["grade"] == "counted"
        made = filed(frame, schema, 5)
        late = made.dendrogram().cut(model, made.stats(model)).max() + 1
        assert release.manifest["groups"] > late, "blocks that know the model can be smaller than those that do not"


def test_the_groups_are_about_as_tight_as_median_cuts():
    frame, schema = hospital.coded(4_000, columns=4), rv.Schema(quasi=["q1", "q2", "q3", "q4"], sensitive="disease")
    for k in (5, 25):
        model = rv.KAnonymity(k)
        ours, theirs = (
            rv.measure(frame, rv.anonymize(frame, schema, model, method, seed=0), schema)["gcp"]
            for method in (rv.BangA(), rv.Mondrian(effort="quick"))
        )
        assert ours < 1.2 * theirs


@pytest.mark.parametrize(
    "wrong",
    [
        {"block": 0},
        {"block": 2.5},
        {"form": "loose"},
        {"quantile": 1},
        {"scales": [1, 2]},
        {"scales": {"age": 5}},
        {"scales": {"age": "18"}},
        {"recode": "nested"},
        {"form": "nested", "recode": "anatomy"},
    ],
    ids=str,
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(rv.ConfigError):
        rv.BangA(**wrong)


def test_given_scales_are_cut_points_and_stand_in_the_manifest():
    frame = pl.DataFrame({"age": [17, 18, 29, 30, 64, 65, 70, 71], "s": list("abababab")})
    schema = rv.Schema(quasi="age", sensitive="s")
    release = rv.anonymize(frame, schema, rv.KAnonymity(2), rv.BangA(block=2, scales={"age": [30, 65]}), seed=0)
    assert set(release.table["age"]) == {"[17, 29]", "[30, 64]", "[65, 71]"}
    assert release.manifest["guarantee"]["method"]["scales"] == {"age": [30, 65]}
    assert rv.BangA(scales={"age": np.array([30, 65])}) == rv.BangA(scales={"age": [30, 65]})
    strange = rv.BangA(scales={"weight": [1]})
    with pytest.raises(rv.ConfigError, match="'weight', which is no quasi column"):
        rv.anonymize(frame, schema, rv.KAnonymity(2), strange)
    with pytest.raises(rv.ConfigError, match="no quasi column"):
        strange.fit(frame, schema)
