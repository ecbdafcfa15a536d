"""The query language: what is read, what it means on raw tables, and where the caret points."""

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveil.core.errors import ExpressionError
from reveil.tables.expressions import matches, parse
from reveil.tables.expressions.syntax import DEEPEST, And, Compare, IsNull, Not, OneOf, Or, Within
from reveil.tables.schema import Schema

FRAME = pl.DataFrame(
    {
        "age": [29, 30, 40, None],
        "zip": ["44100", "44101", "4500", None],
        "plz": [44100, 441, 4500, None],
        "sex": ["f", "m", "x", "f"],
        "region": ["Fife", "Angus", "Kent", None],
        "grade": ["low", "mid", "high", None],
        "born": [dt.date(2023, 1, 1), dt.date(2023, 1, 31), dt.date(2023, 3, 31), None],
        "seen": [dt.datetime(2023, 1, 31), dt.datetime(2023, 1, 31, 23, 59, 59, 5), dt.datetime(2023, 2, 1), None],
        "hour": [dt.time(9, 30), dt.time(9, 30, 1), dt.time(22), None],
        "pay": [0.1, -2.5, 1e20, None],
        "owed": [Decimal("1.10"), Decimal("-3.00"), Decimal("2.55"), None],
        "smoker": [True, False, True, None],
        "marital status": ["it's", 'a "b"', "null", "and"],
        "in": [1, 2, 3, 4],
        "count": pl.Series([0, 1, 2**64 - 1, None], dtype=pl.UInt64),
        "part": pl.Series([0.1, 0.2, 0.3, float("nan")], dtype=pl.Float32),
        "decade": [21, 25, 33, 38],
    }
)
SCHEMA = Schema(
    quasi=FRAME.columns,
    hierarchies={
        "region": {"Scotland": ["Fife", "Angus"], "England": {"South": ["Kent", "Surrey"]}},
        "decade": {"20*": ["21", "25"], "30*": ["33", "38"]},
    },
    orders={"grade": ["low", "mid", "high"]},
)


