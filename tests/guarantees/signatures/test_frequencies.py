"""Which values go together, and how many counterfeits that takes."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.guarantees.signatures.frequencies import fewest_counterfeits, is_eligible, padding, parts, quota, steps

quick = settings(deadline=None)
frequencies = st.lists(st.integers(0, 12), min_size=1, max_size=9)


def test_the_assignment_of_thesis_000_table_by_table():
    found = steps(np.array([5, 3, 2, 2]), 2)
    assert [(step.amount, len(step.values)) for step in found] == [(3, 2), (1, 2), (1, 2), (1, 2)]


@quick
@given(frequencies, st.integers(2, 5))
def test_steps_use_every_record_once_with_m_to_2m_values(counts, m):
    counts = np.array(counts)
    if not is_eligible(counts, m):
        with pytest.raises(ValueError, match="eligible"):
            steps(counts, m)
        return
    left = counts.copy()
    for step in steps(counts, m):
        assert m <= len(step.values) < 2 * m
        left[step.values] -= step.amount
    assert not left.any()


@quick
@given(frequencies, st.integers(2, 5))
def test_padding_makes_eligible_with_the_fewest(counts, m):
    counts = np.array([*counts, *[0] * m])
    added = padding(counts, np.arange(len(counts), dtype=np.int32), m)
    assert is_eligible(counts + added, m)
    assert added.sum() == max(0, m * counts.max() - counts.sum())
    assert (counts + added).max() <= max(counts.max(), 1)


def test_padding_the_source_says_m_minus_1_is_enough_and_is_wrong():
    assert padding(np.array([4, 0, 0]), np.arange(3, dtype=np.int32), 3).sum() == 8


@quick
@given(st.lists(st.integers(1, 9), min_size=1, max_size=11), st.integers(2, 3))
def test_parts_are_the_cheapest_runs(counts, m):
    ordered = sorted(counts, reverse=True)
    lengths = parts(np.array(ordered), m)
    assert sum(lengths) == len(ordered)

    def cost(runs):
        starts = np.cumsum([0, *runs[:-1]])
        return sum(length * ordered[start] for start, length in zip(starts, runs, strict=True))

    if len(ordered) < 2 * m:
        assert lengths == [len(ordered)]
        return
    assert all(m <= length < 2 * m for length in lengths)
    every = [
        runs
        for many in range(1, len(ordered) // m + 1)
        for runs in product(range(m, 2 * m), repeat=many)
        if sum(runs) == len(ordered)
    ]
    assert cost(lengths) == min(cost(runs) for runs in every)


@quick
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=7), st.integers(2, 4))
def test_filling_up_reaches_the_lower_bound_and_leaves_new_records_eligible_if_they_can_be(pairs, m):
    deficit, supply = (np.array(own) for own in zip(*pairs, strict=True))
    used = quota(deficit, supply, m)
    assert (used >= 0).all()
    assert (used <= np.minimum(deficit, supply)).all()
    rest = supply - used
    counterfeits = int((deficit - used).sum()) + max(0, m * int(rest.max()) - int(rest.sum()))
    assert counterfeits == fewest_counterfeits(deficit, supply, m)
    every = product(*(range(min(d, s) + 1) for d, s in pairs))
    costs = [
        int((deficit - np.array(u)).sum()) + max(0, m * int((supply - u).max()) - int((supply - u).sum()))
        for u in every
    ]
    assert counterfeits == min(costs)
