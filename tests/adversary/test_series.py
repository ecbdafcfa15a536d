"""Whole series: those made one release at a time betray people, those with a guarantee do not."""

import polars as pl
import pytest

import reveil as rv
from reveil.testing import hospital
from tests.adversary.tables import SCHEMA, beliefs, certain, publish, snapshot

MINE = ["linkage", "homogeneity", "skewness", "similarity", "intersection", "difference", "serial", "plain"]
MINE += ["absence", "correspondence"]


@pytest.fixture(scope="module")
def months():
    return list(hospital.year(600, months=3, seed=5))


@pytest.mark.parametrize("model", [rv.KAnonymity(4), rv.DistinctDiversity(3)], ids=["k", "l"])
def test_naive_releases_are_broken(months, model):
    schema = hospital.schema()
    naive = [rv.anonymize(month, schema, model, seed=n) for n, month in enumerate(months)]
    found = rv.audit(naive, schema, truth=months, known="events", threshold=0.5, attacks=MINE)
    assert found.summary["certain_and_right"] == found.summary["certain"] > 0
    assert not found.held
    assert found.certain["right"].all()
    alone = found.summary["baseline"]["last_release"]
    assert alone["certain"] < found.summary["certain"]


@pytest.mark.parametrize("angelize", [False, True])
def test_tau_safe_releases_are_not(months, tmp_path, angelize):
    schema = hospital.schema()
    series = rv.Series.open(tmp_path / "vault", schema, rv.TauSafety(3, angelize=angelize))
    releases = [series.publish(month) for month in months]
    found = rv.audit(releases, schema, truth=months, attacks=MINE)
    assert (found.known, found.held) == ("events", True)
    assert found.summary["bound"] == pytest.approx(1 / 3)
    assert found.persons["belief"].max() <= 1 / 3 + 1e-9
    assert found.summary["above"] == {"0.5": 0, "0.2": found.summary["above"]["0.2"], "bound": 0}


def test_a_population_tells_less_than_attendance(months):
    schema = hospital.schema()
    release = rv.anonymize(months[0], schema, rv.KAnonymity(10), seed=1)  # wide enough that people fit several groups
    people = pl.concat([months[0], months[1].join(months[0], on="pid", how="anti")]).drop("diagnosis", "name")
    less = rv.audit(release, schema, people, truth=months[0], known="nothing", attacks="homogeneity")
    more = rv.audit(release, schema, truth=months[0], attacks="homogeneity")
    assert less.summary["persons"] > more.summary["persons"] == months[0].height
    assert less.summary["above"]["0.5"] < more.summary["above"]["0.5"]
    both = rv.audit(release, schema, people, truth=months[0], known="presence", attacks="homogeneity")
    assert both.persons.equals(more.persons)


def test_a_release_that_only_looks_different_gives_the_same(months, tmp_path):
    schema = hospital.schema()
    releases = [rv.anonymize(month, schema, rv.KAnonymity(3), seed=n) for n, month in enumerate(months[:2])]
    expected = rv.audit(releases, schema, truth=months[:2], known="events", attacks=MINE)
    files = []
    for n, release in enumerate(releases):
        table = release.table.sample(fraction=1, shuffle=True, seed=1)
        table = table.with_columns(pl.col("age", "income").str.replace(r"^\[(\d+), (\d+)\]$", "$1-$2"))
        files.append(tmp_path / f"{n}.csv")
        table.select(sorted(table.columns)).write_csv(files[-1], separator=";")
    found = rv.audit(files, schema, truth=months[:2], known="events", attacks=MINE)
    assert found.persons.equals(expected.persons)
    assert found.certain.equals(expected.certain)
    assert found.summary == expected.summary


def test_somebody_present_and_not_published_counts():
    values = {"p1": "flu", "p2": "flu", "p3": "gout"}
    release = publish({"p1": "flu", "p2": "flu"}, [("p1", "p2")])
    frame = snapshot(values).with_columns(place=pl.lit("at p1"))
    release = release.with_columns(place=pl.lit("at p1"))
    found = rv.audit(release, SCHEMA, truth=frame, attacks="homogeneity")
    assert certain(found) == {}  # one of the three was left out, nobody knows who
    assert beliefs(found)["p3"][:2] == ("flu", pytest.approx(2 / 3))


