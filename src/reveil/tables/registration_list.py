"""Registration lists: who could be in a table, read as strictly as the table itself."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reveil.core.errors import ConfigError, DataError, FileError, has_line_end
from reveil.tables.input import AS_WRITTEN
from reveil.tables.schema import Column, Role, Schema
from reveil.tables.snapshot import Snapshot, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reveil.tables.input import Input


class _ListedColumns(Schema):
    """Some columns of a table that may have others, at which nobody looks."""

    def __getitem__(self, name: str) -> Column:
        """Return the column; one that is not looked at is an identifier, which need not be readable."""
        known = {column.name: column for column in self.columns}
        return known.get(name, Column(name, Role.IDENTIFIER))

    def check_columns(self, names: Sequence[str], *, file: str | None = None, header_line: bool = False) -> None:
        """Raise unless all of them are there, and nothing stands in the header that could be persons."""
        declared = {column.name for column in self.columns}
        missing = [column.name for column in self.columns if column.name not in names]
        if missing:
            raise DataError(
                f"the registration list has no column {missing[0]!r}",
                file=file,
                column=missing[0],
                hint="It needs the person column, every quasi column that is published, and those that --where asks "
                "for: the part of the table that is published is compared with the same part of the list.",
            )
        strange = [place for place, name in enumerate(names, 1) if name not in declared]
        if any(not names[place - 1] for place in strange):
            raise DataError("a column of the registration list has no name", file=file, hint="Name every column.")
        long = [place for place in strange if has_line_end(names[place - 1])]
        if long:
            # A quote that is not closed makes one name of the rest of the header and of the persons below it.
            raise DataError(
                f"the name of column {long[0]} of the registration list goes over several lines: a quote may have "
                "swallowed persons",
                file=file,
                line=1 if header_line else None,
                hint="Close the quote, or write each name on one line.",
            )


def read_registration_list(
    source: object, columns: Iterable[Column], null_values: Iterable[str], written: Input = AS_WRITTEN
) -> Snapshot:
    """Read some columns of a list, which is a file or a frame and may have others; ``written`` as the table is."""
    schema = _ListedColumns.of(columns, null_values, written.for_lists())
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not _is_file(path):
            raise FileError("there is no such registration list", file=path, hint="Check population = ...")
        return replace(read_snapshot(path, schema), origin=str(path))
    if not hasattr(source, "__arrow_c_stream__") and not hasattr(source, "columns"):
        raise ConfigError("population must be a file or a table", hint='population = "voters.csv"')
    return read_snapshot(source, schema)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or with a NUL
        return False
