"""Releases out of worlds: example 4.2 to the letter, exact within runs, consistent with every world."""

from collections import Counter
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.randomness import Dice
from reveil.guarantees.worlds.drawing import draw_worlds, sources_of
from reveil.guarantees.worlds.matching import better, matched
from reveil.guarantees.worlds.projection import projected
from tests.guarantees.worlds.small import boxes, codes_of, only

quick = settings(deadline=None, max_examples=40)

PEOPLE = pl.DataFrame(
    [("r", "x", "1"), ("r", "y", "2"), ("s", "y", "3"), ("s", "x", "2"), ("t", "z", "3")],
    schema=["one", "two", "value"],
    orient="row",
)
SHIFT = np.array([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]], np.int32)  # tokens: the table, and everybody has the next one's


def generalised(rows):
    return sum(len(cell) > 1 for row in rows for cell in row)


@pytest.mark.parametrize("seed", range(4))
def test_example_4_2(seed):
    codes = codes_of(PEOPLE, ["one", "two"])
    values = codes.sensitive[0].codes
    kinds = values[sources_of(SHIFT, 0)]
    rng = Dice.of_seed(seed)  # either world may come first
    expected = {
        "one": Counter([("rt", "1"), ("r", "2"), ("s", "3"), ("s", "2"), ("rt", "3")]),
        "two": Counter([("xz", "1"), ("y", "2"), ("y", "3"), ("x", "2"), ("xz", "3")]),
    }
    total = 0
    for name, rows in expected.items():
        own = only(codes, name)
        found = matched(own, kinds, 100, rng.child(name))
        cells = boxes(own, found)
        told = [PEOPLE["value"][int(i)] for i in found[0]]  # in the table, what the covered person has
        assert Counter((cell, value) for (cell,), value in zip(cells, told, strict=True)) == rows
        total += generalised(cells)
        for world in (0, 1):
            assert sorted(found[world].tolist()) == list(range(5))
            assert (kinds[world][found[world]] == kinds[0][found[0]]).all(), "both worlds are consistent"
    assert total == 4
    assert generalised(boxes(codes, projected(SHIFT))) == 7
    homogeneous = np.array([[0, 0, 0, 3, 3], [1, 1, 1, 4, 4], [2, 2, 2, 4, 4]])
    assert generalised(boxes(codes, homogeneous)) == 10


def test_table_13_right():
    codes = codes_of(PEOPLE, ["one", "two"])
    rows = Counter((*cells, PEOPLE["value"][t]) for t, cells in enumerate(boxes(codes, projected(SHIFT))))
    assert rows == Counter([("r", "xy", "2"), ("rs", "y", "3"), ("s", "xy", "2"), ("st", "xz", "3"), ("rt", "xz", "1")])


TREE = {"north": ["a", "b"], "south": {"east": ["c", "d"], "west": ["e"]}}


@st.composite
def tables(draw):
    n = draw(st.integers(4, 30))
    frame = pl.DataFrame(
        {
            "number": draw(st.lists(st.none() | st.integers(0, 5), min_size=n, max_size=n)),
            "text": draw(st.lists(st.none() | st.sampled_from("pqrs"), min_size=n, max_size=n)),
            "place": draw(st.lists(st.sampled_from("abcde"), min_size=n, max_size=n)),
            "value": draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)),
        },
        schema={"number": pl.Int64, "text": pl.String, "place": pl.String, "value": pl.Int64},
    )
    return frame.filter(frame["number"].is_not_null().any() & pl.lit(True))


@quick
@given(tables(), st.integers(1, 8), st.integers(0, 99))
def test_rows_cover_somebody_with_their_values_in_every_world(frame, p, seed):
    rng = np.random.default_rng(seed)
    codes = codes_of(frame, ["number", "text", "place"], hierarchies={"place": TREE})
    kinds = np.stack([rng.permutation(codes.sensitive[0].codes) for _ in range(3)])
    found = matched(codes, kinds, p, Dice.of_seed(seed))
    assert (np.sort(found, axis=1) == np.arange(codes.n)).all()
    told = np.take_along_axis(kinds, found, axis=1)
    assert (told == told[0]).all()
    assert np.array_equal(found, matched(codes, kinds, p, Dice.of_seed(seed)))


@quick
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=6), st.integers(0, 99))
def test_matchings_lose_least_within_a_run(points, seed):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(points, schema=["x", "y"], orient="row").with_columns(value=0)
    codes = codes_of(frame, ["x", "y"])
    kinds = np.stack([rng.permutation(len(points)) % 2 for _ in range(2)]).astype(np.int32)
    found = matched(codes, kinds, 100, Dice.of_seed(seed))
    places = np.stack([a.positions[a.codes] for a in codes.quasi], axis=1)

    def loss(one, other):
        return float(np.abs(places[list(one)] - places[list(other)]).sum())

    everybody = range(len(points))
    fitting = (order for order in permutations(everybody) if (kinds[1][list(order)] == kinds[0]).all())
    least = min(loss(everybody, order) for order in fitting)
    assert loss(found[0], found[1]) == pytest.approx(least)


def test_nothing_is_lost_where_worlds_do_not_differ():
    codes = codes_of(PEOPLE, ["one", "two"])
    found = matched(codes, np.zeros((2, 5), np.int32), 100, Dice.of_seed(0))
    assert generalised(boxes(codes, found)) == 0
    none = matched(only(codes), codes.sensitive[0].codes[sources_of(SHIFT, 0)], 100, Dice.of_seed(0))
    assert (np.sort(none, axis=1) == np.arange(5)).all()


def test_matching_beats_projection():
    rng = np.random.default_rng(5)
    n = 600
    frame = pl.DataFrame({f"q{i}": rng.integers(0, 40, n) for i in range(4)}).with_columns(
        value=pl.Series(rng.integers(0, 12, n))
    )
    codes = codes_of(frame, ["q0", "q1", "q2", "q3"])
    values = codes.sensitive[0].codes
    worlds = draw_worlds(codes, values, 4, Dice.of_seed(5), blind=False, greedy=False)

    def loss(own, rows):
        return sum(np.ptp(a.positions[a.codes[rows]], axis=0).mean() for a in own.quasi)

    for names in (["q0"], ["q1", "q2"], ["q0", "q1", "q2", "q3"]):
        own = only(codes, *names)
        kinds = values[worlds.sources]
        found, other = matched(own, kinds, 50, Dice.of_seed(6)), projected(worlds.tokens)
        # Buckets are narrow in all columns together: where all are published there is little to gain.
        assert loss(own, found) < loss(own, other) or len(names) == 4
        best = better(own, kinds, other, found)
        assert loss(own, best) <= min(loss(own, found), loss(own, other))
        assert (np.sort(best, axis=1) == np.arange(n)).all()
        told = np.take_along_axis(kinds, best, axis=1)
        assert (told == told[0]).all()
