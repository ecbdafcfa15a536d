"""Regions of quasi values: as many as people need, and a box is in each in which one of its points lies."""

import numpy as np
import pytest

from reveil.adversary.in_shards.regions import PeopleRegions


def boxes(rng, many, columns, wide):
    """Return hulls that take so large a share of each column."""
    lo = rng.integers(0, 1_000 - int(1_000 * wide), (many, columns)).astype(np.int32)
    return lo, (lo + int(1_000 * wide)).astype(np.int32)


@pytest.mark.parametrize("wide", [0.01, 0.2, 0.6])
def test_wide_boxes_make_no_more_regions_than_people_need(wide):
    lo, hi = boxes(np.random.default_rng(0), 2_000, 6, wide)
    regions = PeopleRegions.around(lo, hi, 100)
    assert regions.many <= 4 * 2_000 / 100
    if wide < 0.5:  # else a cut leaves nearly all of the boxes on both sides
        assert regions.many >= 2_000 / 100


@pytest.mark.parametrize("most", [1, 100, 400, 2_000])
def test_bundles_are_regions_that_lie_together(most):
    rng = np.random.default_rng(1)
    lo, hi = boxes(rng, 1_000, 4, 0.15)
    regions = PeopleRegions.around(lo, hi, 40)
    people = regions.share_of(lo, hi) * 1_000
    bundle = regions.bundles(people, most)
    leaves = np.flatnonzero(regions.attribute < 0)
    assert np.bincount(bundle[leaves], people[leaves]).max() <= max(most, people.max())
    assert (len(set(bundle[leaves])) == 1) == (most >= 1_000)
    points = rng.integers(0, 1_000, (300, 4)).astype(np.int32)
    of_points = bundle[regions.of_points(list(points.T.copy()), len(points))]
    box, region = regions.of_boxes(lo, hi)
    touched = set(zip(box.tolist(), bundle[region].tolist(), strict=True))
    inside = ((lo[:, None] <= points) & (points <= hi[:, None])).all(axis=2)
    assert inside.any()
    for one, point in zip(*np.nonzero(inside), strict=True):
        assert (int(one), int(of_points[point])) in touched
