"""Formats that tables come in and releases do not: packed text, tabs, Arrow, workbooks; and encodings."""

from __future__ import annotations

import datetime as dt
import gzip
import io
from pathlib import Path

import polars as pl
import pytest
import zstandard

import reveil as rv
from reveil.core.errors import ConfigError, DataError, FileError
from reveil.tables.formats import endings, find_format, read_file, readable
from reveil.tables.formats.dialect import Dialect
from reveil.tables.snapshot import read_snapshot
from reveil.testing.formats import check_damaged

openpyxl = pytest.importorskip("openpyxl", reason="workbooks are written with openpyxl")
pytest.importorskip("fastexcel", reason="workbooks are read with fastexcel")

HIDDEN = "vulvodynia"
FRAME = pl.DataFrame(
    {
        "pid": [1, 2, 3],
        "age": [30, None, 31],
        "part": [0.5, 1.5, 2.0],
        "seen": [dt.date(2024, 1, 2), None, dt.date(2024, 12, 31)],
        "town": ["Zürich", "a,b", None],
        "s": [HIDDEN, "flu", "flu"],
    }
)
SCHEMA = rv.Schema(person="pid", quasi=("age", "part", "seen", "town"), sensitive="s")


def workbook(path, rows=None, change=None, sheets=("T",)):
    book = openpyxl.Workbook()
    book.active.title = sheets[0]
    for row in rows or [FRAME.columns, *FRAME.rows()]:
        book.active.append(list(row))
    for name in sheets[1:]:
        book.create_sheet(name)
    if change is not None:
        change(book.active)
    book.save(path)
    return path


def write(frame, path):
    """Write a table as its owner would."""
    name = path.name
    if name.endswith(".xlsx"):
        workbook(path, [frame.columns, *frame.rows()])
    elif name.endswith((".arrow", ".feather")):
        frame.write_ipc(path)
    elif name.endswith(".parquet"):
        frame.write_parquet(path)
    else:
        text = frame.write_csv(separator="\t" if ".tsv" in name else ",").encode()
        packed = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}
        path.write_bytes(packed.get(path.suffix, bytes)(text))
    return path


@pytest.mark.parametrize("ending", readable())
def test_the_same_records_are_the_same_snapshot_in_every_format(tmp_path, ending):
    path = write(FRAME, tmp_path / f"t{ending}")
    assert read_snapshot(path, SCHEMA).frame.equals(FRAME, null_equal=True)
    assert find_format(path).names(path) == FRAME.columns
    with pytest.raises(DataError, match="not declared") as caught:
        read_snapshot(path, rv.Schema(person="pid", quasi=("age", "part", "seen"), sensitive="s"))
    assert caught.value.file == str(path)


@pytest.mark.parametrize("ending", [ending for ending in readable() if ending not in endings()])
def test_damaged_files_are_refused_without_a_cell(tmp_path, ending):
    path = write(FRAME, tmp_path / f"t{ending}")
    check_damaged(find_format(path), path, path.read_bytes())


