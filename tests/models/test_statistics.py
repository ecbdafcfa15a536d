"""The narrow waist: histograms and group statistics are commutative monoids, and count exactly."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.models import statistics
from reveil.models.statistics import Boxes, GroupStats, Histogram, Reference
from tests.models.cases import histogram_of

EXAMPLES = settings(max_examples=80, deadline=None)
GROUPS, DOMAIN = 4, 5
records = st.lists(st.tuples(st.integers(0, GROUPS - 1), st.integers(0, DOMAIN - 1)), max_size=40)


def of(rows: list[tuple[int, int]]) -> Histogram:
    table = np.array(rows, np.int32).reshape(-1, 2)
    return Histogram.of(table[:, 0], table[:, 1], GROUPS, DOMAIN)


def content(histogram: Histogram) -> tuple[Any, ...]:
    arrays = (histogram.values.offsets, histogram.codes, histogram.counts)
    assert [a.dtype for a in arrays] == [np.int64, np.int32, np.int64]
    assert (histogram.counts > 0).all()
    return (*(tuple(a.tolist()) for a in arrays), histogram.domain)


def stats(rows: list[tuple[int, int]], boxes: Boxes | None = None) -> GroupStats:
    sizes = np.bincount(np.array([g for g, _ in rows], np.int64), minlength=GROUPS)
    return GroupStats(sizes, {"a": of(rows)}, {"a": Reference(np.ones(DOMAIN, np.int64), True)}, boxes)


def told(group_stats: GroupStats) -> tuple[Any, ...]:
    boxes = group_stats.boxes
    return (
        group_stats.sizes.tolist(),
        {name: content(own) for name, own in group_stats.histograms.items()},
        None if boxes is None else (boxes.lo.tolist(), boxes.hi.tolist(), boxes.null.tolist()),
    )


@pytest.fixture(params=[0, 1, 10**9], ids=["sorting", "mixed", "dense"])
def _path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts are made by sorting or in a dense table, depending on size: both must say the same."""
    monkeypatch.setattr(statistics, "DENSE_AT_MOST", request.param)


@pytest.mark.usefixtures("_path")
def test_counting() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = [(int(g), int(c)) for g, c in zip(rng.integers(0, 4, seed), rng.integers(0, 5, seed), strict=True)]
        histogram = of(rows)
        counted = Counter(rows)
        stored = zip(histogram.groups.tolist(), histogram.codes.tolist(), histogram.counts.tolist(), strict=True)
        assert [((g, c), n) for g, c, n in stored] == sorted(counted.items())
        for g in range(GROUPS):
            own = [n for (group, _), n in counted.items() if group == g]
            assert histogram.distinct[g] == len(own)
            assert histogram.largest[g] == max(own, default=0)
            assert histogram.totals[g] == sum(own)
        assert histogram.total().tolist() == [sum(c == code for _, c in rows) for code in range(DOMAIN)]
        merged = histogram.merge(histogram)
        assert content(merged) == content(of(rows + rows))
        assert content(histogram.coarsen(np.array([1, 0, 1, 1]), 2)) == content(
            Histogram.of(np.array([[1, 0, 1, 1][g] for g, _ in rows], int), np.array([c for _, c in rows], int), 2, 5)
        )


@EXAMPLES
@given(records, records, records)
def test_merge_is_a_commutative_monoid(a: Any, b: Any, c: Any) -> None:
    one, two, three = stats(a), stats(b), stats(c)
    empty = GroupStats.empty(GROUPS, {"a": DOMAIN})
    assert told(one.merge(two)) == told(two.merge(one)) == told(stats(a + b))
    assert told(one.merge(two).merge(three)) == told(one.merge(two.merge(three)))
    assert told(one.merge(empty)) == told(empty.merge(one)) == told(one)
    assert empty.merge(one).table == one.table


@EXAMPLES
@given(records, records, st.lists(st.integers(0, 2), min_size=GROUPS, max_size=GROUPS))
def test_coarsen_commutes_with_merge(a: Any, b: Any, into: list[int]) -> None:
    target = np.array(into)
    one, two = stats(a), stats(b)
    assert told(one.merge(two).coarsen(target, 3)) == told(one.coarsen(target, 3).merge(two.coarsen(target, 3)))
    assert told(one.coarsen(target, 3).whole()) == told(one.whole())
    assert told(one.coarsen(np.arange(GROUPS), GROUPS)) == told(one)


@EXAMPLES
@given(records, st.lists(st.booleans(), min_size=GROUPS, max_size=GROUPS))
def test_select(a: Any, chosen: list[bool]) -> None:
    new = np.cumsum(chosen) - 1
    kept = [(int(new[g]), c) for g, c in a if chosen[g]]
    table = np.array(kept, np.int64).reshape(-1, 2)
    expected = Histogram.of(table[:, 0], table[:, 1], sum(chosen), DOMAIN)
    assert content(of(a).select(np.array(chosen))) == content(expected)


