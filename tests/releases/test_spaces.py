"""Cells of space: whatever they are, every box that holds a point is in the point's cell."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.releases.spaces import SpaceCells


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(0, 4), st.integers(1, 40), st.integers(1, 12))
def test_a_point_meets_every_box_around_it(seed, many, columns, cells, values):
    rng = np.random.default_rng(seed)
    sample, points = (rng.integers(0, values, (n, columns)).astype(np.int32) for n in (many, 30))
    ends = np.sort(rng.integers(0, values, (2, 25, columns)).astype(np.int32), axis=0)
    space = SpaceCells.of(sample, cells, rng.random(columns) * values)
    of_point = space.of_points(points)
    box, cell = space.of_boxes(ends[0], ends[1])
    touched = set(zip(box.tolist(), cell.tolist(), strict=True))
    assert len(touched) == len(box)
    for place, point in enumerate(points):
        around = np.flatnonzero(((ends[0] <= point) & (point <= ends[1])).all(axis=1))
        assert {(one, int(of_point[place])) for one in around.tolist()} <= touched


def test_points_are_spread_over_as_many_cells_as_are_asked_for():
    points = np.random.default_rng(0).integers(0, 1000, (10_000, 3)).astype(np.int32)
    space = SpaceCells.of(points, 16, np.ones(3))
    sizes = np.bincount(space.of_points(points))
    assert len(sizes[sizes > 0]) == 16
    assert sizes[sizes > 0].min() > 500
    alike = SpaceCells.of(np.zeros((50, 3), np.int32), 16, np.ones(3))
    assert set(alike.of_points(points)) == {0}
