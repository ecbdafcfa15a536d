"""Workbooks (.xlsx): one sheet is a table, with names in its first row and one value in each cell.

fastexcel reads the cells. Before that the sheet itself is looked at for what has no value of its own: formulas (what
they show depends on who saved the file last), merged cells (which records have the value?) and errors. Numbers are as
a workbook stores them; whole ones are whole numbers, and moments that are all at midnight are dates.
"""

from __future__ import annotations

import importlib.util
import io
import re
import zipfile
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar
from xml.etree import ElementTree

import polars as pl

from reveil.core.errors import ConfigError, DataError, FileError, excerpt, shown
from reveil.tables.formats.base import FAILURES, NameCheck, RawTable, ReadOnly
from reveil.tables.formats.csv_file import check_header, read_bytes
from reveil.tables.formats.dialect import DEFAULT_DIALECT
from reveil.tables.formats.place import Lines, Place

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reveil.tables.formats.dialect import Dialect

_INSTALL = "Install the reader of workbooks with: pip install 'reveil[excel]'. Or export the sheet as CSV UTF-8."
_CELL = re.compile(rb'<(?:\w+:)?c\s[^>]*?\br="([A-Z]{1,3})(\d+)"')
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s>/]")
_ERROR = re.compile(rb'<(?:\w+:)?c\s[^>]*?\bt="e"')
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?\bref="([A-Z]{1,3})(\d+)')
_MOMENT = r"^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}"
_LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True)
class XlsxFile(ReadOnly):
    """One sheet of a workbook: the only one, or the one that ``sheet`` names."""

    text_only: ClassVar[bool] = True
    dialect: Dialect = DEFAULT_DIALECT

    def speaking(self, dialect: Dialect) -> XlsxFile:
        """Return the format with the declared sheet."""
        return replace(self, dialect=dialect)

    def read(self, path: Path, *, null_values: Iterable[str] = (), check_names: NameCheck | None = None) -> RawTable:
        """Read and check a sheet; its rows are its lines."""
        if importlib.util.find_spec("fastexcel") is None:
            raise FileError("workbooks cannot be read here", file=path, hint=_INSTALL)
        data = read_bytes(path)
        number, content = self._sheet(data, path)
        _check_content(content, path)
        names, frame = _cells(data, number, path)
        check_header(names, path)
        frame.columns = [str(name) for name in names]
        if check_names is not None:
            check_names(frame.columns, file=str(path), header_line=True)
        _check_rows(frame, path)
        marks = list(null_values)
        place = Place(str(path), Lines(2))
        return RawTable(pl.DataFrame([_as_stored(column, marks, place) for column in frame]), place, text_only=True)

    def names(self, path: Path) -> list[str]:
        """Return the names in the first row, nothing where there are none."""
        if importlib.util.find_spec("fastexcel") is None:
            return []
        try:
            data = path.read_bytes()
            found, _ = _cells(data, self._sheet(data, path)[0], path)
        except (*FAILURES, FileError, ConfigError, DataError):
            return []
        return [str(name or "") for name in found]

    def _sheet(self, data: bytes, path: Path) -> tuple[int, bytes]:
        """Return which sheet is meant, counted from 0, and its content."""
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as book:
                sheets = _sheets(book)
                number = self._number([name for name, _ in sheets], path)
                return number, book.read(sheets[number][1])
        except (zipfile.BadZipFile, zlib.error, LookupError, ElementTree.ParseError, RuntimeError, *FAILURES):
            raise _broken(path) from None

    def _number(self, sheets: list[str], path: Path) -> int:
        wanted = self.dialect.sheet
        if wanted is None:
            if len(sheets) == 1:
                return 0
            raise DataError(
                f"this workbook has {len(sheets):,} sheets: {shown(sheets)}",
                file=path,
                hint=f"Say which one is the table under [input]: sheet = {sheets[0]!r}, say." if sheets else "Add one.",
            )
        if isinstance(wanted, int):
            if wanted <= len(sheets):
                return wanted - 1
        elif wanted in sheets:
            return sheets.index(wanted)
        raise DataError(
            f"this workbook has no sheet {excerpt(wanted)}",
            file=path,
            hint=f"It has {shown(sheets)}. Mend sheet = ... under [input].",
        )


def _broken(path: Path) -> FileError:
    return FileError(
        "this is not a whole workbook",
        file=path,
        hint="Save it again as .xlsx, without a password; it may have been cut off while copying.",
    )


