"""Measures over releases: the error of a trend, churn, comparability, and the aggregates that a series keeps."""

from itertools import product

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.analysis.measures import measure
from reveil.analysis.measures.aggregates import aggregates
from reveil.analysis.measures.churn import churn
from reveil.analysis.measures.comparability import comparability
from reveil.analysis.measures.trend import trend_error
from reveil.analysis.workload import windows
from reveil.models.encoding import encode_quasi
from reveil.tables.snapshot import read_snapshot

SCHEMA = rv.Schema(person="pid", quasi=("age", "town"), sensitive="disease")


def table(n=40, seed=0, *, nulls=False):
    dice = np.random.default_rng(seed)
    age = pl.Series(dice.integers(20, 32, n))
    town = pl.Series(dice.choice(["Ash", "Birk", "Corn"], n))
    if nulls:
        age, town = (
            pl.select(pl.when(pl.Series(dice.random(n) < 0.15)).then(None).otherwise(own)).to_series()
            for own in (age, town)
        )
    return pl.DataFrame({"pid": range(n), "age": age, "town": town, "disease": dice.choice(["a", "b", "c"], n)})


def released(frame, k=4, schema=SCHEMA):
    return rv.anonymize(frame, schema, rv.KAnonymity(k), seed=1)


def boxes(release, named):
    """Return the boxes of a release as sets of values; ``named`` are the ends of intervals in both releases."""
    found = set()
    for place in range(int(release.classes.max()) + 1):
        age, town = (release.cells[name].distinct[int(release.cells[name].index[place])] for name in ("age", "town"))
        ages = {value for value in named if age["lo"] is not None and age["lo"] <= value <= age["hi"]}
        found.add((frozenset(ages | ({None} if age["null"] else set())), frozenset(town)))
    return found


def exact(one, other):
    ends = {end for r in (one, other) for cell in r.cells["age"].distinct for end in (cell["lo"], cell["hi"])} - {None}
    first, second = boxes(one, ends), boxes(other, ends)
    covered = agreed = 0
    for point in product([*ends, None], ["Ash", "Birk", "Corn", None]):
        here, there = ({box for box in own if point[0] in box[0] and point[1] in box[1]} for own in (first, second))
        covered += bool(here | there)
        agreed += bool(here | there) and here == there
    return agreed / covered


@pytest.mark.parametrize("nulls", [False, True])
def test_comparability_is_the_share_of_points_with_the_same_boxes(nulls):
    raw = table(60, nulls=nulls)
    one = released(raw)
    assert comparability(one, one, SCHEMA) == 1.0
    # A few records move at one end of the table, so that some boxes stay.
    moved = raw.with_columns(age=pl.when(pl.col("age") > 29).then(pl.col("age") - 2).otherwise(pl.col("age")))
    for other in (released(moved), released(raw, 7), released(table(30, 5))):
        assert comparability(one, other, SCHEMA, points=4000) == pytest.approx(exact(one, other), abs=0.04)
    assert comparability(one, released(moved), SCHEMA) == comparability(one, released(moved), SCHEMA)


def test_comparability_needs_a_common_column():
    age, town = (
        rv.Schema(person="pid", quasi=(q,), identifiers=(o,), sensitive="disease")
        for q, o in (("age", "town"), ("town", "age"))
    )
    assert comparability(released(table(), schema=age), released(table(), schema=town), SCHEMA) is None


def test_the_error_of_a_trend_is_that_of_the_differences():
    schema = rv.Schema(person="pid", quasi=("age",), identifiers=("town",), sensitive="disease")
    frames = [table(50, 1), table(44, 2), table(61, 3)]
    releases = [released(frame, 5, schema) for frame in frames]
    found = trend_error([read_snapshot(frame, schema) for frame in frames], releases, 25)
    ages = pl.concat(frames)["age"]
    attribute = encode_quasi(ages, schema["age"])
    asked = windows([attribute], 25)
    errors, steps = [], []
    for lo, hi in zip(attribute.domain.gather(asked.lo[:, 0]), attribute.domain.gather(asked.hi[:, 0]), strict=True):
        truth = np.array([float(((f["age"] >= lo) & (f["age"] <= hi)).sum()) for f in frames])
        guess = np.array([r.count(f"age in [{lo}, {hi}]").estimate for r in releases])
        steps.append(np.abs(np.diff(guess) - np.diff(truth)) / truth.mean())
        errors.append(steps[-1].mean())
    assert found["mean"] == pytest.approx(np.mean(errors))
    assert found["median"] == pytest.approx(np.median(errors))
    assert found["per_step"] == pytest.approx(np.mean(steps, axis=0))
    assert (found["queries"], found["skipped"]) == (25, 0)


def test_a_trend_needs_two_releases_and_what_is_always_wrong_alike_is_no_error():
    frame = table()
    snapshot, release = read_snapshot(frame, SCHEMA), released(frame, 10)
    assert trend_error([snapshot], [release]) is None
    assert trend_error([snapshot, snapshot], [release, release])["mean"] == 0.0


def test_churn_counts_the_unchanged_in_another_box():
    before = pl.DataFrame({"pid": [1, 2, 3, 4], "age": [20, 21, 30, 31], "town": ["Ash"] * 4, "disease": [*"abab"]})
    after = before.with_columns(age=pl.Series([20, 25, 30, 31]), disease=pl.Series([*"abaa"]))
    snapshots = tuple(read_snapshot(frame, SCHEMA) for frame in (before, after))
    releases = tuple(released(frame, 2) for frame in (before, after))

    def placed(frame, release):
        cell = release.text["age"].to_list()
        first, second = ([n for n, own in enumerate(cell) if own.startswith(f"[{low}")] for low in (20, 30))
        return pl.DataFrame({"person": frame["pid"], "row": first + second})

    places = tuple(map(placed, (before, after), releases))
    # 1: the box grew to [20, 25]; 2 and 4 changed themselves; 3: the same box [30, 31].
    assert churn(snapshots, releases, places) == {"persons": 2, "share": 0.5}
    assert churn(snapshots, releases, (places[0], None)) is None
    named = rv.Schema(person="pid", identifiers="name", quasi=("age", "town"), sensitive="disease")
    renamed = [read_snapshot(own.frame.with_columns(name=pl.lit(f"n{n}")), named) for n, own in enumerate(snapshots)]
    assert churn(tuple(renamed), releases, places) == {"persons": 2, "share": 0.5}  # names are not published
    gone = (places[0], places[1].filter(pl.col("person") == 2))
    assert churn(snapshots, releases, gone) is None  # nobody who is in both stayed as they were


def test_aggregates_are_the_measures_of_the_release():
    frame = table(45, nulls=True)
    release = released(frame, 6)
    found = aggregates(read_snapshot(frame, SCHEMA), release)
    assert found["gcp"] == pytest.approx(measure(frame, release, SCHEMA)["gcp"])
    assert found["gcp"] == pytest.approx(np.mean([*found["columns"].values()]))
    assert found["records"] == 45
    sizes = found["group_sizes"]
    assert sum(s * n for s, n in zip(sizes["size"], sizes["groups"], strict=True)) == 45
    assert min(sizes["size"]) >= 6
