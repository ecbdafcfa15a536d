"""The closed form of the chance ever to have had a value, against the enumerator of possible worlds."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.guarantees.lifetime.forecast import forecast
from reveil.guarantees.lifetime.strategies import ConstantRatio, Geometric
from reveil.guarantees.lifetime.survival import Pairs, linked, updated
from reveil.testing.beliefs import Group
from reveil.testing.worlds import enumerate_worlds

FLU, FEVER, CHLAMYDIA = 0, 1, 2


def told(*releases):
    """Return the belief in every pair after releases of (groups, values) by person."""
    pairs = Pairs.nothing()
    book: dict[tuple[int, int], tuple[float, int]] = {}
    for groups, values in releases:
        now = updated(pairs, linked(np.array(groups, np.int32), np.array(values, np.int32)))
        rows = zip(now.record.tolist(), now.value.tolist(), now.survival, now.links.tolist(), strict=True)
        book |= {(o, s): (survival, links) for o, s, survival, links in rows}
        keys = sorted(book)
        pairs = Pairs(
            np.array([o for o, _ in keys], np.int32),
            np.array([s for _, s in keys], np.int32),
            np.array([book[key][0] for key in keys]),
            np.array([book[key][1] for key in keys], np.int64),
        )
    return {pair: 1 - survival for pair, (survival, _) in book.items()}


def test_figure_2_groups_of_two():
    first, second = ([0, 0, 1, 1], [FLU, CHLAMYDIA, FLU, FEVER]), ([0, 0, 1, -1], [CHLAMYDIA, FLU, FEVER, FLU])
    assert told(first, second)[1, CHLAMYDIA] == pytest.approx(3 / 4)


def test_figure_4_groups_of_four():
    first, second = ([0] * 4, [FLU, CHLAMYDIA, FLU, FEVER]), ([0] * 4, [CHLAMYDIA, FLU, FEVER, FLU])
    assert told(first, second)[1, CHLAMYDIA] == pytest.approx(7 / 16)


def test_a_group_of_four_with_counts_2_1_1_has_12_worlds():
    assert enumerate_worlds([[Group((1, 2, 3, 4), ("a", "a", "b", "c"))]]).worlds == 12


def test_changing_values_7_16_and_certain_for_who_knows_that_it_did_not_change():
    first, second = Group((1, 2, 3, 4), tuple("HFCG")), Group((1, 2, 3, 4), tuple("HXYZ"))
    assert enumerate_worlds([[first], [second]]).ever(1, "H") == Fraction(7, 16)
    assert enumerate_worlds([[first], [second]], {1: {1: False}}).ever(1, "H") == 1


def test_a_group_without_the_value_changes_nothing():
    assert told(([0] * 4, [0, 1, 2, 3]), ([0] * 4, [4, 5, 6, 7]))[0, 0] == pytest.approx(1 / 4)


def test_absent_persons_dilute():
    now = linked(np.array([0, 0], np.int32), np.array([0, 1], np.int32), np.array([3]))
    assert now.survival.tolist() == [0.8] * 4


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_closed_form_is_the_share_of_worlds(data):
    persons, releases = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 3))
    series = []
    for _ in range(releases):
        groups = data.draw(st.lists(st.integers(-1, 1), min_size=persons, max_size=persons))
        values = data.draw(st.lists(st.integers(0, 3), min_size=persons, max_size=persons))
        series.append((groups, values))
    beliefs = told(*series)
    worlds = []
    for groups, values in series:
        members = [[i for i in range(persons) if groups[i] == g] for g in (0, 1)]
        worlds.append([Group(tuple(own), tuple(values[i] for i in own)) for own in members if own])
    if not any(worlds):
        return
    exact = enumerate_worlds(worlds)
    for (person, value), belief in beliefs.items():
        assert belief == pytest.approx(float(exact.ever(person, value)), abs=1e-12)


def test_the_forecast_says_who_has_how_much_left_and_for_how_long():
    ledger = pl.DataFrame(
        {
            "person": [0, 0, 1, 2],
            "value": [0, 1, 0, 2],
            "survival": [0.8**3, 0.8, 0.8, 0.8],
            "links": [3, 1, 1, 1],
        }
    )
    texts = pl.Series(["flu", "gout", "HIV"])
    rows = forecast(ledger, texts, ConstantRatio(releases=3), Fraction(2), 3, permanent=("HIV",))
    by_value = {row["value"]: row for row in rows}
    assert by_value["flu"]["persons"] == 2
    assert by_value["flu"]["used_up"] == 1
    assert by_value["flu"]["least_left"] == pytest.approx(0.024)
    assert by_value["flu"]["quarters"] == [0, 0, 1, 0]
    assert by_value["flu"]["links_left"] == 2
    assert by_value["flu"]["releases_left"] == 6  # one link in three releases so far
    assert by_value["HIV"]["releases_left"] is None
    assert forecast(ledger.clear(), texts, ConstantRatio(releases=3), Fraction(2), 0) == []
    (row, *_) = forecast(ledger[3:], texts, Geometric(alpha=3), Fraction(2), 1, largest=60)
    assert row["links_left"] == row["releases_left"] == 7
