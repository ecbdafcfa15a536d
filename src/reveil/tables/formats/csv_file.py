"""CSV files, read strictly: first the bytes, then the structure, then the cells as text; and compressed ones.

polars parses, but only what the scan has found to be a table, and never speaks to the user: its messages have no
line and quote cells. A release is written with names that no spreadsheet runs.
"""

from __future__ import annotations

import codecs
import json
import re
import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from reveil.core.errors import DataError, FileError
from reveil.core.kernels import csv_scan
from reveil.tables.formats.base import Format, NameCheck, RawTable
from reveil.tables.formats.dialect import DEFAULT_DIALECT, SEPARATORS, Dialect, as_utf8
from reveil.tables.formats.known import check_path
from reveil.tables.formats.place import Lines, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_FOUND = (b",", b";", b"\t")  # separators that a header shows by itself
_CHUNK = 1 << 20
_PIECE = 1 << 25  # bytes of a release that are read at once
_HEADER = 1 << 16  # bytes of a file that are looked at for names
# How a name begins that a spreadsheet would run, or that is quoted already.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", '"')
_DOUBLE_QUOTES = 'Put the whole cell in quotes and write quotes inside it twice: "5\'11"" tall".'


@dataclass(frozen=True)
class CsvFile(Format):
    """Text, separated by commas, semicolons or tabs; written with commas and in UTF-8."""

    text_only: ClassVar[bool] = True
    dialect: Dialect = DEFAULT_DIALECT

    def speaking(self, dialect: Dialect) -> CsvFile:
        """Return the format with the declared separator and encoding."""
        return replace(self, dialect=dialect)

    def read(self, path: Path, *, null_values: Iterable[str] = (), check_names: NameCheck | None = None) -> RawTable:
        """Read and check a CSV; empty cells, quoted or not, and ``null_values`` are null."""
        written = replace(self.dialect, separator=self.separator)
        data = self.unpacked(read_bytes(path), path)
        table = read_csv(path, null_values=null_values, dialect=written, data=data)
        if check_names is not None:
            check_names(table.frame.columns, file=str(path), header_line=True)
        return table

    @property
    def separator(self) -> str | None:
        """What separates cells: as declared, or as the ending says; None where the header shows it."""
        return self.dialect.separator

    def unpacked(self, data: bytes, path: Path) -> bytes:  # noqa: ARG002
        """Return the text that a file holds."""
        return data

    def names(self, path: Path) -> list[str]:
        """Guess the names in the first line."""
        return guessed_names(path)

    def write(self, table: pl.DataFrame, path: Path) -> None:
        """Write cells as they are, and names that a program could make more of as JSON strings."""
        self.write_pieces([table], path)

    def write_pieces(self, pieces: Iterable[pl.DataFrame], path: Path) -> None:
        """Write pieces one behind the other: the whole text is never in memory."""
        with path.open("wb") as file:
            for number, table in enumerate(pieces):
                names = {name: json.dumps(name, ensure_ascii=False) for name in table.columns if _is_quoted(name)}
                # A null alone on its line would be an empty line, which no reader counts.
                null = '""' if table.width == 1 else None
                table.rename(names).write_csv(file, null_value=null, include_header=not number)

    def read_pieces(self, path: Path) -> Iterator[pl.DataFrame]:
        """Read a text in pieces of whole records; each is checked as a text of its own."""
        written = replace(self.dialect, separator=self.separator)
        before = 0
        for data in _pieces_of(path):
            try:
                yield read_csv(path, dialect=written, data=data).frame
            except DataError as error:
                error.line = None if error.line is None else error.line + before
                raise
            before += data.count(b"\n", _header_end(data))

    def plain_name(self, name: str) -> str:
        """Return a column name as it was before it was quoted as JSON; what is no JSON stays as it is."""
        if not name.startswith('"'):
            return name
        try:
            return str(json.loads(name))
        except ValueError:
            return name

    def says_more(self, path: Path) -> bool:  # noqa: ARG002
        """Return no: every byte is in a cell or a name, and those are read."""
        return False


def _pieces_of(path: Path) -> Iterator[bytes]:
    """Cut a text at ends of records, each piece with the header before it.

    A line ends a record where an even number of quotes stands before its end: in a table that may be read, quotes
    begin and end cells or come in pairs.
    """
    check_path(path)
    try:
        with path.open("rb") as file:
            rest, header, first = b"", b"", True
            while True:
                block = file.read(_PIECE)
                data = rest + block
                if first:
                    header = data[: _header_end(data)]
                end = len(data) if not block else _last_end(data)
                if end > len(header) * first or (first and not block):
                    yield data[:end] if first else header + data[:end]
                    rest, first = data[end:], False
                else:
                    rest = data
                if not block:
                    return
    except OSError:
        raise FileError("cannot read this file", file=path, hint="Check its permissions.") from None


