"""The linear program of signatures: everybody is placed, movers where they may be, and few counterfeits."""

import numpy as np
import pytest

from reveil.core.arrays import Ragged
from reveil.guarantees.signatures.program import ValueDemand, solved


def _demand(fresh, sets=(), keep=(), moving=(), movers=(), barred=()):
    values = len(fresh)
    rows = np.zeros((len(moving), values), np.bool_)
    for row, own in zip(rows, barred, strict=True):
        row[list(own)] = True
    return ValueDemand(
        Ragged.of_rows(list(sets), np.int64),
        np.array([n for own in keep for n in own], np.int64),
        np.array(fresh, np.int64),
        np.array(moving, np.int64),
        np.array(movers, np.int64),
        rows,
    )


def _line(values):
    return np.abs(np.arange(values)[:, None] - np.arange(values)[None]) / values


@pytest.mark.parametrize("seed", range(10))
def test_a_first_release_has_at_most_as_many_signatures_as_values(seed):
    rng = np.random.default_rng(seed)
    fresh = rng.integers(20, 40, 9)
    found = solved(_demand(fresh), _line(9), 3, 20)
    used = np.flatnonzero(found.newcomers > 1e-6)
    assert len(np.unique(found.sets.owners()[used])) <= 9
    placed = np.bincount(found.sets.items, found.newcomers, 9)
    assert (placed <= fresh + 1e-6).all()
    assert placed.sum() >= fresh.sum() - 3 * 9


def test_near_values_go_together():
    found = solved(_demand([10] * 6), _line(6), 3, 20)
    used = {tuple(own) for own, n in zip(found.sets, found.newcomers.reshape(-1, 3)[:, 0], strict=True) if n > 0}
    assert {tuple(int(v) for v in own) for own in used} == {(0, 1, 2), (3, 4, 5)}


@pytest.mark.parametrize("rounds", [1, 12])
def test_movers_go_only_where_nothing_was_told(rounds):
    demand = _demand(
        [4] * 8,
        sets=[[0, 1], [2, 3], [0, 4]],
        keep=[[9, 8], [7, 7], [6, 5]],
        moving=[0, 2, 1],
        movers=[2, 1, 1],
        barred=[[4, 5], [3, 6], [0, 2]],
    )
    found = solved(demand, _line(8), 2, rounds)
    of_class = np.bincount(found.pairs[:, 0], found.moved, 3)
    assert of_class == pytest.approx([2, 1, 1])
    for (own, place), share in zip(found.pairs.tolist(), found.moved, strict=True):
        members = found.sets[place].tolist()
        assert demand.moving[own] in members
        assert share == 0 or not demand.barred[own, members].any()


def test_movers_who_were_told_everything_else_are_left_to_others():
    found = solved(_demand([3] * 3, moving=[0], movers=[1], barred=[[1, 2]]), _line(3), 2, 5)
    assert not len(found.pairs) or found.moved.sum() == 0


def test_many_values_come_by_column_generation():
    rng = np.random.default_rng(3)
    fresh = rng.integers(1, 30, 60)
    found = solved(_demand(fresh), _line(60), 4, 12)
    placed = np.bincount(found.sets.items, found.newcomers, 60)
    assert placed.sum() > 0.8 * fresh.sum()
