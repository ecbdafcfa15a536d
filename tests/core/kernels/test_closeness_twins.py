"""The kernels of fragmentation and of swaps give what their plain twins give."""

from itertools import chain, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.kernels import closeness_swaps, fragments
from tests.core.kernels.plain import closeness_swaps as plain_swaps
from tests.core.kernels.plain import fragments as plain_fragments

quick = settings(deadline=None, max_examples=30)
TREE = np.array([[0, 0, 1, 1, 2], [0, 1, 2, 3, 4]], np.int32)


@quick
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(0, 4), st.integers(1, 9)), min_size=1, max_size=14
    )
)
def test_surveys_and_cuts_of_fragments(cells):
    rows, weights = np.array([c[:3] for c in cells], np.int32), np.array([c[3] for c in cells], np.int64)
    nodes, heights = np.zeros((3, 2, 6), np.int32), np.array([0, 2, 1], np.int64)
    nodes[1, :2, :5] = TREE
    nodes[2, 0, :5] = np.arange(5)
    scales = np.array([5.0, 2.0, 1.0])
    one, end = np.zeros(1, np.int64), np.array([len(cells)], np.int64)
    now, cut, after = np.empty((1, 3), np.int64), np.empty((1, 3), np.int32), np.zeros((1, 3, 3), np.int64)
    table = fragments.CountedRows(rows, weights, np.arange(len(cells)))
    fragments.survey(table, one, end, fragments.Axes(nodes, heights, scales), fragments.Survey(now, cut, after))
    levels = [[], TREE.tolist(), [list(range(5))]]
    listed, counted = [c[:3] for c in cells], weights.tolist()
    assert now[0].tolist() == [plain_fragments.spread(listed, counted, i, levels[i]) for i in range(3)]
    expected = plain_fragments.survey(listed, counted, levels, scales.tolist())
    for j, (where, spread) in enumerate(expected):
        assert cut[0, j] == where
        assert where < 0 or after[0, j].tolist() == spread
        if where >= 0:
            index, middle = np.arange(len(cells)), np.empty(1, np.int64)
            moved = fragments.CountedRows(rows.copy(), weights.copy(), index)
            fragments.divide(moved, one, end, np.array([j]), cut[0, [j]], middle)
            assert index.tolist() == plain_fragments.divide(listed, j, where)
            assert middle[0] == sum(row[j] <= where for row in listed)


@st.composite
def tasks(draw):
    values = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=4, max_size=18))
    values += [(v, 0) for v in range(4)] + [(0, v) for v in range(3)]
    limits = draw(st.tuples(st.sampled_from([0.0, 0.07, 0.21]), st.sampled_from([0.0, 0.13, 1.0])))
    table = [[sum(r[a] == v for r in values) for v in range(size)] for a, size in enumerate((4, 3))]
    target = plain_swaps.Target(table, (True, False), limits)
    flat = closeness_swaps.Target(
        np.array(list(chain(*table))), np.array([0, 4, 7]), np.array([True, False]), np.array(limits)
    )
    return values, target, flat


@quick
@given(tasks(), st.integers(2, 4), st.integers(1, 2))
def test_swaps_between_groups(task, size, reach):
    values, target, flat = task
    offsets = np.append(np.arange(0, len(values) - size + 1, size), len(values)).astype(np.int64)
    members = np.arange(len(values), dtype=np.int32)
    groups = [members[a:b].tolist() for a, b in pairwise(offsets)]
    failing = [g for g, group in enumerate(groups) if target.excess([values[m] for m in group]) > 0]
    before = sum(target.excess([values[m] for m in group]) for group in groups)
    closeness_swaps.repair(np.array(values, np.int32), members, offsets, np.array(failing, np.int64), flat, reach, 3)
    plain_swaps.repair(groups, values, failing, target, reach, 3)
    assert members.tolist() == list(chain(*groups))
    assert sorted(members.tolist()) == list(range(len(values)))
    assert sum(target.excess([values[m] for m in group]) for group in groups) <= before


@quick
@given(tasks(), st.integers(1, 4), st.integers(0, 6), st.randoms(use_true_random=False))
def test_clusters_with_swaps(task, least, tries, random):
    values, target, flat = task
    points = [[random.randint(0, 8) / 8.0, random.randint(0, 4) / 4.0] for _ in values]
    start, end = np.zeros(1, np.int64), np.array([len(values)], np.int64)
    found = closeness_swaps.clusters(np.array(points), np.array(values, np.int32), start, end, least, flat, tries)
    assert found.tolist() == plain_swaps.clusters(points, values, least, target, tries)
    assert np.bincount(found).min() >= least
