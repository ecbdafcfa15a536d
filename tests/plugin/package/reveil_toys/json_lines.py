"""A toy format, as another package would add it: a line of JSON for each row, after one with the names."""

from __future__ import annotations

import json

import polars as pl

from reveil.core.errors import DataError, FileError
from reveil.tables.formats.base import Format, RawTable
from reveil.tables.formats.place import Lines, Place


class JsonLines(Format):
    """Text cells in lists."""

    text_only = True

    def read(self, path, *, null_values=(), check_names=None):
        try:
            names, *rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        except (OSError, ValueError):
            raise FileError("this is no table in lines of JSON", file=path, hint="Write it again.") from None
        if not _is_row(names) or None in names or len(set(names)) < len(names):
            raise DataError("the first line has no names", file=path, line=1, hint="Name every column.")
        if check_names is not None:
            check_names(names, file=str(path), header_line=True)
        for line, row in enumerate(rows, 2):
            if not _is_row(row) or len(row) != len(names):
                raise DataError("this line is no row of the table", file=path, line=line, hint="Mend it.")
        marks = set(null_values)
        cells = [[None if cell in marks else cell for cell in row] for row in rows]
        frame = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row")
        return RawTable(frame, Place(str(path), Lines(2)), text_only=True)

    def names(self, path):
        try:
            with path.open(encoding="utf-8") as lines:
                found = json.loads(next(lines))
        except (OSError, ValueError, StopIteration):
            return []
        return found if _is_row(found) and None not in found else []

    def write(self, table, path):
        rows = [table.columns, *map(list, table.rows())]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    def says_more(self, path):
        return False


def _is_row(row):
    return isinstance(row, list) and all(cell is None or isinstance(cell, str) for cell in row)
