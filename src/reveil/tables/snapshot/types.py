"""What the cells of a column are: inferred from text, cast to a declared type, and written as canonical text.

Inference is all or nothing per column, and cautious: whatever reading a column as numbers would rewrite in a way
that changes its identity (leading zeros, plus signs, more digits than an integer holds) stays text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reveil.tables.schema import Type

if TYPE_CHECKING:
    from collections.abc import Callable

# Most columns that are not of a type show it early; the whole column is only looked at when its head fits.
_HEAD = 512

_FIRST_DAY, _LAST_DAY = -719_528, 2_932_896  # 0000-01-01 and 9999-12-31, in days since 1970
_DAY = 86_400  # seconds

_NAN = r"(?i)^[+-]?nan$"
_INTEGER = r"^[+-]?[0-9]+$"
_PLAIN_NUMBER = r"^(?:-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?i:nan))$"
_PLAIN_INTEGER = r"^-?(?:0|[1-9][0-9]*)$"
_BOOLEAN = r"(?i)^(?:true|false)$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-5][0-9](?:\.[0-9]{1,6}0{0,3})?)?"
_TIME = rf"^{_CLOCK}$"
_ZONE = r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
_DATETIME = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ]{_CLOCK}{_ZONE}?$"


def type_of(dtype: pl.DataType) -> Type | None:
    """Return what a polars type is in the words of the config; None for what a cell cannot be."""
    if dtype.is_numeric():
        return Type.NUMBER
    simple: dict[type[pl.DataType], Type] = {
        pl.String: Type.TEXT,
        pl.Categorical: Type.TEXT,
        pl.Enum: Type.TEXT,
        pl.Null: Type.TEXT,
        pl.Boolean: Type.BOOLEAN,
        pl.Date: Type.DATE,
        pl.Datetime: Type.DATETIME,
        pl.Time: Type.TIME,
    }
    return simple.get(dtype.base_type())


def infer_type(series: pl.Series) -> pl.Series:
    """Read a column of text as the most telling type that fits every cell; text if none does.

    >>> infer_type(pl.Series(["7", "12", None])).to_list()
    [7, 12, None]
    >>> infer_type(pl.Series(["007", "12"])).to_list()
    ['007', '12']
    """
    candidates: list[tuple[str, Callable[[pl.Series], pl.Series]]] = [
        (_PLAIN_NUMBER, _number),
        (_BOOLEAN, _boolean),
        (_DATE, _date),
        (_DATETIME, _datetime),
        (_TIME, _time),
    ]
    for pattern, read in candidates:
        if _all_match(series, pattern):
            typed = read(series)
            if not _as_complete(typed, series) or _has_infinite(typed):
                return series
            return typed if typed.null_count() < len(typed) else typed.cast(pl.String)
    return series


def infer_person(series: pl.Series) -> pl.Series:
    """Read identities as integers where all are, else leave them: as floats or dates, two could become one."""
    return infer_type(series) if _all_match(series, _PLAIN_INTEGER) else series


def read_as(series: pl.Series, wanted: Type) -> pl.Series:
    """Cast to a declared type; a cell that cannot be read so becomes null, and the caller compares.

    A declaration is trusted further than inference: padded numbers, ``1`` and ``0`` as booleans, a date-time as
    its date, a date as its midnight.
    """
    have = type_of(series.dtype)
    if have is wanted:
        return series
    if have is Type.TEXT:
        return _READERS[wanted](series)
    if wanted is Type.TEXT:
        return canonical_text(series)
    if have is Type.DATETIME and wanted is Type.DATE:
        return series.dt.date()
    if have is Type.DATE and wanted is Type.DATETIME:
        return series.cast(pl.Datetime("us"))
    if have is Type.NUMBER and wanted is Type.BOOLEAN:
        return _select(series, pl.when(pl.col("x") == 1).then(True).when(pl.col("x") == 0).then(False))
    return pl.Series(series.name, [None] * len(series), dtype=_EMPTY[wanted])


def read_steadily(series: pl.Series, wanted: Type) -> pl.Series:
    """Cast to a declared type in the one form that it is stored in, each cell by itself.

    Numbers are floats, whole or not; moments are in microseconds and in UTC, without a zone. What the other cells are
    changes nothing, except that moments with a zone and without one are not read in one column.

    >>> read_steadily(pl.Series([7, 12]), Type.NUMBER).to_list()
    [7.0, 12.0]
    """
    if wanted is Type.NUMBER and type_of(series.dtype) is Type.TEXT:
        return _trim(series).cast(pl.Float64, strict=False).fill_nan(None)
    typed = read_as(series, wanted)
    if typed.dtype.is_numeric():
        return typed.cast(pl.Float64)
    if isinstance(typed.dtype, pl.Datetime):
        universal = typed if typed.dtype.time_zone is None else typed.dt.convert_time_zone("UTC")
        return universal.dt.replace_time_zone(None).cast(pl.Datetime("us"))
    return typed


def nan_to_null(series: pl.Series) -> pl.Series:
    """Make "not a number" a missing value, and minus zero zero: each value has one form."""
    if not series.dtype.is_float():
        return series
    x = pl.col("x")
    return _select(series, pl.when(x == 0).then(pl.lit(0.0, series.dtype)).when(x.is_not_nan()).then(x))


def outside_the_calendar(series: pl.Series) -> pl.Series | None:
    """Return which cells hold a date or a time that four digits of a year, or a day, do not have; None if none does.

    A Parquet file can hold them, and polars ends where it has to write one. Cells may be lists or have fields.
    """
    dtype = series.dtype
    if isinstance(dtype, pl.Struct):
        parts = [outside_the_calendar(series.struct.field(field.name)) for field in dtype.fields]
        found = [part for part in parts if part is not None]
        return pl.select(pl.any_horizontal(found)).to_series() if found else None
    if isinstance(dtype, pl.List | pl.Array):
        inside = outside_the_calendar(series.explode(empty_as_null=True))
        return None if inside is None else pl.repeat(True, len(series), eager=True)
    if dtype == pl.Date:
        first, last = _FIRST_DAY, _LAST_DAY
    elif dtype == pl.Time:
        first, last = 0, _DAY * 10**9 - 1
    elif isinstance(dtype, pl.Datetime):
        # In another zone it may be the day before or after.
        unit = {"ms": 10**3, "us": 10**6, "ns": 10**9}[dtype.time_unit]
        first, last = (_FIRST_DAY + 1) * _DAY * unit, _LAST_DAY * _DAY * unit - 1
        first, last = max(first, -(2**63)), min(last, 2**63 - 1)
    else:
        return None
    outside = ~series.to_physical().is_between(first, last).fill_null(value=True)
    return outside if outside.any() else None


def canonical_text(series: pl.Series) -> pl.Series:
    """Write values as text so that equal values have equal texts, whatever their storage type.

    Integers without padding, whole floats and decimals without a point, text in NFC, dates and times in ISO form.

    >>> canonical_text(pl.Series([3.0, 0.25, None])).to_list()
    ['3', '0.25', None]
    """
    dtype = series.dtype
    if dtype == pl.String:
        return _nfc(series)
    if dtype in (pl.Categorical, pl.Enum):
        return _nfc(series.cast(pl.String))
    if dtype.is_float():
        return _float_text(nan_to_null(series))
    if dtype.is_decimal():
        text = series.cast(pl.String)
        return _select(text, pl.when(pl.col("x").str.contains(".", literal=True)).then(_without_zeros()).otherwise("x"))
    if isinstance(dtype, pl.Datetime):
        return _moment_text(series, dtype)
    if dtype == pl.Time:
        return series.dt.strftime("%H:%M:%S%.f")
    return series.cast(pl.String)


def _moment_text(series: pl.Series, dtype: pl.Datetime) -> pl.Series:
    form = "%Y-%m-%dT%H:%M:%S%.f"
    if dtype.time_zone is None:
        return series.dt.strftime(form)
    local = series.dt.strftime(form + "%:z")
    # Before standard time offsets had seconds, which the text of an offset does not hold: such moments in UTC.
    offset = series.dt.base_utc_offset() + series.dt.dst_offset()
    odd = (offset.dt.total_seconds() % 60 != 0).fill_null(False)
    if not odd.any():
        return local
    universal = series.dt.convert_time_zone("UTC").dt.strftime(form + "%:z")
    return _select(local, pl.when(odd).then(universal).otherwise("x"))


def _without_zeros() -> pl.Expr:
    return pl.col("x").str.strip_chars_end("0").str.strip_chars_end(".")


def _float_text(series: pl.Series) -> pl.Series:
    x = pl.col("x")
    whole = (x == x.floor()) & (x.abs() < 2.0**63)  # larger ones have no exact neighbour: their shortest form
    as_integer = pl.when(whole).then(x).cast(pl.Int64).cast(pl.String)
    shortest = x.cast(pl.String).str.replace("e+", "e", literal=True)  # polars has written both
    return _select(series, pl.when(whole).then(as_integer).otherwise(shortest))


def _nfc(series: pl.Series) -> pl.Series:
    if series.is_empty():
        return series
    x = pl.col("x")
    ascii_only = series.to_frame("x").select_seq((x.str.len_bytes() == x.str.len_chars()).all()).item()
    return series if ascii_only else series.str.normalize("NFC")


def _all_match(series: pl.Series, pattern: str) -> bool:
    """Whether there are cells and all fit the pattern, spaces around them aside."""
    cells = series.drop_nulls()
    for part in (cells.head(_HEAD), cells) if len(cells) > _HEAD else (cells,):
        if part.is_empty() or not _trim(part).str.contains(pattern).all():
            return False
    return True


def _as_complete(typed: pl.Series, text: pl.Series) -> bool:
    """Whether every cell was read; NaN is read as null."""
    lost = typed.null_count() - text.null_count()
    return lost == 0 or lost == _trim(text.filter(typed.is_null())).str.contains(_NAN).sum()


def _has_infinite(series: pl.Series) -> bool:
    return series.dtype.is_float() and bool(series.is_infinite().any())


def _number(series: pl.Series) -> pl.Series:
    cells = _trim(series)
    nan = cells.str.contains(_NAN)
    if nan.any():
        cells = _select(cells, pl.when(~nan).then("x"))
    short = cells.cast(pl.Int64, strict=False)
    if short.null_count() == cells.null_count():
        return short
    if cells.str.contains(_INTEGER).all():
        return cells.cast(pl.Int128, strict=False)  # what does not fit here either is not to be rounded
    return cells.cast(pl.Float64, strict=False).fill_nan(None)


def _boolean(series: pl.Series) -> pl.Series:
    x = pl.col("x").str.to_lowercase()
    yes, no = x.is_in(["true", "1"]), x.is_in(["false", "0"])
    return _select(_trim(series), pl.when(yes).then(True).when(no).then(False))


def _date(series: pl.Series) -> pl.Series:
    cells = _trim(series)
    dates = _matching(cells, _DATE).str.to_date("%Y-%m-%d", strict=False)
    if dates.null_count() == cells.null_count():
        return dates
    # The day as it is written: in another zone it could be the day before.
    days = _matching(cells, _DATETIME).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    return _select(dates, pl.coalesce("x", days))


def _datetime(series: pl.Series) -> pl.Series:
    cells = _trim(series)
    moments = _matching(cells, _DATETIME).str.replace(" ", "T", literal=True)
    zoned = moments.str.contains(rf"{_ZONE}$")
    if zoned.any():
        moments = _select(moments, pl.when(zoned).then("x"))  # one column has no two ideas of a zone
        return _in_formats(moments, "%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M%#z")
    read = _in_formats(moments, "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M")
    if read.null_count() == cells.null_count():
        return read
    days = _matching(cells, _DATE).str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    return _select(read, pl.coalesce("x", days))


def _in_formats(moments: pl.Series, *formats: str) -> pl.Series:
    read = [moments.str.to_datetime(f, time_unit="us", strict=False) for f in formats]
    return _select(read[0], pl.coalesce("x", *read[1:]))


def _time(series: pl.Series) -> pl.Series:
    cells = _matching(_trim(series), _TIME)
    full = cells.str.to_time("%H:%M:%S%.f", strict=False)
    return _select(full, pl.coalesce("x", cells.str.to_time("%H:%M", strict=False)))


def _trim(series: pl.Series) -> pl.Series:
    return series.str.strip_chars(" \t")


def _matching(series: pl.Series, pattern: str) -> pl.Series:
    return _select(series, pl.when(pl.col("x").str.contains(pattern)).then("x"))


def _select(series: pl.Series, expression: pl.Expr) -> pl.Series:
    """Apply an expression over column ``x``; the name of the series is kept."""
    return pl.select(x=series).select(y=expression).to_series().rename(series.name)


_READERS: dict[Type, Callable[[pl.Series], pl.Series]] = {
    Type.NUMBER: _number,
    Type.BOOLEAN: _boolean,
    Type.DATE: _date,
    Type.DATETIME: _datetime,
    Type.TIME: _time,
}
_EMPTY: dict[Type, pl.DataType] = {
    Type.NUMBER: pl.Float64(),
    Type.BOOLEAN: pl.Boolean(),
    Type.DATE: pl.Date(),
    Type.DATETIME: pl.Datetime("us"),
    Type.TIME: pl.Time(),
}
