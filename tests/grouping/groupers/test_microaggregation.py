"""Microaggregation: both variants, merging, and what they cost."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.grouping.groupers._halving import Ground
from reveil.grouping.groupers._towards_t import Task, along, most_groups
from reveil.models.encoding import encode
from reveil.tables.snapshot import read_snapshot
from reveil.testing import tables
from tests.grouping.groupers.closeness import QUASI, check_any, check_refined, people, published

BOTH = pytest.mark.parametrize("variant", ["k-first", "t-first"])


@BOTH
def test_groups_are_within_t_and_near(variant):
    frame = people(600, s=15)
    method = rv.Microaggregation(variant=variant)
    release, measured = published(frame, ["s"], rv.KAnonymity(5) & rv.TCloseness(0.2), method)
    assert release.manifest["groups"] > 100
    assert measured["gcp"] < 0.3


def test_without_a_t_it_is_plain_microaggregation():
    frame = people(200, s=3)
    release, measured = published(frame, ["s"], rv.KAnonymity(5), rv.Microaggregation())
    assert release.manifest["groups"] == 40
    assert measured["gcp"] < 0.2


def test_more_values_than_swaps_tell_apart():
    frame = people(700, s=20).with_columns(s=pl.col("s") * 1000 + pl.int_range(pl.len()))
    for method in (rv.Microaggregation(), rv.Fragmentation()):
        release, _ = published(frame, ["s"], rv.KAnonymity(5) & rv.TCloseness(0.15), method)
        assert release.manifest["groups"] > 100


def test_several_attributes_with_nearness_first():
    frame = people(400, a=10, b=8)
    model = rv.KAnonymity(4) & rv.TCloseness(0.25, attribute="a") & rv.TCloseness(0.3, attribute="b")
    release, _ = published(frame, ["a", "b"], model, rv.Microaggregation())
    assert release.manifest["groups"] > 60


@settings(deadline=None, max_examples=40)
@given(tables(), st.sampled_from([None, 0, 0.1, 0.4]), st.integers(1, 4), st.sampled_from(["k-first", "t-first"]))
def test_every_group_of_any_table_is_valid(table, t, k, variant):
    model = rv.KAnonymity(k) if t is None else rv.KAnonymity(k) & rv.TCloseness(t)
    check_any(table, model, rv.Microaggregation(variant=variant), 0)


@BOTH
def test_parts_are_compared_with_the_whole_table(variant):
    check_refined(rv.Microaggregation(variant=variant), rv.KAnonymity(4) & rv.TCloseness(0.25))


def test_merging_ends_with_valid_groups():
    frame = people(120, s=6)
    codes = encode(read_snapshot(frame, rv.Schema(quasi=QUASI, sensitive="s")))
    ground = Ground(codes)
    for t in (0, 0.05, 0.3):
        task = Task(codes, rv.KAnonymity(2) & rv.TCloseness(t))
        merged = task.merged(along(np.arange(120) // 3, ground), ground)
        assert task.valid(merged).all()
        assert sorted(merged.order.tolist()) == list(range(120))
        assert (merged.n_groups == 1) == (t == 0)


def test_bisection_finds_the_most_groups_and_keeps_what_it_has():
    frame = people(100, s=3)
    task = Task(encode(read_snapshot(frame, rv.Schema(quasi=QUASI, sensitive="s"))), rv.KAnonymity(1))
    ground = Ground(task.codes)
    for most in (1, 2, 17, 60):
        found = most_groups(
            60, lambda g, most=most: along(np.arange(100) % g, ground) if g <= most else None, task.whole()
        )
        assert found.n_groups == most


def test_what_it_cannot_do_is_refused_by_name():
    frame, schema = people(50, s=3), rv.Schema(quasi=QUASI, sensitive="s")
    with pytest.raises(rv.ConfigError, match="'microaggregation' works towards a t, and none is asked for"):
        rv.anonymize(frame, schema, rv.KAnonymity(3), rv.Microaggregation(variant="t-first"))
    with pytest.raises(rv.ConfigError, match="unknown variant"):
        rv.Microaggregation(variant="merge")
