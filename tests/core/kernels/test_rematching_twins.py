"""Assigning groups of different values anew, against the plain twin."""

import numpy as np
import pytest

from reveil.core.kernels import rematching
from reveil.core.kernels.widening import Attributes
from tests.core.kernels.plain import rematching as plain

SIZES, KINDS = (12, 5), ("line", "set")


def _attributes():
    """A line of twelve places and a set of five, missing values behind."""
    positions = np.concatenate([np.append(np.arange(size) / (size - 1), 1.0) for size in SIZES])
    none = np.zeros(2, np.int64)
    steps = np.array([[1 / (size - 1), 1 / size] for size in SIZES])
    return Attributes(
        np.array([0, 1]), np.array(SIZES), np.array([0, 13, 19]), positions, steps, none, none,
        np.zeros(0, np.int32), np.zeros(0),
    )  # fmt: skip


def _case(seed):
    rng = np.random.default_rng(seed)
    many, least = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    codes = np.stack([rng.integers(-1, size, many * least) for size in SIZES], axis=1)
    rows = np.where(codes < 0, SIZES, codes).astype(np.int32)
    groups = rng.permutation(many * least).reshape(many, least)
    values = np.empty(many * least, np.int32)
    values[groups] = np.array([rng.permutation(least + 2)[:least] for _ in range(many)])
    return rows, codes, values, groups


@pytest.mark.parametrize("seed", range(40))
def test_a_column_is_assigned_as_it_is_cheapest(seed):
    rows, codes, values, groups = _case(seed)

    def wide(group):
        return plain.width([codes[record].tolist() for record in group], KINDS, SIZES)

    for place in range(groups.shape[1]):
        best = plain.least(groups.tolist(), place, values.tolist(), wide)
        column, cost = groups[:, place].copy(), np.empty((len(groups), len(groups)))
        rematching.costs(rows, values, groups, 0, place, groups.shape[1], column, _attributes(), cost)
        for i, group in enumerate(groups.tolist()):
            for j, record in enumerate(column.tolist()):
                others = [*group[:place], *group[place + 1 :]]
                barred = values[record] in values[others]
                assert cost[i, j] % rematching.BARRED == pytest.approx(wide([*others, record]), abs=1e-6)
                assert (cost[i, j] >= rematching.BARRED) == barred
        rematching._assign(rows, values, groups, 0, len(groups), place, groups.shape[1], _attributes())
        assert sum(wide(group) for group in groups.tolist()) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(40))
def test_all_records_stay_values_differ_and_nothing_gets_wider(seed):
    rows, codes, values, groups = _case(seed)
    before = groups.copy()

    def total():
        return sum(plain.width(codes[group].tolist(), KINDS, SIZES) for group in groups)

    first = total()
    bounds = np.array([0, len(groups) // 2, len(groups)])
    for along in (0, 1):
        rematching.rematch(rows, values, groups, bounds, along, _attributes())
        assert total() <= first + 1e-9
    assert sorted(groups.ravel()) == sorted(before.ravel())
    assert sorted(groups[: bounds[1]].ravel()) == sorted(before[: bounds[1]].ravel())  # chunks keep to themselves
    assert all(len(set(values[group])) == len(group) for group in groups)
    again = before.copy()
    rematching.match(rows, values, again, np.array([0, len(again)]), 1, _attributes())
    assert (again == before).all()  # more than the most
    rematching.match(rows, values, again, np.array([0, len(again)]), 9, _attributes())
    assert sorted(again.ravel()) == sorted(before.ravel())