def rows(text, schema=SCHEMA):
    return [i for i, hit in enumerate(matches(text, FRAME, schema)) if hit]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age = 30", [1]),
        ("age != 30", [0, 2]),
        ("not age = 30", [0, 2, 3]),
        ("age < 30", [0]),
        ("age <= 30", [0, 1]),
        ("age > 30", [2]),
        ("age >= 30", [1, 2]),
        ("age>=30", [1, 2]),
        ("age = 30.5", []),
        ("age < 29.5", [0]),
        ("age = 3e1", [1]),
        ("age > -1", [0, 1, 2]),
        ("age in [29, 30]", [0, 1]),
        ("age not in [29, 30]", [2]),
        ("not age in [29, 30]", [2, 3]),
        ("age in {29, 40, 77}", [0, 2]),
        ("age not in {29, 40}", [1]),
        ("age is null", [3]),
        ("age is not null", [0, 1, 2]),
        ("NOT age IS NULL AND sex IN {f}", [0]),
        ("age = '30'", [1]),
        ("age = *", [0, 1, 2]),
        ("zip = 4410*", [0, 1]),
        ("zip != 4410*", [2]),
        ("zip = 44100", [0]),
        ("zip in {4410*, 4500}", [0, 1, 2]),
        ("plz = 441*", [0, 1]),
        ("plz = 4*", [0, 1, 2]),
        ("plz = 0*", []),
        ("plz in {441*, 9*}", [0, 1]),
        ("region = Scotland", [0, 1]),
        ("region != Scotland", [2]),
        ("region in {South, Fife}", [0, 2]),
        ("region = K*", [2]),
        ("region = *", [0, 1, 2]),
        ("decade = 20*", [0, 1]),
        ("decade = 30* and decade < 35", [2]),
        ("decade in [25, 33]", [1, 2]),
        ("decade in {20*, 38.0}", [0, 1, 3]),
        ("grade < high", [0, 1]),
        ("grade in [mid, high]", [1, 2]),
        ("grade not in [mid, high]", [0]),
        ("grade >= mid", [1, 2]),
        ("grade = m*", [1]),
        ("born = 2023-01-31", [1]),
        ("born in [2023-01-01, 2023-03-30]", [0, 1]),
        ("born > '2023-01-31'", [2]),
        ("seen = 2023-01-31", [0, 1]),
        ("seen <= 2023-01-31", [0, 1]),
        ("seen > 2023-01-31", [2]),
        ("seen in [2023-01-31, 2023-01-31]", [0, 1]),
        ("seen = 2023-01-31T23:59:59.000005", [1]),
        ("seen >= '2023-02-01 00:00'", [2]),
        ("hour <= 09:30", [0]),
        ("hour > 09:30:00.5", [1, 2]),
        ("pay = 0.1", [0]),
        ("pay < 0", [1]),
        ("pay <= 1e20", [0, 1, 2]),
        ("pay < 1e999", [0, 1, 2]),
        ("owed = 1.1", [0]),
        ("owed < 1.105", [0, 1]),
        ("owed >= 2.551", []),
        ("smoker = true", [0, 2]),
        ("smoker != TRUE", [1]),
        ("`marital status` = 'it''s'", [0]),
        ("'marital status' = 'a \"b\"'", [1]),
        ('"marital status" = "it\'s"', [0]),
        ("`marital status` = 'null'", [2]),
        ("`marital status` = 'it'*", [0]),
        ("`marital status` = 'it*'", []),
        ("`in` = 3", [2]),
        ("count = 18446744073709551615", [2]),
        ("count < 99999999999999999999999999", [0, 1, 2]),
        ("count > -99999999999999999999999999", [0, 1, 2]),
        ("part = 0.1", [0]),
        ("part is null", [3]),
        ("age = 30 or age = 40 and sex = m", [1]),
        ("(age = 30 or age = 40) and sex = x", [2]),
        ("not (age = 30 or age = 40) and sex = f", [0, 3]),
        ("not not age = 30", [1]),
        ("age > 30 or age <= 30", [0, 1, 2]),
    ],
)
def test_what_it_means(text, expected):
    assert rows(text) == expected


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("ag = 30", 0, "no column 'ag'"),
        ("age = 30 and wieght < 3", 13, "no column 'wieght'"),
        ("30 < age", 0, "no column '30'"),
        ("age = north", 6, "holds numbers"),
        ("age in [1, north]", 11, "holds numbers"),
        ("age in {1, 2, f}", 14, "holds numbers"),
        ("pay = 4*", 6, "do not begin"),
        ("born = 2023-02-30", 7, "holds dates"),
        ("born = yesterday", 7, "holds dates"),
        ("seen = 2023-01-31T10:00:00+01:00", 7, "dates with times"),
        ("hour = 25:00", 7, "holds times"),
        ("age = 1e9999", 6, "holds numbers"),
        ("sex < f", 4, "has no order"),
        ("sex in [a, f]", 4, "has no order"),
        ("sex not in [a, f]", 8, "has no order"),
        ("smoker > false", 7, "has no order"),
        ("region < Fife", 7, "has no order"),
        ("grade < huge", 8, "has no value"),
        ("grade < m*", 8, "no place in an order"),
        ("age < 3*", 6, "no place in an order"),
        ("grade in [high, low]", 16, "ends before it begins"),
        ("region = Wales", 9, "has no label"),
        ("smoker = maybe", 9, "true or false"),
        ("age in [40, 30]", 12, "ends before it begins"),
        ("age in [30]", 7, "two ends"),
        ("age in [30, 40, 50]", 7, "two ends"),
        ("age in [30, 40", 7, "not closed"),
        ("age in {30, 40 50}", 15, "expected a comma"),
        ("age in {}", 8, "expected a value"),
        ("age in (30, 40)", 7, "expected [ or {"),
        ("age not 30", 8, "expected 'in'"),
        ("age is 30", 7, "expected 'null'"),
        ("age = null", 6, "nothing is equal to null"),
        ("age =", 5, "expected a value"),
        ("age = and sex = f", 6, "expected a value"),
        ("age", 3, "expected a comparison"),
        ("age == 30", 4, "spelt differently"),
        ("age <> 30", 4, "spelt differently"),
        ("age ! 30", 4, "no meaning"),
        ("age = 30 sex = f", 9, "expected 'and', 'or' or the end"),
        ("age = 30 or", 11, "expected a column"),
        ("and age = 30", 0, "expected a column"),
        ("(age = 30", 0, "not closed"),
        ("age = 30 and (sex = f", 13, "not closed"),
        ("age = 30)", 8, "closes nothing"),
        ("zip = 'abc", 6, "quote is not closed"),
        ("zip = 4*1", 7, "a star stands at the end"),
        ("age = 30\n\tand sex < f", 18, "has no order"),
    ],
)
def test_errors_point_at_the_place(text, position, words):
    with pytest.raises(ExpressionError) as caught:
        rows(text)
    error = caught.value
    assert words in error.message
    assert error.position == position
    _, shown, caret = error.message.split("\n")
    assert caret.index("^") - 2 == position
    assert len(shown) - 2 == len(text)


