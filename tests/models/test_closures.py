"""Closures: a search for counterexamples to each tag that is True, and the documented one for each that is False."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core import registry
from reveil.core.errors import ConfigError
from reveil.grouping.groupers.base import Grouper, check_plan
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.m_uniqueness import MUniqueness
from reveil.models.recursive_diversity import RecursiveDiversity
from reveil.models.t_closeness import TCloseness
from tests.models.cases import SMALL_TREE, stats_of

if TYPE_CHECKING:
    from reveil.models.base import Model

MODELS: list[Model] = [
    KAnonymity(3),
    DistinctDiversity(2),
    DistinctDiversity(3),
    FrequencyDiversity(2),
    FrequencyDiversity(2.5),
    EntropyDiversity(2),
    EntropyDiversity(2.5),
    RecursiveDiversity(c=2, l=2),
    RecursiveDiversity(c=1, l=3),
    RecursiveDiversity(c=0.5, l=1),
    TCloseness(0, distance="ordered"),
    TCloseness(0.25, distance="ordered"),
    TCloseness(0.2, distance="equal"),
    TCloseness(0.2, distance="taxonomy"),
    KAnonymity(3) & FrequencyDiversity(2) & TCloseness(0.3),
    MUniqueness(2),
    KAnonymity(3) & MUniqueness(2),
]
ids = [repr(model) for model in MODELS]


def verdicts(model: Model, *sets: Any) -> list[Any]:
    """The verdict on each of several arrays of groups with four values, against one table."""
    groups = np.concatenate(sets)
    stats = stats_of({"a": groups}, {"a": groups.sum(axis=0) + np.array([3, 1, 2, 9])}, levels=SMALL_TREE)
    return np.split(model.verdict(stats), np.cumsum([len(part) for part in sets])[:-1])


def all_groups(values: int, largest: int) -> Any:
    groups = np.array(list(product(range(largest + 1), repeat=values)))
    return np.hstack([groups, np.zeros((len(groups), 4 - values), np.int64)])


# All pairs of groups of up to three values with up to three records each, and pairs with two values and up to eight.
PAIRS = [
    (one[:, None, :].repeat(len(one), 1).reshape(-1, 4), one[None, :, :].repeat(len(one), 0).reshape(-1, 4))
    for one in (all_groups(3, 3), all_groups(2, 8))
]


@pytest.mark.parametrize("model", [m for m in MODELS if m.tags.union_closed], ids=repr)
def test_unions_of_all_small_valid_groups_are_valid(model: Model) -> None:
    for one, other in PAIRS:
        first, second, both = verdicts(model, one, other, one + other)
        assert both[first & second].all()


@pytest.mark.parametrize("model", [m for m in MODELS if m.tags.monotone], ids=repr)
def test_supersets_of_all_small_valid_groups_are_valid(model: Model) -> None:
    for one, more in PAIRS:
        valid, larger = verdicts(model, one, one + more)
        assert larger[valid & (one.sum(axis=1) > 0)].all()


counts = st.one_of(st.integers(0, 4), st.integers(0, 60), st.integers(0, 10**6))
group = st.tuples(counts, counts, counts, counts)


@pytest.mark.parametrize("model", MODELS, ids=ids)
@settings(max_examples=25, deadline=None)
@given(groups=st.lists(group, min_size=2, max_size=20))
def test_no_counterexample_is_found(model: Model, groups: list[tuple[int, ...]]) -> None:
    own = np.array(groups)
    i, j = np.triu_indices(len(own))
    single, union = verdicts(model, own, own[i] + own[j])
    if model.tags.union_closed:
        assert union[single[i] & single[j]].all()
    if model.tags.monotone:
        assert union[single[i] & (own[i].sum(axis=1) > 0)].all()


@pytest.mark.parametrize("model", MODELS, ids=ids)
def test_the_empty_group_is_valid(model: Model) -> None:
    (valid,) = verdicts(model, np.zeros((1, 4), np.int64))
    assert valid.all()


@pytest.mark.parametrize(
    "model",
    [FrequencyDiversity(2), EntropyDiversity(2), RecursiveDiversity(c=2, l=2), TCloseness(0.1), MUniqueness(2)],
    ids=repr,
)
def test_not_monotone(model: Model) -> None:
    """The counterexample of the documentation: {a, b} is valid, {a, a, b} is not."""
    assert not model.tags.monotone
    stats = stats_of({"a": [[1, 1], [2, 1]]}, {"a": [5, 5]})
    assert model.verdict(stats).tolist() == [True, False]
    if isinstance(model, TCloseness):
        assert model.measure(stats) == pytest.approx([0, 1 / 6])


@pytest.mark.parametrize("model", [MUniqueness(2), KAnonymity(2) & MUniqueness(2)], ids=repr)
def test_not_union_closed(model: Model) -> None:
    """The counterexample of the documentation: {a, b} and {a, c} are valid, their union is not."""
    assert not model.tags.union_closed
    assert model.verdict(stats_of({"a": [[1, 1, 0], [1, 0, 1], [2, 1, 1]]})).tolist() == [True, True, False]


@pytest.mark.parametrize("grouper", registry.everything("groupers").values())
def test_groupers_refuse_what_does_not_survive_unions(grouper: type[Grouper]) -> None:
    with pytest.raises(ConfigError, match=r"cannot keep MUniqueness\(m=2"):
        check_plan(grouper.examples()[0], KAnonymity(2) & MUniqueness(2))
