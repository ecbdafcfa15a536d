"""Different cells: in order of appearance, however they are told apart."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveil.releases.different_cells import different_cells, places_in

NUMBERS = st.none() | st.integers(-3, 3) | st.sampled_from([-(2**31), 2**31 - 1])
DAYS = st.none() | st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))


def check(cells):
    different, places = different_cells(cells)
    assert different.equals(cells.unique(maintain_order=True), null_equal=True)
    assert np.array_equal(places, places_in(cells, different))
    assert different.dtype == cells.dtype


@pytest.mark.parametrize(("ends", "dtype"), [(NUMBERS, pl.Int32), (NUMBERS, pl.Int64), (DAYS, pl.Date)])
@given(data=st.data())
def test_intervals(ends, dtype, data):
    rows = data.draw(st.lists(st.tuples(ends, ends, st.booleans()), max_size=40))
    shape = pl.Struct({"lo": dtype, "hi": dtype, "null": pl.Boolean})
    check(pl.Series("age", [dict(zip(("lo", "hi", "null"), row, strict=True)) for row in rows], shape))


def test_many_intervals_of_a_wide_range():
    rng = np.random.default_rng(0)
    low = rng.integers(0, 4000, 20_000)
    check(pl.DataFrame({"lo": low, "hi": low + rng.integers(0, 9, 20_000), "null": low < 9}).to_struct("age"))


@pytest.mark.parametrize(
    "cells",
    [
        pl.Series("x", [{"lo": 1.5, "hi": 2.0, "null": False}] * 2 + [{"lo": None, "hi": None, "null": True}]),
        pl.DataFrame({"lo": 0, "hi": pl.Series([2**64 - 1] * 2, dtype=pl.UInt64), "null": False}).to_struct("x"),
        pl.Series("x", [{"lo": 1, "hi": 2, "null": False}, None, {"lo": 1, "hi": 2, "null": None}]),
        pl.Series("x", [["a", "b"], ["a"], None, ["a", "b"]]),
        pl.Series("x", ["[1, 2]", "*", "[1, 2]"]),
    ],
)
def test_other_cells(cells):
    check(cells)
