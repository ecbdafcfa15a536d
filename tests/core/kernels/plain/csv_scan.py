r"""The structure of a CSV file, read record by record.

The grammar is that of RFC 4180 with the line ends ``\n`` and ``\r\n``. It is stricter than most readers on
purpose: a quote inside an unquoted cell or a lone carriage return is where two programs see two different tables.
"""

from __future__ import annotations

from reveil.core.kernels.csv_scan import BARE_CR, BLANK, FINE, NO_HEADER, NUL, RAGGED, STRAY_QUOTE, UNCLOSED, Scan


class _BadError(Exception):
    """Leave the record: its kind and line."""


def scan(data: bytes, delimiter: int) -> tuple[Scan, list[int]]:
    """Return (kind, line, cells, columns, records, folds) and the line of each record after the header.

    ``records`` counts what stands before the first fault, ``folds`` the line ends inside quotes.
    """
    position, line, columns, folds = 0, 1, 0, 0
    lines: list[int] = []
    blank: list[int] = []
    while position < len(data):
        first = line
        try:
            cells, position, line, is_blank = _record(data, position, line, delimiter)
        except _BadError as bad:
            kind, bad_line, folded = bad.args
            return (kind, bad_line, 0, columns, len(lines), folds + folded), lines
        ended = data[position - 1 : position] == b"\n"
        folds += line - first - ended
        if columns == 0:
            if is_blank:
                return (NO_HEADER, first, 0, 0, 0, folds), lines
            columns = cells
        elif is_blank:
            blank.append(first)  # a fault, a null or nothing: that depends on what follows
        elif blank and columns > 1:
            return (BLANK, blank[0], 0, columns, len(lines), folds), lines
        elif cells != columns:
            return (RAGGED, first, cells, columns, len(lines), folds), lines
        else:
            lines += [*blank, first]
            blank = []
    return (FINE, 0, 0, columns, len(lines), folds), lines


def _record(data: bytes, position: int, line: int, delimiter: int) -> tuple[int, int, int, bool]:
    """Read one record; return its cells, where the next one starts, on which line, and whether it was empty."""
    start, first, cells = position, line, 1
    while True:
        if data[position : position + 1] == b'"':
            position, line = _quoted(data, position, line, first)
        else:
            while position < len(data) and data[position] not in (delimiter, 10, 13, 0, 34):
                position += 1
        follows = data[position : position + 1]
        if follows in {b"", b"\n"} or data[position : position + 2] == b"\r\n":
            is_blank = position == start
            position += 0 if follows == b"" else 1 if follows == b"\n" else 2
            return cells, position, line + (follows != b""), is_blank
        if follows[0] != delimiter:
            kind = {0: NUL, 13: BARE_CR}.get(follows[0], STRAY_QUOTE)
            raise _BadError(kind, line, line - first)
        cells, position = cells + 1, position + 1


def _quoted(data: bytes, position: int, line: int, first: int) -> tuple[int, int]:
    """Pass over a quoted cell."""
    opened, position = line, position + 1
    while position < len(data):
        if data[position] == 0:
            raise _BadError(NUL, line, line - first)
        if data[position] == 34:
            if data[position + 1 : position + 2] != b'"':
                return position + 1, line
            position += 1
        elif data[position] == 10:
            line += 1
        position += 1
    raise _BadError(UNCLOSED, opened, line - first)