def _parsed(book: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """Parse a small part of a workbook; no workbook declares entities, which is how a few bytes become many."""
    content = book.read(name)
    if b"<!" in content:
        raise ElementTree.ParseError
    return ElementTree.fromstring(content)  # noqa: S314


def _sheets(book: zipfile.ZipFile) -> list[tuple[str, str]]:
    """Return the names of the sheets and where in the archive each lies."""
    places = {link.get("Id"): str(link.get("Target")) for link in _parsed(book, "xl/_rels/workbook.xml.rels")}
    found = []
    for node in _parsed(book, "xl/workbook.xml").iter():
        if node.tag.rpartition("}")[2] != "sheet":
            continue
        link = next((value for key, value in node.attrib.items() if key.rpartition("}")[2] == "id"), None)
        target = places[link]
        found.append((str(node.get("name")), target.lstrip("/") if target.startswith("/") else f"xl/{target}"))
    return found


def _check_content(content: bytes, path: Path) -> None:
    """Refuse what is no table of values, before any cell is read."""
    first = _CELL.search(content)
    if first is None:
        raise DataError("this sheet is empty", file=path, hint="A table starts with a row of column names.")
    if int(first[2]) != 1 or first[1] != b"A":
        raise DataError(
            f"the table does not begin in cell A1 but in {(first[1] + first[2]).decode()}",
            file=path,
            line=int(first[2]),
            hint="Take the empty rows and columns before it out.",
        )
    merged = _MERGED.search(content)
    if merged is not None:
        raise DataError(
            f"cell {(merged[1] + merged[2]).decode()} is merged with others",
            file=path,
            line=int(merged[2]),
            hint="Unmerge the cells and write the value in each row that has it (in Excel: Home, Merge, Unmerge).",
        )
    faults = {
        _FORMULA: (
            "has a formula",
            "What it shows depends on who saved the file last. Copy the sheet and paste it as values.",
        ),
        _ERROR: ("has an error for a value", "Mend it, or leave the cell empty."),
    }
    for pattern, (what, remedy) in faults.items():
        found = pattern.search(content)
        if found is None:
            continue
        # The cell is the last one that begins before it; an error stands inside its own tag.
        begin = max(content.rfind(b"<row", 0, found.start()), 0)
        before = [cell for cell in _CELL.finditer(content, begin, found.end() + 64) if cell.start() <= found.start()]
        cell = before[-1] if before else None
        where = b"" if cell is None else cell[1] + cell[2]
        raise DataError(
            f"cell {where.decode()} {what}", file=path, line=None if cell is None else int(cell[2]), hint=remedy
        )


def _cells(data: bytes, number: int, path: Path) -> tuple[tuple[str | None, ...], pl.DataFrame]:
    """Return the first row as texts, and the others."""
    import fastexcel

    try:
        book = fastexcel.read_excel(data)
        header: Any = book.load_sheet(number, header_row=None, n_rows=1, dtypes="string")
        rows: Any = book.load_sheet(number, schema_sample_rows=None)
        names = pl.DataFrame(header).row(0)
        frame = pl.DataFrame(rows)
    except Exception:  # noqa: BLE001  (what fastexcel raises is its own, and may quote cells)
        raise _broken(path) from None
    if frame.width != len(names):
        raise DataError(
            f"the first row has {len(names):,} names, and there are {frame.width:,} columns",
            file=path,
            line=1,
            hint="Name every column in the first row.",
        )
    return names, frame


def _check_rows(frame: pl.DataFrame, path: Path) -> None:
    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series().arg_true()
    if len(empty):
        raise DataError(
            "this row is empty", file=path, line=int(empty[0]) + 2, hint="Delete the row, not only what is in it."
        )


def _as_stored(series: pl.Series, marks: list[str], place: Place) -> pl.Series:
    """Return a column with whole numbers as such, dates as such, and no mix of dates and texts."""
    if series.dtype.is_float():
        whole = (series == series.floor()) & (series.abs() < _LARGEST_WHOLE)
        return series.cast(pl.Int64) if whole.all() else series
    if isinstance(series.dtype, pl.Datetime):
        dates = (series.dt.truncate("1d") == series).all()
        return series.dt.date() if dates else series.cast(pl.Datetime("us"))
    if series.dtype == pl.Null:
        return series.cast(pl.String)
    if series.dtype != pl.String:
        return series
    missing = series.is_in(pl.Series(["", *marks]).implode()).fill_null(value=False)
    cells = series.set(missing, None)
    moments = cells.str.contains(_MOMENT).fill_null(value=False)
    others = cells.is_not_null() & ~moments
    if moments.any() and others.any():
        raise place.error(
            f"column {series.name!r} mixes dates and texts",
            column=series.name,
            row=max(moments.arg_max() or 0, others.arg_max() or 0),  # the first that is not like those before it
            hint="Write all of its cells as dates (in Excel: Data, Text to Columns), or all as text.",
        )
    return cells
