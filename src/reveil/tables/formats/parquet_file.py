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
        names = list(self.schema(path))
        if check_names is not None:
            check_names(names, file=str(path))
        try:
            # A path is one file: no pattern, and no columns read out of the names of folders.
            frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
        except FAILURES:
            raise broken(path) from None
        return RawTable(frame, Place(str(path)), text_only=False)

    def schema(self, path: Path) -> pl.Schema:
        """Return the columns and their types; no data is read."""
        try:
            file = path.open("rb")
        except OSError:
            raise FileError("cannot read this file", file=path, hint="Check its permissions.") from None
        with file:
            try:
                return pl.Schema(pl.read_parquet_schema(file))
            except FAILURES:
                raise broken(path) from None

    def rows(self, path: Path) -> int:
        """Return how many rows there are; no data is read."""
        try:
            return int(self._scanned(path).select(pl.len()).collect().item())
        except FAILURES:
            raise broken(path) from None

    def piece(self, path: Path, first: int, rows: int, columns: list[str] | None = None) -> pl.DataFrame:
        """Read some of the rows; of some columns, where these are named."""
        try:
            table = self._scanned(path) if columns is None else self._scanned(path).select(columns)
            return table.slice(first, rows).collect()
        except FAILURES:
            raise broken(path) from None

    @staticmethod
    def _scanned(path: Path) -> pl.LazyFrame:
        # A path is one file: no pattern, and no columns read out of the names of folders.
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)

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


def broken(path: Path) -> FileError:
    """Return the refusal of a file that is no Parquet file, or not all of it."""
    return FileError(
        "this is not a whole Parquet file", file=path, hint="Write it again; it may have been cut off while copying."
    )
