"""Groups: everybody is in one, all are allowed, and nothing is refused that can be done."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.errors import InfeasibleError
from reveil.guarantees.lifetime.grouping import Crowd, Rule, form_groups
from reveil.guarantees.lifetime.strategies import ConstantRatio, Geometric

RULES = [
    Rule(ConstantRatio(releases=1), Fraction(2)),
    Rule(ConstantRatio(releases=3), Fraction(2)),
    Rule(ConstantRatio(releases=2), Fraction(5, 2)),
    Rule(Geometric(alpha=3), Fraction(2)),
]


def crowd(values, rng, **more):
    size = len(values)
    return Crowd(np.array(values, np.int32), rng.random((size, 2)), rng.permutation(size), **more)


def check(own, labels, rule):
    """Check that every group is allowed; return the sizes."""
    sizes = np.bincount(labels[labels >= 0])
    most = rule.most(len(labels))
    need = {(int(i), int(v)): n for i, v, n in zip(own.pair_item, own.pair_value, own.pair_need, strict=True)}
    for g, size in enumerate(sizes):
        members = np.flatnonzero(labels == g)
        assert size >= rule.least
        values, counts = np.unique(own.values[members][own.values[members] >= 0], return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            assert count <= most[size]
            assert all(count * need.get((i, value), 0) <= size for i in members.tolist())
    return sizes


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1, 7), min_size=1, max_size=60), st.sampled_from(RULES), st.integers(0, 9))
def test_refused_only_if_nothing_can_be_done(values, rule, seed):
    own = crowd(values, np.random.default_rng(seed))
    most = max((values.count(v) for v in set(values) - {-1}), default=0)
    possible = len(values) >= rule.least and most <= rule.most(len(values))[-1]
    if possible:
        labels = form_groups(own, rule)
        assert (labels >= 0).all()
        check(own, labels, rule)
    else:
        with pytest.raises(InfeasibleError):
            form_groups(own, rule)


def test_splitting_a_bad_group_may_mend_both_parts():
    """Corollary 3 of source 004 says that it cannot. One person's budget refuses a group that the others may have."""
    values = [0, 1, 2, 3, 4, 5, 6, 7]
    spent = {"pair_item": np.array([7], np.int32), "pair_value": np.array([0], np.int32), "pair_need": np.array([9.0])}
    own, rule = crowd(values, np.random.default_rng(0), **spent), Rule(ConstantRatio(releases=2), Fraction(2))
    with pytest.raises(AssertionError):
        check(own, np.zeros(8, np.int64), rule)  # eight people are too few for person 7 to be linked with the value 0
    assert check(own, np.array([0, 0, 0, 0, 1, 1, 1, 1]), rule).tolist() == [4, 4]
    assert check(own, form_groups(own, rule), rule).min() >= rule.least


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_pairs_that_need_more(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(20, 120))
    values = rng.integers(-1, 12, size)
    pairs = np.unique(np.stack([rng.integers(0, size, size), rng.integers(0, 12, size)], axis=1), axis=0)
    needs = rng.choice([0.0, 7.5, 13.1, 30.0], len(pairs))
    # An own value that nobody could have a group for is not to be grouped.
    needs[rng.random(len(pairs)) < 0.1] = np.inf
    needs[np.isinf(needs) & (values[pairs[:, 0]] == pairs[:, 1])] = 9.0
    own = crowd(
        values,
        rng,
        pair_item=pairs[:, 0].astype(np.int32),
        pair_value=pairs[:, 1].astype(np.int32),
        pair_need=needs,
    )
    rule = Rule(Geometric(alpha=3), Fraction(2))
    try:
        labels = form_groups(own, rule)
    except InfeasibleError:
        return
    assert (labels >= 0).all()
    check(own, labels, rule)


def test_groups_are_as_small_as_they_can_be():
    rng = np.random.default_rng(0)
    for rule in RULES:
        own = crowd(rng.integers(0, 60, 3000), rng)
        assert check(own, form_groups(own, rule), rule).mean() < rule.least + 0.1


def test_a_share_between_one_fifth_and_the_limit_takes_larger_groups():
    rule = Rule(ConstantRatio(releases=3), Fraction(2))
    own = crowd([*[0] * 70, *range(1, 271)], np.random.default_rng(0))  # 20.59 % where 20.63 % are allowed
    sizes = check(own, form_groups(own, rule), rule)
    assert sizes.sum() == 340
    assert len(sizes) > 5


def test_values_that_lie_together():
    rule = Rule(ConstantRatio(releases=3), Fraction(2))
    values = np.repeat(np.arange(6), 500)  # along the curve one value after the other
    rng = np.random.default_rng(0)
    own = Crowd(values.astype(np.int32), rng.random((3000, 2)), np.arange(3000))
    assert check(own, form_groups(own, rule), rule).mean() < 6.1
