"""Two ways to look for the boxes around records, with and without their values, find the same."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from reveil.verification import search
from reveil.verification.geometry import points_in_boxes
from tests.rarely import in_part
from tests.verification.test_archived import altered, verdict


@settings(deadline=None, max_examples=in_part(45), suppress_health_check=list(HealthCheck))
@given(altered())
def test_both_ways_give_one_verdict(given_):
    case, _ = given_
    found = []
    for by_value in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search, "_overlap", lambda *_, by_value=by_value: by_value)
            found.append(verdict(case, None))
    assert found[0] == found[1]


def test_which_way_follows_from_the_boxes():
    points = np.arange(100, dtype=np.int32)[:, None]
    apart = points[::5]
    assert not search._overlap(points, apart, apart + 4)
    assert search._overlap(points, np.zeros_like(apart), apart + 99)
    assert not search._overlap(points[:0], apart, apart)


def test_pairs_are_found_where_codes_are_below_zero():
    """An empty set of cells ends before it begins; a half must not take its neighbour's points."""
    rng = np.random.default_rng(1)
    points = rng.integers(-1, 40, (500, 2)).astype(np.int32)
    lo = rng.integers(-1, 40, (60, 2)).astype(np.int32)
    hi = lo + rng.integers(0, 9, (60, 2)).astype(np.int32)
    point, box = points_in_boxes(points, lo, hi)
    inside = ((points[:, None] >= lo) & (points[:, None] <= hi)).all(axis=2)
    assert set(zip(point.tolist(), box.tolist(), strict=True)) == set(zip(*np.nonzero(inside), strict=True))
