"""Answers of releases: against enumeration on tiny tables, and bounds that hold on every form."""

import datetime as dt
import itertools
import json
import math
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.analysis.questions import ask
from reveil.analysis.tally import FEW_SORTS
from reveil.releases.answers import Count
from reveil.tables.expressions import matches
from reveil.testing.strategies import REGIONS, Table, tables
from tests.analysis.test_queries import _is_small, admitted, expressions, has_star, holds, leaves_of, meanings, spelt
from tests.cli.run import reveil
from tests.verification.counterfeits import published

quick = settings(deadline=None, max_examples=15, suppress_health_check=list(HealthCheck))


@st.composite
def questions(draw, **limits):
    case = draw(published(**limits).filter(lambda case: not _starred(case)))
    return case, draw(expressions(Table(case.frame, case.schema)))


def _starred(case):
    """A star among sensitive values reads as a suppressed one."""
    return "*" in case.release.group_values()[1].to_series().cast(pl.String)


# -- two tables: what is expected over all matchings and all points


def plain_groups(case, tree):
    """Match the rows of each group with its values in every way: mean, least and most that satisfy."""
    release, schema = case.release, case.schema
    meaning, labels, (sensitive,) = meanings(schema), leaves_of(REGIONS), schema.sensitive
    truth = {n: {"true": True, "false": False} for n in schema.quasi if case.frame.schema[n] == pl.Boolean}
    rows, values = {}, {}
    for row, group in zip(release.typed.to_dicts(), release.groups.tolist(), strict=True):
        cells = [[truth.get(n, {}).get(v, v) for v in admitted(row[n], schema[n], labels)] for n in schema.quasi]
        rows.setdefault(group, []).append([dict(zip(schema.quasi, p, strict=True)) for p in itertools.product(*cells)])
    for line in release.batch.to_dicts():
        values.setdefault(line["group"], []).extend([line[sensitive]] * line["count"])
    estimate, lower, upper = Fraction(0), 0, 0
    for group, members in rows.items():
        found = []
        for dealt in itertools.permutations(values[group]):
            held = [
                [holds(tree, {**point, sensitive: value}, meaning) for point in points]
                for points, value in zip(members, dealt, strict=True)
            ]
            found.append([sum(Fraction(sum(h), len(h)) for h in held), sum(map(all, held)), sum(map(any, held))])
        fakes = release.manifest["counterfeits"]["per_group"].get(str(group), 0)
        size = len(members)
        estimate += sum(own[0] for own in found) / len(found) * Fraction(size - fakes, size)
        lower += max(min(own[1] for own in found) - fakes, 0)
        upper += min(max(own[2] for own in found), size - fakes)
    return estimate, lower, upper


@quick
@given(questions(two_tables=True, max_rows=7).filter(lambda question: _is_small(question[0].frame)))
def test_counts_over_two_tables_are_those_of_all_matchings(question):
    case, tree = question
    assume(case.release.groups.size and max(case.release.batch.group_by("group").len()["len"]) <= min(FEW_SORTS, 5))
    estimate, lower, upper = plain_groups(case, tree)
    found = case.release.count(spelt(tree), case.schema)
    assert (found.lower, found.upper) == (lower, upper + case.release.manifest["withheld"])
    assert found.estimate == pytest.approx(float(estimate), abs=1e-9)


@quick
@given(questions())
def test_bounds_contain_the_truth_whatever_is_asked(question):
    case, tree = question
    meaning = meanings(case.schema)
    truth = sum(holds(tree, row, meaning) for row in case.snapshot.frame.to_dicts())
    found = case.release.count(spelt(tree), case.schema)
    assert found.lower <= truth <= found.upper
    assert found.lower <= found.low <= found.estimate <= found.high <= found.upper


# -- a sample of all the records is a table that the release could be of: the bounds hold for it as well


@quick
@given(questions(), st.integers(0, 3))
def test_a_sample_agrees_with_its_release(question, seed):
    case, tree = question
    release = case.release
    drawn = release.sample(seed=seed, schema=case.schema)
    assert drawn.height == release.manifest["rows"] - release.manifest["counterfeits"]["total"]
    held = int(matches(spelt(tree), drawn, case.schema).sum())
    found = release.count(spelt(tree), case.schema)
    assert found.lower <= held <= found.upper - release.manifest["withheld"]


