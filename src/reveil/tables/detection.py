"""Finds how a table is written that nobody has described yet: encoding, separator, numbers, dates, marks for missing.

What is found goes into the section [input] of a config and is read strictly from then on. Nothing is guessed where a
guess could move a value: dates that could have the day or the month first are left as text unless something else in the
table tells which it is.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from reveil.tables import column_hints as hints
from reveil.tables.cell_notation import CellNotation, check_one_shape, parse_dates
from reveil.tables.formats import check_path, find_format, read_file
from reveil.tables.formats.csv_file import CsvFile, first_record, read_bytes, shown_separator
from reveil.tables.formats.dialect import Dialect
from reveil.tables.input import Input
from reveil.tables.schema import Column, Role
from reveil.tables.snapshot.types import infer_type
from reveil.tables.snapshot.written import in_shown_notation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from reveil.tables.formats.base import RawTable

_DAY = r"[0-9]{1,2}"
# The shape of a date, and the formats it may have; the day comes first where nothing else is known.
_SHAPES = (
    (rf"^{_DAY}\.{_DAY}\.[0-9]{{4}}$", ("%d.%m.%Y",)),
    (rf"^{_DAY}\.{_DAY}\.[0-9]{{2}}$", ("%d.%m.%y",)),
    (rf"^{_DAY}\.{_DAY}\.[0-9]{{4}} [0-9]{{2}}:[0-9]{{2}}$", ("%d.%m.%Y %H:%M",)),
    (rf"^{_DAY}\.{_DAY}\.[0-9]{{4}} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}$", ("%d.%m.%Y %H:%M:%S",)),
    (rf"^{_DAY}/{_DAY}/[0-9]{{4}}$", ("%d/%m/%Y", "%m/%d/%Y")),
    (rf"^{_DAY}-{_DAY}-[0-9]{{4}}$", ("%d-%m-%Y", "%m-%d-%Y")),
    (rf"^[0-9]{{4}}/{_DAY}/{_DAY}$", ("%Y/%m/%d",)),
)
_PLAIN = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$"
_GROUPED = r"^-?[0-9]{1,3}(?:\.[0-9]{3})+$"
_COMMA = (CellNotation(","), CellNotation(",", "."), CellNotation(",", " "), CellNotation(",", "'"))
_POINT = (CellNotation(".", ","), CellNotation(".", "'"), CellNotation(".", " "))


@dataclass(frozen=True)
class FoundInput:
    """How a table is written, and its cells: text in other notations is read already."""

    input: Input
    table: RawTable = field(repr=False)
    marked: Mapping[str, int] = field(default_factory=dict)  # how many cells of a column were marks


def detect(path: Path) -> FoundInput:
    """Look at a file; what is no table is refused as everywhere."""
    dialect = _dialect(path)
    table = read_file(path, dialect=dialect)
    frame = table.frame
    texts = {series.name: series for series in frame if series.dtype == pl.String} if table.text_only else {}
    marks = {name: column_marks for name, series in texts.items() if (column_marks := _marks(series))}
    cells = {name: _without(series, marks.get(name, ())) for name, series in texts.items()}
    for name, series in cells.items():
        check_one_shape(series, table.place, name)
    numbers = _numbers(cells, prefers_comma=dialect.separator == ";")
    european = numbers.decimal == "," or dialect.separator == ";"
    dates = _dates(cells, day_first=european)
    same = set(dates.values())
    one = same.pop() if len(same) == 1 else None
    notation = replace(numbers, dates=one)
    found = Input(dialect, notation, (), {} if one else dates, {})
    read = {}
    for name, series in cells.items():
        column = Column(name, Role.PLAIN, dates=found.dates_of.get(name))
        read[name] = in_shown_notation(series, column, notation, table.place)
    marks |= {name: _number_marks(series) for name, series in _typed(frame, read).items() if _number_marks(series)}
    for name, column_marks in marks.items():
        if name not in texts or column_marks[0].startswith("-9"):
            read[name] = _without_numbers(read.get(name, frame[name]), column_marks)
    read_ = frame.with_columns(read.values())
    marked = {name: read_[name].null_count() - frame[name].null_count() for name in marks}
    return FoundInput(replace(found, nulls_of=marks), replace(table, frame=read_), marked)


def visit_order(frame: pl.DataFrame, person: str) -> str | None:
    """Return a column that puts the rows of each person in order: a date or a moment, else a number by its name.

    None where no column tells all rows of a person apart.
    """
    typed = {name: _inferred(frame[name]) for name in frame.columns if name != person}
    dates = [name for name, series in typed.items() if series.dtype.is_temporal() and series.dtype != pl.Time]
    numbers = [name for name, series in typed.items() if series.dtype.is_integer() and hints.says(name, hints.NUMBER)]
    for name in (*dates, *numbers):
        series = typed[name]
        pairs = pl.DataFrame({"who": frame[person], "by": series})
        if not series.null_count() and pairs.is_unique().all():
            return name
    return None


def _dialect(path: Path) -> Dialect:
    check_path(path)
    if path.is_dir():
        return Dialect()
    form = find_format(path)
    if not isinstance(form, CsvFile):
        return Dialect()
    data = form.unpacked(read_bytes(path), path)
    encoding = _encoding(data)
    plain = data if encoding is None else data.decode(encoding, "replace").encode()
    shown = shown_separator(first_record(plain))
    usual = "\t" if form.speaking(Dialect()).separator == "\t" else ","
    return Dialect(None if shown == usual else shown, encoding)


def _encoding(data: bytes) -> str | None:
    """Return the encoding of a text; None for UTF-8, and for what the reader has to refuse."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        # UTF-8 before the place that is none: two encodings, which the reader says with the line.
        if b"\0" in data or not data[: error.start].removeprefix(codecs.BOM_UTF8).isascii():
            return None
        return "cp1252" if re.search(rb"[\x80-\x9f]", data) else "latin-1"
    return None