def test_a_list_of_some_who_are_there_does_not_close_a_group():
    values = {"p1": "flu", "p2": "flu", "p3": "flu", "p4": "gout"}
    release = publish(values, [("p1", "p2"), ("p3", "p4")])
    some = snapshot({"p1": "", "p3": ""}).drop("disease")
    # Nobody says that all were published: p1 may have been left out, and others may be in the groups.
    found = rv.audit(release, SCHEMA, some, known="presence", attacks="homogeneity")
    assert found.certain.is_empty()
    assert found.summary["highest_proven"] == 0


def test_ever_is_not_what_tau_safety_bounds(months, tmp_path):
    schema = hospital.schema()
    series = rv.Series.open(tmp_path / "vault", schema, rv.TauSafety(2))
    releases = [series.publish(month) for month in months[:2]]
    found = rv.audit(releases, schema, truth=months[:2], known="presence", attacks="serial")
    assert (found.held, found.summary["bound"]) == (True, None)
    assert rv.audit(releases, schema, truth=months[:2], attacks=["serial", "homogeneity"]).held


def test_several_sensitive_columns():
    schema = rv.Schema(person="pid", quasi="place", sensitive=["disease", "income"], types={"place": "text"})
    frame = snapshot({"p1": "flu", "p2": "gout"}).with_columns(income=pl.Series([10, 10]))
    release = pl.DataFrame({"place": ["{at p1, at p2}"] * 2, "disease": ["flu", "gout"], "income": [10, 10]})
    found = rv.audit(release, schema, truth=frame, attacks=["homogeneity", "similarity"])
    assert found.persons.select("column", "value", "belief").unique().rows() == [("income", "10", 1.0)]
    assert set(found.attacks["homogeneity"]) == {"disease", "income"}
    assert found.attacks["similarity"]["income"]["highest"] == 1.0
    assert found.summary["certain"] == 2


def test_similarity_in_a_taxonomy():
    tree = {"chest": ["asthma", "cough"], "head": ["migraine"]}
    schema = rv.Schema(
        person="pid", quasi="place", sensitive="disease", types={"place": "text"}, hierarchies={"disease": tree}
    )
    values = {"p1": "asthma", "p2": "cough", "p3": "migraine", "p4": "cough"}
    release = publish(values, [("p1", "p2"), ("p3", "p4")])
    found = rv.audit(release, schema, truth=snapshot(values), attacks="similarity")
    assert {person: own[1] for person, own in beliefs(found).items()} == {"p1": 1.0, "p2": 1.0, "p3": 0.5, "p4": 0.5}


def test_linkage_counts_candidate_rows():
    values = {"p1": "flu", "p2": "gout", "p3": "flu"}
    found = rv.audit(publish(values, [("p1", "p2"), ("p3",)]), SCHEMA, truth=snapshot(values), attacks="linkage")
    risks = found.attacks["linkage"]
    assert (risks["prosecutor"], risks["journalist"]) == (1.0, 1.0)
    assert risks["marketer"] == pytest.approx(2 / 3)
    assert found.persons.is_empty()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "who is meant"),
        ({"truth": [snapshot({"p1": "flu"})] * 2}, "1 releases, but 2 snapshots"),
        ({"population": snapshot({"p1": "flu"}), "known": "events"}, "without the snapshots"),
        ({"truth": snapshot({"p1": "flu"}), "known": "ids"}, "which row is whose record"),
        ({"truth": snapshot({"p1": "flu"}), "known": "everything"}, "known must be one of"),
        ({"truth": snapshot({"p1": "flu"}), "threshold": 2}, "threshold"),
        ({"truth": snapshot({"p1": "flu"}), "attacks": ["guessing"]}, "unknown attack"),
        ({"truth": snapshot({"p1": "flu"}), "placements": [pl.DataFrame({"row": [7], "id": ["a"]})]}, "no row of"),
    ],
)
def test_what_cannot_be_is_said(arguments, message):
    with pytest.raises(rv.InputError, match=message):
        rv.audit(publish({"p1": "flu"}, [("p1",)]), SCHEMA, **arguments)
