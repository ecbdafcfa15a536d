"""Who rests so that groups exist, what is said one release ahead, and what a refusal names."""

import re

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import InfeasibleError
from reveil.guarantees.lifetime.global_guarantee import GlobalGuarantee
from reveil.guarantees.lifetime.strategies import ConstantRatio, EvenSpread, Geometric
from tests.guarantees.lifetime.plain_book import PlainSeries

SCHEMA = rv.Schema(person="pid", quasi=["age", "place"], sensitive="disease")


def tables(releases, size=400, values=20, keeps=0.6, leaves=0.15, swap=None):
    """Yield tables of which some people leave and some have another value; ``swap`` renames the values of the last."""
    rng = np.random.default_rng(0)
    who, value, met = np.arange(size), rng.integers(0, values, size), size
    for release in range(releases):
        if release:
            stay = rng.random(size) >= leaves
            come = np.arange(met, met + size - stay.sum())
            met += len(come)
            who = np.concatenate([who[stay], come])
            value = np.concatenate([value[stay], rng.integers(0, values, len(come))])
            value = np.where(rng.random(size) < keeps, value, rng.integers(0, values, size))
        told = value if swap is None or release < releases - 1 else (value + swap) % values
        yield pl.DataFrame(
            {"pid": who, "age": who * 37 % 80, "place": who * 53 % 97, "disease": [f"d{one:02}" for one in told]}
        )


def published(guarantee, frames):
    series = PlainSeries(guarantee, SCHEMA)
    return [series.publish(frame) for frame in frames]


def refused(largest, frames):
    with pytest.raises(InfeasibleError) as caught:
        published(GlobalGuarantee(2, Geometric(alpha=3), largest=largest), frames)
    return caught.value


def test_those_with_the_smallest_budgets_rest_until_groups_exist():
    made = published(GlobalGuarantee(2, Geometric(alpha=3)), tables(6))
    withheld = [one.release.manifest.withheld for one in made]
    assert withheld[:3] == [0, 0, 0]
    assert 0 < withheld[-1] < 300


def test_a_refusal_names_a_number_that_works():
    error = refused(40, tables(6))
    assert "no groups were found" in error.message or "now need" in error.message
    number = float(re.search(r"largest = ([0-9.]+) works", error.hint)[1])
    assert 6 <= number < 40
    frames = list(tables(6))
    series = PlainSeries(GlobalGuarantee(2, Geometric(alpha=3), largest=40), SCHEMA)
    for frame in frames:
        try:
            series.publish(frame)
        except InfeasibleError:
            series.guarantee = GlobalGuarantee(2, Geometric(alpha=3), largest=number)
            series.publish(frame)
            break
    else:
        pytest.fail("nothing was refused")


def test_where_no_number_works_nothing_is_promised():
    error = refused(None, tables(9, leaves=0.0))
    assert "No largest works" in error.hint or "all the persons of this snapshot rest" in error.message


@pytest.mark.parametrize("strategy", [EvenSpread(releases=2), ConstantRatio(releases=2)])
def test_who_rests_follows_from_what_was_told(strategy):
    """Whatever values people have today, the same of them rest."""
    one, other = (
        published(GlobalGuarantee(2, strategy), tables(4, values=40, keeps=0.1, swap=swap))[-1] for swap in (None, 7)
    )
    resting = [sorted(set(range(400)) - set(made.placement.tolist())) for made in (one, other)]
    assert resting[0] == resting[1] != []


def test_it_is_said_one_release_ahead():
    frames = list(tables(4, values=60, keeps=1.0, leaves=0.0))
    made = published(GlobalGuarantee(2, ConstantRatio(releases=3)), frames[:3])
    ahead = [one.draft.remembered for one in made]
    assert [bool(one.notes) for one in ahead] == [False, False, True]
    assert ahead[2].facts["rest_next"] == 400
    assert "from the next release on 400 of the 400 people published now rest (100%)" in ahead[2].notes[0]
    with pytest.raises(InfeasibleError, match="all the persons"):
        published(GlobalGuarantee(2, ConstantRatio(releases=3)), frames)


def test_it_is_said_when_a_series_is_published_and_stays_in_its_history(tmp_path):
    series = rv.Series.open(tmp_path / "vault", SCHEMA, rv.GlobalGuarantee(2, rv.ConstantRatio(releases=2)), seed=1)
    notes = [series.publish_to(None, frame).note for frame in tables(2, values=60, keeps=0.99, leaves=0.0)]
    assert "of the 400 people published now rest" in notes[1]
    first, second = (row["rest_next"] for row in series.history())
    assert (first, second > 300) == (0, True)


def test_what_is_spread_publishes_whom_the_constant_ratio_lets_rest():
    frames = list(tables(5, values=100, keeps=0.95, leaves=0.08))
    last = [
        published(GlobalGuarantee(2, strategy), frames)[-1].release.manifest.withheld
        for strategy in (ConstantRatio(releases=4), EvenSpread(releases=4))
    ]
    assert last[1] < last[0] / 2


def test_for_how_long_a_budget_lasts():
    assert GlobalGuarantee(2, ConstantRatio(releases=4)).lasts() == 4
    assert GlobalGuarantee(2, EvenSpread(releases=4)).lasts() == 4
    assert GlobalGuarantee(2, Geometric(alpha=3)).lasts() == 8
    assert GlobalGuarantee(2, Geometric(alpha=3), largest=6).lasts() == 1
