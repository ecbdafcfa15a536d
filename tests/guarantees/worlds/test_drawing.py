"""Value orders, permutations, placings and buckets: what must hold of every set of worlds."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.errors import InfeasibleError
from reveil.core.randomness import Dice
from reveil.guarantees.worlds.arrangement import arranged
from reveil.guarantees.worlds.buckets import LARGEST, blind_buckets, blind_size, is_diverse, largest_l
from reveil.guarantees.worlds.drawing import draw_worlds
from reveil.guarantees.worlds.permutations import conditions_hold, drawn
from reveil.guarantees.worlds.placing import placed_at_random
from reveil.testing import outcomes
from tests.guarantees.worlds.small import codes_of

quick = settings(deadline=None, max_examples=60)


@st.composite
def diverse(draw):
    """l and buckets of values in which no value has more than one in l records."""
    l = draw(st.integers(2, 5))
    bucket, values = [], []
    for b in range(draw(st.integers(1, 4))):
        own = draw(st.lists(st.integers(0, 7), min_size=l, max_size=30))
        while max(Counter(own).values()) * l > len(own):
            # One more of the rarest value, until none is too frequent.
            own.append(min(range(8), key=lambda v: (own.count(v), v)))
        bucket += [b] * len(own)
        values += own
    mixed = draw(st.permutations(range(len(bucket))))
    return l, np.array(bucket)[list(mixed)], np.array(values, np.int32)[list(mixed)]


@quick
@given(diverse())
def test_consecutive_values_differ(given_):
    l, bucket, values = given_
    places = arranged(bucket, values, l)
    for b, (start, end) in enumerate(zip(places.starts[:-1], places.starts[1:], strict=True)):
        cycle = places.values[start:end].tolist()
        assert Counter(cycle) == Counter(values[bucket == b].tolist())
        for h in range(len(cycle)):
            assert len({cycle[(h + i) % len(cycle)] for i in range(l)}) == l
    again = arranged(bucket[::-1], values[::-1], l)
    assert np.array_equal(again.values, places.values), "it follows from the counts alone"


@quick
@given(st.integers(2, 6), st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(0, 99), st.data())
def test_permutations_keep_both_conditions(l, more, seed, data):
    starts = np.concatenate([[0], np.cumsum([l + extra for extra in more])])
    found = drawn(starts, l, Dice.of_seed(seed))
    assert found.shape == (l, starts[-1])
    assert conditions_hold(found, starts, l)
    others = drawn(starts, l, Dice.of_seed(seed), first=1)
    assert conditions_hold(np.vstack([np.arange(starts[-1])[None], others]), starts, l)
    assert np.array_equal(found, drawn(starts, l, Dice.of_seed(seed)))


def test_permutations_are_more_than_shifts():
    shifts = {tuple(np.roll(np.arange(12), -i).tolist()) for i in range(4)}
    found = [drawn(np.array([0, 12]), 4, Dice.of_seed(seed)) for seed in range(10)]
    assert any(not {tuple(row) for row in own.tolist()} <= shifts for own in found)


def test_table_8():
    table = np.array([[1, 3, 2, 0], [3, 2, 4, 1], [4, 0, 3, 2], [0, 4, 1, 3], [2, 1, 0, 4]]).T
    starts = np.array([0, 5])
    assert conditions_hold(table, starts, 4)
    for i in range(4):
        for h in range(5):
            for other in set(range(5)) - {table[i, h]}:
                wrong = table.copy()
                wrong[i, h] = other  # one entry twice in a permutation
                assert not conditions_hold(wrong, starts, 4)
    twice = table.copy()
    twice[1] = twice[0]
    assert not conditions_hold(twice, starts, 4)
    assert not conditions_hold(np.array([[0, 1, 2, 3, 4], [4, 0, 1, 2, 3]]), starts, 2), "one place back is not ahead"
    assert not conditions_hold(np.array([[1, 0, 2], [0, 1, 2]]), np.array([0, 1, 3]), 2), "another bucket"


def test_every_placing_is_equally_likely():
    bucket, values = np.array([0, 0, 0, 0, 0]), np.array([0, 0, 1, 1, 2], np.int32)
    places = arranged(bucket, values, 2)
    truth = np.array([1, 2, 3, 4, 0])
    found = outcomes(lambda dice: tuple(placed_at_random(bucket, values, places, truth, dice).tolist()))
    assert len(found) == 4, "two ways for each value that two records have"
    assert len(set(found.values())) == 1
    assert all((values[list(at)] == places.values[truth]).all() for at in found)


@quick
@given(diverse(), st.booleans(), st.integers(0, 99), st.integers(0, 1))
def test_everybody_has_different_values(given_, greedy, seed, truth):
    l, _, values = given_
    if largest_l(values) < l:
        return
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"x": rng.integers(0, 9, len(values)), "value": values})
    worlds = draw_worlds(codes_of(frame, ["x"]), values, l, Dice.of_seed(seed), blind=False, greedy=greedy, truth=truth)
    assert worlds.truth == (0 if greedy else truth)
    sources = worlds.sources
    assert np.array_equal(sources[worlds.truth], np.arange(len(values))), "one world is the table"
    assert (np.sort(sources, axis=1) == np.arange(len(values))).all()
    told = np.sort(values[sources], axis=0)
    assert (told[1:] != told[:-1]).all()


@quick
@given(st.integers(2, 4), st.integers(1, 300), st.integers(0, 99))
def test_blind_buckets_follow_quasi_values_and_counts(l, n, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 12, n).astype(np.int32)
    if largest_l(values) < l:
        return
    frame = pl.DataFrame({"x": rng.integers(0, 50, n), "y": rng.integers(0, 3, n), "value": values})
    codes = codes_of(frame, ["x", "y"])
    try:
        one = blind_buckets(codes, values, l)
    except InfeasibleError:
        return
    sizes = np.bincount(one)
    assert sizes.max() - sizes.min() <= 1
    assert is_diverse(one, values, l)
    try:
        other = blind_buckets(codes, rng.permutation(values), l)
    except InfeasibleError:
        return
    assert np.array_equal(one, other)


def test_buckets_of_correlated_values_have_no_neighbours():
    n = 4000
    x = np.arange(n)
    values = (x * 20 // n).astype(np.int32)  # neighbours have the same value
    codes = codes_of(pl.DataFrame({"x": x, "value": values}), ["x"])
    found = blind_buckets(codes, values, 4)
    assert np.bincount(found).max() <= LARGEST * 4
    assert is_diverse(found, values, 4)


def test_hopeless_blind_buckets_are_refused_with_the_l_that_would_do():
    rng = np.random.default_rng(3)
    values = np.where(rng.random(20_000) < 0.32, 0, rng.integers(1, 30, 20_000)).astype(np.int32)
    codes = codes_of(pl.DataFrame({"x": rng.integers(0, 1000, 20_000), "value": values}), ["x"])
    assert largest_l(values) == 3
    with pytest.raises(InfeasibleError, match="up to 150 records") as told:
        blind_buckets(codes, values, 3)
    assert told.value.hint is not None
    assert told.value.hint.startswith("l = 2 would do")


def test_the_size_of_blind_buckets():
    assert blind_size(np.array([1, 1, 1, 1]), 2) == 2, "any two differ"
    assert blind_size(np.array([2, 2, 1]), 2) == 4, "two alike might meet in a bucket of two: there is one bucket"
    assert blind_size(np.full(20, 5000), 5) < blind_size(np.full(10, 10_000), 5) <= 250
    assert blind_size(np.array([1999, *[100] * 80]), 5) == 250, "as large as they get"
