"""Where a cell stands, in the words of the person who has to mend it: a line of the file, or a row of the frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reveil.core.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Lines:
    """The line on which each record of a CSV starts.

    Without line ends inside quotes this is arithmetic; ``starts`` is only kept where it is not.
    """

    first: int
    starts: npt.NDArray[np.int64] | None = None

    def of(self, row: int) -> int:
        """Return the line of a record, both as an editor counts (from 1) and as a frame does (row from 0)."""
        return self.first + row if self.starts is None else int(self.starts[row])


@dataclass(frozen=True)
class Place:
    """The table that is being read, and how to point into it."""

    file: str
    lines: Lines | None = None
    parts: tuple[tuple[int, str], ...] = ()  # of a table in a folder: the first row of each part, and its file

    def error(self, message: str, *, column: str, hint: str, row: int | None = None) -> DataError:
        """Build an error that points at a row: by line for CSV, else by row number, counted from 1."""
        if row is not None and self.parts:
            first, file = next((start, name) for start, name in reversed(self.parts) if start <= row)
            return Place(file).error(message, column=column, hint=hint, row=row - first)
        line = None if row is None or self.lines is None else self.lines.of(row)
        if row is not None and line is None:
            message += f" (first in row {row + 1:,})"
        return DataError(message, file=self.file, line=line, column=column, hint=hint)
