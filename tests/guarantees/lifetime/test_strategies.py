"""How much a release may spend: the numbers of the source, monotone behaviour, rounding."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveil.core.errors import ConfigError
from reveil.guarantees.lifetime.strategies import ConstantRatio, Geometric

TWO = Fraction(2)
BOTH = [ConstantRatio(releases=3), Geometric(alpha=3)]


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


@pytest.mark.parametrize("strategy", BOTH)
def test_used_up(strategy):
    survival, links = np.array([1.0, 0.8, 0.51]), np.array([0, 1, 3])
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
