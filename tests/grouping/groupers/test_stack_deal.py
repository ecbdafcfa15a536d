"""Stack & Deal: shares, nearness, the vectors of its source, and the k that it chooses."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.randomness import Dice
from reveil.grouping.groupers import stack_deal
from reveil.guarantees.comparing import as_chosen, check_promise
from reveil.guarantees.static.automatic_k import grid, information_loss
from reveil.models.encoding import encode
from reveil.models.statistics import Histogram, Partition, Reference
from reveil.models.t_closeness import earth_movers_distance
from reveil.releases.manifest_files import manifest_bytes
from reveil.series.config import load_config
from reveil.series.publishing import publish_file, verify_file
from reveil.tables.snapshot import read_snapshot
from reveil.testing import tables
from reveil.verification import verify
from tests.made import made
from tests.manifests import altered, promising

DICE = Dice.of_seed(0)
BOTH = pytest.mark.parametrize("deal", ["local", "source"])
SALARIES = [70, 75, 85, 55, 50, 65, 80, 60, 90, 95]
COUNTS = [42, 39, 37, 31, 24, 20, 17, 16, 15, 9]


def dealt(frame, schema, k, deal="local"):
    codes = encode(read_snapshot(frame, schema))
    return codes, rv.StackDeal(deal=deal).group(codes, rv.KAnonymity(k), DICE)


def histogram(codes, partition):
    own = codes.sensitive[0]
    return Histogram.of_segments(own.codes[partition.order], partition.offsets[:-1], partition.offsets[1:], own.domain)


def distances(codes, partition):
    numerator, denominator = earth_movers_distance(histogram(codes, partition), codes.sensitive[0].reference())
    return numerator / denominator


def employees(salary):
    mixed = np.random.default_rng(1).permutation(250)
    return pl.DataFrame({"age": mixed, "salary": pl.Series(np.repeat(salary, COUNTS)[mixed])})


def shares(codes, partition):
    """Return how often each group has each combination of sensitive values."""
    _, number = np.unique(codes.values(), axis=0, return_inverse=True)
    table = np.zeros((partition.n_groups, number.max() + 1), np.int64)
    np.add.at(table, (partition.labels, number.ravel()), 1)
    return table


def test_vector_250_records_in_frequency_order():
    order = [f"{salary}K" for salary in SALARIES]
    schema = rv.Schema(quasi="age", sensitive="salary", orders={"salary": order})
    codes, partition = dealt(employees(order), schema, 50, "source")
    counts = histogram(codes, partition)
    assert counts.counts[: counts.values.offsets[1]].tolist() == [9, 8, 7, 6, 5, 4, 3, 4, 3, 1]
    expected = [0.009778, 0.005778, 0.005333, 0.006667, 0.008000]
    assert distances(codes, partition).round(6).tolist() == expected


def test_vector_250_records_in_salary_order():
    schema = rv.Schema(quasi="age", sensitive="salary")
    codes, partition = dealt(employees(SALARIES), schema, 50, "source")
    assert distances(codes, partition).round(6).tolist() == [0.016889, 0.005778, 0.006222, 0.006222, 0.004889]
    release = rv.anonymize(employees(SALARIES), schema, rv.KAnonymity(50), rv.StackDeal(deal="source"), seed=1)
    assert release.manifest["achieved"] == {"k": 50, "t": {"salary": 0.016889}}
    local = rv.anonymize(employees(SALARIES), schema, rv.KAnonymity(50), rv.StackDeal(), seed=1)
    assert local.manifest["achieved"]["t"]["salary"] < 0.016889


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [((2, 1, 7), (3, 0, 7), 0.05), ((3, 0, 7), (1, 0, 9), 0.2), ((2, 1, 7), (1, 0, 9), 0.15)],
)
def test_vector_the_three_distances(one, other, distance):
    at = np.flatnonzero(other)
    group = Histogram.of_counts(np.zeros(len(at), np.int64), at, np.array(other)[at], 1, 3)
    up, down = earth_movers_distance(group, Reference(np.array(one, np.int64), ordered=True))
    assert up[0] / down[0] == pytest.approx(distance, abs=1e-12)


def test_vector_table_5_1_stacked():
    pairs = [f"a{p[0]}b{p[1]}" for p in "21 21 23 12 22 23 12 21 23 11 21 11 23 21 12".split()]  # noqa: SIM905
    frame = pl.DataFrame({"q": range(15), "a": [p[:2] for p in pairs], "b": [p[2:] for p in pairs]})
    _, one = dealt(frame, rv.Schema(quasi="q", sensitive=("a", "b")), 15, "source")
    stacked = [pairs[i] for i in one.order]
    assert stacked == ["a2b1"] * 5 + ["a2b3"] * 4 + ["a1b2"] * 3 + ["a1b1"] * 2 + ["a2b2"]
    assert one.order[:5].tolist() == [0, 1, 7, 10, 13], "ties by index"


@BOTH
def test_vector_heart_privacy_loss_is_below_that_of_random_partitions(deal):
    values = np.repeat(np.arange(8), [359, 247, 231, 120, 42, 13, 10, 3])
    dice = np.random.default_rng(2)
    frame = pl.DataFrame({"q": dice.integers(0, 50, 1025), "r": dice.integers(0, 50, 1025), "s": values})
    for k in range(5, 21):
        codes, ours = dealt(frame, rv.Schema(quasi=("q", "r"), sensitive="s"), k, deal)
        groups = 1025 // k
        random = np.concatenate([dice.permutation(np.arange(1025) % groups) + groups * i for i in range(100)])
        many = Histogram.of(random, np.tile(values, 100), groups * 100, 8)
        up, down = earth_movers_distance(many, codes.sensitive[0].reference())
        assert distances(codes, ours).max() < (up / down).reshape(100, groups).max(axis=1).min()


@settings(deadline=None, max_examples=40)
@given(tables(), st.integers(1, 45), st.sampled_from(["local", "source"]))
def test_every_group_has_its_share_and_the_manifest_tells_the_t_that_is_measured(table, k, deal):
    if not table.schema.sensitive:
        return
    if k > table.frame.height:
        with pytest.raises(rv.InfeasibleError):
            rv.anonymize(table.frame, table.schema, rv.KAnonymity(k), rv.StackDeal(deal=deal), seed=1)
        return
    codes, partition = dealt(table.frame, table.schema, k, deal)
    assert partition.n_groups == codes.n // k
    assert np.ptp(partition.sizes) <= 1
    table_of = shares(codes, partition)
    assert np.ptp(table_of, axis=0).max() <= 1
    if len(codes.sensitive) == 1:
        t = distances(codes, partition).max()
        if codes.sensitive[0].ordered and deal == "local":
            assert t < 2 / k
        elif codes.sensitive[0].levels is None and not codes.sensitive[0].ordered:
            assert t < (table_of.shape[1] + 1) / (2 * k)
    release = rv.anonymize(table.frame, table.schema, rv.KAnonymity(k), rv.StackDeal(deal=deal), seed=1)
    measures = rv.measure(table.frame, release, table.schema)
    assert release.manifest["achieved"]["t"].keys() == measures["privacy_loss"].keys()
    for name, t in measures["privacy_loss"].items():
        assert 0 <= release.manifest["achieved"]["t"][name] - t + 1e-12 < 1.1e-6, "rounded up to six decimals"
    assert release.manifest["guarantee"]["grade"] == "counted"
    widths = information_loss(codes, partition)
    assert widths == pytest.approx(measures["gcp"], abs=1e-9)


def test_local_dealing_has_narrower_boxes_than_the_source_at_a_smaller_t():
    dice = np.random.default_rng(3)
    age, town = dice.integers(18, 90, 3000), dice.choice(["north", "south", "west"], 3000)
    income = (age // 10) * 3 + dice.integers(0, 12, 3000)  # values follow a quasi attribute
    frame = pl.DataFrame({"age": age, "town": town, "hour": dice.integers(0, 24, 3000), "income": income})
    schema = rv.Schema(quasi=("age", "town", "hour"), sensitive="income")
    (codes, local), (_, source) = (dealt(frame, schema, 20, deal) for deal in ("local", "source"))
    assert information_loss(codes, local) < information_loss(codes, source) / 2
    assert distances(codes, local).max() < distances(codes, source).max()


@BOTH
def test_small_and_uniform_tables(deal):
    one_value = pl.DataFrame({"q": [3, 1, 2, 1], "s": ["a"] * 4})
    schema = rv.Schema(quasi="q", sensitive="s")
    for k, groups in ((1, 4), (2, 2), (3, 1), (4, 1)):
        codes, partition = dealt(one_value, schema, k, deal)
        assert partition.n_groups == groups
        assert not distances(codes, partition).any()
    _, alone = dealt(one_value.head(1), schema, 1, deal)
    assert alone.order.tolist() == [0]
    rare = pl.DataFrame({"q": [1] * 9, "s": [None, *"abcdefgh"]})  # more values than k, each once, all records alike
    codes, partition = dealt(rare, schema, 3, deal)
    assert partition.sizes.tolist() == [3, 3, 3]
    assert shares(codes, partition).max() == 1


@BOTH
@pytest.mark.parametrize("part", [rv.TCloseness(0.1), rv.DistinctDiversity(4), rv.EntropyDiversity(2.5)])
def test_other_parts_of_the_model_make_groups_larger(deal, part):
    dice = np.random.default_rng(4)
    frame = pl.DataFrame({"q": dice.integers(0, 99, 400), "s": dice.choice(list("aaabbcde"), 400)})
    schema = rv.Schema(quasi="q", sensitive="s")
    release = rv.anonymize(frame, schema, rv.KAnonymity(2) & part, rv.StackDeal(deal=deal), seed=1)
    assert 2 < release.manifest["achieved"]["k"] < 200
    assert release.manifest["groups"] > 1


def test_refining_compares_with_the_whole_table():
    values = np.repeat([0, 1], [50, 50])
    codes = encode(read_snapshot(pl.DataFrame({"q": range(100), "s": values}), rv.Schema(quasi="q", sensitive="s")))
    mixed = np.argsort(np.tile(np.arange(2), 50), kind="stable").astype(np.int32)
    start = Partition(mixed, np.array([0, 50, 100]), 100)
    inner = rv.StackDeal().refine(codes, rv.KAnonymity(2) & rv.TCloseness(0.1), DICE, start)
    assert inner.n_groups > 2
    assert distances(codes, inner).max() <= 0.1
    with pytest.raises(rv.ConfigError, match="looks at who has which value"):
        rv.StackDeal().refine(codes, rv.KAnonymity(2), DICE, start, blind=True)


def test_large_nodes_on_threads_change_nothing(monkeypatch):
    schema = rv.Schema(quasi=("age", "town"), sensitive="income")
    _, whole = dealt(people(), schema, 4)
    monkeypatch.setattr(stack_deal, "_SUBTREE", 20)
    _, pieces = dealt(people(), schema, 4)
    assert pieces.order.tolist() == whole.order.tolist()
    assert pieces.offsets.tolist() == whole.offsets.tolist()


def test_the_t_of_every_attribute_is_told_and_checked():
    frame = people().with_columns(job=pl.col("income") % 3)
    schema = rv.Schema(quasi=("age", "town"), sensitive=("income", "job"))
    model = rv.KAnonymity(5) & rv.TCloseness(0.3, attribute="income", distance="equal")
    release = rv.anonymize(frame, schema, model, rv.StackDeal(), seed=1)
    told = release.manifest["achieved"]["t"]
    assert told.keys() == {"income", "job"}
    assert told["income"] <= 0.3
    achieved = {**release.manifest.achieved, "t": {**told, "job": told["job"] / 2}}
    release = release.under(altered(release.manifest, achieved=achieved))
    with pytest.raises(rv.VerificationError, match="another level"):
        verify(release, read_snapshot(frame, schema), model)


def test_what_it_cannot_do_is_refused_in_words():
    frame = pl.DataFrame({"q": range(10)})
    with pytest.raises(rv.ConfigError, match="no column is sensitive"):
        rv.anonymize(frame, rv.Schema(quasi="q"), rv.KAnonymity(2), rv.StackDeal())
    with pytest.raises(rv.ConfigError, match="unknown deal"):
        rv.StackDeal(deal="cards")
    for weight in (1.5, -0.1, "much", True):
        with pytest.raises(rv.ConfigError, match="weight"):
            rv.StackDeal(weight=weight)
    table, schema = pl.DataFrame({"q": range(10), "s": range(10)}), rv.Schema(quasi="q", sensitive="s")
    with pytest.raises(rv.ConfigError, match=r"k is not to be chosen(.|\n)*take weight out"):
        rv.anonymize(table, schema, rv.KAnonymity(2), rv.StackDeal(weight=0.7))
    with pytest.raises(rv.ConfigError, match="k is not to be chosen"):
        rv.Static(k=2).check(schema, rv.StackDeal(weight=0.7))
    with pytest.raises(rv.ConfigError, match=r"cannot choose k(.|\n)*stack-deal"):
        rv.Static(k="auto").check(rv.Schema(quasi="q", sensitive="s"), rv.Mondrian())
    with pytest.raises(rv.ConfigError, match="k must"):
        rv.Static(k="some")


def people(n=300):
    dice = np.random.default_rng(5)
    town = dice.choice(["n", "s", "w", None], n)
    return pl.DataFrame({"age": dice.integers(18, 90, n), "town": town, "income": dice.integers(1, 9, n)})


@pytest.mark.parametrize("weight", [0.0, 0.5, 0.9, 1.0])
def test_automatic_k_is_the_cheapest_on_the_curve(weight):
    schema = rv.Schema(quasi=("age", "town"), sensitive="income")
    frame, method = people(), rv.StackDeal(weight=weight)
    guarantee = rv.Static(k="auto", t=0.4)
    prepared = made(guarantee, read_snapshot(frame, schema), Dice.of_seed(0), method)
    auto, manifest = prepared.draft.remembered.facts["auto"], prepared.release.manifest
    costs = [cost for cost, holds in zip(auto["cost"], auto["holds"], strict=True) if holds]
    chosen = auto["k"].index(auto["chosen"])
    assert auto["cost"][chosen] == min(costs)
    assert auto["k"] == grid(300)[: len(auto["k"])]
    assert manifest["guarantee"]["k"] == auto["chosen"] == prepared.draft.model.minimum_size
    assert manifest["achieved"]["t"]["income"] == pytest.approx(auto["t"][chosen], abs=2e-6)
    assert any("k was chosen" in sentence for sentence in manifest["assumes"])
    measures = rv.measure(frame, prepared.release, schema)
    assert measures["gcp"] == pytest.approx(auto["information_loss"][chosen], abs=1e-9)


def test_the_grid_of_automatic_k():
    assert grid(2) == [2]
    assert grid(3) == [3]
    assert grid(9) == [2, 3, 4, 9]
    assert grid(200) == [*range(2, 31), 45, 67, 100, 200]


def test_automatic_k_from_a_config_is_published_and_verified(tmp_path):
    (tmp_path / "reveil.toml").write_text(
        '[columns]\nage = "quasi"\ntown = "quasi"\nincome = { role = "sensitive", bins = 4 }\n'
        '[guarantee]\nkind = "static"\nk = "auto"\n[method]\nkind = "stack-deal"\nweight = 0.7\n'
    )
    people().write_csv(tmp_path / "data.csv")
    config = load_config(tmp_path / "reveil.toml")
    published = publish_file(config, tmp_path / "data.csv", tmp_path / "out.csv")
    manifest = published.release.manifest
    verified = verify_file(config, tmp_path / "out.csv", tmp_path / "data.csv")
    assert verified.manifest["achieved"]["t"]["income"] < 0.5
    assert verified.manifest["guarantee"]["k"] >= 2
    for k in (1, True, "auto", None):
        other = promising(manifest, k=k)
        with pytest.raises(rv.VerificationError, match="promises something else"):
            check_promise(config.guarantee, other, config.schema, config.method)
    kept = as_chosen(config.guarantee, manifest)
    assert kept == replace(config.guarantee, k=manifest["guarantee"]["k"])
    assert f"at least {kept.k} records" in manifest["claim"]
    assert as_chosen(kept, manifest) is kept
    larger = replace(kept, k=kept.k + 1).promise(config.schema, config.method)
    (tmp_path / "out.manifest.json").write_bytes(manifest_bytes(replace(manifest, promise=larger)))
    with pytest.raises(rv.VerificationError, match="does not satisfy KAnonymity"):
        verify_file(config, tmp_path / "out.csv", tmp_path / "data.csv")
    with pytest.raises(rv.VerificationError, match="promises something else"):
        check_promise(replace(config.guarantee, k=2), manifest, config.schema, config.method)
