"""Frames of other libraries go in and come back."""

from __future__ import annotations

import datetime as dt
import importlib.util
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from reveil.core.errors import ConfigError, DataError
from reveil.tables.schema import Schema
from reveil.tables.snapshot import read_snapshot, to_native

Q = Schema(quasi="q")


def cells(values) -> pl.Series:
    snapshot = read_snapshot(pd.DataFrame({"q": values}), Q)
    assert (snapshot.native, snapshot.origin) == ("pandas", "the frame")
    return snapshot.frame["q"]


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        (pd.Series(["a", None, np.nan], dtype=object), pl.String, ["a", None, None]),
        (["a", None], pl.String, ["a", None]),
        (pd.Categorical(["a", None, "b"]), pl.String, ["a", None, "b"]),
        (pd.Categorical([1, 2]), pl.Int64, [1, 2]),
        (pd.array([1, None], dtype="Int64"), pl.Int64, [1, None]),
        ([1.0, np.nan], pl.Float64, [1.0, None]),
        (pd.array([True, None], dtype="boolean"), pl.Boolean, [True, None]),
        (pd.Series([dt.date(2024, 1, 1), None], dtype=object), pl.Date, [dt.date(2024, 1, 1), None]),
        (pd.to_datetime(["2024-01-01", None]).as_unit("us"), pl.Datetime("us"), [dt.datetime(2024, 1, 1), None]),
        (pd.Series([Decimal("1.5")], dtype=object), pl.Decimal(2, 1), [Decimal("1.5")]),
    ],
)
def test_pandas_cells(values, dtype, expected):
    found = cells(values)
    assert found.dtype == dtype
    assert found.to_list() == expected


def test_pandas_time_zone_is_kept():
    found = cells(pd.to_datetime(["2024-01-01"]).tz_localize("Europe/Berlin"))
    assert found.dtype.time_zone == "Europe/Berlin"


def test_pandas_index_is_no_column():
    frame = pd.DataFrame({"q": [1, 2, 3]}, index=pd.Index([5, 5, 0], name="hidden"))
    assert read_snapshot(frame, Q).frame.to_dict(as_series=False) == {"q": [1, 2, 3]}


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["zebra", 1], dtype=object),
        [1j],
        pd.Series([object()], dtype=object),
        pd.to_timedelta(["1 day"]),
        pd.period_range("2024-01-01", periods=1),
        pd.interval_range(0, 1),
    ],
)
def test_pandas_cells_that_cannot_be(values):
    with pytest.raises(DataError) as caught:
        cells(values)
    assert caught.value.column == "q"
    assert caught.value.hint
    assert "zebra" not in str(caught.value)
    frame = pd.DataFrame({"x": values})
    frame["q"] = 1
    assert read_snapshot(frame, Schema(quasi="q", identifiers="x")).frame["q"].to_list() == [1] * len(frame)


def test_names():
    with pytest.raises(DataError, match="more than once, over columns 1 and 2"):
        read_snapshot(pd.DataFrame([[1, 2]], columns=["q", "q"]), Q)
    with pytest.raises(DataError, match="more than once, over columns 1 and 2"):
        read_snapshot(pa.table([[1], [2]], names=["q", "q"]), Q)
    with pytest.raises(DataError, match="not all text"):
        read_snapshot(pd.DataFrame([[1, 2]]), Q)
    for frame in (pd.DataFrame({"x": [1]}), pa.table({"x": [1]}), pl.DataFrame({"x": [1]})):
        with pytest.raises(DataError, match="none of the declared columns"):
            read_snapshot(frame, Q)


class Stream:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_other_ways_in():
    table = pa.table({"q": pa.array(["a", "b"]).dictionary_encode()})
    for source, native in (
        (table, "pyarrow"),
        (table.to_batches()[0], "pyarrow"),
        (table.to_reader(), "pyarrow"),
        (Stream(table), "polars"),
        (pl.LazyFrame({"q": ["a", "b"]}), "polars"),
        (pl.DataFrame({"q": ["a", "b"]}), "polars"),
    ):
        snapshot = read_snapshot(source, Q)
        assert (snapshot.native, snapshot.origin) == (native, "the frame")
        assert snapshot.frame.dtypes == [pl.String]
        assert snapshot.frame["q"].to_list() == ["a", "b"]


def test_broken_sources():
    with pytest.raises(DataError, match="lazy frame"):
        read_snapshot(pl.LazyFrame({"q": ["zebra"]}).with_columns(pl.col("q").cast(pl.Int64)), Q)
    with pytest.raises(DataError, match="Arrow stream"):
        read_snapshot(pa.chunked_array([[1]]), Q)


def test_the_callers_frame_is_left_alone():
    frame = pl.DataFrame({"q": [1.0, float("nan")]})
    before = frame.clone()
    read_snapshot(frame, Schema(quasi="q", null_values=["1"]))
    assert frame.equals(before)


def test_to_native():
    frame = pl.DataFrame({"a": [1, None], "b": ["x", None], "c": [2**100, 1]}, schema_overrides={"c": pl.Int128})
    assert to_native(frame, "polars") is frame
    table = to_native(frame, "pyarrow")
    assert isinstance(table, pa.Table)
    assert table["c"].to_pylist() == [Decimal(2**100), Decimal(1)]
    pandas = to_native(frame.drop("c"), "pandas")
    assert isinstance(pandas, pd.DataFrame)
    assert pandas["b"].isna().tolist() == [False, True]
    widest = pl.DataFrame({"c": [-(2**127)]}, schema={"c": pl.Int128})
    assert to_native(widest, "pyarrow")["c"].to_pylist() == [str(-(2**127))]
    with pytest.raises(ConfigError):
        to_native(frame, "excel")


def test_pyarrow_is_asked_for_by_name(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="pyarrow") as caught:
        read_snapshot(pd.DataFrame({"q": ["a"]}), Q)
    assert "reveil[pandas]" in caught.value.hint
    with pytest.raises(ConfigError, match="not installed"):
        to_native(pl.DataFrame({"q": [1]}), "pandas")