def test_samples_of_nested_boxes_lie_in_their_blocks():
    frame = pl.DataFrame({"a": [1, 2, 3, 4, 50, 51, 52, 90] * 8, "b": list(range(64)), "ill": ["x", "y"] * 32})
    schema = rv.Schema(quasi=["a", "b"], sensitive="ill")
    release = rv.anonymize(frame, schema, rv.KAnonymity(4), rv.BangA(form="nested"), seed=1)
    assert release.levels.max() > 0
    drawn = release.sample(seed=3)
    for text in ("a <= 10", "a >= 60", "a in [5, 49] and b < 20", "ill = x and b >= 40"):
        found = release.count(text)
        assert found.lower <= int(matches(text, drawn, schema).sum()) <= found.upper


def test_samples_have_the_types_of_the_table_and_the_caller():
    day = dt.date(2024, 5, 17)
    frame = pl.DataFrame(
        {"n": [1, 9, None], "x": [0.5, 2.5, 1.0], "d": [day, day, None], "ok": [True, False, True], "ill": list("abb")}
    )
    release = rv.anonymize(frame, rv.Schema(quasi=["n", "x", "d", "ok"], sensitive="ill"), rv.KAnonymity(3), seed=1)
    drawn = release.sample(500, seed=1)
    assert drawn.schema == frame.schema
    assert drawn.height == 500
    assert {"a", "b"} == set(drawn["ill"])
    assert drawn["n"].drop_nulls().is_between(1, 9).all()
    assert 0 < drawn["d"].null_count() < 500
    assert drawn.equals(release.sample(500, seed=1), null_equal=True)
    assert not drawn.equals(release.sample(500, seed=2), null_equal=True)
    assert rv.Release.sample(release, 0).height == 0
    pandas = rv.anonymize(
        frame.to_pandas(),
        rv.Schema(quasi=["x"], identifiers=["n", "d", "ok"], sensitive="ill"),
        rv.KAnonymity(3),
        seed=1,
    ).sample(4)
    assert type(pandas).__module__.startswith("pandas")
    with pytest.raises(rv.InputError, match="whole number"):
        release.sample(-1)


# -- means and quantiles


@quick
@given(st.data(), tables(max_rows=16, max_quasi=3), st.integers(1, 4), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_means_and_quantiles_are_within_their_bounds(data, table, k, q):
    numbers = [
        name
        for name in (*table.schema.quasi, *table.schema.sensitive)
        if table.schema[name].labels is None
        and (table.frame.schema[name].is_integer() or table.frame.schema[name].is_float())
    ]
    assume(numbers and not has_star(table))
    name, tree = data.draw(st.sampled_from(numbers)), data.draw(expressions(table))
    values = [row[name] for row in rows_of(table) if holds(tree, row, meanings(table.schema))]
    values = sorted(value for value in values if value is not None and not math.isnan(value))
    assume(all(abs(value) < 1e12 for value in rows_values(table, name)))
    release = rv.anonymize(table.frame, table.schema, rv.KAnonymity(min(k, table.frame.height)), seed=0)
    for found, truth in (
        (release.mean(name, spelt(tree), table.schema), sum(values) / len(values) if values else None),
        (release.quantile(name, q, spelt(tree), table.schema), _quantile(values, q)),
    ):
        if truth is not None:
            near = 1e-9 * max(1, abs(truth))
            assert found.lower - near <= truth <= found.upper + near
        if found.estimate is not None:
            assert found.lower <= found.low <= found.estimate <= found.high <= found.upper


def rows_of(table):
    from reveil.tables.snapshot import read_snapshot

    return read_snapshot(table.frame, table.schema).frame.to_dicts()


def rows_values(table, name):
    return [row[name] for row in rows_of(table) if row[name] is not None and not math.isnan(row[name])]


def _quantile(values, q):
    if not values:
        return None
    return next(value for place, value in enumerate(values, 1) if place >= q * len(values) - 1e-12)


FRAME = pl.DataFrame(
    {
        "pid": range(8),
        "age": [20, 29, 30, 39, 40, 49, 50, 59],
        "income": [10, 20, 30, 40, 50, 60, 70, None],
        "ill": ["a", "b"] * 4,
    }
)
SCHEMA = rv.Schema(person="pid", quasi="age", sensitive="ill", plain="income")


def test_means_and_quantiles_of_published_values_are_exact():
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), method=rv.Mondrian(effort="quick"), seed=1)  # pairs
    found = release.mean("income")
    assert (found.estimate, found.lower, found.upper) == (40.0, 40.0, 40.0)
    assert release.quantile("income", 0.5).estimate == 40
    assert release.quantile("income", 0).estimate == 10
    assert release.quantile("income", 1).estimate == 70
    assert release.mean("income", "ill = a").estimate == 40.0
    assert release.mean("age", "age in [20, 29]").estimate == pytest.approx(24.5)
    assert release.mean("age", "age in [20, 24]").estimate == pytest.approx(22.0)
    assert release.quantile("age", 0.5, "age < 40").estimate == 29


