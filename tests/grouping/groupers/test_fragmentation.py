"""Fragmentation: the bounds and vectors of its source, shares, and the t of each attribute."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.grouping.fragments import StepDistances, fragment
from reveil.models.statistics import Histogram, Reference
from reveil.models.t_closeness import earth_movers_distance
from reveil.testing import hospital, tables
from tests.grouping.groupers.closeness import QUASI, check_any, check_refined, people, published

quick = settings(deadline=None, max_examples=25)
LEVELS = np.array([[0] * 5, [1, 1, 2, 2, 3], [4, 5, 6, 7, 8]], np.int32)


def fragmented(rows, *limits):
    scales = [StepDistances.of(Reference(np.bincount(own), ordered=True)) for own in rows.T]
    places = np.stack([scale.places[own] for scale, own in zip(scales, rows.T, strict=True)], axis=1)
    return fragment(places, scales, [Fraction(t) for t in limits])


def cells(counts):
    return np.array([place for place, count in np.ndenumerate(np.array(counts)) for _ in range(count)])


@pytest.mark.parametrize("counts", [[[1, 4], [2, 3]], [[2, 3], [1, 4]]])
def test_vector_figure_4_6(counts):
    rows = cells(counts)
    assert (np.bincount(rows[:, 0]).tolist(), np.bincount(rows[:, 1]).tolist()) == ([5, 5], [3, 7])
    whole = fragmented(rows, 1, 1)
    assert whole.bounds == (Fraction(1, 2), Fraction(7, 10))
    assert whole.counts.tolist() == [10]
    # C exceeds its t, and is what a cut along Y brings to 0; R rises on the way, from 0.5 to 0.6.
    split = fragmented(rows, "0.6", "0.5")
    assert split.bounds == (Fraction(3, 5), 0)
    assert split.counts.tolist() == [3, 7]
    assert (split.labels == rows[:, 1]).all()


def test_vector_figure_4_8():
    counts = np.zeros((4, 4), int)
    counts[0, 0], counts[2, 0], counts[0, 2], counts[3, 0] = 250, 100, 350, 300
    rows = cells(counts)
    found = fragmented(rows, 0, 0)
    assert sorted(found.counts.tolist()) == [100, 250, 300, 350]
    assert found.divisor == 50
    frame = pl.DataFrame({"q1": np.random.default_rng(0).permutation(1000), "x": rows[:, 0], "y": rows[:, 1]})
    model = rv.TCloseness(0)
    release, measured = published(frame, ["x", "y"], model, rv.Fragmentation(sizing="gcd"))
    assert release.manifest["groups"] == 50
    assert set(release.text.group_by("q1").len()["len"]) == {20}
    assert measured["privacy_loss"] == {"x": 0, "y": 0}
    # k counts, too: the largest divisor of 50 that leaves 150 records to a group is 5.
    release, _ = published(frame, ["x", "y"], model & rv.KAnonymity(150), rv.Fragmentation(sizing="gcd"))
    assert release.manifest["groups"] == 5


def test_values_that_are_equally_far_are_cut_evenly():
    scale = StepDistances.of(Reference(np.ones(64, np.int64), ordered=False), "equal")
    found = fragment(scale.places[:, None], [scale], [Fraction(3, 4)])
    # Each cut lowers the bound by one record in 64, wherever it is: cutting off one value at a time would be no worse
    # for the bound, but would leave one fragment of almost everything, and take a time that grows with its square.
    assert found.bounds == (Fraction(3, 4),)
    assert len(found.counts) == 16
    assert found.counts.max() <= 16


@quick
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20),
    st.tuples(*[st.sampled_from(["0", "0.1", "0.3", "1"])] * 3),
    st.integers(0, 5),
)
def test_theorem_equal_shares_are_within_the_bounds(values, limits, seed):
    rows = np.array(values * 2)  # everybody twice, so that half of each fragment can be taken
    tables = [Reference(np.bincount(own, minlength=5), ordered=True, levels=LEVELS) for own in rows.T]
    kinds = list(zip(tables, ("ordered", "taxonomy", "equal"), strict=True))
    scales = [StepDistances.of(*kind) for kind in kinds]
    places = np.stack([scale.places[own] for scale, own in zip(scales, rows.T, strict=True)], axis=1)
    found = fragment(places, scales, [Fraction(t) for t in limits])
    assert all(bound <= Fraction(t) for bound, t in zip(found.bounds, limits, strict=True))
    assert (np.bincount(found.labels) == found.counts).all()
    mixed = np.random.default_rng(seed).permutation(len(rows))
    parts = [mixed[found.labels[mixed] == f] for f in range(len(found.counts))]
    taken = np.concatenate([part[: len(part) // 2] for part in parts])
    for axis, (reference, distance) in enumerate(kinds):
        own = Histogram.of(np.zeros(len(taken), int), rows[taken, axis], 1, len(reference.counts))
        numerator, denominator = earth_movers_distance(own, reference, distance)
        assert Fraction(int(numerator[0]), int(denominator[0])) <= found.bounds[axis]


def test_one_t_for_each_of_three_attributes_with_more_values_than_k():
    frame = people(600, a=20, b=12, c=4).with_columns(b=pl.when(pl.int_range(pl.len()) == 0).then(99).otherwise("b"))
    model = (
        rv.KAnonymity(5)
        & rv.TCloseness(0.15, attribute="a")
        & rv.TCloseness(0.25, attribute="b")
        & rv.TCloseness(0.3, attribute="c", distance="equal")
    )
    even, measured = published(frame, ["a", "b", "c"], model, rv.Fragmentation())
    assert set(measured["privacy_loss"]) == {"a", "b", "c"}
    assert even.manifest["guarantee"]["grade"] == "counted"
    assert even.manifest["suppressed"] == 0
    gcd, _ = published(frame, ["a", "b", "c"], model, rv.Fragmentation(sizing="gcd"))
    assert even.manifest["groups"] > 20 * gcd.manifest["groups"]
    _, mondrian = published(frame, ["a", "b", "c"], model, rv.Mondrian())
    assert measured["gcp"] < mondrian["gcp"]


@pytest.mark.parametrize("sizing", ["even", "gcd"])
def test_t_of_zero_gives_groups_like_the_table(sizing):
    frame = people(240).with_columns(s=pl.int_range(pl.len()) % 3)
    release, measured = published(frame, ["s"], rv.TCloseness(0), rv.Fragmentation(sizing=sizing))
    assert measured["privacy_loss"] == {"s": 0}
    assert release.manifest["groups"] > 40


def test_the_whole_table_is_always_right():
    frame = people(7, s=5)
    release, _ = published(frame, ["s"], rv.KAnonymity(7) & rv.TCloseness(0), rv.Fragmentation())
    assert release.manifest["groups"] == 1
    one, _ = published(frame.head(1), ["s"], rv.TCloseness(0), rv.Fragmentation())
    assert one.manifest["rows"] == 1


def test_values_without_an_order():
    frame, schema = hospital.month(300), hospital.schema()
    release = rv.anonymize(frame, schema, rv.KAnonymity(4) & rv.TCloseness(0.5), rv.Fragmentation(), seed=1)
    assert rv.measure(frame, release, schema)["privacy_loss"]["diagnosis"] <= 0.5
    assert release.manifest["groups"] > 15


@quick
@given(tables(), st.sampled_from([0, 0.1, 0.4]), st.integers(1, 4), st.sampled_from(["even", "gcd"]))
def test_every_group_of_any_table_is_valid(table, t, k, sizing):
    check_any(table, rv.KAnonymity(k) & rv.TCloseness(t), rv.Fragmentation(sizing=sizing), 0)


def test_parts_are_compared_with_the_whole_table():
    check_refined(rv.Fragmentation(), rv.KAnonymity(4) & rv.TCloseness(0.25))


def test_what_it_cannot_do_is_refused_by_name():
    frame, schema = people(50, s=3), rv.Schema(quasi=QUASI, sensitive="s")
    with pytest.raises(
        rv.ConfigError, match=r"'fragmentation' works towards a t, and none is asked for(.|\n)*mondrian"
    ):
        rv.anonymize(frame, schema, rv.KAnonymity(3), rv.Fragmentation())
    with pytest.raises(rv.ConfigError, match="unknown sizing"):
        rv.Fragmentation(sizing="odd")
