"""The section [input]: notations of numbers and dates, marks, ends and steps, and what init finds."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import reveil as rv
from reveil.core.errors import ConfigError, DataError, ExpressionError
from reveil.tables.coarsening import Coarsening
from reveil.tables.detection import detect
from reveil.tables.expressions import matches
from reveil.tables.settings import load_schema
from reveil.tables.snapshot import read_snapshot

CONFIG = """
[input]
{input}
[columns]
n = {{ role = "quasi" {n} }}
d = {{ role = "quasi" {d} }}
s = "sensitive"
"""


def read(folder, rows, given="", n="", d=""):
    (folder / "reveil.toml").write_text(CONFIG.format(input=given, n=n, d=d))
    (folder / "t.csv").write_text("n;d;s\n" + rows)
    return read_snapshot(folder / "t.csv", load_schema(folder / "reveil.toml")).frame


GERMAN = 'decimal = ","\nthousands = "."\ndates = "%d.%m.%Y"'


@pytest.mark.parametrize("types", [("", ""), (', type = "number"', ', type = "date"')])
def test_numbers_and_dates_as_people_write_them(tmp_path, types):
    frame = read(tmp_path, "1.234,5;31.12.2024;a\n;1.2.2024;b\n-0,25;;c\n", GERMAN, *types)
    assert frame["n"].to_list() == [1234.5, None, -0.25]
    assert frame["d"].to_list() == [dt.date(2024, 12, 31), dt.date(2024, 2, 1), None]


def test_a_format_for_all_columns_is_for_those_that_need_it(tmp_path):
    frame = read(tmp_path, "1,5;2024-12-31;a\n2;2024-02-01;b\n", GERMAN, d=', type = "date"')
    assert frame["d"].to_list() == [dt.date(2024, 12, 31), dt.date(2024, 2, 1)]
    assert read(tmp_path, "x,5;2024-12-31;a\n2;2024-02-01;b\n", GERMAN)["n"].to_list() == ["x,5", "2"]


def test_formats_and_marks_of_one_column(tmp_path):
    given = 'dates = { d = "%m/%d/%Y" }\nnull_values = { n = ["-9"], d = ["?"] }'
    frame = read(tmp_path, "-9;12/31/2024;a\n7;?;-9\n", given)
    assert frame.rows() == [(None, dt.date(2024, 12, 31), "a"), (7, None, "-9")]
    frame = read(
        tmp_path, "-9;12/31/2024;a\n7;?;b\n", n=', null_values = ["-9"]', d=', dates = "%m/%d/%Y", null_values = ["?"]'
    )
    assert frame["d"].to_list() == [dt.date(2024, 12, 31), None]


@pytest.mark.parametrize(
    ("rows", "given", "n", "d", "line", "words"),
    [
        ("1;01.02.2024;a\n2;2024-02-03;b\n", "", "", "", 3, "dates in two formats"),
        ("1;31/12/2024;a\n2;01/02/2024;b\n3;12/31/2024;c\n", "", "", "", 4, "dates in two formats"),
        ("1,5;31.12.2024;a\n2.5;31.12.2024;b\n", GERMAN, "", "", 3, "numbers in two ways"),
        ("1,5;31.12.2024;a\n1;2024-02-03;b\n", GERMAN, "", ', type = "date"', 3, "1 cell cannot be read so"),
        ("1;31.12.2024;a\nx;31.12.2024;b\n", GERMAN, ', type = "number"', "", 3, "1 cell cannot be read so"),
        ("1;31.12.2024;a\n1;soon;b\n", 'dates = { d = "%d.%m.%Y" }', "", "", 3, "not dates in the format"),
    ],
)
def test_two_notations_in_one_column_are_refused_with_the_line(tmp_path, rows, given, n, d, line, words):
    with pytest.raises(DataError, match=words) as caught:
        read(tmp_path, rows, given, n, d)
    assert (caught.value.line, caught.value.exit_code) == (line, 2)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ('decimal = ";"', "decimal must be"),
        ('thousands = "."', "the same sign"),
        ('dates = "%d.%m"', "must be a format"),
        ("dates = { d = 3 }", "must be a format"),
        ('dates = { x = "%d.%m.%Y" }', "'x', which is not declared"),
        ('null_values = { n = "NA" }', "must be a list of texts"),
        ('rows = "weeks"', "rows must be"),
        ('keep = "last by d"', 'keep is for tables with rows = "visits"'),
        ('colour = "red"', "no setting 'colour'"),
    ],
)
def test_settings_that_cannot_be(tmp_path, given, words):
    with pytest.raises(ConfigError, match=words):
        read(tmp_path, "1;2024-12-31;a\n", given)


def test_ends_and_steps(tmp_path):
    frame = read(
        tmp_path,
        "17;2024-05-31;a\n22;2024-06-01;b\n23;1999-01-01;c\n97;;d\n",
        n=", top = 90, bottom = 20, round = 5",
        d=', round = "quarter", bottom = 2000-01-01',
    )
    assert frame["n"].to_list() == [20, 20, 25, 90]
    assert frame["d"].to_list() == [dt.date(2024, 4, 1), dt.date(2024, 4, 1), dt.date(2000, 1, 1), None]
    again = Coarsening.of("n", 90, 20, 5)
    assert again.apply(frame["n"]).equals(frame["n"])
    assert Coarsening.of("n", None, None, 0.1).apply(pl.Series([0.34, 0.25, -0.05])).to_list() == [0.3, 0.3, 0.0]
    assert Coarsening.of("n", 7.5, None, None).apply(pl.Series([7, 9])).to_list() == [7.0, 7.5]


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (", top = 92, round = 5", "top is not one of the values"),
        (', top = "soon"', "top must be a number or a date"),
        (", top = 10, bottom = 20", "bottom must be below top"),
        (', top = 90, round = "month"', "are for numbers, or all for dates"),
        (", round = -5", "round must be a number above 0"),
        (', type = "text", top = 90', "cannot have top, bottom or round"),
        (', top = 90, order = ["1", "2"]', "cannot have top, bottom or round"),
    ],
)
def test_ends_and_steps_that_cannot_be(tmp_path, n, words):
    with pytest.raises(ConfigError, match=words):
        read(tmp_path, "1;2024-12-31;a\n", n=n)
    with pytest.raises(DataError, match="its type is text"):
        read(tmp_path, "x;2024-12-31;a\n", n=", top = 90")


def test_questions_beyond_the_ends_are_refused():
    schema = rv.Schema(quasi="n", coarse={"n": {"top": 90, "round": 5}})
    frame = pl.DataFrame({"n": [90, 25]})
    assert matches("n >= 90", frame, schema).to_list() == [True, False]
    for expression, words in (("n >= 95", "from 90 up"), ("n > 90", "from 90 up"), ("n in [23, 40]", "rounded")):
        with pytest.raises(ExpressionError, match=words):
            matches(expression, frame, schema)


def test_a_release_tells_and_keeps_its_ends(tmp_path):
    frame = pl.DataFrame({"n": list(range(60, 100)), "s": ["a", "b"] * 20})
    schema = rv.Schema(quasi="n", sensitive="s", coarse={"n": {"top": 90, "round": 5}})
    release = rv.anonymize(frame, schema, rv.KAnonymity(3), seed=1)
    assert release.manifest["columns"][0]["coarse"] == {"top": 90, "round": 5}
    back = rv.Release.read(release.write(tmp_path / "r.csv"))
    assert back.manifest.column("n").coarse == {"top": 90, "round": 5}
    assert back.count("n >= 90").lower == 12  # 87.5 and more
    assert release.typed["n"].struct.field("hi").max() == 90
    with pytest.raises(ExpressionError, match="from 90 up"):
        back.count("n >= 91")


def test_weights_count_in_the_mean_width():
    frame = pl.DataFrame({"a": list(range(12)), "b": [n % 3 for n in range(12)], "s": ["x", "y"] * 6})
    plain = rv.Schema(quasi=("a", "b"), sensitive="s")
    heavy = rv.Schema(quasi=("a", "b"), sensitive="s", weights={"a": 3})
    release = rv.anonymize(frame, plain, rv.KAnonymity(6), seed=1)
    one, other = rv.measure(frame, release, plain), rv.measure(frame, release, heavy)
    widths = [
        rv.measure(frame, release, rv.Schema(quasi=("a", "b"), sensitive="s", weights={n: 100}))["gcp"] for n in "ab"
    ]
    a, b = (100 * widths[0] - widths[1]) / 99, (100 * widths[1] - widths[0]) / 99  # each is 100 to 1
    assert one["gcp"] == pytest.approx((a + b) / 2)
    assert other["gcp"] == pytest.approx((3 * a + b) / 4)
    assert other["ncp"] == pytest.approx(other["gcp"] * 24)


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("a;b\n1,5;Zürich\n", "latin-1", {"separator": ";", "encoding": "latin-1", "decimal": ","}),
        ("a,b\n1.5,\N{EURO SIGN}\n", "cp1252", {"encoding": "cp1252"}),
        ("a\tb\n1\tx\n", "utf-16", {"separator": "\t", "encoding": "utf-16"}),
        ("a|b\n1|x\n", "utf-8", {"separator": "|"}),
        ('a,b\n"1,234",x\n"12,500",y\n', "utf-8", {"thousands": ","}),
        ("a;b\n1.234;1,5\n12.500;2\n", "utf-8", {"separator": ";", "decimal": ",", "thousands": "."}),
        ("a;b\n12 345,5;x\n", "utf-8", {"separator": ";", "decimal": ",", "thousands": " "}),
        ("a,b\n31/12/2024,05/04/2024\n", "utf-8", {"dates": "%d/%m/%Y"}),
        ("a,b\n12/31/2024,x\n", "utf-8", {"dates": "%m/%d/%Y"}),
        ("a,b\n05/04/2024,x\n", "utf-8", {}),
        ("a;b\n05/04/2024;x\n", "utf-8", {"separator": ";", "dates": "%d/%m/%Y"}),
        ("a,b\n2024-01-01,1.5\n", "utf-8", {}),
    ],
)
def test_what_init_finds(tmp_path, text, encoding, found):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    seen = detect(path).input
    said = {
        "separator": seen.dialect.separator,
        "encoding": seen.dialect.encoding,
        "decimal": seen.notation.decimal if seen.notation.decimal == "," else None,
        "thousands": seen.notation.thousands,
        "dates": seen.notation.dates,
    }
    assert {key: value for key, value in said.items() if value is not None} == found


def test_marks_and_several_formats_are_found_by_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,d\n-9,31.12.2024,12/31/2024,x\n1,?,11/30/2024,?\n2,01.02.2024,01/02/2024,y\n")
    seen = detect(path)
    assert seen.input.nulls_of == {"a": ("-9",), "b": ("?",)}
    assert seen.input.dates_of == {"b": "%d.%m.%Y", "c": "%m/%d/%Y"}
    assert seen.table.frame["b"].to_list() == [dt.date(2024, 12, 31), None, dt.date(2024, 2, 1)]