def _last_end(data: bytes) -> int:
    """Return where the last whole record of a text ends, that begins with a record; 0 where none does."""
    end = data.rfind(b"\n") + 1
    while end and data.count(b'"', 0, end) % 2:
        end = data.rfind(b"\n", 0, end - 1) + 1
    return end


def guessed_names(path: Path) -> list[str]:
    """Return what the first line of a text separates; nothing where there is none."""
    try:
        with path.open("rb") as stream:
            return names_in(stream.read(_HEADER))
    except OSError:
        return []


def names_in(data: bytes) -> list[str]:
    """Return what the first line of the beginning of a text separates."""
    first = data.decode("utf-8-sig", "replace").splitlines()[:1]
    if not first:
        return []
    separator = max(",;\t|", key=first[0].count)
    return [cell.strip().strip('"').strip() for cell in first[0].split(separator)]


def _is_quoted(name: str) -> bool:
    """Return whether a column name is written as a JSON string: as with cells, no program is to make more of it."""
    return name[:1] in _FORMULA or unicodedata.category(name[:1] or " ") == "Cf"


def read_csv(
    path: Path, *, null_values: Iterable[str] = (), dialect: Dialect = DEFAULT_DIALECT, data: bytes | None = None
) -> RawTable:
    """Read and check a CSV; the table may have no rows. ``data`` is what the file holds, where that is known."""
    data = as_utf8(read_bytes(path) if data is None else data, dialect.encoding or "utf-8", path)
    _check_bytes(data, path)
    header = first_record(data)
    delimiter = _delimiter(header) if dialect.separator is None else dialect.separator.encode()
    # The mark at the start would count as text before a quoted first name.
    content = np.frombuffer(data, np.uint8)[len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0 :]
    kind, line, cells, columns, records, folds = csv_scan.scan(content, delimiter[0], np.empty(0, np.int64))
    if kind != csv_scan.FINE:
        message, hint = _fault(kind, cells, columns, SEPARATORS[delimiter.decode()])
        raise DataError(message, file=path, line=line, hint=hint)
    header_lines = header.count(b"\n") if header.endswith(b"\n") else header.count(b"\n") + 1
    starts = None
    if folds:
        starts = np.empty(records, np.int64)
        csv_scan.scan(content, delimiter[0], starts)
    schema = {str(i): pl.String for i in range(columns)}
    # With a mark of its own, so that polars does not take one away that belongs to the first name.
    names = _parse(codecs.BOM_UTF8 + header, delimiter, schema, [""], path).row(0)
    check_header(names, path)
    if records == 0:
        frame = pl.DataFrame(schema=schema)
    else:
        # Empty lines at the end are rows to polars, not to us.
        frame = _parse(data, delimiter, schema, ["", *null_values], path, skip=1).head(records)
    if frame.height != records:
        raise FileError("this CSV cannot be read", file=path, hint="Write it again with another program.")
    frame.columns = list(names)
    return RawTable(frame, Place(str(path), Lines(header_lines + 1, starts)), text_only=True)


def read_bytes(path: Path) -> bytes:
    """Read a file, or say plainly why not."""
    check_path(path)
    try:
        return path.read_bytes()
    except OSError:
        raise FileError("cannot read this file", file=path, hint="Check its permissions.") from None


