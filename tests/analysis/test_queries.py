"""Counts on releases: against plain definitions, and bounds that contain the truth."""

import datetime as dt
import itertools
from dataclasses import dataclass
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.analysis.reader import reader_of
from reveil.core.errors import ConfigError, ExpressionError, InputError
from reveil.releases.answers import Count
from reveil.releases.release import Release
from reveil.tables.expressions import matches, parse
from reveil.tables.snapshot import read_snapshot
from reveil.testing.strategies import GRADES, REGIONS, tables
from tests.manifests import altered

# -- a plain reading of the language: trees of tuples, rows as dictionaries


@dataclass(frozen=True)
class Meaning:
    """What a column's values are compared with."""

    leaves: dict | None = None  # label: leaves
    order: list | None = None


def leaves_of(tree, found=None):
    found = {} if found is None else found

    def below(node):
        if not isinstance(node, dict):
            return list(node)
        return [leaf for child in node.values() for leaf in below(child)]

    for label, child in tree.items():
        found[label] = below(child)
        if isinstance(child, dict):
            leaves_of(child, found)
        else:
            found |= {leaf: [leaf] for leaf in child}
    found["*"] = below(tree)
    return found


def holds(tree, row, meaning):
    kind, *rest = tree
    if kind == "and":
        return all(holds(part, row, meaning) for part in rest)
    if kind == "or":
        return any(holds(part, row, meaning) for part in rest)
    if kind == "not":
        return not holds(rest[0], row, meaning)
    column, *literals = rest
    value, own = row[column], meaning[column]
    if kind == "null":
        return value is None
    if value is None:
        return False
    if kind in ("=", "!="):
        return equal(value, literals[0], own) == (kind == "=")
    if kind in ("{}", "!{}"):
        return any(equal(value, literal, own) for literal in literals) == (kind == "{}")
    rank = own.order.index if own.order else lambda v: v
    if kind in ("[]", "![]"):
        return (rank(literals[0]) <= rank(value) <= rank(literals[1])) == (kind == "[]")
    compare = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[kind]
    return getattr(rank(value), compare)(rank(literals[0]))


def equal(value, literal, own):
    if own.leaves is not None:
        return value in own.leaves[literal]
    if isinstance(literal, tuple):
        return str(value).startswith(literal[0])
    return value == literal


def spelt(tree):
    kind, *rest = tree
    if kind in ("and", "or"):
        return "(" + f" {kind} ".join(spelt(part) for part in rest) + ")"
    if kind == "not":
        return "not " + spelt(rest[0])
    column, *literals = rest
    words = [word(literal) for literal in literals]
    if kind == "null":
        return f"{column} is null"
    negated = "not " if len(kind) > 2 and kind[0] == "!" else ""
    if "{" in kind:
        return f"{column} {negated}in {{{', '.join(words)}}}"
    if "[" in kind:
        return f"{column} {negated}in [{words[0]}, {words[1]}]"
    return f"{column} {kind} {words[0]}"


def word(literal):
    if isinstance(literal, tuple):
        return word(literal[0]) + "*"
    if isinstance(literal, bool):
        return str(literal).lower()
    if isinstance(literal, dt.date):
        return literal.isoformat()
    if isinstance(literal, str):
        return "'" + literal.replace("'", "''") + "'"
    return str(literal)


def meanings(schema):
    return {
        column.name: Meaning(
            None if column.taxonomy is None else leaves_of(REGIONS), None if column.order is None else GRADES
        )
        for column in schema.columns
    }


def raw_rows(table):
    return read_snapshot(table.frame, table.schema).frame.to_dicts()


@st.composite
def comparisons(draw, table, frame):
    names = [c.name for c in table.schema.columns if c.role.value != "person"]
    name = draw(st.sampled_from(names))
    column, dtype = table.schema[name], frame.schema[name]
    present = frame[name].drop_nulls().unique().sort().to_list()
    ordered = column.order is not None or (column.taxonomy is None and (dtype.is_numeric() or dtype.is_temporal()))
    if column.order is not None:
        literal = st.sampled_from(GRADES)
    elif column.taxonomy is not None:
        literal = st.sampled_from(["North", "Plain", "Fells", "Coast", "c1", "p1", "p2", "f2", "*"])
    elif dtype == pl.Boolean:
        literal = st.booleans()
    elif dtype == pl.String:
        literal = st.sampled_from([*present, "flu", "nobody", ("a",), ("",), ("fl",)])
    elif dtype.is_temporal():
        near = [v + dt.timedelta(days=d) for v in present[:4] for d in (-1, 0, 2)]
        whole = st.sampled_from(near or [dt.date(2020, 1, 1) if dtype == pl.Date else dt.datetime(2020, 1, 1)])
        literal = whole
    else:
        near = [v + d for v in present[:6] for d in (-1, 0, 0, 3)]
        literal = st.sampled_from(near or [0])
    kind = draw(
        st.sampled_from(["=", "!=", "{}", "!{}", "null", *(["<", "<=", ">", ">=", "[]", "![]"] if ordered else [])])
    )
    if kind == "null":
        return (kind, name)
    if "{" in kind:
        return (kind, name, *draw(st.lists(literal, min_size=1, max_size=3)))
    if "[" in kind:
        rank = GRADES.index if column.order else lambda v: v
        return (kind, name, *sorted(draw(st.tuples(literal, literal)), key=rank))
    return (kind, name, draw(literal))


