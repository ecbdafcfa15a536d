"""The judges, written from the definitions, agree with the models on every group; and are asked for every promise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core import registry
from reveil.grouping.sampling import delta_of as published_delta
from reveil.models.m_uniqueness import MUniqueness
from reveil.models.statistics import GroupStats, Histogram, Reference
from reveil.verification import Promised
from reveil.verification.counting import GroupCounts, Tally, ValueRelations
from reveil.verification.geometry import points_in_boxes
from reveil.verification.judges.entropy_diversity import _reaches
from reveil.verification.sample import delta_of

if TYPE_CHECKING:
    from collections.abc import Sequence

MODELS = [
    rv.KAnonymity(3),
    rv.DistinctDiversity(2),
    rv.FrequencyDiversity(2),
    rv.FrequencyDiversity(1.5),
    rv.EntropyDiversity(2),
    rv.EntropyDiversity(1.7),
    rv.RecursiveDiversity(c=1, l=2),
    rv.RecursiveDiversity(c=0.5, l=1),
    rv.RecursiveDiversity(c=2.5, l=3),
    rv.TCloseness(0.2),
    rv.TCloseness(Fraction(1, 3), distance="equal"),
    rv.TCloseness(0.25, distance="ordered"),
    MUniqueness(2),
]
TREE = np.array([[0, 0, 0, 0, 0, 0], [1, 1, 1, 2, 2, 3], [4, 4, 5, 6, 7, 3]], np.int32)


@dataclass(frozen=True)
class Drawn:
    """Groups of values, as the models and as the judges see them."""

    stats: GroupStats
    counts: GroupCounts

    @classmethod
    def of(cls, groups: Sequence[Sequence[int]], *, ordered: bool, tree: bool) -> Drawn:
        """Count groups of codes from 0 to 5."""
        owner = np.repeat(np.arange(len(groups)), [len(own) for own in groups])
        codes = np.array([code for own in groups for code in own])
        sizes = np.array([len(own) for own in groups], np.int64)
        levels = TREE if tree else None
        table = np.bincount(codes, minlength=6).astype(np.int64)
        stats = GroupStats(
            sizes, {"s": Histogram.of(owner, codes, len(groups), 6)}, {"s": Reference(table, ordered, levels)}
        )
        scale = ValueRelations(6, ordered, None if levels is None else levels[1:])
        return cls(stats, GroupCounts(sizes, {"s": Tally.of(owner, codes, len(groups), scale)}))


groups = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=9), min_size=1, max_size=6)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@settings(deadline=None, max_examples=60)
@given(groups, st.booleans())
def test_judges_agree_with_models(model, drawn, tree):
    ordered = getattr(model, "distance", None) == "ordered" or not tree
    own = Drawn.of(drawn, ordered=ordered, tree=tree)
    (judge,) = Promised.of_model(model).demands
    assert judge.holds(own.counts).tolist() == model.verdict(own.stats).tolist()
    assert judge.achieved(own.counts) == model.achieved(own.stats)
    (read,) = Promised.told({"kind": "static", **model.parameters()}).demands
    assert read.covers(judge)
    assert judge.covers(read)
    assert judge.states(model.sentence() + " ")


def test_numbers_beyond_the_machine_are_exact():
    """Counts so large that their products would overflow."""
    large = 2**40
    for counts, good in (([large, large], True), ([large + 1, large], False)):
        scale = ValueRelations(2)
        tally = Tally(np.array([0, 0]), np.array([0, 1]), np.array(counts), 1, np.array(counts), scale)
        own = GroupCounts(np.array([sum(counts)]), {"s": tally})
        (judge,) = Promised.of_model(rv.FrequencyDiversity(2)).demands
        assert judge.holds(own).tolist() == [good]
    tall = Tally(
        np.array([0, 1]),
        np.array([0, 1]),
        np.array([large, large]),
        2,
        np.array([large, large]),
        ValueRelations(2, True),
    )
    (judge,) = Promised.of_model(rv.TCloseness(0.5)).demands
    assert judge.holds(GroupCounts(np.array([large, large]), {"s": tall})).all()
    (judge,) = Promised.of_model(rv.TCloseness(0.4999999)).demands
    assert not judge.holds(GroupCounts(np.array([large, large]), {"s": tall})).any()


def test_a_tie_of_entropy_is_decided_exactly():
    assert _reaches((1, 1, 2), Fraction(2)) is True
    assert _reaches((1, 1), Fraction(2)) is True
    assert _reaches((1, 1), Fraction(2000001, 1000000)) is False
    assert _reaches((1, 3), Fraction(2)) is False


@pytest.mark.parametrize(("k", "beta", "epsilon"), [(5, 0.1, 1.0), (20, 0.5, 1.0), (2, 0.9, 3.0), (50, 0.05, 0.2)])
def test_delta_is_that_of_the_theorem(k, beta, epsilon):
    assert delta_of(k, beta, epsilon) == pytest.approx(published_delta(k, beta, epsilon), rel=1e-9)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 3), st.integers(0, 10**6))
def test_points_are_found_in_boxes(width, seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 9, (rng.integers(1, 200), width)).astype(np.int32)
    lo = rng.integers(0, 9, (rng.integers(1, 40), width)).astype(np.int32)
    hi = (lo + rng.integers(-1, 5, lo.shape)).astype(np.int32)
    point, box = points_in_boxes(points, lo, hi)
    wanted = ((points[:, None] >= lo) & (points[:, None] <= hi)).all(axis=2)
    assert sorted(zip(point.tolist(), box.tolist(), strict=True)) == [tuple(pair) for pair in np.argwhere(wanted)]


def test_a_promise_without_a_judge_is_refused():
    @dataclass(frozen=True)
    class Secrecy(rv.KAnonymity):
        """A model of another package that brings no judge."""

    frame = pl.DataFrame({"age": [1, 2, 3, 4], "s": list("abab")})
    with pytest.raises(rv.VerificationError, match="nobody judges the promise 'Secrecy'"):
        rv.anonymize(frame, rv.Schema(quasi="age", sensitive="s"), Secrecy(2))


def test_every_promise_has_a_judge():
    judges = set(registry.names("judges"))
    assert {*registry.names("models"), *registry.names("guarantees")} <= judges


def test_what_no_judge_knows_is_refused_in_a_manifest():
    with pytest.raises(rv.VerificationError, match="nobody judges 'presence'"):
        Promised.told({"kind": "static", "k": 3, "presence": 0.2})
    with pytest.raises(rv.VerificationError, match="nobody judges the promise 'secrecy'"):
        Promised.told({"kind": "secrecy"})