def test_members_and_frames_of_archives_follow_each_other(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"))
    pack = zstandard.ZstdCompressor().compress
    (tmp_path / "t.csv.zst").write_bytes(pack(b"a,b\n1,2\n") + pack(b"3,4\n"))
    for name in ("t.csv.gz", "t.csv.zst"):
        assert read_file(tmp_path / name).frame.rows() == [("1", "2"), ("3", "4")]
        cut = (tmp_path / name).read_bytes()[:-3]
        (tmp_path / name).write_bytes(cut)
        with pytest.raises(FileError, match="not a whole"):
            read_file(tmp_path / name)


def test_an_arrow_stream(tmp_path):
    stream = io.BytesIO()
    FRAME.write_ipc_stream(stream)
    (tmp_path / "t.arrow").write_bytes(stream.getvalue())
    assert read_snapshot(tmp_path / "t.arrow", SCHEMA).frame.equals(FRAME, null_equal=True)


@pytest.mark.parametrize(("encoding", "declared"), [("latin-1", "latin-1"), ("cp1252", "cp1252"), ("utf-16", "utf-16")])
def test_encodings_are_read_when_they_are_declared(tmp_path, encoding, declared):
    path = tmp_path / "t.csv"
    path.write_bytes("town;n\nZürich;1\n".encode(encoding))
    with pytest.raises(FileError, match="UTF-8") as caught:
        read_file(path)
    assert "encoding" in caught.value.hint
    assert read_file(path, dialect=Dialect(encoding=declared)).frame.rows() == [("Zürich", "1")]


@pytest.mark.parametrize(
    ("data", "encoding", "line", "words"),
    [
        ("a\nü\n".encode(), "latin-1", 2, "is UTF-8, not latin-1"),
        ("a\nü\n".encode() + "ß\n".encode("latin-1"), "latin-1", 2, "mixes UTF-8 with latin-1"),
        ("a\nx\n\N{EURO SIGN}\n".encode("cp1252"), "latin-1", 3, "no Latin-1 text has"),
        (b"a\nx\n\x81\n", "cp1252", 3, "not cp1252"),
        ("a\nx\n".encode("utf-16")[:-1], "utf-16", 2, "not utf-16"),
        ("a\nü\n".encode() + "ß\n".encode("latin-1"), "utf-8", 3, "not UTF-8"),
    ],
)
def test_text_in_another_encoding_is_refused_with_its_line(tmp_path, data, encoding, line, words):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(FileError, match=words) as caught:
        read_file(path, dialect=Dialect(encoding=encoding))
    assert caught.value.line == line
    assert caught.value.hint


def test_separators(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a|b,c\n1|2,3\n")
    assert read_file(path, dialect=Dialect("|")).frame.rows() == [("1", "2,3")]
    path.write_text("a|b\n1|2|3\n")
    with pytest.raises(DataError, match="3 cells") as caught:
        read_file(path, dialect=Dialect("|"))
    assert "bar" in caught.value.hint
    with pytest.raises(ConfigError, match="separator"):
        Dialect("#")
    with pytest.raises(ConfigError, match="encoding"):
        Dialect(encoding="ebcdic")
    with pytest.raises(ConfigError, match="sheet"):
        Dialect(sheet=0)


def formula(sheet):
    sheet["B3"] = "=1+1"


def merged(sheet):
    sheet.merge_cells("E2:E3")


def mistake(sheet):
    sheet["B3"] = "#N/A"


def empty_row(sheet):
    sheet.insert_rows(3)


def moved(sheet):
    sheet.insert_rows(1, 2)


def a_text_among_dates(sheet):
    sheet["D3"] = "31.12.2023"


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (formula, 3, "cell B3 has a formula"),
        (merged, 2, "cell E2 is merged"),
        (mistake, 3, "cell B3 has an error"),
        (empty_row, 3, "row is empty"),
        (moved, 3, "does not begin in cell A1"),
        (a_text_among_dates, 3, "'seen' mixes dates and texts"),
    ],
)
def test_what_has_no_value_of_its_own_in_a_workbook(tmp_path, change, line, words):
    path = workbook(tmp_path / "t.xlsx", change=change)
    with pytest.raises(DataError, match=words) as caught:
        read_file(path)
    assert (caught.value.line, caught.value.exit_code) == (line, 2)
    assert caught.value.hint
    assert HIDDEN not in str(caught.value)


def test_sheets(tmp_path):
    path = workbook(tmp_path / "t.xlsx", sheets=("T", "Other"))
    with pytest.raises(DataError, match="2 sheets: 'T', 'Other'"):
        read_file(path)
    assert read_file(path, dialect=Dialect(sheet="T")).frame.height == 3
    assert read_file(path, dialect=Dialect(sheet=1)).frame.height == 3
    with pytest.raises(DataError, match="sheet is empty"):
        read_file(path, dialect=Dialect(sheet=2))
    with pytest.raises(DataError, match="no sheet 'None'"):
        read_file(path, dialect=Dialect(sheet="None"))


def test_names_of_a_workbook_are_checked(tmp_path):
    for rows, words in (
        ([["a", "a"], [1, 2]], "more than once"),
        ([["a", None], [1, 2]], "has no name"),
        ([["a", "b"]], None),
    ):
        path = workbook(tmp_path / "t.xlsx", rows)
        if words is None:
            assert read_file(path).frame.height == 0
            continue
        with pytest.raises(DataError, match=words):
            read_file(path)


def test_without_the_reader_of_workbooks(tmp_path, monkeypatch):
    path = workbook(tmp_path / "t.xlsx")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(FileError, match="cannot be read here") as caught:
        read_file(path)
    assert "reveil[excel]" in caught.value.hint


def test_releases_are_not_written_so(tmp_path):
    release = rv.anonymize(FRAME, SCHEMA, rv.KAnonymity(3), seed=1)
    with pytest.raises(FileError, match=r"written as \.csv or \.parquet"):
        release.write(Path(tmp_path) / "r.csv.gz")