@st.composite
def expressions(draw, table):
    frame = read_snapshot(table.frame, table.schema).frame
    leaf = comparisons(table, frame)
    several = lambda inner: st.lists(inner, min_size=2, max_size=3)  # noqa: E731
    return draw(
        st.recursive(
            leaf,
            lambda inner: st.one_of(
                several(inner).map(lambda parts: ("and", *parts)),
                several(inner).map(lambda parts: ("or", *parts)),
                inner.map(lambda part: ("not", part)),
            ),
            max_leaves=6,
        )
    )


@st.composite
def questions(draw, **limits):
    table = draw(tables(**limits))
    return table, draw(expressions(table))


def has_star(table):
    """A star among sensitive values reads as a suppressed one: nothing about it is certain."""
    return any("*" in table.frame[name].cast(pl.String) for name in table.schema.sensitive)


def published(table, k, seed=0, **settings):
    return rv.anonymize(table.frame, table.schema, rv.KAnonymity(min(k, table.frame.height)), seed=seed, **settings)


@given(questions(max_rows=25))
@settings(deadline=None, max_examples=40)
def test_raw_tables_agree_with_the_plain_reading(question):
    table, tree = question
    meaning, rows = meanings(table.schema), raw_rows(table)
    found = matches(spelt(tree), read_snapshot(table.frame, table.schema).frame, table.schema)
    assert found.to_list() == [holds(tree, row, meaning) for row in rows]


@given(questions(max_rows=40), st.integers(1, 6), st.sampled_from([0.0, 0.3]))
@settings(deadline=None, max_examples=40)
def test_bounds_contain_the_truth(question, k, suppress):
    table, tree = question
    meaning = meanings(table.schema)
    truth = sum(holds(tree, row, meaning) for row in raw_rows(table))
    release = published(table, k, suppress=suppress)
    found = release.count(spelt(tree), table.schema)
    assert found.lower <= truth <= found.upper
    assert found.lower <= found.estimate <= found.upper
    if any(table.schema[name].taxonomy for name in table.schema.sensitive):
        return  # without the schema, a label is a text like any other there
    try:
        blind = release.count(spelt(tree))
    except ExpressionError:
        return  # labels and orders need the schema
    assert blind.lower <= truth <= blind.upper
    assert blind.lower <= blind.estimate <= blind.upper


@given(questions(max_rows=15, max_quasi=2))
@settings(deadline=None, max_examples=40)
def test_points_are_counted_exactly(question):
    table, tree = question
    truth = sum(holds(tree, row, meanings(table.schema)) for row in raw_rows(table))
    # Every row three times: groups of three with equal values are boxes of one point.
    thrice = pl.concat([table.frame] * 3).with_columns(pid=pl.int_range(3 * table.frame.height))
    release = rv.anonymize(thrice, table.schema, rv.KAnonymity(3), seed=1)
    points = release.text.select(table.schema.quasi).n_unique() == release.manifest["groups"] and not any(
        cell is not None
        and (cell[0] in "[{" or cell.endswith("| null") or cell in ("*", "North", "Fells", "Coast", "Plain"))
        for row in release.text.select(table.schema.quasi).rows()
        for cell in row
    )
    if points and not has_star(table):
        assert release.count(spelt(tree), table.schema) == Count(3 * truth, 3 * truth, 3 * truth)


# -- the share of a box, point by point


@st.composite
def small_questions(draw):
    table = draw(tables(max_rows=12, max_quasi=3, max_sensitive=1).filter(lambda t: _is_small(t.frame)))
    return table, draw(expressions(table))


