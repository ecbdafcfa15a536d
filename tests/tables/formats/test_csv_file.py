"""CSV files: what is read, and what is said about files that are no table."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.core.errors import DataError, FileError, InputError
from reveil.tables.formats import csv_file


def read_text_table(path, **settings):
    return csv_file.read_csv(Path(path), **settings).frame


@pytest.fixture
def table(tmp_path):
    def write(data: bytes | str) -> pl.DataFrame:
        path = tmp_path / "t.csv"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return read_text_table(path)

    return write


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ("a,b\n1,2\n", [("1", "2")]),
        ("a;b\n1,5;2\n", [("1,5", "2")]),
        ("a\tb\n1\t2", [("1", "2")]),
        ("a,b\r\n1,2\r\n3,4\r\n\r\n", [("1", "2"), ("3", "4")]),
        ("\ufeffa,b\n1,2\n", [("1", "2")]),
        ('\ufeff"a","b"\n1,2\n', [("1", "2")]),
        ('a,b\n"",\n" ","x ""y"""\n', [(None, None), (" ", 'x "y"')]),
        ('a,b\n"1\n\n2","3\r\n"\n', [("1\n\n2", "3\r\n")]),
        ("a,b\n#1,2\n", [("#1", "2")]),
        ("a,b\n007,é\n", [("007", "é")]),
        ("a,b\n", []),
        ("a,b", []),
    ],
)
def test_read(table, data, rows):
    frame = table(data)
    assert frame.columns == ["a", "b"]
    assert set(frame.dtypes) == {pl.String}
    assert frame.rows() == rows


def test_one_column_has_nulls_in_empty_lines_but_not_at_the_end(table):
    assert table("a\n1\n\n2\n\n\n")["a"].to_list() == ["1", None, "2"]
    assert table('a\n1\n""\n')["a"].to_list() == ["1", None]


def test_delimiters_inside_quotes_do_not_count(table):
    assert table('"a,b,c,d";e\n1;2\n').columns == ["a,b,c,d", "e"]
    assert table('"a""x","b\nc"\n1,2\n').columns == ['a"x', "b\nc"]


def test_null_values_hold_for_cells_not_for_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('NA,b\nNA,1\n?,"NA"\nNAB,\n')
    frame = read_text_table(str(path), null_values=["NA", "?"])
    assert frame.columns == ["NA", "b"]
    assert frame.rows() == [(None, "1"), (None, None), ("NAB", None)]


cells = st.text(st.sampled_from('ab ,;\t"\n\r é\u2028#0'), max_size=4)


@given(
    st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(cells, min_size=n, max_size=n), min_size=1, max_size=6)),
    st.sampled_from([(",", "\r\n", csv.QUOTE_MINIMAL), (";", "\n", csv.QUOTE_ALL), ("\t", "\r\n", csv.QUOTE_ALL)]),
)
@settings(max_examples=200, deadline=None)
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, rows, form):
    delimiter, end, quoting = form
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([[f"c{i}" for i in range(len(rows[0]))], *rows])
    path = tmp_path_factory.getbasetemp() / "written.csv"
    path.write_bytes(text.getvalue().encode())
    assert read_text_table(path).rows() == [tuple(cell or None for cell in row) for row in rows]


def test_many_folded_cells_stay_in_their_rows(tmp_path):
    """Parallel readers cut a file at line ends; those inside quotes must not count."""
    count = 30_000
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f'{i},"x,\n{i}\n""{i}"\n' for i in range(count)))
    found = csv_file.read_csv(path)
    assert found.frame["a"].cast(pl.Int64).to_list() == list(range(count))
    assert found.frame["b"][-1] == f'x,\n{count - 1}\n"{count - 1}'
    assert [found.place.lines.of(row) for row in (0, 1, count - 1)] == [2, 5, 3 * count - 1]


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", None, "empty"),
        (b"\xef\xbb\xbf\n\n", None, "empty"),
        (b"\na,b\n1,2\n", 1, "first line is empty"),
        (b"a,b\n1,2\n3\n", 3, "1 cell, the header has 2"),
        (b"a,b\n1,2,3\n", 2, "3 cells, the header has 2"),
        (b'a,b\n1,"x\ny"\n1,2,3\n', 4, "3 cells"),
        (b"a,b\n1,2\n\n3,4\n", 3, "line is empty"),
        (b'a,b\n1,2\n1,"2\n3,4\n', 3, "never closed"),
        (b'"a,b\n1,2\n', 1, "never closed"),
        (b"a,b\n1,5'11\"\n", 2, "middle of a cell"),
        (b"a,b\r1,2\r3,4\r", 1, "carriage return"),
        (b"a,b\n1,\0\n", 2, "NUL"),
        (b"a,a\n1,2\n", 1, "more than once in the header, over columns 1 and 2"),
        (b"a,\n1,2\n", 1, "column 2 of 2 has no name"),
        (b'a,""\n1,2\n', 1, "has no name"),
        (b"a, \n1,2\n", 1, "has no name"),
    ],
)
def test_no_table(table, data, line, words):
    with pytest.raises(DataError, match=words) as caught:
        table(data)
    assert caught.value.line == line
    assert caught.value.file.endswith("t.csv")
    assert caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("data", "line", "hint"),
    [
        ("a,b\n1,é\n".encode("utf-16"), 1, "UTF-16"),
        ("a,b\n1,x\n2,é\n".encode("latin-1"), 3, "Latin-1"),
        (b"a,b\n1,\x81\n", 2, "Save it as UTF-8"),
        (b"PK\x03\x04rest", 1, "workbook"),
        (b"\x1f\x8brest", 1, "gzip"),
        (b"PAR1\x15rest", 1, "Parquet"),
    ],
)
def test_no_utf8(table, data, line, hint):
    with pytest.raises(FileError, match="UTF-8") as caught:
        table(data)
    assert caught.value.line == line
    assert hint in caught.value.hint


def test_utf8_is_checked_across_pieces(table, monkeypatch):
    monkeypatch.setattr(csv_file, "_CHUNK", 5)
    assert table("a,b\néééé,éé\n").rows() == [("éééé", "éé")]
    with pytest.raises(FileError) as caught:
        table("a,b\né,é\n".encode() + b"x,\xc3\n")
    assert caught.value.line == 3
    with pytest.raises(FileError):
        table(b"a,b\n1,\xc3")


def test_paths_that_are_no_files(tmp_path, monkeypatch):
    with pytest.raises(FileError, match="no such file"):
        read_text_table(tmp_path / "none.csv")
    with pytest.raises(FileError, match="folder"):
        read_text_table(tmp_path)
    with pytest.raises(FileError, match="cannot read"):
        read_text_table(tmp_path / ("x" * 300 + ".csv"))
    with pytest.raises(FileError):
        read_text_table("a\0b.csv")

    def refuse(self):
        raise PermissionError("secret text of the system")

    (tmp_path / "t.csv").write_text("a\n1\n")
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(FileError, match="cannot read") as caught:
        read_text_table(tmp_path / "t.csv")
    assert "secret" not in str(caught.value)


@given(st.binary(max_size=60) | st.text('a",;\n\r', max_size=30).map(str.encode))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_a_table_or_an_input_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(data)
    try:
        said = str(read_text_table(path).width)
    except InputError as error:
        said = error.message
    assert "cannot be read" not in said  # every fault has a name of its own
