"""Codes: orders that mean something, nulls last, bins."""

from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from reveil.models.encoding import Kind, encode_quasi, encode_sensitive
from reveil.tables.hierarchy import Taxonomy
from reveil.tables.schema import Column, Role

QUASI, SENSITIVE = Role.QUASI, Role.SENSITIVE


@pytest.mark.parametrize(
    "values",
    [
        pl.Series("x", [5, -3, 5, 2**40]),
        pl.Series("x", [2**62, -(2**62), 0, 2**62]),
        pl.Series("x", [2**64 - 1, 0, 7, 7], dtype=pl.UInt64),
        pl.Series("x", [2**100, -(2**100), 5, 5], dtype=pl.Int128),
        pl.Series("x", [0.5, -1e300, 0.5, 1e300]),
        pl.Series("x", [date(2020, 5, 1), date(1901, 1, 1), date(2020, 5, 1), date(9999, 1, 1)]),
        pl.Series("x", [Decimal("1.10"), Decimal("1.09"), Decimal("1.10"), Decimal("7")]),
    ],
)
def test_numbers_and_dates_are_ranked_by_value(values):
    made = encode_quasi(values, Column("x", QUASI))
    assert made.kind is Kind.INTERVAL
    assert made.domain.to_list() == sorted(set(values.to_list()))
    assert made.domain.gather(made.codes).to_list() == values.to_list()
    assert made.domain.dtype == values.dtype
    assert made.positions[0] == 0
    assert made.positions[-2] == 1
    assert (np.diff(made.positions) >= 0).all()
    with_null = encode_quasi(pl.concat([values, pl.Series("x", [None], dtype=values.dtype)]), Column("x", QUASI))
    assert with_null.codes.tolist() == [*made.codes.tolist(), made.null_code]


def test_neighbours_beyond_the_floats_stay_apart():
    made = encode_quasi(pl.Series("x", [2**53, 2**53 + 1]), Column("x", QUASI))
    assert made.positions[:2].tolist() == [0, 1]


def test_any_column_name_will_do():
    for name in ("n", "value", "code", "cell", "x"):
        made = encode_quasi(pl.Series(name, ["b", "a", "a"]), Column(name, QUASI))
        assert (made.domain.name, made.codes.tolist()) == (name, [1, 0, 0])


def test_unordered_categories_by_frequency_then_name():
    made = encode_quasi(pl.Series("x", ["b", "c", "a", "c", None]), Column("x", QUASI))
    assert (made.kind, made.domain.to_list(), made.codes.tolist()) == (Kind.SET, ["c", "a", "b"], [2, 0, 1, 0, 3])
    flags = encode_quasi(pl.Series("x", [True, False, True]), Column("x", QUASI))
    assert (flags.kind, flags.domain.to_list()) == (Kind.SET, ["true", "false"])


def test_orders_and_taxonomies_keep_values_that_do_not_occur():
    ordered = encode_quasi(pl.Series("x", ["high", "low"]), Column("x", QUASI, order=("low", "mid", "high")))
    assert (ordered.kind, ordered.codes.tolist(), ordered.null_code) == (Kind.ORDERED, [2, 0], 3)
    taxonomy = Taxonomy.load({"A": ["1", "2"], "B": ["3"]})
    leaves = encode_quasi(pl.Series("x", [3, 1, None]), Column("x", QUASI, taxonomy=taxonomy))
    assert (leaves.kind, leaves.codes.tolist(), leaves.null_code) == (Kind.TAXONOMY, [2, 0, 3], 3)


def test_columns_of_one_value_and_of_none():
    one = encode_quasi(pl.Series("x", [4, 4]), Column("x", QUASI))
    assert (one.codes.tolist(), one.positions.tolist()) == ([0, 0], [0, 2])
    for dtype in (pl.Int64, pl.String, pl.Date):
        none = encode_quasi(pl.Series("x", [None, None], dtype=dtype), Column("x", QUASI))
        assert (none.codes.tolist(), none.null_code) == ([0, 0], 0)


def test_bins_hold_equally_many_records_and_ties_stay_together():
    values = pl.Series("x", [1, 2, 3, 4, 5, 6, 7, 8, None])
    made = encode_sensitive(values, Column("x", SENSITIVE, bins=4))
    assert (made.codes.tolist(), made.domain, made.ordered) == ([0, 0, 1, 1, 2, 2, 3, 3, 4], 5, True)
    skewed = encode_sensitive(pl.Series("x", [0] * 90 + list(range(1, 11))), Column("x", SENSITIVE, bins=10))
    assert skewed.codes[:90].tolist() == [0] * 90
    assert skewed.domain == 2


def test_a_missing_sensitive_value_is_a_value_and_far_from_all_in_a_taxonomy():
    taxonomy = Taxonomy.load({"lung": ["flu", "cold"], "skin": ["rash"]})
    made = encode_sensitive(pl.Series("x", ["flu", None, "rash"]), Column("x", SENSITIVE, taxonomy=taxonomy))
    assert made.codes.tolist() == [0, 3, 2]
    assert (made.levels[1:, 3] != made.levels[1:, 0]).all()
    assert made.levels[0, 3] == made.levels[0, 0]
    assert made.reference().counts.tolist() == [1, 0, 1, 1]
