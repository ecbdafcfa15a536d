"""Frames of other libraries: taken in as polars, given back as what they were."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import polars as pl

from reveil.core.errors import ConfigError, DataError
from reveil.tables.formats import in_words, readable
from reveil.tables.schema import Role, Schema

_ORIGIN = "the frame"
_NEEDS_PYARROW = "Install it with: pip install 'reveil[pandas]'."


def from_native(source: object, schema: Schema) -> tuple[pl.DataFrame, str]:
    """Return the table as polars and the name of the library it came from; its columns are as declared."""
    if isinstance(source, pl.LazyFrame):
        try:
            source = source.collect()
        except pl.exceptions.PolarsError:
            raise DataError(
                "this lazy frame cannot be collected", file=_ORIGIN, hint="Call .collect() yourself to see why."
            ) from None
    if isinstance(source, pl.DataFrame):
        schema.check_columns(source.columns, file=_ORIGIN)
        return source, "polars"
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return _from_pandas(source, schema), "pandas"
    if isinstance(source, pl.Series) or not hasattr(source, "__arrow_c_stream__"):
        raise DataError(
            f"a table cannot be read from {type(source).__name__!r}",
            hint=f"Pass the path of a {in_words(readable())} file, or a frame of polars, pandas or pyarrow.",
        )
    _check_names(list(getattr(source, "column_names", ())))
    try:
        frame = pl.DataFrame(source)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError):
        raise DataError(
            "this Arrow stream is not a table that can be read",
            file=_ORIGIN,
            hint="Each column needs a name of its own and values of a common type.",
        ) from None
    schema.check_columns(frame.columns, file=_ORIGIN)
    return frame, "pyarrow" if type(source).__module__.partition(".")[0] == "pyarrow" else "polars"


def to_native(frame: pl.DataFrame, native: str) -> Any:
    """Give a frame back in the caller's type: ``polars``, ``pandas`` or ``pyarrow``."""
    if native == "polars":
        return frame
    if native not in ("pandas", "pyarrow"):
        raise ConfigError(f"unknown kind of frame {native!r}", hint="Known: polars, pandas, pyarrow.")
    needed = ("pandas", "pyarrow") if native == "pandas" else ("pyarrow",)
    _check_installed(*needed)
    # Arrow has no integers of 128 bits; decimals hold nearly all of them, text the rest.
    wide = [name for name, dtype in frame.schema.items() if str(dtype) in ("Int128", "UInt128")]
    frame = frame.with_columns(_narrowed(frame[name]) for name in wide)
    return frame.to_pandas() if native == "pandas" else frame.to_arrow()


def _narrowed(series: pl.Series) -> pl.Series:
    fits = series.is_between(-(10**38) + 1, 10**38 - 1).all()
    return series.cast(pl.Decimal(38, 0)) if fits else series.cast(pl.String)


def _check_installed(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise ConfigError(f"pandas and pyarrow frames need {module}, which is not installed", hint=_NEEDS_PYARROW)


def _from_pandas(source: Any, schema: Schema) -> pl.DataFrame:
    """Convert column by column, so that a column that cannot be converted is named. The index is no column."""
    names = list(source.columns)
    if not all(isinstance(name, str) for name in names):
        raise DataError(
            "the names of the columns are not all text",
            file=_ORIGIN,
            hint="Name them as in the schema, for example with frame.columns = frame.columns.map(str).",
        )
    _check_names(names)
    schema.check_columns(names, file=_ORIGIN)
    _check_installed("pyarrow")
    columns: list[pl.Series] = []
    for position, name in enumerate(names):
        cells = source.iloc[:, position].reset_index(drop=True)
        try:
            series: pl.Series = pl.from_pandas(cells)  # type: ignore[assignment]
        except Exception:  # noqa: BLE001  (pyarrow, polars and pandas raise as they please, and quote cells)
            if schema[name].role is not Role.IDENTIFIER:
                raise DataError(
                    f"column {name!r} mixes kinds of values, or has values that are no numbers, texts or dates",
                    file=_ORIGIN,
                    column=name,
                    hint=f"Give it one type, for example with frame[{name!r}].astype('string').",
                ) from None
            series = pl.Series([None] * len(cells), dtype=pl.String)  # dropped anyway
        columns.append(series.alias(name))
    return pl.DataFrame(columns)


def _check_names(names: list[str]) -> None:
    twice = next((i for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise DataError(
            f"one name stands more than once, over columns {names.index(names[twice]) + 1} and {twice + 1}",
            file=_ORIGIN,
            hint="Give each column a name of its own.",
        )
