"""Streams depend on what they are for, and on nothing else."""

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.randomness import Dice
from reveil.testing import outcomes
from tests.series.cases import SCHEMA, series, snapshot

quick = settings(deadline=None, max_examples=60)
names = st.tuples(st.text(max_size=4), st.lists(st.integers() | st.text(max_size=3), max_size=2)).map(
    lambda name: (name[0], *name[1])
)
DRAWS = {
    "permutation": lambda dice: dice.permutation(9).tolist(),
    "below": lambda dice: dice.below(1000),
    "order_by": lambda dice: dice.order_by(np.arange(9) % 2).tolist(),
    "coins": lambda dice: dice.coins(40).tolist(),
    "random": lambda dice: dice.random(3).tolist(),
    "generator": lambda dice: dice.generator().normal(),
}


@quick
@given(st.data(), st.lists(names, min_size=1, max_size=6, unique=True), st.sampled_from(sorted(DRAWS)))
def test_the_same_draws_whatever_the_order_of_purposes(data, purposes, kind):
    draw = DRAWS[kind]
    parent = Dice.of_seed(1)
    first = {name: draw(parent.child(*name)) for name in purposes}
    mixed = data.draw(st.permutations(purposes))
    parent = Dice.of_seed(1)
    assert {name: draw(parent.child(*name)) for name in mixed} == first
    parent.permutation(3)  # even after the parent was rolled itself
    assert {name: draw(parent.child(*name)) for name in mixed} == first


@quick
@given(st.lists(names, min_size=2, max_size=6, unique_by=lambda name: tuple((type(part), part) for part in name)))
def test_every_name_is_a_stream_of_its_own(purposes):
    dice = Dice.of_seed(1)
    drawn = [dice.child(*name).below(2**60) for name in purposes]
    drawn += [dice.child("parent").child(*name).below(2**60) for name in purposes]
    assert len(set(drawn)) == len(drawn)


def test_names_are_not_run_together():
    dice = Dice.of_seed(1)
    alike = [("a", "b"), ("ab",), ("a", 1), ("a1",), ("a", "1"), ("a", 1, 1), ("a", 11), ("1:as1:b",)]
    assert len({dice.child(*name).below(2**60) for name in alike}) == len(alike)


@quick
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=30),
    st.integers(0, 1000),
    st.data(),
)
def test_items_have_dice_of_their_own(labels, first, data):
    labels = np.array(labels, np.int64).reshape(-1, 2)
    numbers = first + data.draw(st.permutations(range(len(labels))).map(lambda n: np.array(n, np.int64)))
    flags = st.lists(st.booleans(), min_size=len(labels), max_size=len(labels))
    mine = np.array(data.draw(flags), bool)
    order = Dice.of_seed(2).order_by(labels[:, 1], labels[:, 0], numbers=numbers)
    assert sorted(order.tolist()) == list(range(len(labels)))
    assert labels[order].tolist() == sorted(labels.tolist())
    part = Dice.of_seed(2).order_by(labels[mine, 1], labels[mine, 0], numbers=numbers[mine])
    assert numbers[mine][part].tolist() == numbers[order][mine[order]].tolist(), "a shard has the order of the whole"
    for draw in (Dice.coins, Dice.random):
        whole = draw(Dice.of_seed(3), first + len(labels))[numbers]
        assert draw(Dice.of_seed(3), numbers[mine]).tolist() == whole[mine].tolist()


def test_orders_and_coins_are_fair():
    parent = Dice.of_seed(4)
    found = Counter(tuple(parent.child("order", n).order_by(np.zeros(4, int)).tolist()) for n in range(24_000))
    assert len(found) == 24
    assert all(800 < count < 1200 for count in found.values())  # 1,000 on average, with a deviation of 31
    assert abs(parent.child("coins").coins(40_000).mean() - 0.5) < 0.015
    drawn = parent.child("random").random(40_000)
    assert 0 <= drawn.min() < drawn.max() < 1
    assert abs(np.histogram(drawn, 4, (0, 1))[0] - 10_000).max() < 500


def test_dice_are_rolled_once():
    dice = Dice.of_seed(1)
    dice.below(6)
    for draw in DRAWS.values():
        with pytest.raises(RuntimeError, match="ask for a child by what this draw is for"):
            draw(dice)
    with pytest.raises(ValueError, match="32 bytes, not 3"):
        Dice(b"abc")


def test_enumerated_dice_draw_the_same_things():
    labels = np.array([1, 0, 1, 1, 0])
    found = outcomes(lambda dice: tuple(dice.child("ties").order_by(labels, numbers=np.arange(5)).tolist()))
    assert len(found) == 12
    assert set(found.values()) == {Fraction(1, 12)}
    assert {Dice.of_seed(n).order_by(labels).tobytes() for n in range(200)} == {np.array(o).tobytes() for o in found}
    assert outcomes(lambda dice: dice.order_by(np.zeros(0, int), np.zeros(0, int)).size) == {0: 1}
    assert len(outcomes(lambda dice: tuple(dice.child("a", 1).coins(np.array([5, 9])).tolist()))) == 4
    for refused in ("random", "generator"):
        with pytest.raises(AttributeError, match="order_by, below or coins"):
            outcomes(lambda dice, name=refused: getattr(dice.child("x"), name)(3))


VALUES = [f"d{n}" for n in range(30)]
SERIES = {
    "static": (rv.Static(k=3), rv.Mondrian(cut="relaxed")),
    "static r+": (rv.Static(k=3), rv.RPlusTree()),
    "auto": (rv.Static(k="auto"), rv.StackDeal()),
    "m-invariance": (rv.MInvariance(m=2), None),
    "tau": (rv.TauSafety(m=3), None),
    "tau blind": (rv.TauSafety(m=3, blind=True, domain=tuple(VALUES)), None),
    "refinement": (rv.Refinement(k=3, counterfeits=True), rv.Mondrian(cut="relaxed")),
    "close": (rv.Refinement(k=4, t=0.4), None),
    "worlds": (rv.PossibleWorlds(3), None),
    "global": (rv.GlobalGuarantee(2, rv.ConstantRatio(releases=3)), None),
}


@pytest.mark.parametrize("name", SERIES)
def test_no_release_rolls_a_stream_twice(tmp_path, monkeypatch, name):
    rolled, roll = [], Dice._roll

    def recorded(dice):
        rolled.append(dice._seed)
        return roll(dice)

    monkeypatch.setattr(Dice, "_roll", recorded)
    guarantee, method = SERIES[name]
    own = series(tmp_path, guarantee, SCHEMA, method=method, seed=1)
    frame = snapshot(0, 200).with_columns(disease=pl.Series([VALUES[n % 30] for n in range(200)]))
    frames = [frame] if name == "worlds" else [frame[:160], frame[30:].with_columns(pl.col("disease").reverse())]
    for month in frames:
        own.publish(month)
    assert rolled
    assert len(set(rolled)) == len(rolled)
