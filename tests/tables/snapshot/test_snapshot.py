"""Snapshots: every way in, every check, and no value where none may be."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest

from reveil.core.errors import ConfigError, DataError, FileError
from reveil.tables.marks import SUPPRESSED_VALUE
from reveil.tables.schema import Schema
from reveil.tables.snapshot import read_snapshot

PLAIN = Schema(person="pid", identifiers="name", quasi=["age", "zip"], sensitive="disease", plain="ward")
CSV = "pid,name,age,zip,disease,ward\n1,Ann,30,01234,flu,A\n2,Bob,41,04410,secret,B\n"
SECRET = "zebra"  # noqa: S105  (a cell that no message may show)


@pytest.fixture
def read(tmp_path):
    def write_and_read(text: str, schema: Schema):
        path = tmp_path / "t.csv"
        path.write_text(text, encoding="utf-8")
        return read_snapshot(path, schema)

    return write_and_read


def refused(call, *arguments) -> DataError:
    with pytest.raises(DataError) as caught:
        call(*arguments)
    assert caught.value.hint
    assert SECRET not in str(caught.value)
    return caught.value


def two(column: str, cells: str, **settings):
    """Return a schema of a quasi column and the one in question, and the CSV."""
    role = settings.pop("role", "quasi")
    roles = {"quasi": ["q", column]} if role == "quasi" else {"quasi": "q", "sensitive": column}
    return f"q,{column}\n" + "".join(f"1,{cell}\n" for cell in cells.split("|")), Schema(**roles, **settings)


def test_csv(read):
    snapshot = read(CSV, PLAIN)
    assert snapshot.frame.schema == {
        "pid": pl.Int64,
        "name": pl.String,
        "age": pl.Int64,
        "zip": pl.String,
        "disease": pl.String,
        "ward": pl.String,
    }
    assert (snapshot.origin, snapshot.native, snapshot.schema) == ("t.csv", "polars", PLAIN)
    assert "secret" not in repr(snapshot)


def test_parquet_and_frame_read_alike(read, tmp_path):
    frame = read(CSV, PLAIN).frame
    frame.write_parquet(tmp_path / "t.PARQUET")
    assert read_snapshot(str(tmp_path / "t.PARQUET"), PLAIN).frame.equals(frame)
    assert read_snapshot(frame, PLAIN).frame.equals(frame)


def test_columns_must_be_declared_and_there(read):
    assert "'ward' is not declared" in str(refused(read, CSV, Schema(quasi=["pid", "name", "age", "zip", "disease"])))
    assert "'born'" in str(refused(read, CSV, Schema(quasi=["pid", "name", "age", "zip", "disease", "ward", "born"])))


@pytest.mark.parametrize("name", ["t.txt", "t.csv.bz2", "t", "t.xls"])
def test_suffix(tmp_path, name):
    (tmp_path / name).write_text(CSV)
    with pytest.raises(FileError, match="neither"):
        read_snapshot(tmp_path / name, PLAIN)


def test_paths(tmp_path):
    with pytest.raises(FileError, match="folder"):
        read_snapshot(tmp_path, PLAIN)
    with pytest.raises(FileError, match="no such file"):
        read_snapshot(str(tmp_path / "none.txt"), PLAIN)


def test_no_rows(read):
    assert "no rows" in str(refused(read, "q\n", Schema(quasi="q")))
    assert "no rows" in str(refused(read_snapshot, pl.DataFrame({"q": []}), Schema(quasi="q")))


def test_null_values(read):
    schema = Schema(quasi=["age", "x"], null_values=["?", "-9"])
    assert read("age,x\n1,?\n-9,b\n", schema).frame.rows() == [(1, None), (None, "b")]
    assert read_snapshot(pl.DataFrame({"age": [1, -9], "x": ["?", "b"]}), schema).frame.rows() == [
        (1, None),
        (None, "b"),
    ]


# persons


def test_null_person(read):
    error = refused(read, "pid,q\n1,1\n,2\n,3\n", Schema(person="pid", quasi="q"))
    assert (error.line, error.column) == (3, "pid")
    assert "2 rows" in error.message
    error = refused(
        read_snapshot, pl.DataFrame({"pid": [1.0, float("nan")], "q": [1, 2]}), Schema(person="pid", quasi="q")
    )
    assert "row 2" in error.message


@pytest.mark.parametrize("ids", [("7", "8", "7"), (SECRET, "b", SECRET), ("e\u0301", "x", "\u00e9")])
def test_repeated_person(read, ids):
    text = 'pid,q\n{},"1\n"\n{},2\n{},3\n'.format(*ids)
    error = refused(read, text, Schema(person="pid", quasi="q"))
    assert (error.line, error.column) == (5, "pid")
    assert "again in 1 row" in error.message
    assert ids[0] not in error.message


def test_similar_ids_are_different_persons(read):
    assert read("pid,q\n1.10,1\n1.1,2\n", Schema(person="pid", quasi="q")).frame["pid"].to_list() == ["1.10", "1.1"]


# declared types


@pytest.mark.parametrize("wanted", ["number", "date", "datetime", "time", "boolean"])
def test_bad_cells_are_shown_for_quasi_columns_alone(read, wanted):
    text, schema = two("x", f"{SECRET}|lion||{SECRET}", role="sensitive", types={"x": wanted})
    error = refused(read, text, schema)
    assert (error.line, error.column) == (2, "x")
    assert "3 cells" in error.message
    assert "lion" not in str(error)
    text, schema = two("x", "|lion|tiger|lion", types={"x": wanted})
    error = refused(read, text, schema)
    assert error.line == 3
    assert "'lion', 'tiger'" in error.message


def test_at_most_ten_values_are_shown(read):
    text, schema = two("x", "|".join(f"v{i}" for i in range(25)), types={"x": "number"})
    error = refused(read, text, schema)
    assert error.message.count("'v") == 10
    assert "15 more" in error.message


def test_nan_is_missing_not_bad(read):
    text, schema = two("x", "1|NaN|2", types={"x": "number"})
    assert read(text, schema).frame["x"].to_list() == [1, None, 2]
    text, schema = two("x", "1|NaN|lion", types={"x": "number"})
    assert "1 cell " in refused(read, text, schema).message


def test_declared_text_keeps_zeros_and_numbers_of_a_frame_become_text(read):
    text, schema = two("x", "1|02", types={"x": "text"})
    assert read(text, schema).frame["x"].to_list() == ["1", "02"]
    assert read_snapshot(pl.DataFrame({"q": [1], "x": [2]}), schema).frame["x"].to_list() == ["2"]


def test_bad_cells_of_a_frame_are_placed_by_row(tmp_path):
    frame = pl.DataFrame({"q": [1, 2], "x": ["1", "lion"]})
    schema = Schema(quasi=["q", "x"], types={"x": "number"})
    error = refused(read_snapshot, frame, schema)
    assert error.line is None
    assert "row 2" in error.message
    frame.write_parquet(tmp_path / "t.parquet")
    assert "t.parquet" in str(refused(read_snapshot, tmp_path / "t.parquet", schema))


# orders, hierarchies, bins, infinite numbers


def test_order(read):
    text, schema = two("x", "low|high||low", orders={"x": ["low", "mid", "high"]})
    assert read(text, schema).frame["x"].to_list() == ["low", "high", None, "low"]
    text, schema = two("x", "low|lion|lion|tiger", orders={"x": ["low"]})
    error = refused(read, text, schema)
    assert (error.line, error.column) == (3, "x")
    assert "2 different values are not in its order: 'lion', 'tiger'" in error.message
    text, schema = two("x", f"low|{SECRET}", orders={"x": ["low"]}, role="sensitive")
    assert "1 value is not in its order" in refused(read, text, schema).message


@pytest.mark.parametrize(
    "series",
    [
        pl.Series([None, 0.1], dtype=pl.Float32),
        pl.Series([None, 2**100], dtype=pl.Int128),
        pl.Series([None, Decimal("1.5")]),
        pl.Series([None, dt.date(2024, 1, 1)]),
        pl.Series([None, dt.datetime(2024, 1, 1)]).dt.replace_time_zone("UTC"),
        pl.Series([None, True]),
    ],
)
def test_order_of_any_storage(series):
    error = refused(read_snapshot, pl.DataFrame({"q": series}), Schema(quasi="q", orders={"q": ["low"]}))
    assert "row 2" in error.message


def test_hierarchy(read):
    tree = {"all": {"a": ["1", "2"], "b": ["caf\u00e9"]}}
    text, schema = two("x", "1|2|cafe\u0301", hierarchies={"x": tree})
    assert read(text, schema).frame["x"].to_list() == ["1", "2", "caf\u00e9"]
    text, schema = two("x", "1|2", hierarchies={"x": tree})
    assert read(text, schema).frame["x"].dtype == pl.Int64
    assert read_snapshot(pl.DataFrame({"q": [1, 2], "x": [1.0, 2.0]}), schema).frame["x"].dtype == pl.Float64
    text, schema = two("x", "1|3", hierarchies={"x": tree})
    assert "not in its hierarchy: '3'" in refused(read, text, schema).message


def test_the_spelling_of_the_file_may_be_what_an_order_lists(read):
    text, schema = two("x", "1.50|2.00", orders={"x": ["2.00", "1.50"]})
    assert read(text, schema).frame["x"].to_list() == ["1.50", "2.00"]
    text, schema = two("x", "True|False", orders={"x": [False, True]})
    assert read(text, schema).frame["x"].to_list() == [True, False]


def test_bins_are_for_numbers(read):
    text, schema = two("x", "1|2.5", role="sensitive", bins={"x": 5})
    assert read(text, schema).frame["x"].dtype == pl.Float64
    text, schema = two("x", f"1|{SECRET}", role="sensitive", bins={"x": 5})
    assert refused(read, text, schema).column == "x"


def test_infinite_numbers(read):
    text, schema = two("x", "1|-inf|inf", types={"x": "number"})
    error = refused(read, text, schema)
    assert (error.line, error.column) == (3, "x")
    frame = pl.DataFrame({"q": [1.0, float("inf")]})
    assert "row 2" in refused(read_snapshot, frame, Schema(quasi="q")).message


@pytest.mark.parametrize("role", ["quasi", "plain", "sensitive"])
def test_the_mark_of_suppressed_cells_is_no_value(role):
    frame = pl.DataFrame({"q": [1, 2, 3], "x": ["a", SUPPRESSED_VALUE, "*"]})
    roles = {"quasi": ["q"], role: ["x"]} if role != "quasi" else {"quasi": ["q", "x"]}
    compare = {"compare": {"x": "exact"}} if role == "sensitive" else {}
    error = refused(read_snapshot, frame, Schema(**roles, **compare))
    assert error.column == "x"
    assert "row 2" in error.message
    assert read_snapshot(frame.with_columns(x=pl.lit("*")), Schema(**roles, **compare)).frame["x"][0] == "*"


def test_two_spellings_of_a_text_are_one_value(read):
    text, schema = two("x", "caf\u00e9|cafe\u0301", role="sensitive")
    assert read(text, schema).frame["x"].n_unique() == 1


def test_minus_zero_is_zero():
    found = read_snapshot(pl.DataFrame({"q": [-0.0, 0.0]}), Schema(quasi="q")).frame["q"]
    assert [str(x) for x in found] == ["0.0", "0.0"]


# storage


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1]], "lists"),
        ([{"a": 1}], "several fields"),
        ([b"x"], "bytes"),
        ([dt.timedelta(1)], "durations"),
        (pl.Series([object()], dtype=pl.Object), "Python objects"),
        (pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)), "lists"),
    ],
)
def test_cells_that_are_not_single_values(values, words):
    frame = pl.DataFrame({"q": [1], "x": values})
    for roles in ({"sensitive": "x"}, {"plain": "x"}, {"person": "x"}):
        assert words in refused(read_snapshot, frame, Schema(quasi="q", **roles)).message
    assert read_snapshot(frame, Schema(quasi="q", identifiers="x")).frame.columns == ["q", "x"]


def test_categories_become_text_and_nan_null():
    frame = pl.DataFrame(
        {
            "c": pl.Series(["a", "b"], dtype=pl.Categorical),
            "e": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
            "n": [None, None],
            "f": [1.5, float("nan")],
        }
    )
    found = read_snapshot(frame, Schema(quasi=["c", "e", "f"], identifiers="n")).frame
    assert found.dtypes == [pl.String, pl.String, pl.String, pl.Float64]
    assert found["f"].to_list() == [1.5, None]


# parquet


@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b"PAR1" + b"\0" * 40, lambda b: b"hello", lambda b: b""]
)
def test_broken_parquet(tmp_path, damage):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"q": range(100)}).write_parquet(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FileError, match="not a whole Parquet file"):
        read_snapshot(path, Schema(quasi="q"))


def test_parquet_paths_are_taken_literally(tmp_path):
    folder = tmp_path / "year=2024"
    folder.mkdir()
    path = folder / "t[1]*.parquet"
    pl.DataFrame({"q": [1]}).write_parquet(path)
    assert read_snapshot(path, Schema(quasi="q")).frame.columns == ["q"]
    with pytest.raises(FileError, match="no such file"):
        read_snapshot(tmp_path / "none.parquet", Schema(quasi="q"))
    with pytest.raises(DataError, match="none of the declared columns"):
        read_snapshot(path, Schema(quasi="x"))


@pytest.mark.parametrize("source", [{"q": [1]}, [1], None, 7, pl.Series([1])])
def test_what_is_no_table(source):
    with pytest.raises((DataError, ConfigError), match="cannot be read from"):
        read_snapshot(source, Schema(quasi="q"))