def boxes(lo: list[int], hi: list[int], null: list[bool]) -> Boxes:
    return Boxes(np.array([lo], np.int32), np.array([hi], np.int32), np.array([null]))


def test_boxes_merge_and_are_unknown_where_nobody_computed_them() -> None:
    rows = [(g, 0) for g in range(GROUPS)]
    one = stats(rows, boxes([0, 3, 9, 1], [2, 4, -1, 1], [False] * 4))
    two = stats(rows, boxes([1, 1, 2, 9], [5, 2, 3, -1], [True, False, False, True]))
    bare, empty = stats(rows), GroupStats.empty(GROUPS, {"a": DOMAIN})
    assert told(one.merge(two))[2] == ([[0, 1, 2, 1]], [[5, 4, 3, 1]], [[True, False, False, True]])
    assert told(one.merge(empty)) == told(empty.merge(one)) == told(one)
    assert one.merge(bare).boxes is None
    assert bare.merge(one).boxes is None
    assert one.merge(bare).merge(two).boxes is None
    assert one.merge(bare.merge(two)).boxes is None


def test_empties() -> None:
    empty = GroupStats.empty(0, {"a": 3})
    assert empty.n_groups == 0
    assert empty.whole().sizes.tolist() == [0]
    nothing = Histogram.empty(2, 3)
    assert nothing.largest.tolist() == nothing.totals.tolist() == nothing.distinct.tolist() == [0, 0]
    assert nothing.total().tolist() == [0, 0, 0]
    assert content(nothing.merge(nothing)) == content(nothing)
    assert content(Histogram.of(np.zeros(0, int), np.zeros(0, int), 2, 0)) == content(Histogram.empty(2, 0))
    assert nothing.reduce(np.minimum, np.zeros(0), empty=7).tolist() == [7, 7]


def test_counts_beyond_floating_point_stay_exact() -> None:
    large = histogram_of([[2**60, 1], [0, 2**60 + 1]])
    assert large.merge(large).counts.tolist() == [2**61, 2, 2**61 + 2]
    assert large.coarsen(np.array([0, 0]), 1).counts.tolist() == [2**60, 2**60 + 2]
    assert large.totals.tolist() == [2**60 + 1, 2**60 + 1]


def test_what_does_not_fit_together_is_refused() -> None:
    for groups, codes in (([4], [0]), ([0], [5]), ([-1], [0]), ([0], [-1])):
        with pytest.raises(ValueError, match="out of range"):
            Histogram.of(np.array(groups), np.array(codes), GROUPS, DOMAIN)
    with pytest.raises(ValueError, match="same groups"):
        Histogram.empty(2, 3).merge(Histogram.empty(3, 3))
    with pytest.raises(ValueError, match="same groups"):
        Histogram.empty(2, 3).merge(Histogram.empty(2, 4))
    with pytest.raises(ValueError, match="same groups"):
        GroupStats.empty(2, {"a": 3}).merge(GroupStats.empty(2, {"b": 3}))


@given(st.lists(st.lists(st.integers(0, 4), max_size=8), min_size=1, max_size=4), st.integers(0, 5), st.data())
def test_parts_of_histograms(groups: list[list[int]], most: int, data: st.DataObject) -> None:
    flat = [(g, value) for g, values in enumerate(groups) for value in values]
    whole = _histogram(flat, len(groups))
    counted = [sorted(Counter(values).values(), reverse=True) for values in groups]
    assert whole.beyond(most).tolist() == [sum(own[most:]) for own in counted]
    some = data.draw(st.lists(st.sampled_from(range(len(flat))), unique=True)) if flat else []
    part = _histogram([flat[i] for i in some], len(groups))
    rest = _histogram([own for i, own in enumerate(flat) if i not in some], len(groups))
    left = whole.less(part)
    assert (left.values.offsets.tolist(), left.codes.tolist(), left.counts.tolist()) == (
        rest.values.offsets.tolist(),
        rest.codes.tolist(),
        rest.counts.tolist(),
    )
    assert left.merge(part).counts.tolist() == whole.counts.tolist()
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(groups), max_size=len(groups))), np.bool_)
    assert whole.masked(chosen).totals.tolist() == [len(g) * c for g, c in zip(groups, chosen, strict=True)]


def test_more_cannot_be_taken_away_than_there_is() -> None:
    one, two = _histogram([(0, 1)], 1), _histogram([(0, 1), (0, 1)], 1)
    for more in (two, _histogram([(0, 2)], 1)):
        with pytest.raises(ValueError, match="more is taken away"):
            one.less(more)


def _histogram(records: list[tuple[int, int]], n_groups: int) -> Histogram:
    groups, codes = (np.array([own[i] for own in records], np.int64) for i in (0, 1))
    return Histogram.of(groups, codes, n_groups, 5)