def _parse(
    data: bytes, delimiter: bytes, schema: dict[str, type[pl.String]], nulls: list[str], path: Path, *, skip: int = 0
) -> pl.DataFrame:
    try:
        return pl.read_csv(
            data, has_header=False, skip_rows=skip, separator=delimiter.decode(), schema=schema, null_values=nulls
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise FileError("this CSV cannot be read", file=path, hint="Write it again with another program.") from None


def _check_bytes(data: bytes, path: Path) -> None:
    """Check that this is UTF-8 text with something in it."""
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        raise DataError("this file is empty", file=path, hint="A table starts with a line of column names.")
    kinds_of_file = {
        codecs.BOM_UTF16_LE: 'It is UTF-16 text: write encoding = "utf-16" under [input], or save it as UTF-8.',
        codecs.BOM_UTF16_BE: 'It is UTF-16 text: write encoding = "utf-16" under [input], or save it as UTF-8.',
        b"PK\x03\x04": "It looks like a workbook or a zip archive; a workbook is named .xlsx.",
        b"\x1f\x8b": "It looks like a gzip archive; name it .csv.gz.",
        b"\x28\xb5\x2f\xfd": "It looks like a zstd archive; name it .csv.zst.",
        b"PAR1\x15": "It looks like Parquet; name it .parquet.",  # a header may start with PAR1 too, but not so
    }
    for mark, remedy in kinds_of_file.items():
        if data.startswith(mark):
            raise FileError("this is not a CSV in UTF-8", file=path, line=1, hint=remedy)
    position = _first_invalid(data)
    if position is None:
        return
    latin = b"\0" not in data and data[position] >= 0xA0
    raise FileError(
        "this file is not UTF-8",
        file=path,
        line=data.count(b"\n", 0, position) + 1,
        hint=_other_encoding(data, position) if latin else "Save it as UTF-8.",
    )


def _other_encoding(data: bytes, position: int) -> str:
    """Say what to do with text that is no UTF-8 from some byte on."""
    if not data[:position].removeprefix(codecs.BOM_UTF8).isascii():
        return "The lines before are UTF-8: two exports may have been put together. Convert each to UTF-8 first."
    return (
        'It looks like Latin-1 or Windows-1252: write encoding = "latin-1" or "cp1252" under [input], or convert it to '
        "UTF-8."
    )


def _first_invalid(data: bytes) -> int | None:
    """Return the first byte that is not UTF-8, in pieces, so that no copy of the whole text is made."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for start in range(0, len(data) + 1, _CHUNK):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(view[start : start + _CHUNK], final=start + _CHUNK > len(data))
        except UnicodeDecodeError as error:
            return start - held + error.start
    return None


def first_record(data: bytes) -> bytes:
    """Return the first record of a text in UTF-8, without a mark before it."""
    return data[: _header_end(data)].removeprefix(codecs.BOM_UTF8)


def shown_separator(header: bytes) -> str:
    """Return what separates the names of a header; bars count where nothing else does."""
    bare = re.sub(rb'"[^"]*"?', b"", header)
    found = _delimiter(header)
    return "|" if not bare.count(found) and bare.count(b"|") else found.decode()


def _header_end(data: bytes) -> int:
    """Return where the first record ends: at the first line end that has whole pairs of quotes before it."""
    start, quotes = 0, 0
    while (end := data.find(b"\n", start)) >= 0:
        quotes += data.count(b'"', start, end)
        if quotes % 2 == 0:
            return end + 1
        start = end + 1
    return len(data)


def _delimiter(header: bytes) -> bytes:
    """Return the delimiter that the header uses most outside quotes; the comma where it uses none."""
    bare = re.sub(rb'"[^"]*"?', b"", header)
    return max(_FOUND, key=bare.count)


def check_header(names: tuple[str | None, ...], path: Path) -> None:
    """Raise unless every column has a name of its own."""
    unnamed = [i for i, name in enumerate(names, 1) if not (name or "").strip()]
    if unnamed:
        raise DataError(
            f"column {unnamed[0]} of {len(names)} has no name",
            file=path,
            line=1,
            hint="Name every column in the first line; a pandas index is left out with to_csv(..., index=False).",
        )
    twice = next((i for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        # By number: in a file without a header these would be cells of a record.
        first = names.index(names[twice])
        raise DataError(
            f"one name stands more than once in the header, over columns {first + 1} and {twice + 1}",
            file=path,
            line=1,
            hint="Give each column a name of its own, in the first line.",
        )


def _fault(kind: int, cells: int, columns: int, delimiter: str) -> tuple[str, str]:
    """Say what is wrong with the first bad record, without a word of what is in it."""
    return {
        csv_scan.RAGGED: (
            f"this record has {cells:,} {'cell' if cells == 1 else 'cells'}, the header has {columns:,}",
            f"Cells are separated by {delimiter}s, as in the header; put a cell that has a {delimiter} in quotes.",
        ),
        csv_scan.BLANK: ("this line is empty, and records follow", "Take the line out."),
        csv_scan.UNCLOSED: ("a quote opens on this line and is never closed", "Close it, or take it away."),
        csv_scan.STRAY_QUOTE: ("a quote stands in the middle of a cell", _DOUBLE_QUOTES),
        csv_scan.BARE_CR: (
            "a carriage return stands alone",
            "Save the file with the line ends of Unix (LF) or Windows (CRLF); inside a cell it needs quotes.",
        ),
        csv_scan.NUL: ("a NUL byte stands on this line", "This is not plain text; if it is UTF-16, save it as UTF-8."),
        csv_scan.NO_HEADER: ("the first line is empty", "A table starts with a line of column names."),
    }[kind]
