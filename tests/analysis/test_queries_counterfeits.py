"""Counts on releases with counterfeits: bounds that contain the truth, and the plain definition group by group."""

import itertools
from collections import defaultdict
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.releases.answers import Count
from reveil.testing.strategies import REGIONS, Table
from tests.analysis.test_queries import _is_small, admitted, expressions, holds, leaves_of, meanings, spelt
from tests.manifests import altered
from tests.verification.counterfeits import Published, publish, published

quick = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))


@st.composite
def questions(draw, **limits):
    case = draw(published(**limits))
    return case, draw(expressions(_asked(case)))


def _asked(case: Published) -> Table:
    """The columns of the first table: what can be asked about."""
    if case.release.batch is None:
        return Table(case.frame, case.schema)
    kept = [column for column in case.schema.columns if column.role.value == "quasi"]
    schema = rv.Schema(
        quasi=case.schema.quasi,
        hierarchies={c.name: REGIONS for c in kept if c.taxonomy is not None},
        orders={c.name: c.order for c in kept if c.order is not None},
    )
    return Table(case.frame.select(case.schema.quasi), schema)


def truths(case: Published, tree) -> list[bool]:
    meaning = meanings(case.schema)
    return [holds(tree, row, meaning) for row in case.snapshot.frame.to_dicts()]


@quick
@given(questions())
def test_bounds_contain_the_truth(question):
    case, tree = question
    every = truths(case, tree)
    found = case.release.count(spelt(tree), case.schema)
    there = sum(every[record] for record in case.placement if record >= 0)
    withheld = case.release.manifest["withheld"]
    assert found.lower <= there <= found.upper - withheld <= sum(case.placement >= 0)
    assert found.lower <= sum(every) <= found.upper
    assert found.lower <= found.estimate <= found.upper - withheld


@quick
@given(questions(max_rows=10).filter(lambda question: _is_small(question[0].frame)))
def test_counts_are_those_of_the_plain_definition(question):
    case, tree = question
    estimate, lower, upper = plain_count(case, tree)
    found = case.release.count(spelt(tree), case.schema)
    if "*" in case.release.group_values()[1].to_series().cast(pl.String):
        return  # a suppressed value may be anything
    assert (found.lower, found.upper) == (lower, upper + case.release.manifest["withheld"])
    assert found.estimate == pytest.approx(min(max(float(estimate), lower), upper), abs=1e-9)


def plain_count(case: Published, tree):
    """Point by point, row by row, group by group."""
    release, schema = case.release, case.schema
    meaning, labels, quasi = meanings(schema), leaves_of(REGIONS), schema.quasi
    truth = {n: {"true": True, "false": False} for n in quasi if case.frame.schema[n] == pl.Boolean}
    known = release.values.to_dicts() or [{}] * release.manifest["rows"]
    per_group = defaultdict(lambda: [Fraction(0), 0, 0, 0])
    for row, values, group in zip(release.typed.to_dicts(), known, release.groups.tolist(), strict=True):
        cells = [[truth.get(n, {}).get(v, v) for v in admitted(row[n], schema[n], labels)] for n in quasi]
        points = [
            holds(tree, {**values, **dict(zip(quasi, point, strict=True))}, meaning)
            for point in itertools.product(*cells)
        ]
        own = per_group[group]
        own[0] += Fraction(sum(points), len(points))
        own[1] += all(points)
        own[2] += any(points)
        own[3] += 1
    estimate, lower, upper = Fraction(0), 0, 0
    for group, (share, certain, possible, size) in per_group.items():
        fakes = release.manifest["counterfeits"]["per_group"].get(str(group), 0)
        estimate += share * Fraction(size - fakes, size)
        lower += max(certain - fakes, 0)
        upper += min(possible, size - fakes)
    return estimate, lower, upper


FRAME = pl.DataFrame({"pid": range(4), "age": [1, 1, 9, 9], "ill": ["a", "b", "a", "b"]})
SCHEMA = rv.Schema(person="pid", quasi="age", sensitive="ill")


def test_only_the_counterfeits_of_the_groups_concerned_count():
    release = publish(FRAME, SCHEMA, [[0, 1], [2, 3]], [[], ["c"]]).release
    assert release.count("age = 1") == Count(2.0, 2, 2)
    assert release.count("age = 9") == Count(2.0, 2, 2)
    assert release.count("age > 0") == Count(4.0, 4, 4)
    assert release.count("age = 9 and ill = a") == Count(pytest.approx(2 / 3), 0, 1)
    assert release.count("age = 1 and ill = a") == Count(1.0, 1, 1)
    assert release.count("ill in {a, b}") == Count(pytest.approx(2 + 4 / 3), 3, 4)
    assert release.count("ill = c") == Count(pytest.approx(2 / 3), 0, 1)


def test_two_tables_with_boxes_answer_from_the_first():
    case = publish(FRAME, SCHEMA, [[0, 2], [1, 3]], [["c"], []], boxes=[0, 1, 0, 1, 1])
    release = case.release
    assert sorted(release.text["age"]) == ["1", "1", "9", "9", "9"]
    assert release.count("age = 1") == Count(pytest.approx(1 + 2 / 3), 1, 2)
    assert release.count("age = 9") == Count(pytest.approx(1 + 4 / 3), 2, 3)
    assert release.count("age > 0") == Count(4.0, 4, 4)
    assert release.count("ill = a") == Count(pytest.approx(4 / 3), 1, 2)
    assert release.count("ill = b") == Count(2.0, 2, 2)
    assert release.count("ill = a and age = 1") == Count(pytest.approx(4 / 9), 0, 1)
    assert release.count("ill = b and age = 9") == Count(1.0, 1, 1)


def test_counterfeits_that_nobody_places_may_be_anywhere():
    release = publish(FRAME, SCHEMA, [[0, 1], [2, 3]], [[], ["c"]]).release
    for told in ({}, {"99": 1}):
        other = release.under(altered(release.manifest, counterfeits={"total": 1, "per_group": told}))
        assert other.count("age = 1") == Count(pytest.approx(1.6), 1, 2)
        assert other.count("age > 0") == Count(4.0, 4, 4)
        assert other.count("age = 9") == Count(pytest.approx(2.4), 2, 3)