def test_unknown_columns_list_the_known():
    with pytest.raises(ExpressionError) as caught:
        rows("aged = 3")
    assert "Did you mean 'age'?" in str(caught.value)
    assert "'zip'" in str(caught.value)


def test_the_tree():
    tree = parse("a = 1 and not (b in {x, y*} or c in [1, 2]) and d is not null").root
    assert isinstance(tree, And)
    first, second, third = tree.parts
    assert isinstance(first, Compare)
    assert isinstance(second, Not)
    assert isinstance(second.part, Or)
    members, interval = second.part.parts
    assert isinstance(members, OneOf)
    assert [(v.text, v.beginning) for v in members.values] == [("x", False), ("y", True)]
    assert isinstance(interval, Within)
    assert isinstance(third, IsNull)
    assert third.negated


@pytest.mark.parametrize("wrap", [lambda n: "(" * n + "age = 30" + ")" * n, lambda n: "not " * n + "age = 30"])
def test_nesting_is_limited(wrap):
    assert rows(wrap(DEEPEST)) == [1]
    with pytest.raises(ExpressionError, match="nested"):
        parse(wrap(DEEPEST + 1))
    with pytest.raises(ExpressionError, match="nested"):
        parse(wrap(100_000))


def test_long_chains_are_no_nesting():
    text = " or ".join(f"age = {n}" for n in range(30, 1000))
    assert rows(text) == [1, 2]
    assert rows(" and ".join([f"({text})"] * 2)) == [1, 2]


def test_a_zone_may_be_written():
    seen = pl.Series("seen", [dt.datetime(2023, 1, 30, 23, 30), dt.datetime(2023, 1, 31, 22, 59)])
    frame = pl.DataFrame({"seen": seen.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Paris")})
    assert matches("seen = 2023-01-31", frame).to_list() == [True, True]
    assert matches("seen = 2023-01-31T00:30", frame).to_list() == [True, False]
    assert matches("seen = 2023-01-30T23:30Z", frame).to_list() == [True, False]
    assert matches("seen > '2023-01-31T22:58+00:00'", frame).to_list() == [False, True]


@given(st.text(alphabet="ab '\"`()[]{},=<>!*\\\n\t0.é-", max_size=25))
def test_anything_is_read_or_refused_with_a_place(text):
    try:
        parse(text)
    except ExpressionError as error:
        place = error.position
    else:
        place = 0
    assert 0 <= place <= len(text)


@given(st.text(max_size=12).filter(lambda t: t), st.sampled_from("'\"`"))
def test_quotes_hold_everything(text, quote):
    leaf = parse(
        f"{quote}{text.replace(quote, quote * 2)}{quote} = {quote}{text.replace(quote, quote * 2)}{quote}*"
    ).root
    assert isinstance(leaf, Compare)
    assert (leaf.column.text, leaf.value.text, leaf.value.beginning) == (text, text, True)
