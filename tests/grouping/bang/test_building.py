"""Building all the blocks at once: the capacity rule, models, the figures of the source."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.grouping.bang.building import build
from reveil.grouping.bang.keys import interleaved, sort_keys
from reveil.models.domains import SensitiveDomain
from reveil.models.encoding import SensitiveAttribute
from reveil.models.statistics import GroupStats, Histogram
from tests.grouping.bang.rules import check_rules

quick = settings(deadline=None, max_examples=40)


def built(cells, bits, capacity, **more):
    order, keys = sort_keys(interleaved(np.asarray(cells, np.int32), bits))
    blocks = build(keys, bits, capacity, **more)
    members = [
        order[blocks.records[a:b]].tolist() for a, b in zip(blocks.offsets[:-1], blocks.offsets[1:], strict=True)
    ]
    return blocks, keys, members


def volume(points):
    return int(np.prod(np.ptp(points, axis=0) + 1))


def test_figure_3_3_two_nested_blocks_are_tighter_than_any_cut():
    points = np.array([[1, 1], [1, 5], [6, 1], [5, 7], [7, 4], [7, 7]])
    blocks, _, members = built(points, (3, 3), 2)
    assert blocks.regions.numbers() == [(0, 0), (3, 2)]
    assert [sorted(own) for own in members] == [[0, 1, 2], [3, 4, 5]]
    nested = sum(volume(points[own]) for own in members)
    for axis in (0, 1):
        by = np.argsort(points[:, axis], kind="stable")
        assert points[by[2], axis] < points[by[3], axis], "there is a cut into three and three"
        assert nested < volume(points[by[:3]]) + volume(points[by[3:]])


def test_figure_3_3b_nested_blocks_where_no_cut_is_possible():
    points = np.array([[2, 1], [2, 3], [3, 3], [0, 0], [1, 2], [2, 2]])
    for axis in (0, 1):
        coordinate = np.sort(points[:, axis])
        assert coordinate[2] == coordinate[3], "three and three cannot be cut apart"
    blocks, _, members = built(points, (2, 2), 2)
    assert blocks.regions.numbers() == [(0, 0), (3, 2)]
    assert [sorted(own) for own in members] == [[0, 3, 4], [1, 2, 5]]


@quick
@given(
    st.integers(1, 60),
    st.integers(1, 6),
    st.sampled_from([(3, 3), (1, 5, 2), (8,), (0, 4)]),
    st.sampled_from([1, 3, 256]),
    st.integers(0, 2**32 - 1),
)
def test_axioms_and_capacity(n, capacity, bits, spread, seed):
    rng = np.random.default_rng(seed)
    cells = np.stack([rng.integers(0, min(2**b, spread), n) for b in bits], axis=1)
    blocks, keys, members = built(cells, bits, capacity)
    check_rules(blocks.regions, members, interleaved(cells.astype(np.int32), bits), capacity)
    assert (blocks.regions.find(keys) == blocks.of_record).all()
    assert blocks.regions.volumes.sum() == 1
    assert (blocks.regions.volumes > 0).all()


def test_duplicates_only_stay_together():
    blocks, _, members = built([[3, 5]] * 50, (4, 4), 5)
    assert blocks.counts.tolist() == [50]
    assert sorted(members[0]) == list(range(50))


def test_one_record_and_none():
    assert built([[3, 5]], (4, 4), 5)[0].counts.tolist() == [1]
    assert built(np.zeros((0, 2)), (4, 4), 5)[0].counts.tolist() == [0]
    with pytest.raises(ValueError, match="at least one"):
        built([[3, 5]], (4, 4), 0)


def test_k_equal_to_n_is_one_block():
    assert built(np.arange(10)[:, None], (4,), 10)[0].counts.tolist() == [10]


def sensitive(values):
    codes = np.asarray(values, np.int32)
    return SensitiveAttribute(SensitiveDomain("s", int(codes.max()) + 1, ordered=False), codes)


def test_a_refused_region_is_followed_by_the_next_nearest():
    cells = np.array([0, 1, 2, 3, 4, 5, 8, 9], np.int32)[:, None]
    keys = interleaved(cells, (4,))
    assert build(keys, (4,), 2).regions.numbers() == [(0, 0), (0, 2)], "cells 0 to 3 are half of the records"
    values = sensitive([0, 0, 0, 0, 1, 1, 0, 1])
    blocks = build(keys, (4,), 2, model=rv.DistinctDiversity(2), sensitive=[values])
    assert blocks.regions.numbers() == [(0, 0), (0, 1)], "they have one value: cells 0 to 7 instead"
    assert blocks.of_record.tolist() == [1, 1, 1, 1, 1, 1, 0, 0]


@quick
@given(st.integers(20, 120), st.integers(1, 4), st.integers(0, 2**32 - 1))
@pytest.mark.parametrize(
    "model", [rv.FrequencyDiversity(2), rv.TCloseness(0.4), rv.KAnonymity(3) & rv.DistinctDiversity(2)]
)
def test_every_block_satisfies_the_model(model, n, capacity, seed):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 16, (n, 2)).astype(np.int32)
    _, keys = sort_keys(interleaved(cells, (4, 4)))
    values = sensitive(np.append(rng.integers(0, 4, n - 2), [0, 1]))
    blocks = build(keys, (4, 4), capacity, model=model, sensitive=[values])
    table = {"s": values.reference()}
    histogram = Histogram.of(blocks.of_record, values.codes, len(blocks.counts), values.domain)
    whole = GroupStats(np.array([n]), {"s": Histogram.of(np.zeros(n, int), values.codes, 1, values.domain)}, table)
    if model.verdict(whole)[0]:
        assert model.verdict(GroupStats(blocks.counts, {"s": histogram}, table)).all()
    assert blocks.counts.min() >= capacity
    assert (blocks.regions.find(keys) == blocks.of_record).all()


@quick
@given(st.integers(1, 80), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_a_model_of_sizes_changes_nothing_but_the_least_size(n, capacity, seed):
    cells = np.random.default_rng(seed).integers(0, 8, (n, 2)).astype(np.int32)
    _, keys = sort_keys(interleaved(cells, (3, 3)))
    plain, judged = build(keys, (3, 3), capacity), build(keys, (3, 3), capacity, model=rv.KAnonymity(capacity))
    assert plain.regions.numbers() == judged.regions.numbers()
    assert (plain.of_record == judged.of_record).all()
    larger = build(keys, (3, 3), capacity, model=rv.KAnonymity(7))
    assert larger.counts.min() >= min(7, n)


def test_values_change_nothing_without_a_model_that_reads_them():
    cells = np.random.default_rng(1).integers(0, 16, (200, 2)).astype(np.int32)
    _, keys = sort_keys(interleaved(cells, (4, 4)))
    some = [
        build(keys, (4, 4), 3, model=rv.KAnonymity(5), sensitive=[sensitive(values)]).of_record
        for values in (np.zeros(200), np.arange(200) % 3)
    ]
    assert (some[0] == some[1]).all()