def test_two_tables_answer_about_their_values():
    frame = FRAME.drop("income").with_columns(cost=pl.Series([1, 2, 3, 4, 5, 6, 7, 8]))
    schema = rv.Schema(person="pid", quasi="age", sensitive=["ill", "cost"])
    release = rv.anonymize(frame, schema, rv.DistinctDiversity(2), rv.Mondrian(recode="anatomy"), seed=1)
    assert release.batch is not None
    assert release.count("ill = a") == Count(4.0, 4, 4)
    assert release.mean("cost").estimate == pytest.approx(4.5)
    assert release.mean("cost", "ill = a").estimate == pytest.approx(4.0)  # the two stand in one line
    assert release.quantile("cost", 0.5).estimate == 4
    crossed = {own.values: own.count.estimate for own in release.crosstab("ill", "cost").cells}
    assert crossed == {("a" if cost % 2 else "b", str(cost)): 1.0 for cost in range(1, 9)}
    found = release.mean("cost", "age < 30")
    assert found.lower <= 1.5 <= found.upper


# -- cross tables and trends


def test_a_crosstab_is_made_of_counts():
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(4), seed=1)
    found = release.crosstab("ill", "income", "age >= 30")
    assert found.columns == ("ill", "income")
    for own in found.cells:
        income = "income is null" if own.values[1] is None else f"income = {own.values[1]}"
        assert own.count == release.count(f"ill = {own.values[0]} and {income} and age >= 30")
    assert sum(own.count.estimate for own in found.cells) == pytest.approx(release.count("age >= 30").estimate)
    by_age = release.crosstab("age", "ill")
    assert sum(own.count.estimate for own in by_age.cells) == pytest.approx(8)


def test_the_same_question_of_several_releases(tmp_path):
    series = rv.Series.open(tmp_path / "v", SCHEMA, rv.Static(k=2))
    paths = [series.publish(frame).write(tmp_path / f"{n}.csv") for n, frame in enumerate((FRAME, FRAME.head(6)))]
    found = rv.trend(paths, "income >= 30")
    assert [own.release for own in found] == [1, 2]
    assert [own.answer.estimate for own in found] == [5, 4]
    assert found.table.columns == ["release", "created", "estimate", "lower", "upper", "low", "high"]
    means = rv.trend(map(rv.Release.read, paths), "mean(income)")
    assert [own.answer.estimate for own in means] == [40.0, 35.0]
    for wrong in ("crosstab(age, ill)", "nobody > 3"):
        with pytest.raises(rv.InputError):
            rv.trend(paths, wrong)
    with pytest.raises(rv.InputError, match="at least one"):
        rv.trend([], "age > 3")


def test_a_sample_on_a_grid_answers_for_its_table():
    frame = pl.DataFrame({"age": [10, 20, 70, 80] * 100, "ill": ["a", "b"] * 200})
    schema = rv.Schema(quasi="age", sensitive="ill", types={"age": "number", "ill": "text"})
    grid = rv.SafeGrid(beta=0.5, epsilon=1.0, scales={"age": [0, 50, 100]})
    release = rv.anonymize(frame, schema, rv.KAnonymity(5), grid, seed=1)
    rows = release.manifest["rows"]
    found = release.count("age >= 0")
    assert (found.estimate, found.lower, found.upper) == (2 * rows, rows, None)
    assert found.low < 400 < found.high
    assert release.mean("age", "ill = a").lower is None


# -- questions as text


def test_a_release_without_rows_answers():
    table = pl.DataFrame({"age": [100.5, 200.0], "ill": ["a", "b"]})
    schema = rv.Schema(quasi=["age"], sensitive="ill", types={"age": "number", "ill": "text"})
    grid = rv.SafeGrid(beta=0.5, epsilon=1.0, scales={"age": [0, 5, 10]})
    release = rv.anonymize(table, schema, rv.KAnonymity(5), grid, seed=1)
    assert release.manifest["rows"] == 0
    for asked in (release.count("age >= 3"), release.count("age in {3} or age >= 3", schema)):
        assert (asked.estimate, asked.lower, asked.low) == (0, 0, 0)
    assert release.mean("age").estimate is None