def _is_small(frame):
    return all(d in (pl.Int64, pl.Int32, pl.Date, pl.Boolean, pl.String) for d in frame.dtypes) and not any(
        isinstance(v, int) and abs(v) > 1000 for row in frame.rows() for v in row
    )


def admitted(cell, column, labels):
    """List the values that a typed cell admits."""
    if isinstance(cell, dict):
        lo, hi, null = cell["lo"], cell["hi"], cell["null"]
        step = dt.timedelta(days=1) if isinstance(lo, dt.date) else 1
        values = [] if lo is None else [lo + i * step for i in range((hi - lo) // step + 1)]
        return [*values, *([None] if null else [])]
    if isinstance(cell, list):
        return cell
    if cell is None:
        return [None]
    if column.taxonomy is not None:
        label = cell.removesuffix(" | null")
        return [*labels[label], *([None] if label != cell else [])]
    raise AssertionError(cell)


def plain_count(release, table, tree):
    """Count point by point: the estimate as an exact fraction, and the bounds."""
    meaning, labels = meanings(table.schema), leaves_of(REGIONS)
    estimate, lower, upper = Fraction(0), 0, 0
    quasi = table.schema.quasi
    truths = {n: {"true": True, "false": False} for n in quasi if table.frame.schema[n] == pl.Boolean}
    known = release.values.to_dicts() or [{}] * release.manifest["rows"]
    for row, values in zip(release.typed.to_dicts(), known, strict=True):
        cells = [[truths.get(n, {}).get(v, v) for v in admitted(row[n], table.schema[n], labels)] for n in quasi]
        points = [
            holds(tree, {**values, **dict(zip(quasi, point, strict=True))}, meaning)
            for point in itertools.product(*cells)
        ]
        estimate += Fraction(sum(points), len(points))
        lower += all(points)
        upper += any(points)
    return estimate, lower, upper + release.manifest["suppressed"]


@given(small_questions(), st.integers(1, 5))
@settings(deadline=None, max_examples=40)
def test_counts_are_those_of_the_plain_definition(question, k):
    table, tree = question
    if has_star(table):
        return
    release = published(table, k)
    estimate, lower, upper = plain_count(release, table, tree)
    found = release.count(spelt(tree), table.schema)
    assert (found.lower, found.upper) == (lower, upper)
    assert found.estimate == pytest.approx(float(estimate), abs=1e-9)


# With at least two columns: in a CSV of one column, empty cells at the end are empty lines at the end.
@given(
    questions(max_rows=20).filter(lambda question: question[0].frame.width > 2), st.sampled_from([".csv", ".parquet"])
)
@settings(deadline=None, max_examples=30)
def test_files_answer_like_releases(tmp_path_factory, question, suffix):
    table, tree = question
    release = published(table, 3)
    path = release.write(tmp_path_factory.mktemp("release") / f"r{suffix}")
    again = Release.read(path).count(spelt(tree), table.schema)
    first = release.count(spelt(tree), table.schema)
    assert (again.lower, again.upper) == (first.lower, first.upper)
    assert again.estimate == pytest.approx(first.estimate, abs=1e-9)


# -- single cases


def release_of(columns, schema=None, k=2, **changes):
    frame = pl.DataFrame(columns)
    schema = schema or rv.Schema(quasi=frame.columns)
    release = rv.anonymize(frame, schema, rv.KAnonymity(k), seed=1)
    return release.under(altered(release.manifest, **changes))


def test_shares_of_numbers_dates_and_floats():
    day = dt.date(2023, 1, 1)
    release = release_of({"n": [1, 10], "d": [day, day + dt.timedelta(days=9)], "x": [0.0, 4.0]})
    assert release.count("n in [1, 3]") == Count(0.6, 0, 2)
    assert release.count("n < 1") == Count(0.0, 0, 0)
    assert release.count("n > 0") == Count(2.0, 2, 2)
    assert release.count("d >= 2023-01-06") == Count(1.0, 0, 2)
    assert release.count("x < 1") == Count(0.5, 0, 2)
    assert release.count("x = 1") == Count(0.0, 0, 2)
    assert release.count("x != 1") == Count(2.0, 0, 2)
    assert release.count("x < 4") == Count(2.0, 0, 2)
    assert release.count("x <= 4") == Count(2.0, 2, 2)
    assert release.count("n in [1, 3] and x < 1").estimate == pytest.approx(2 * 0.3 * 0.25)
    assert release.count("n in [1, 3] or x < 1").estimate == pytest.approx(2 * (1 - 0.7 * 0.75))
    assert release.count("n in [1, 5] and n in [4, 10]").estimate == pytest.approx(2 * 0.2)
    assert release.count("(n < 4 and x < 1) or (n > 7 and x > 3)").estimate == pytest.approx(2 * 2 * 0.3 * 0.25)
    assert release.count("n = 1*").estimate == pytest.approx(2 * 0.2)


def test_null_is_one_more_value():
    release = release_of({"n": [1, 3, None], "s": ["a", "b", None], "x": [0.0, 1.0, None]}, k=3)
    assert release.count("n is null") == Count(0.75, 0, 3)
    assert release.count("s is null") == Count(1.0, 0, 3)
    assert release.count("x is null") == Count(1.0, 0, 3)  # beside its two published ends
    assert release.count("n > 0 or n <= 0") == Count(2.25, 0, 3)
    assert release.count("n = 1 or not n = 1") == Count(3.0, 3, 3)
    assert release.count("n != 1").estimate == pytest.approx(1.5)


def test_a_column_of_nulls():
    release = release_of({"n": pl.Series([None, None], dtype=pl.Int64), "m": [1, 1]})
    assert release.count("n is null") == Count(2.0, 2, 2)
    assert release.count("n = 1") == Count(0.0, 0, 0)
    assert release.count("not n = 1") == Count(2.0, 2, 2)


@pytest.mark.parametrize(
    ("values", "text", "expected"),
    [
        ([-1.7e308, 1.7e308], "x < 0", Count(1.0, 0, 2)),
        ([2**63 - 1, -(2**63)], "x >= 0", Count(1.0, 0, 2)),
        ([2**53, 2**53 + 2], f"x = {2**53 + 1}", Count(2 / 3, 0, 2)),
        ([0.1, 0.1], "x = 0.1", Count(2.0, 2, 2)),
        ([1.0, 1.0000000000000002], "x > 1 and x < 1.0000000000000002", Count(0.0, 0, 0)),
    ],
)
def test_the_ends_of_the_lines(values, text, expected):
    assert release_of({"x": values}).count(text) == expected


def test_columns_published_as_they_are_are_known():
    frame = pl.DataFrame({"n": [1, 2, 3, 4], "ill": ["flu", "flu", "gout", None], "cost": [1.5, 2.5, None, 2.5]})
    schema = rv.Schema(quasi="n", sensitive=["ill"], plain=["cost"])
    release = rv.anonymize(frame, schema, rv.KAnonymity(2), seed=1)
    assert release.count("ill = flu") == Count(2.0, 2, 2)
    assert release.count("not ill = flu") == Count(2.0, 2, 2)
    assert release.count("ill is null and cost > 2") == Count(1.0, 1, 1)
    assert release.count("ill = gout and n in [3, 3]") == Count(0.5, 0, 1)
    assert release.count("cost is null or ill = flu") == Count(3.0, 3, 3)


def test_suppressed_and_withheld_records_may_all_be_meant():
    release = release_of({"n": [1, 10]}, suppressed=3, withheld=1)
    assert release.count("n < 1") == Count(0.0, 0, 4)
    assert release.count("n > 0") == Count(2.0, 2, 6)
    release = release.under(altered(release.manifest, suppressed=None))
    assert release.count("n > 0") == Count(2.0, 2, None)


def test_counterfeits_may_be_among_the_certain():
    release = release_of({"n": [1, 1, 9, 9]}, counterfeits={"total": 1, "per_group": {}})
    assert release.count("n = 1") == Count(1.5, 1, 2)
    assert release.count("n > 0") == Count(3.0, 3, 3)


def test_a_suppressed_sensitive_value_may_be_anything():
    frame = pl.DataFrame({"n": [1, 1, 1, 1], "ill": ["flu", "gout", "flu", "*"]})
    release = rv.anonymize(frame, rv.Schema(quasi="n", sensitive="ill"), rv.KAnonymity(2), seed=1)
    assert release.count("ill = flu") == Count(2.5, 2, 3)
    assert release.count("ill = hiv") == Count(0.0, 0, 1)
    assert release.count("ill = h* and not ill = hiv") == Count(0.0, 0, 1)
    assert release.count("ill = hiv or ill = gout and n = 1") == Count(1.5, 1, 2)
    assert release.count("ill is null") == Count(0.0, 0, 1)


REGION = rv.Schema(quasi=["r"], hierarchies={"r": REGIONS}, cells={"r": "label"})


def test_tight_cells_mean_the_leaves_that_they_list():
    schema = rv.Schema(quasi=["r"], hierarchies={"r": REGIONS})
    release = release_of({"r": ["f1", "f2", "c1", "p1"]}, schema)
    assert sorted(set(release.table["r"])) == ["{c1, p1}", "{f1, f2}"]
    for answer in (release.count, lambda text: release.count(text, schema)):
        assert answer("r = Fells") == Count(2.0, 2, 2)
        assert answer("r = North") == Count(3.0, 2, 4)
        assert answer("r = c2") == Count(0.0, 0, 0)
        assert answer("not r = North") == Count(1.0, 0, 2)


def test_labels_mean_their_leaves():
    release = release_of({"r": ["f1", "f2", "c1", "p1"]}, REGION)
    assert sorted(set(release.table["r"])) == ["*", "Fells"]
    assert release.count("r = Fells", REGION) == Count(2 + 2 * 2 / 7, 2, 4)
    assert release.count("r = f1", REGION).estimate == pytest.approx(1 + 2 / 7)
    assert release.count("r = North", REGION) == Count(2 + 2 * 5 / 7, 2, 4)
    assert release.count("not r = North", REGION).estimate == pytest.approx(2 * 2 / 7)
    assert release.count("r = *", REGION) == Count(4.0, 4, 4)


def test_without_the_hierarchy_only_published_labels_have_a_meaning():
    release = release_of({"r": ["f1", "f2", "c1", "p1"]}, REGION)
    assert release.count("r = North") == release.count("r = North", REGION) == Count(2 + 2 * 5 / 7, 2, 4)
    release = release.under(altered(release.manifest, domains=None))
    assert release.count("r = Fells") == Count(2.0, 2, 4)
    assert release.count("r = Fells and not r in {Fells}") == Count(0.0, 0, 0)
    assert release.count("r is not null") == Count(4.0, 4, 4)
    assert release.count("r = *") == Count(4.0, 4, 4)
    assert release.count("not r = Fells") == Count(2.0, 0, 2)
    for text in ("r = North", "r = f*", "r < Fells"):
        with pytest.raises(ExpressionError, match="-c"):
            release.count(text)


def test_another_hierarchy_is_refused():
    release = release_of({"r": ["f1", "f2", "c1", "p1"]}, REGION)
    other = rv.Schema(quasi=["r"], hierarchies={"r": {"A": ["f1", "f3"], "B": ["p1"]}})
    with pytest.raises(ConfigError, match="labels"):
        release.count("r = A", other)


def test_declared_orders_go_with_the_release():
    schema = rv.Schema(quasi=["g"], orders={"g": GRADES})
    release = release_of({"g": ["none", "secondary"]}, schema)
    assert release.count("g < secondary", schema).estimate == pytest.approx(2 * 2 / 3)
    assert release.count("g < secondary") == release.count("g < secondary", schema)
    assert release.count("g = primary").estimate == pytest.approx(2 / 3)
    without = release.under(altered(release.manifest, domains=None))
    with pytest.raises(ExpressionError, match="order"):
        without.count("g < secondary")


def test_too_many_ways_are_refused():
    release = release_of({name: [0, 40] for name in "abcd"})
    mixed = " or ".join(f"(a = {n} and b = {n} and c = {n} and d = {n})" for n in range(1, 30))
    with pytest.raises(InputError, match="200,000"):
        release.count(mixed)
    grouped = " and ".join("(" + " or ".join(f"{name} = {n}" for n in range(30)) + ")" for name in "abcd")
    assert release.count(grouped).estimate == pytest.approx(2 * (30 / 41) ** 4)


def test_a_parsed_expression_can_be_asked_of_many():
    parsed = parse("n in [1, 3]")
    release = release_of({"n": [1, 10]})
    assert release.count(parsed) == release.count("n in [1, 3]") == Count(0.6, 0, 2)
    assert reader_of(release, None) is reader_of(release, None)  # what was worked out is kept


def test_the_source_table():
    """Table 3.1 of the source: point and window."""
    frame = pl.DataFrame(
        {
            "age": [61, 62, 63, 51, 52, 58],
            "zip": [44100, 44120, 44130, 44420, 44450, 44470],
            "gender": ["F", "F", "F", "M", "M", "M"],
        }
    )
    release = rv.anonymize(frame, rv.Schema(quasi=frame.columns), rv.KAnonymity(3), seed=1)
    assert release.count("age = 62 and zip = 44120 and gender = F").upper == 3
    assert release.count("zip in [44420, 44470] and age >= 50") == Count(3.0, 3, 3)
