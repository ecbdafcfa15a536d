"""Parquet files: the columns are checked before any data is read."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from reveil.core.errors import FileError
from reveil.tables.formats.base import FAILURES, Format, NameCheck, RawTable
from reveil.tables.formats.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class ParquetFile(Format):
    """Typed columns; of a release, intervals are ``lo, hi, null`` and sets are lists."""

    text_only: ClassVar[bool] = False

    def read(self, path: Path, *, null_values: Iterable[str] = (), check_names: NameCheck | None = None) -> RawTable:  # noqa: ARG002
        """Read one Parquet file, after its column names have passed."""
        broken = FileError(
            "this is not a whole Parquet file",
            file=path,
            hint="Write it again; it may have been cut off while copying.",
        )
        try:
            file = path.open("rb")
        except OSError:
            raise FileError("cannot read this file", file=path, hint="Check its permissions.") from None
        with file:
            try:
                names = list(pl.read_parquet_schema(file))
            except FAILURES:
                raise broken from None
        if check_names is not None:
            check_names(names, file=str(path))
        try:
            # A path is one file: no pattern, and no columns read out of the names of folders.
            frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
        except FAILURES:
            raise broken from None
        return RawTable(frame, Place(str(path)), text_only=False)

    def names(self, path: Path) -> list[str]:
        """Return the names of the columns, nothing where the file is none."""
        try:
            return list(pl.read_parquet_schema(path))
        except FAILURES:
            return []

    def write(self, table: pl.DataFrame, path: Path) -> None:
        """Write a single chunk, so that the bytes do not depend on how many threads made it."""
        table.rechunk().write_parquet(path, compression="zstd", statistics=False)

    def says_more(self, path: Path) -> bool:
        """Compare the metadata with that of an empty table of the same columns."""
        plain = io.BytesIO()
        pl.read_parquet(path, n_rows=0).write_parquet(plain, compression="zstd", statistics=False)
        plain.seek(0)
        return pl.read_parquet_metadata(path) != pl.read_parquet_metadata(plain)
