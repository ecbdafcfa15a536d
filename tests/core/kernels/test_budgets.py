"""The kernels of budgets against their plain twins."""

from itertools import pairwise

import numpy as np
import pytest

from reveil.core.kernels import budget_mending, budgets
from reveil.core.kernels.budget_items import Items
from tests.core.kernels.plain import budgets as plain

DOMAIN = 6


def _items(seed: int):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 60))
    weights = rng.random(DOMAIN + 1) ** 3
    values = rng.choice(np.arange(-1, DOMAIN), size, p=weights / weights.sum()).astype(np.int32)
    points = np.round(rng.random((size, 2)), 3)
    many = rng.integers(0, 3, size) if seed % 2 else np.zeros(size, np.int64)
    needs = [
        {int(v): float(rng.choice([3.5, 5.0, 9.0, np.inf])) for v in rng.permutation(DOMAIN)[:own]} for own in many
    ]
    ratio = float(rng.choice([2.0, 2.6, 4.85]))
    most = np.floor(np.arange(size + 40) / ratio + 1e-9).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum([len(own) for own in needs])]).astype(np.int64)
    pair_values = np.array([v for own in needs for v in own], np.int32)
    pair_needs = np.array([need for own in needs for need in own.values()], np.float64)
    items = Items(values, starts, pair_values, pair_needs, DOMAIN)
    twin = plain.Items(values.tolist(), needs, points.tolist(), most.tolist())
    least = int(np.argmax(most >= 1))
    return rng, items, points, twin, most, least


@pytest.mark.parametrize("seed", range(80))
def test_growing(seed):
    rng, items, points, twin, most, least = _items(seed)
    seeds = rng.permutation(len(points)) if seed % 3 else np.arange(len(points))
    near, hold = int(rng.integers(1, 12)), rng.integers(1, 3, DOMAIN)
    labels, groups = budgets.grow(items, points, seeds, budgets.Sizes(most, hold, least, 4 * least), near)
    expected = plain.grow(twin, seeds.tolist(), hold.tolist(), least, 4 * least, DOMAIN, near)
    assert labels.tolist() == expected
    assert groups == max(expected) + 1
    for g in range(groups):
        assert twin.allowed([i for i, own in enumerate(expected) if own == g])


@pytest.mark.parametrize("seed", range(80))
def test_placing_and_splitting(seed):
    _, items, points, twin, most, least = _items(seed)
    labels, groups = budgets.grow(
        items, points, np.arange(len(points)), budgets.Sizes(most, np.ones(DOMAIN, np.int64), least, 2 * least), 8
    )
    todo = np.flatnonzero(labels < 0)
    expected = plain.place(twin, labels.tolist(), todo.tolist(), 20)
    if groups:
        budget_mending.place(items, points, labels, groups, todo, most, 20)
    assert labels.tolist() == expected
    parts = plain.split(twin, expected, least)
    budget_mending.split(items, points, labels, groups, most, least)
    found = {tuple(np.flatnonzero(labels == g).tolist()) for g in set(labels.tolist()) - {-1}}
    assert found == {tuple(sorted(part)) for part in parts}
    for part in parts:
        assert twin.allowed(part)
        assert len(part) >= least


@pytest.mark.parametrize("seed", range(20))
def test_allowed(seed):
    rng, items, points, twin, most, _ = _items(seed)
    order = rng.permutation(len(points))
    cuts = np.unique(np.concatenate([[0, len(order)], rng.integers(0, len(order) + 1, 6)]))
    good = budget_mending.allowed(order, cuts[:-1], cuts[1:], items, most)
    parts = [order[a:b].tolist() for a, b in pairwise(cuts)]
    assert good.tolist() == [twin.allowed(part) for part in parts]
