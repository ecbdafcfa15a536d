"""How much a release may spend: the numbers of the source, monotone behaviour, rounding."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveil.core.errors import ConfigError
from reveil.guarantees.lifetime.forecast import most_releases
from reveil.guarantees.lifetime.strategies import ConstantRatio, EvenSpread, Geometric, Strategy

TWO = Fraction(2)
ALL = [ConstantRatio(releases=3), EvenSpread(releases=3), Geometric(alpha=3)]


def needs(strategy, survival, links, l=TWO):
    return strategy.needs(np.array([survival]), np.array([links]), l)[0]


def test_table_1_as_the_formula_gives_it():
    asked = [(2, 2), (2, 5), (2, 20), (5, 20), (10, 20), (2, 10), (5, 10), (10, 10)]
    found = [round(ConstantRatio(releases=k).ratio(Fraction(l)), 2) for l, k in asked]
    assert found == [3.41, 7.73, 29.36, 90.13, 190.32, 14.93, 45.32, 95.41]


def test_after_two_groups_of_four_the_third_needs_nine():
    # With alpha nearly 1 the geometric strategy is the bound of theorem 1 itself.
    assert needs(Geometric(alpha=1.000001), 9 / 16, 2) == pytest.approx(9, rel=1e-5)
    assert needs(Geometric(alpha=2), 9 / 16, 2) == pytest.approx(18)


def test_a_group_at_exactly_the_minimum_ratio_leaves_no_second():
    once = ConstantRatio(releases=1)
    assert once.least(TWO) == 2
    assert once.most(np.array([2, 3, 4]), TWO).tolist() == [1, 1, 2]
    assert needs(once, 1 - 1 / 2, 1) == np.inf
    assert Geometric(alpha=2).needs(np.array([0.5]), np.array([1]), TWO).tolist() == [np.inf]


@pytest.mark.parametrize("releases", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("l", ["2", "3", "4/3", "2.5", "10"])
def test_the_limit_of_a_group_is_exact_and_the_bound_holds_after_all_links(releases, l):
    strategy, exact = ConstantRatio(releases=releases), Fraction(l)
    sizes = np.arange(1, 600)
    counts = strategy.most(sizes, exact)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        assert strategy.fits(count, size, exact)
        assert not strategy.fits(count + 1, size, exact)
        survival = 1.0
        for _ in range(releases):
            survival *= 1 - count / size
        assert 1 - survival <= float(1 / exact) + 1e-12
    least = strategy.least(exact)
    assert counts[least - 1] == 1
    assert least == 1 or counts[least - 2] == 0


def test_roots_that_are_rational_are_met_exactly():
    # (1 - 1/l)^(1/2) = 1/2 for l = 4/3: every second row may have the value.
    assert ConstantRatio(releases=2).most(np.array([2, 4, 5, 4096]), Fraction(4, 3)).tolist() == [1, 2, 2, 2048]


@given(st.floats(1.01, 50), st.integers(1, 40), st.integers(2, 12))
def test_more_protection_needs_larger_groups(alpha, releases, l):
    exact = Fraction(l)
    assert ConstantRatio(releases=releases + 1).ratio(exact) > ConstantRatio(releases=releases).ratio(exact)
    assert Geometric(alpha=alpha * 1.1).ratio(exact) > Geometric(alpha=alpha).ratio(exact)
    for strategy in (ConstantRatio(releases=releases), Geometric(alpha=alpha)):
        assert strategy.ratio(exact + 1) > strategy.ratio(exact)
        assert strategy.least(exact + 1) >= strategy.least(exact)


@given(st.floats(1.001, 20), st.integers(2, 9), st.lists(st.integers(0, 30), max_size=12))
def test_the_geometric_strategy_never_reaches_the_bound(alpha, l, more):
    strategy, exact = Geometric(alpha=alpha), Fraction(l)
    survival, ratios = 1.0, []
    for links, extra in enumerate(more):
        ratio = max(needs(strategy, survival, links, exact), strategy.ratio(exact))
        if not np.isfinite(ratio):
            break
        ratios.append(ratio)
        survival *= 1 - 1 / (ratio + extra)
        assert 1 - survival <= 1 / l + 1e-12
    assert ratios == sorted(ratios)


@given(st.integers(1, 12), st.integers(2, 9), st.lists(st.integers(0, 30), max_size=20))
def test_what_is_spread_never_goes_beyond_the_bound(releases, l, more):
    strategy, exact, survival = EvenSpread(releases=releases), Fraction(l), 1.0
    constant = ConstantRatio(releases=releases).ratio(exact)
    for links, extra in enumerate(more):
        ratio = max(needs(strategy, survival, links, exact), constant)
        if not np.isfinite(ratio):
            break
        if links < releases:  # what was not spent makes nobody need more than the constant ratio asks for
            assert ratio == pytest.approx(constant, rel=1e-6)
        survival *= 1 - 1 / (ratio + extra)
        assert 1 - survival <= 1 / l + 1e-12


def test_what_groups_did_not_spend_lasts_for_more_links_than_were_meant():
    # Four groups of 7 leave (6/7)^4 of 1/2: a fifth link needs a group of 14, a sixth none that anybody would accept.
    left = (6 / 7) ** 4
    assert needs(ConstantRatio(releases=4), left, 4) == np.inf
    assert needs(EvenSpread(releases=4), left, 4) == pytest.approx(1 / (1 - 0.5 / left))
    assert int(np.ceil(needs(EvenSpread(releases=4), left, 4))) == 14
    assert needs(EvenSpread(releases=4), left * 13 / 14, 5) > 60
    # An adopted release that spent more than its part makes the next groups larger, and nobody rests for it.
    assert 8 < needs(EvenSpread(releases=3), 0.6, 1) < 12


@pytest.mark.parametrize("l", [2, 3, 10])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.139, 0.3])
def test_no_strategy_lasts_longer_than_the_most_frequent_value_allows(l, share):
    many = most_releases(Fraction(l), share)
    if many:
        assert ConstantRatio(releases=many).share(Fraction(l)) >= share * (1 - 1e-9)
    assert ConstantRatio(releases=many + 1).share(Fraction(l)) < share
    assert (most_releases(Fraction(l), 0.0), most_releases(Fraction(l), 1.0)) == (None, 0)


@pytest.mark.parametrize("strategy", ALL)
def test_used_up(strategy):
    survival, links = np.array([1.0, 0.8, 0.505]), np.array([0, 1, 3])
    assert strategy.used_up(survival, links, TWO, 60).tolist() == [False, False, True]
    further = strategy.further(survival, links, TWO, 60)
    assert further[0] > further[1] > further[2] == 0


def test_a_pair_that_an_adopted_release_has_spent_is_used_up():
    assert needs(ConstantRatio(releases=3), 0.6, 1) == np.inf


def test_parameters():
    with pytest.raises(ConfigError, match="releases"):
        ConstantRatio(releases=0)
    with pytest.raises(ConfigError, match="alpha must be above 1"):
        Geometric(alpha=1)
    with pytest.raises(ConfigError, match="alpha"):
        Geometric(alpha="3")


@pytest.mark.parametrize("strategy", ALL, ids=repr)
def test_nothing_is_left_of_a_budget_that_is_spent_whatever_a_strategy_needs(strategy, monkeypatch):
    monkeypatch.setattr(type(strategy), "needs", lambda self, survival, links, l: np.zeros(len(survival)))
    found = Strategy.further(strategy, np.array([1.0, 0.4]), np.array([0, 9]), TWO, 60)
    assert 0 < found[0] < 60
    assert found[1] == 0
