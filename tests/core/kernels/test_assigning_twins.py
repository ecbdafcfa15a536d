"""Exchanging records by published widths, against the plain twins, and the cheapest assignment against SciPy's."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from reveil.core.kernels import assigning
from reveil.core.kernels.assignment import cheapest
from tests.core.kernels.plain import assigning as plain
from tests.core.kernels.plain import assignment as plain_assignment


def _cost(rng, size, kind):
    if kind == 0:
        return rng.random((size, size))
    if kind == 1:
        return rng.integers(0, 4, (size, size)) / 7
    return np.abs(rng.random((size, 1)) - rng.random((1, size)))


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("seed", range(20))
def test_the_cheapest_assignment(seed, kind):
    rng = np.random.default_rng(seed)
    for size in (1, 2, 5, int(rng.integers(6, 90))):
        cost = _cost(rng, size, kind)
        column = np.empty(size, np.int64)
        cheapest(cost, column)
        assert sorted(column) == list(range(size))
        total = cost[np.arange(size), column].sum()
        rows, columns = linear_sum_assignment(cost)
        assert total == pytest.approx(cost[rows, columns].sum(), abs=1e-9)
        if size <= 5:
            assert total == pytest.approx(plain_assignment.least(cost.tolist()), abs=1e-9)


def _shape(rng, records):
    """Three columns, one of each kind, with nulls: a line, a tree of six leaves in two halves, a set of four."""
    codes = np.stack([rng.integers(-1, 9, records), rng.integers(-1, 6, records), rng.integers(-1, 4, records)], axis=1)
    nodes = np.ones((6, 6))
    nodes[:3, :3] = nodes[3:, 3:] = 0.4
    np.fill_diagonal(nodes, 0)
    return assigning.CellWidths(
        np.array([assigning.SPAN, assigning.NODE, assigning.SET]),
        codes.astype(np.int32),
        np.where(codes >= 0, codes / 8, 9.0),
        np.array([0, 1, 0]),
        np.array([0, 6, 0]),
        np.append(0.0, nodes.ravel()),
        np.array([0, 0, 2 / 3]),
        np.array([1 / 9, 1 / 6, 2 / 4]),
        np.array([1.0, 1.0, 2.0]),
    )


def _groups(rng):
    slots, groups = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    records = rng.permutation(slots * groups).astype(np.int32)
    cells = np.where(rng.random(len(records)) < 0.15, -1, records).astype(np.int32)
    cells[::slots] = records[::slots]  # nobody is left without a record
    return cells, np.repeat(np.arange(groups), slots), np.arange(groups + 1) * slots, slots


@pytest.mark.parametrize("seed", range(60))
def test_exchanging_one_run(seed):
    rng = np.random.default_rng(seed)
    cells, owner, starts, slots = _groups(rng)
    shape = _shape(rng, len(cells))
    before = [cells[a:b].tolist() for a, b in itertools.pairwise(starts)]
    width = sum(plain.width(group, shape) for group in before)
    assert assigning.widths(cells, starts, shape) == pytest.approx(width)
    place = int(rng.integers(slots))
    run = starts[:-1] + place
    fell = assigning.exchange(cells, owner, starts, run, np.array([0, len(run)]), shape)
    after = [cells[a:b].tolist() for a, b in itertools.pairwise(starts)]
    best = plain.least(before, [(g, place) for g in range(len(before))], shape)
    found = sum(plain.width(group, shape) for group in after)
    assert found == pytest.approx(best, abs=1e-7)
    assert width - found == pytest.approx(fell, abs=1e-7)
    assert sorted(cells[run]) == sorted(group[place] for group in before)


def test_centres_and_the_order_of_groups():
    places = np.array([[0.0, 1.0], [0.5, 0.0], [1.0, 1.0], [0.2, 0.4]])
    centres = assigning.centres(np.array([0, 2, 1, -1, 3], np.int32), np.array([0, 2, 4, 5]), places)
    assert centres.tolist() == [[0.5, 1.0], [0.5, 0.0], [0.2, 0.4]]
    points = np.random.default_rng(0).random((200, 2))
    order = np.arange(200)
    assigning.curve(points, order, 1)
    assert sorted(order) == list(range(200))
    steps = np.abs(np.diff(points[order], axis=0)).sum(axis=1).mean()
    assert steps < np.abs(np.diff(points, axis=0)).sum(axis=1).mean() / 3
