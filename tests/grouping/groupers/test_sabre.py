"""SABRE: buckets, halves in proportion, and the t they keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.arrays import Ragged
from reveil.grouping.groupers._halving import halved
from reveil.testing import tables
from tests.grouping.groupers.closeness import QUASI, check_any, check_refined, people, published


@pytest.mark.parametrize("t", [0.3, 0.1])
def test_groups_are_within_t_and_near(t):
    frame = people(600, s=15)
    release, measured = published(frame, ["s"], rv.KAnonymity(5) & rv.TCloseness(t), rv.Sabre())
    assert release.manifest["groups"] > 25
    assert measured["gcp"] < 0.5


def test_halves_take_half_of_each_stratum():
    rng = np.random.default_rng(0)
    strata = np.sort(rng.integers(0, 6, 101))

    class Line:
        n = 101
        ranks = rng.permutation(101)[None, :]

    halves = halved(Line(), strata, Ragged.of_lengths([40, 61], np.arange(101)), np.array([0, 0]))
    assert sorted(np.concatenate([halves[0], halves[1]]).tolist()) == list(range(40))
    assert sorted(np.concatenate([halves[2], halves[3]]).tolist()) == list(range(40, 101))
    for left, right in ((halves[0], halves[1]), (halves[2], halves[3])):
        for stratum in range(6):
            mine, others = left[strata[left] == stratum], right[strata[right] == stratum]
            assert abs(len(mine) - len(others)) <= 1
            if len(mine) and len(others):
                assert Line.ranks[0, mine].max() < Line.ranks[0, others].min()


@settings(deadline=None, max_examples=25)
@given(tables(max_sensitive=1), st.sampled_from([0, 0.1, 0.4]), st.integers(1, 4))
def test_every_group_of_any_table_is_valid(table, t, k):
    check_any(table, rv.KAnonymity(k) & rv.TCloseness(t), rv.Sabre(), 0)


def test_parts_are_compared_with_the_whole_table():
    check_refined(rv.Sabre(), rv.KAnonymity(4) & rv.TCloseness(0.25))


def test_it_works_towards_one_t():
    frame, schema = people(50, s=3, r=4), rv.Schema(quasi=QUASI, sensitive=["s", "r"])
    with pytest.raises(rv.ConfigError, match=r"'sabre' works towards a t, and none is asked for(.|\n)*stack-deal"):
        rv.anonymize(frame, schema, rv.KAnonymity(3), rv.Sabre())
    both = rv.TCloseness(0.2, attribute="s") & rv.TCloseness(0.3, attribute="r")
    with pytest.raises(rv.ConfigError, match=r"2 are asked for(.|\n)*fragmentation"):
        rv.anonymize(frame, schema, both, rv.Sabre())
    with pytest.raises(rv.ConfigError, match=r"2 are asked for(.|\n)*Name one"):
        rv.anonymize(frame, schema, rv.TCloseness(0.2), rv.Sabre())
    # A model on one of two sensitive columns is enough.
    release = rv.anonymize(frame, schema, rv.TCloseness(0.3, attribute="s"), rv.Sabre())
    assert release.manifest["achieved"]["t"]["s"] <= 0.3
