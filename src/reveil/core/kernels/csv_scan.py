r"""One pass over the bytes of a CSV file, to see whether it is a table and, if not, where it breaks.

Readers that mend bad files guess (short rows become nulls, swallowed lines become one cell). In a table about
people a guess moves a value to somebody else, so the structure is settled here before any reader sees the file.

The grammar is that of RFC 4180 with the line ends ``\n`` and ``\r\n``. It is stricter than most readers on purpose: a
quote inside an unquoted cell or a lone carriage return is where two programs see two different tables.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import kernel

# What is wrong with the first bad record.
FINE = 0
RAGGED = 1  # a record with more or fewer cells than the header
BLANK = 2  # an empty line between records of several columns
UNCLOSED = 3  # a quote that is never closed; the line is the one where it opens
STRAY_QUOTE = 4  # a quote inside an unquoted cell, or text after a closing quote
BARE_CR = 5  # a carriage return that is not part of a line end
NUL = 6  # a byte 0, which text never has
NO_HEADER = 7  # the first line is empty

Scan = tuple[int, int, int, int, int, int]

_LF, _CR, _QUOTE = 10, 13, 34
# Where we are in a cell: before its first byte, in plain text, inside quotes, after a quote that may have closed it.
_START, _PLAIN, _QUOTED, _CLOSED = 0, 1, 2, 3


@kernel
def scan(data: npt.NDArray[np.uint8], delimiter: int, lines: npt.NDArray[np.int64]) -> Scan:
    """Return (kind, line, cells, columns, records, folds).

    ``lines`` receives the line on which each record after the header starts, as far as it is long enough; pass
    an empty array to go without.
    """
    state, cells, columns, records, folds = _START, 1, 0, 0, 0
    line, first, opened = 1, 1, 1
    blanks, first_blank = 0, 0
    size = data.size
    for i in range(size + 1):
        if i < size:
            c = data[i]
        elif state == _QUOTED:
            return UNCLOSED, opened, 0, columns, records, folds
        elif state == _START and cells == 1:
            break  # the last record was ended by its line end
        else:
            c = np.uint8(_LF)

        if c == 0:
            return NUL, line, 0, columns, records, folds
        if state == _QUOTED:
            if c == _QUOTE:
                state = _CLOSED
            elif c == _LF:
                line += 1
                folds += 1
        elif c == delimiter:
            cells += 1
            state = _START
        elif c == _LF:
            if columns == 0:
                if state == _START and cells == 1:
                    return NO_HEADER, first, 0, 0, 0, folds
                columns = cells
            elif state == _START and cells == 1:
                # A fault, a null or nothing: that depends on what follows.
                if blanks == 0:
                    first_blank = first
                blanks += 1
            elif blanks > 0 and columns > 1:
                return BLANK, first_blank, 0, columns, records, folds
            elif cells != columns:
                return RAGGED, first, cells, columns, records, folds
            else:
                for k in range(blanks + 1):
                    if records + k < lines.size:
                        lines[records + k] = first - blanks + k
                records += blanks + 1
                blanks = 0
            line += 1
            first = line
            cells = 1
            state = _START
        elif c == _CR:
            if i + 1 >= size or data[i + 1] != _LF:
                return BARE_CR, line, 0, columns, records, folds
        elif c == _QUOTE:
            if state == _START:
                state = _QUOTED
                opened = line
            elif state == _CLOSED:
                state = _QUOTED
            else:
                return STRAY_QUOTE, line, 0, columns, records, folds
        elif state == _CLOSED:
            return STRAY_QUOTE, line, 0, columns, records, folds
        else:
            state = _PLAIN
    return FINE, 0, 0, columns, records, folds
