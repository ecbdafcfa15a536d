"""Absent persons of a registration list, who dilute groups for somebody who does not know who is in the table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from reveil.codes import Codes, encode
from reveil.errors import ConfigError, DataError, FileError
from reveil.notation import parsed
from reveil.schema import Role, Schema
from reveil.snapshot import Snapshot, canonical_text, read_snapshot, read_text_table
from reveil.snapshot.parquet_file import read_parquet

if TYPE_CHECKING:
    from reveil.statistics import IntArray


@dataclass(frozen=True)
class Listed:
    """The persons of a table, and after them those of a list who are not in it, coded together."""

    codes: Codes
    absent: int


def read_list(population: Any, schema: Schema) -> Snapshot:
    """Read a registration list: the person column and the quasi columns of the table, others being ignored."""
    if schema.person is None:
        raise ConfigError("a registration list needs a person column", hint='Declare it: pid = "person".')
    columns = [column for column in schema.columns if column.role in (Role.PERSON, Role.QUASI)]
    names = [column.name for column in columns]
    raw = read_columns(population, names)
    read = read_snapshot(raw, Schema.of(columns, schema.null_values))
    return read if not isinstance(population, str | Path) else replace(read, origin=str(population))


def read_columns(population: Any, names: list[str]) -> pl.DataFrame:
    """Return these columns of a frame, or of a file; those of a CSV file as texts."""
    if isinstance(population, str | Path):
        path = Path(population)
        if not _is_file(path):
            raise FileError("there is no such registration list", file=path, hint="Check population = ...")
        # As strictly as the table itself: a reader that mends a list moves values from one person to another.
        parquet = path.suffix.lower() == ".parquet"
        frame = read_parquet(path, lambda _: None) if parquet else read_text_table(path)
    else:
        frame = _frame(population)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise DataError(
            f"the registration list has no column {missing[0]!r}",
            column=missing[0],
            hint="It needs the person column and every quasi column that is published.",
        )
    return frame.select(names)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _frame(population: Any) -> pl.DataFrame:
    """Return a table of any library as one of polars."""
    if isinstance(population, pl.DataFrame):
        return population
    if not hasattr(population, "__arrow_c_stream__") and not hasattr(population, "columns"):
        raise ConfigError("population must be a file or a table", hint='population = "voters.csv"')
    return pl.DataFrame(population)


def with_absent(snapshot: Snapshot, population: Any, published: IntArray) -> Listed:
    """Code the records to be published together with the persons of a list who are not in the table at all."""
    schema = snapshot.schema
    listed = read_list(population, schema).frame
    person = str(schema.person)
    here = canonical_text(snapshot.frame[person])
    listed = listed.filter(~canonical_text(listed[person]).is_in(here.implode()))
    quasi = list(schema.quasi)
    own = snapshot.frame.select(quasi)
    try:
        others = listed.select(_as_type(listed[name], own.schema[name]).alias(name) for name in quasi)
    except (pl.exceptions.PolarsError, ValueError):
        raise DataError(
            "the registration list has quasi values of another type than the table",
            hint="Write them in the same way in both.",
        ) from None
    together = pl.concat([own[published], others])
    only = Schema.of([column for column in schema.columns if column.role is Role.QUASI], schema.null_values)
    codes = encode(Snapshot(together, only, snapshot.origin, "polars"))
    return Listed(codes, len(others))


def _as_type(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    if values.dtype == dtype:
        return values
    return parsed(canonical_text(values), dtype)
