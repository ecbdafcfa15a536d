"""Parquet files that are valid and not what anybody expects, or damaged."""

import polars as pl

from tests.fuzz.mutators import TEXTS, bytes_
from tests.fuzz.running import spilling

FLOATS = [float("nan"), float("inf"), -0.0, 1e308, 5e-324, 0.1]
UNITS = ("us", "ms", "ns")


def parquet(dice, frame, path):
    """Write a table as Parquet with a column of another kind than anybody expects, or with damaged bytes."""
    with spilling():  # a panic that is caught here has said its word to the terminal
        for _ in range(dice.pick({0: 3, 1: 6, 2: 2})):
            frame = _changed(dice, frame)
    compression = dice.pick(["zstd", "uncompressed", "snappy"])
    frame.write_parquet(path, compression=compression, row_group_size=dice.pick([None, 7]))
    if dice.chance(0.45):
        path.write_bytes(bytes_(dice, path.read_bytes()))


def _changed(dice, frame):
    if not frame.width:
        return frame
    name = dice.pick(frame.columns)
    if dice.chance(0.2):
        new = dice.pick([text for text in TEXTS if text not in frame.columns])
        ways = [frame.head(dice.below(3)), frame.drop(name), frame.with_columns(pl.col(name).alias(new))]
        return dice.pick([*ways, frame.select(dice.some(frame.columns) or [name])])
    try:
        kinds = {**_numbers(dice, frame.height), **_same(dice, frame[name])}
        return frame.with_columns(kinds[dice.pick(list(kinds))]().alias(name))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # not every column can be every kind
        return frame


def _numbers(dice, n):
    """Return columns of other values: at the ends of what their types hold, and of types that few tables have."""

    def column(start, kind, step=-1):
        return pl.Series([start + step * i for i in range(n)], dtype=kind)

    return {
        "decimal": lambda: column(0, pl.Int64, 1).cast(pl.Decimal(38, 3)),
        "uint128": lambda: column(2**128 - 1, pl.UInt128),
        "int128": lambda: column(2**100, pl.Int128),
        "uint64": lambda: column(2**64 - 1, pl.UInt64),
        "int8": lambda: column(100, pl.Int64).cast(pl.Int8),
        "far dates": lambda: column(2**31 - 1, pl.Int32).cast(pl.Date),
        "far times": lambda: column(2**63 - 1, pl.Int64).cast(pl.Datetime(dice.pick(UNITS))),
        "zones": lambda: column(0, pl.Int64, 1).cast(pl.Datetime("us", "Europe/Berlin")),
        "duration": lambda: column(0, pl.Int64, 1).cast(pl.Duration("us")),
        "time": lambda: column(0, pl.Int64, 1).cast(pl.Time),
        "floats": lambda: pl.Series([dice.pick(FLOATS) for _ in range(n)], dtype=pl.Float64),
        "float32": lambda: column(0, pl.Float32, 0.1),
        "boolean": lambda: pl.Series([i % 2 == 0 for i in range(n)], dtype=pl.Boolean),
        "null": lambda: pl.Series([None] * n),
    }


def _same(dice, own):
    """Return columns of the same values, of another type or with an odd cell."""
    texts = own.cast(pl.String)
    return {
        "list": lambda: pl.Series([[value] for value in own.to_list()]),
        "struct": lambda: pl.DataFrame({"x": own}).to_struct(),
        "cell": lambda: pl.Series([dice.pick(TEXTS), *texts.to_list()[1:]][: len(own)], dtype=pl.String),
        "binary": lambda: texts.cast(pl.Binary),
        "categorical": lambda: texts.cast(pl.Categorical),
        "enum": lambda: texts.cast(pl.Enum(texts.drop_nulls().unique().sort())),
    }
