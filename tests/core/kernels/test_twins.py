"""Each compiled kernel against its plain twin."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.arrays import Ragged, offsets_of
from reveil.core.kernels import cuts, inside, outliers, ranges, segments, tallies
from reveil.grouping.groupers._cutting import next_lower
from reveil.releases import box_search
from reveil.releases.box_search import points_in_boxes
from tests.core.kernels.plain import cuts as plain_cuts
from tests.core.kernels.plain import inside as plain_inside
from tests.core.kernels.plain import outliers as plain_outliers
from tests.core.kernels.plain import ranges as plain_ranges
from tests.core.kernels.plain import segments as plain_segments
from tests.core.kernels.plain import tallies as plain_tallies

quick = settings(deadline=None)
small_codes = st.lists(st.integers(0, 12), min_size=2, max_size=30)
spread_codes = st.lists(st.integers(0, 3000), min_size=2, max_size=12)  # sparse: the kernels sort instead of counting


def node(codes):
    rows = np.array([[c, 0] for c in codes], np.int32)
    starts, ends = np.array([0]), np.array([len(codes)])
    return rows, starts, ends, np.zeros(1, np.int64)


@quick
@given(st.one_of(small_codes, spread_codes), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_propose(codes, seed, least):
    depths = np.random.default_rng(seed).integers(0, 4, 3001).tolist()
    rows, starts, ends, attribute = node(codes)
    boundary = np.array(depths, np.int32)
    cut, left = np.full(1, -7, np.int32), np.full(1, -7, np.int64)
    scratch = np.zeros(3001, np.int32)
    lo, hi = np.array([min(codes)], np.int32), np.array([max(codes)], np.int32)
    nodes = cuts.Nodes(starts, ends, attribute, lo, hi)
    boundaries = cuts.Boundaries(boundary, next_lower(boundary), np.zeros(1, np.int64))
    cuts.propose(rows, nodes, boundaries, least, scratch, cuts.Cuts(cut, left))
    assert (cut[0], left[0]) == plain_cuts.propose(codes, depths, least)
    assert not scratch.any()


@quick
@given(st.one_of(small_codes, spread_codes))
def test_medians_modes_and_spans(codes):
    rows, starts, ends, attribute = node(codes)
    cut, left = np.zeros(1, np.int32), np.zeros(1, np.int64)
    scratch = np.zeros(3001, np.int32)
    lo, hi = np.zeros((1, 2), np.int32), np.zeros((1, 2), np.int32)
    cuts.spans(rows, starts, ends, lo, hi)
    assert list(zip(lo[0], hi[0], strict=True)) == plain_cuts.spans(rows.tolist())
    cuts.medians(rows, cuts.Nodes(starts, ends, attribute, lo[:, 0], hi[:, 0]), scratch, cuts.Cuts(cut, left))
    assert (cut[0], left[0]) == plain_cuts.median(codes)
    most = np.zeros((1, 2), np.int64)
    cuts.modes(rows, starts, ends, lo, hi, scratch, most)
    assert most[0].tolist() == [plain_cuts.mode(codes), len(codes)]
    assert not scratch.any()


@quick
@given(
    small_codes,
    st.integers(0, 12),
    st.sampled_from([(cuts.partition, lambda c, p: np.sign(c - p)), (cuts.halve, lambda c, p: (c > p).astype(int))]),
)
def test_partition_permutes_whole_records(codes, pivot, way):
    rows = np.array([[c, 100 + i] for i, c in enumerate(codes)], np.int32)
    values = np.array([[200 + i] for i in range(len(codes))], np.int32)
    index = np.arange(len(codes), dtype=np.int32)
    split, side_of = way
    records = cuts.CodedRecords(rows, values, index)
    split(records, np.array([0]), np.array([len(codes)]), np.array([0]), np.array([pivot], np.int32))
    side = side_of(rows[:, 0], pivot)
    assert (np.diff(side) >= 0).all()
    assert sorted(index.tolist()) == list(range(len(codes)))
    assert (rows[:, 0] == np.array(codes)[index]).all()
    assert (rows[:, 1] == 100 + index).all()
    assert (values[:, 0] == 200 + index).all()


@quick
@given(st.lists(small_codes, min_size=1, max_size=5))
def test_segments(groups):
    codes = np.concatenate([np.array(g, np.int32) for g in groups])
    ends = np.cumsum([len(g) for g in groups])
    starts = ends - [len(g) for g in groups]
    scratch = np.zeros(13, np.int32)
    offsets, seen, counts = segments.histogram(codes, starts, ends, scratch)
    found = [list(zip(seen[a:b].tolist(), counts[a:b].tolist(), strict=True)) for a, b in pairwise(offsets)]
    assert found == plain_segments.histogram(codes.tolist(), starts, ends)
    assert not scratch.any()
    shape = (1, len(groups))
    lo, hi, null = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.zeros(shape, bool)
    segments.boxes(codes[:, None], starts, ends, np.array([12], np.int32), lo, hi, null)
    assert list(zip(lo[0], hi[0], null[0], strict=True)) == [plain_segments.box(g, 12) for g in groups]


@quick
@given(
    st.integers(1, 120),
    st.integers(1, 3),
    st.integers(1, 20),
    st.sampled_from([1, 50, 4000]),
    st.integers(0, 2**32 - 1),
)
def test_points_in_boxes(points, width, boxes, room, seed):
    rng = np.random.default_rng(seed)
    at = rng.integers(0, 8, (points, width))
    lo = rng.integers(0, 8, (boxes, width))
    hi = lo + rng.integers(-1, 6, (boxes, width))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_search, "AT_ONCE", room)
        point, box = points_in_boxes(at, lo, hi)
    assert (np.diff(box) >= 0).all()
    pairs = list(zip(point.tolist(), box.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == plain_ranges.inside(at.tolist(), lo.tolist(), hi.tolist())


@quick
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=9), st.integers(1, 4))
def test_outliers(drawn, least):
    rows = np.array(drawn, np.int32)
    positions = [np.array([0, 0.1, 0.2, 0.7, 0.9, 1.0]), np.linspace(0, 1, 6)]
    gain, who = np.empty(1), np.empty(1, np.int64)
    offset = np.array([0, 6])
    at = outliers.Positions(np.concatenate(positions), offset)
    outliers.find(rows, np.array([0]), np.array([len(rows)]), at, least, outliers.Worth(gain, who))
    assert gain[0] == pytest.approx(plain_outliers.worth(drawn, positions, least))
    assert (who[0] >= 0) == (gain[0] > 0)


@quick
@given(st.integers(1, 120), st.integers(1, 3), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_any_inside(points, width, boxes, seed):
    rng = np.random.default_rng(seed)
    at = rng.integers(0, 8, (points, width)).astype(np.int32)
    lo = rng.integers(0, 8, (boxes, width)).astype(np.int32)
    hi = lo + rng.integers(-1, 3, (boxes, width)).astype(np.int32)
    found = np.zeros(boxes, np.bool_)
    inside.any_inside(ranges.build(at), lo, hi, found)
    assert found.tolist() == plain_inside.any_inside(at.tolist(), lo.tolist(), hi.tolist())


@given(st.integers(1, 120), st.integers(1, 3), st.integers(1, 12), st.integers(0, 2**31))
@settings(deadline=None, max_examples=60)
def test_tallies(points, width, boxes, seed):
    rng = np.random.default_rng(seed)
    at = rng.integers(0, 9, (points, width)).astype(np.int32)
    ends = np.sort(rng.integers(0, 9, (2, boxes, width)), axis=0).astype(np.int32)
    lo, hi = np.ascontiguousarray(ends[0]), np.ascontiguousarray(ends[1])
    items = Ragged.of_lengths(many := rng.integers(0, 3, boxes), np.arange(many.sum(), dtype=np.int32))
    weights = rng.integers(1, 5, points)
    hits, sums = np.zeros(points, np.int64), np.zeros(boxes, np.int64)
    tree = ranges.build(at)
    tallies.tally(tree, lo, hi, items.lengths, weights, hits, sums)
    plain = (at.tolist(), lo.tolist(), hi.tolist())
    assert (hits.tolist(), sums.tolist()) == plain_tallies.tally(*plain, many.tolist(), weights.tolist())
    place, out = offsets_of(hits), np.zeros(int(hits.sum()), np.int32)
    tallies.items_around(tree, lo, hi, items.offsets, items.items, place[:-1].copy(), out)
    expected = plain_tallies.items_around(*plain, [own.tolist() for own in items])
    assert [own.tolist() for own in Ragged(place, out)] == expected
