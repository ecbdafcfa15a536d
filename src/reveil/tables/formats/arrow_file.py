"""Arrow IPC files (Feather 2): typed columns, read and not written."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import polars as pl

from reveil.core.errors import FileError
from reveil.tables.formats.base import FAILURES, NameCheck, RawTable, ReadOnly
from reveil.tables.formats.csv_file import read_bytes
from reveil.tables.formats.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_MARK = b"ARROW1"


class ArrowFile(ReadOnly):
    """Typed columns; a stream of Arrow batches is read as well as a file of them."""

    text_only: ClassVar[bool] = False

    def read(self, path: Path, *, null_values: Iterable[str] = (), check_names: NameCheck | None = None) -> RawTable:  # noqa: ARG002
        """Read one file, after its column names have passed."""
        data = read_bytes(path)
        broken = FileError(
            "this is not a whole Arrow file",
            file=path,
            hint="Write it again; it may have been cut off while copying.",
        )
        # polars hangs on to nothing and runs nothing, but a file that ends early can trip it anywhere.
        if data.startswith(_MARK) and not data.endswith(_MARK):
            raise broken
        try:
            frame = pl.read_ipc(data) if data.startswith(_MARK) else pl.read_ipc_stream(data)
        except FAILURES:
            raise broken from None
        if check_names is not None:
            check_names(frame.columns, file=str(path))
        return RawTable(frame, Place(str(path)), text_only=False)

    def names(self, path: Path) -> list[str]:
        """Return the names of the columns, nothing where the file is none."""
        try:
            return list(pl.read_ipc_schema(path))
        except FAILURES:
            return []