def test_questions_are_read_as_they_are_asked():
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), seed=1)
    assert ask(release, "age >= 40") == ask(release, "count age >= 40") == release.count("age >= 40")
    assert ask(release, "count") == release.count()
    assert ask(release, "mean(income) age >= 40") == release.mean("income", "age >= 40")
    assert ask(release, "Quantile( `income` , 0.5 )") == release.quantile("income", 0.5)
    assert ask(release, "crosstab('age', ill)") == release.crosstab("age", "ill")
    assert ask(release, "(age >= 40)") == release.count("age >= 40")
    assert ask(release, "not (age >= 40)") == release.count("age < 40")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mean(nobody)", "no column 'nobody'"),
        ("nobody = 3", "no column 'nobody'"),
        ("mean(ill)", "text"),
        ("quantile(ill, 0.5)", "order"),
        ("quantile(age, 2)", "from 0 to 1"),
        ("quantile(age, half)", "from 0 to 1"),
        ("quantile(age)", "2 arguments"),
        ("mean(age, ill)", "1 argument"),
        ("mean(age", "not closed"),
        ("mode(age)", "no question 'mode'"),
        ("crosstab(age, age)", "two different"),
        ("ill >= b", "no order"),
    ],
)
def test_what_cannot_be_answered_is_refused(text, said):
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), seed=1)
    with pytest.raises(rv.InputError, match=said):
        ask(release, text)


def test_an_empty_window_is_answered_honestly():
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(2), seed=1)
    found = release.count("age > 500")
    assert (found.low, found.high) == (0, 0)
    assert release.mean("age", "age > 500") == rv.Figure(None, None, None, None, None)
    assert release.quantile("age", 0.5, "age > 500").estimate is None
    assert release.crosstab("age", "ill", "age > 500").cells == ()


def test_ordered_words_have_quantiles_and_no_mean():
    grades = ["low", "middle", "high"]
    frame = pl.DataFrame({"g": ["low", "low", "middle", "middle", "high", "high"]})
    release = rv.anonymize(frame, rv.Schema(quasi="g", orders={"g": grades}), rv.KAnonymity(2), seed=1)
    assert release.quantile("g", 0.5).estimate == "middle"
    assert release.quantile("g", 1.0).estimate == "high"
    with pytest.raises(rv.InputError, match="no mean"):
        release.mean("g")


# -- the command


CONFIG = """
[columns]
age = "quasi"
zip = { role = "quasi", hierarchy = "zip.csv" }
education = { role = "quasi", order = ["none", "primary", "secondary", "tertiary"] }
ill = "sensitive"
[guarantee]
kind = "static"
k = 2
"""


def test_a_release_alone_knows_orders_and_hierarchies(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    (tmp_path / "zip.csv").write_text("44100;4410*;44*;*\n44101;4410*;44*;*\n44110;4411*;44*;*\n45000;4500*;45*;*\n")
    pl.DataFrame(
        {
            "age": [30, 31, 40, 41, 50, 52, 60, 65],
            "zip": ["44100", "44101", "44110", "44110", "45000", "45000", "44100", "44101"],
            "education": ["none", "primary", "secondary", "secondary", "tertiary", "none", "primary", "tertiary"],
            "ill": list("abababab"),
        }
    ).write_csv(tmp_path / "t.csv")
    out = tmp_path / "r.csv"
    assert reveil("publish", tmp_path / "t.csv", "-c", tmp_path / "reveil.toml", "-o", out).returncode == 0
    told = json.loads((tmp_path / "r.manifest.json").read_text())["domains"]
    assert told["education"] == {"kind": "order", "order": ["none", "primary", "secondary", "tertiary"]}
    assert told["zip"]["hierarchy"]["*"]["44*"]["4410*"] == ["44100", "44101"]
    for text in ("age >= 40", "education >= secondary", "zip = 4410*", "zip = 44*"):
        alone = reveil("query", out, text, "--json", "-")
        with_config = reveil("query", out, text, "-c", tmp_path / "reveil.toml", "--json", "-")
        assert alone.returncode == 0, alone.stderr
        assert alone.stdout == with_config.stdout
        assert list(json.loads(alone.stdout)) == ["estimate", "lower", "upper", "low", "high"]
    crossed = json.loads(reveil("query", out, "crosstab(education, ill) age >= 40", "--json", "-").stdout)
    assert set(crossed["cells"][0]) == {"values", "estimate", "lower", "upper", "low", "high"}
    shown = reveil("query", out, "crosstab(education, ill)").stdout.splitlines()
    assert shown[0].split() == ["education", "ill", "estimate", "lower", "upper", "low", "high"]
    assert len({len(line.split()) for line in shown}) == 1
    for text in ("mean(ill)", "quantile(age, 7)", "ill > a", "mean(age) what = 3"):
        assert reveil("query", out, text).returncode == 2