def _marks(cells: pl.Series) -> tuple[str, ...]:
    """Return the cells of a text column that are marks for missing ones."""
    distinct = cells.drop_nulls().unique()
    marked = distinct.str.strip_chars().str.to_lowercase().is_in(list(hints.MARKS_AMONG_NUMBERS))
    if not marked.any() or marked.all() or _inferred(distinct).dtype != pl.String:
        return ()  # -9 among numbers is looked at where they are numbers
    rest = distinct.filter(~marked)
    return tuple(distinct.filter(marked).sort()) if _inferred(rest).dtype != pl.String or _is_written(rest) else ()


def _is_written(cells: pl.Series) -> bool:
    """Return whether cells are numbers or dates as people write them."""
    shapes = (*(notation.number for notation in (*_COMMA, *_POINT)), *(shape for shape, _ in _SHAPES))
    return any(cells.str.contains(shape).all() for shape in shapes)


def _number_marks(cells: pl.Series) -> tuple[str, ...]:
    """Return -9 and the like, where it is the only number below zero."""
    if not cells.dtype.is_integer():
        return ()
    values = cells.drop_nulls().unique().sort()
    below = values.filter(values < 0)
    known = below.is_in(list(hints.CODES)).all() and 0 < len(below) < len(values)
    return tuple(str(value) for value in below) if known else ()


def _typed(frame: pl.DataFrame, read: dict[str, pl.Series]) -> dict[str, pl.Series]:
    return {name: _inferred(read.get(name, frame[name])) for name in frame.columns}


def _inferred(series: pl.Series) -> pl.Series:
    return infer_type(series) if series.dtype == pl.String else series


def _without(cells: pl.Series, marks: tuple[str, ...]) -> pl.Series:
    return cells.set(cells.is_in(pl.Series(marks).implode()).fill_null(value=False), None) if marks else cells


def _without_numbers(cells: pl.Series, marks: tuple[str, ...]) -> pl.Series:
    return cells.set(cells.cast(pl.String).is_in(pl.Series(marks).implode()).fill_null(value=False), None)


def _numbers(columns: dict[str, pl.Series], *, prefers_comma: bool) -> CellNotation:
    """Return the notation in which most columns are numbers that are none as a program writes them."""
    plain: list[pl.Series] = []
    odd: list[pl.Series] = []
    for series in columns.values():
        cells = series.drop_nulls().unique().str.strip_chars(" \t")
        if not cells.is_empty():
            (plain if cells.str.contains(_PLAIN).all() else odd).append(cells)
    ways = (*_COMMA, *_POINT) if prefers_comma else (_COMMA[0], *_POINT, *_COMMA[1:])
    fits = [sum(bool(cells.str.contains(way.number).all()) for cells in odd) for way in ways]
    if not any(fits):
        return CellNotation()
    # Commas before three digits alone may separate thousands: the first of equals wins, so their order matters.
    best = ways[fits.index(max(fits))]
    if best == CellNotation(",") and not prefers_comma and all(_only_thousands(cells) for cells in odd):
        best = CellNotation(".", ",")
    if best.decimal == "," and best.thousands is None:
        dotted = [cells.filter(cells.str.contains(".", literal=True)) for cells in plain]
        if any(len(cells) and cells.str.contains(_GROUPED).all() for cells in dotted):
            best = CellNotation(",", ".")
    return best


def _only_thousands(cells: pl.Series) -> bool:
    number = cells.str.contains(CellNotation(",").number).all()
    return not number or bool(cells.str.contains(r"^-?[0-9]{1,3}(?:,[0-9]{3})*$").all())


def _dates(columns: dict[str, pl.Series], *, day_first: bool) -> dict[str, str]:
    """Return the format of each column of dates; one that could have the day or the month first is left out."""
    found: dict[str, str] = {}
    open_: dict[str, tuple[str, ...]] = {}
    for name, series in columns.items():
        cells = series.drop_nulls().unique().str.strip_chars(" \t")
        forms = next((forms for shape, forms in _SHAPES if len(cells) and cells.str.contains(shape).all()), ())
        fitting = tuple(form for form in forms if not parse_dates(cells, form).null_count())
        if len(fitting) == 1:
            found[name] = fitting[0]
        elif fitting:
            open_[name] = fitting
    for name, fitting in open_.items():
        known = [form for form in fitting if form in found.values()]
        if len(known) == 1 or day_first:
            found[name] = known[0] if len(known) == 1 else fitting[0]
    return found
