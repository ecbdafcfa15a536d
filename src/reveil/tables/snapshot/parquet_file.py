"""Parquet files: the columns are checked before any data is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.core.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A damaged file can trip polars anywhere; its own words stay unsaid, they may quote cells.
FAILURES = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


def read_parquet(path: Path, check_names: Callable[[list[str]], None]) -> pl.DataFrame:
    """Read one Parquet file, after its column names have passed ``check_names``."""
    broken = FileError(
        "this is not a whole Parquet file", file=path, hint="Write it again; it may have been cut off while copying."
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
    check_names(names)
    try:
        # A path is one file: no pattern, and no columns read out of the names of folders.
        return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except FAILURES:
        raise broken from None
