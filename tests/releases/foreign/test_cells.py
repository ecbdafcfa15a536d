"""What cells that any tool wrote admit."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.models.encoding import encode_quasi
from reveil.releases.admitted import admitted_codes
from reveil.releases.foreign.cells import CellReader
from reveil.releases.table import Cells
from reveil.tables.hierarchy import Taxonomy
from reveil.tables.notation import Form
from reveil.tables.schema import Column, Role

NUMBERS = [-5, -3, -1, 0, 5, 21, 22, 23, 24, 90, 91]
DAYS = [date(2019, 12, 31), date(2020, 1, 1), date(2020, 1, 31), date(2020, 6, 30), date(2021, 2, 1)]
REGIONS = {"Europe": {"North": ["Denmark", "Norway"], "South": ["Italy"]}, "Asia": {"East": ["Japan"]}}
MISSING = "missing"


def attribute(values, **how):
    dtype = how.pop("dtype", None)
    return encode_quasi(pl.Series("x", values, dtype=dtype), Column("x", Role.QUASI, **how))


def admits(text, own):
    """The values that a cell admits."""
    cells = Cells(Form.FOREIGN, pl.Series("x", [text], dtype=pl.String), np.zeros(1, np.int32))
    codes = np.arange(own.null_code + 1)
    inside = admitted_codes(cells, own).contains(np.zeros(len(codes), np.int64), codes)
    return {*own.domain.filter(inside[:-1]), *([MISSING] if inside[-1] else [])}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("21", {21}),
        ("21.0", {21}),
        ("+21", {21}),
        ('"21"', {21}),
        ("7", set()),
        ("[21, 23]", {21, 22, 23}),
        ("[21,23]", {21, 22, 23}),
        ("[21; 23]", {21, 22, 23}),
        ("[21, 23[", {21, 22}),
        ("[21, 23)", {21, 22}),
        ("]21, 23]", {22, 23}),
        ("(21, 23]", {22, 23}),
        ("]21, 23[", {22}),
        ("(20.5, 22.5]", {21, 22}),
        ("(-inf, 0]", {-5, -3, -1, 0}),
        ("[90, ∞[", {90, 91}),
        ("21-23", {21, 22, 23}),
        ("21 - 23", {21, 22, 23}),
        ("21–23", {21, 22, 23}),
        ("-5--1", {-5, -3, -1}),
        ("-5 - -1", {-5, -3, -1}),
        ("-1-5", {-1, 0, 5}),
        (">=90", {90, 91}),
        ("≥ 90", {90, 91}),
        (">90", {91}),
        ("<=-3", {-5, -3}),
        ("< -3", {-5}),
        ("90+", {90, 91}),
        ("{21, 23, 77}", {21, 23}),
        ("21,23", {21, 23}),
        ("21;23", {21, 23}),
        ("21|23", {21, 23}),
        ("2*", {21, 22, 23, 24}),
        ("9*", {90, 91}),
        ("2**", {21, 22, 23, 24}),
        ("*", {*NUMBERS, MISSING}),
        (None, {MISSING}),
        ("  ", {MISSING}),
        ("[21, 23] | null", {21, 22, 23, MISSING}),
        ("5 | null", {5, MISSING}),
        ("[1000, 2000]", set()),
        ("9" * 50, set()),
    ],
)
def test_numbers(text, expected):
    assert admits(text, attribute(NUMBERS)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2020-01-01", DAYS[1:2]),
        ("2020-01-01 00:00:00", DAYS[1:2]),
        ("2020-01", DAYS[1:3]),
        ("2020", DAYS[1:4]),
        ("2019-12", DAYS[:1]),
        ("[2020-01-01, 2020-06-30]", DAYS[1:4]),
        ("[2020-01-01, 2020-06-30[", DAYS[1:3]),
        ("2020-01-01 - 2020-06-30", DAYS[1:4]),
        ("2020-01-01-2020-06-30", DAYS[1:4]),
        ("2020-2021", DAYS[1:]),
        ("2020-01-2020-02", DAYS[1:3]),
        (">=2020-06", DAYS[3:]),
        (">2020", DAYS[4:]),
        ("<2020", DAYS[:1]),
        ("2020-0*", DAYS[1:4]),
        ("{2020-01-01, 2021-02-01}", [DAYS[1], DAYS[4]]),
    ],
)
def test_dates(text, expected):
    assert admits(text, attribute(DAYS)) == set(expected)


def test_moments_times_decimals_and_floats():
    moments = attribute([datetime(2020, 1, 31, 23, 59, 59), datetime(2020, 2, 1), datetime(2020, 2, 1, 8, 30)])
    assert admits("2020-01", moments) == {moments.domain[0]}
    assert admits("[2020-01-31, 2020-02-01T00:00:00]", moments) == set(moments.domain[:2])
    assert admits("2020-02-01 08:30", moments) == {moments.domain[2]}
    zoned = attribute([datetime(2020, 1, 1, 0, 30)], dtype=pl.Datetime("us", "Europe/Paris"))
    assert len(admits("2019-12-31T23:30:00Z", zoned)) == len(admits("2020-01-01 00:30", zoned)) == 0
    assert len(admits("2020-01-01T01:30:00+01:00", zoned)) == len(admits("2020-01-01T01:30", zoned)) == 1
    times = attribute(pl.Series(["08:30:00", "17:00:00"]).str.to_time("%H:%M:%S"))
    assert admits("08:00-09:00", times) == {times.domain[0]}
    money = attribute([Decimal("1.10"), Decimal("1.15")], dtype=pl.Decimal(10, 2))
    assert admits("[1.1, 1.149]", money) == {Decimal("1.10")}
    single = attribute([0.1, 0.5], dtype=pl.Float32)
    assert admits("0.1", single) == {single.domain[0]}
    assert admits("[1e-3, 2.5e-1]", attribute([0.1, 0.5])) == {0.1}


ZIPS = ["44101", "44102", "44109", "44203", "50000"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("441**", ZIPS[:3]),
        ("4410*", ZIPS[:3]),
        ("44*", ZIPS[:4]),
        ("44**", []),
        ("*****", [*ZIPS, MISSING]),
        ("{44101, 44203}", ["44101", "44203"]),
        ("{44101, 99999}", ["44101"]),
        ("44101,44203", ["44101", "44203"]),
        ("44101;50000", ["44101", "50000"]),
        ("44101|50000", ["44101", "50000"]),
        ("44102-44203", ZIPS[1:4]),
        ("[44102, 44203]", ZIPS[1:4]),
        (">=44203", ZIPS[3:]),
        ("99999", []),
        ('"44101"', ["44101"]),
        ("44101 | null", ["44101", MISSING]),
    ],
)
def test_texts(text, expected):
    # Frequencies make the order of the codes another one than that of the texts.
    assert admits(text, attribute([*ZIPS, "50000", "50000", "44203"], dtype=pl.String)) == set(expected)


def test_runs_of_stars_are_any_number_of_characters_where_texts_differ_in_length():
    assert admits("44**", attribute(["44", "441", "44105", "5"], dtype=pl.String)) == {"44", "441", "44105"}


def test_exact_values_win():
    for text in ("*", "[1, 2]", "{a, b}", "a,b", "44*", '"q"', "a | null", ">=5", "a-b"):
        assert admits(text, attribute([text, "a", "b", "44", "445"], dtype=pl.String)) == {text}
    assert admits('"*"', attribute(["*", "a"], dtype=pl.String)) == {"*"}
    assert admits('""', attribute(["", "a"], dtype=pl.String)) == {""}
    assert admits('{"a, b", c}', attribute(["a, b", "c", "a"], dtype=pl.String)) == {"a, b", "c"}
    assert admits("a, b", attribute(["a", "b", "c"], dtype=pl.String)) == {"a", "b"}
    # A list with a text that nobody knows may be a label with a comma: it is not understood, and excludes nobody.
    assert admits("a, zebra", attribute(["a", "b", "c"], dtype=pl.String)) == {"a", "b", "c", MISSING}


def test_truth_values_are_read_in_any_case():
    assert admits("True", attribute([True, False, True])) == {"true"}
    assert admits("{FALSE, True}", attribute([True, False, True])) == {"true", "false"}


def test_orders():
    own = attribute(["low", "high"], order=("low", "mid", "high"))
    assert admits("[low, mid]", own) == {"low", "mid"}
    assert admits("mid-high", own) == {"mid", "high"}
    assert admits(">low", own) == {"mid", "high"}
    assert admits("low,high", own) == {"low", "high"}
    with pytest.raises(rv.DataError, match="values of its order"):
        admits("huge", own)


def test_labels_and_their_other_names():
    own = attribute(["Japan", None], taxonomy=Taxonomy.load(REGIONS))
    everywhere = {"Denmark", "Norway", "Italy", "Japan"}
    assert admits("Europe", own) == everywhere - {"Japan"}
    assert admits("South", own) == admits("Italy", own) == {"Italy"}
    assert admits("Asia", own) == admits("East", own) == {"Japan"}
    assert admits("North | null", own) == {"Denmark", "Norway", MISSING}
    assert admits("{North, Japan}", own) == {"Denmark", "Norway", "Japan"}
    assert admits("*", own) == {*everywhere, MISSING}
    masked = attribute(["441"], taxonomy=Taxonomy.load({"44*": ["441", "442"], "51*": ["511"]}))
    assert admits("44*", masked) == {"441", "442"}
    assert admits("441-511", masked) == {"441", "442", "511"}
    with pytest.raises(rv.DataError, match=r"'Mars'(.|\n)*hierarchy"):
        admits("Mars", own)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("secret", attribute(NUMBERS)),
        ("[21, 23", attribute(NUMBERS)),
        ("[23, 21]", attribute(NUMBERS)),
        ("23-21", attribute(NUMBERS)),
        ("{21, x}", attribute(NUMBERS)),
        ("{}", attribute(NUMBERS)),
        ("x*", attribute(NUMBERS)),
        ("1-2-3", attribute(NUMBERS)),
        ("2020-13", attribute(DAYS)),
        ("2020-02-30", attribute(DAYS)),
        ("[a, b]", attribute(["a", "b"])),
        (">=5", attribute(["a", "b"])),
        ("{a, b", attribute(["a", "b"])),
        ('"a', attribute(["a", "b"])),
    ],
    ids=str,
)
def test_what_cannot_be_understood_is_an_error(text, own):
    with pytest.raises(rv.DataError, match="column 'x' has cells that cannot be understood") as caught:
        admits(text, own)
    assert repr(text) in caught.value.message
    assert caught.value.hint


def test_columns_without_values():
    for dtype in (pl.Int64, pl.String, pl.Date):
        own = attribute([None], dtype=dtype)
        assert admits("*", own) == admits("2* | null", own) == {MISSING}
        # Where no value is known, a text may be a label.
        assert admits("2020", own) == ({MISSING} if dtype == pl.String else set())


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=20),
    st.integers(-60, 60),
    st.integers(0, 40),
    st.booleans(),
    st.booleans(),
)
def test_ranges_admit_what_lies_in_them(values, lo, width, lo_open, hi_open):
    own, hi = attribute(values), lo + width
    text = f"{']' if lo_open else '['}{lo}, {hi}{'[' if hi_open else ']'}"
    inside = {v for v in values if (lo < v if lo_open else lo <= v) and (v < hi if hi_open else v <= hi)}
    assert admits(text, own) == admits(text.replace("]", "(", 1) if lo_open else text, own) == inside
    closed = {v for v in values if lo <= v <= hi}
    for same in (f"{lo}-{hi}", f"{lo} - {hi}", f"[{lo}; {hi}]", "{" + ", ".join(map(str, range(lo, hi + 1))) + "}"):
        assert admits(same, own) == closed


def test_labels_that_nobody_explains_are_anything_and_said_so():
    own = attribute(["Germany", "Mexico", "Peru"], dtype=pl.String)
    everything = {"Germany", "Mexico", "Peru", MISSING}
    read = CellReader(own)
    for label in ("North America", "{North America}", "{Asia, Africa}", "['North America']", "Asia | null"):
        assert admits(label, own) == everything
        assert read.meaning(label).unread
    for text in ("Peru", "{Peru, Chile}", "*", "P*", '"Chile"'):
        assert not read.meaning(text).unread
    assert admits('"Chile"', own) == set()  # quoted: a value, of nobody here
    assert admits("{Peru, Chile}", own) == {"Peru"}


def test_lists_as_python_writes_them():
    own = attribute([21, 22, 23, 40], dtype=pl.Int64)
    assert admits("['21-23']", own) == admits("['21', '22', \"23\"]", own) == {21, 22, 23}
    text = attribute(["Divorced", "Widowed", "Single"], dtype=pl.String)
    assert admits("['Divorced,Widowed']", text) == {"Divorced", "Widowed"}
    assert admits("['Single']", text) == {"Single"}
