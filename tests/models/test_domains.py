"""What codes mean, apart from the codes: shards that are encoded by themselves are the table encoded at once."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reveil.models.domains import Domain, SensitiveDomain, ValueCounts
from reveil.models.encoding import Domains, count_values, encode
from reveil.tables.schema import Column, Role, Schema
from reveil.tables.snapshot import read_snapshot
from reveil.testing import tables


def same(one: Domain, other: Domain) -> bool:
    return (
        (one.name, one.kind, one.taxonomy, one.weight) == (other.name, other.kind, other.taxonomy, other.weight)
        and one.values.equals(other.values, check_dtypes=True, check_names=True)
        and np.array_equal(one.positions, other.positions)
        and np.array_equal(one.boundaries, other.boundaries)
    )


@settings(max_examples=40)
@given(tables(), st.lists(st.integers(0, 40), max_size=4), st.integers(2, 4), st.randoms())
def test_shards_are_the_table_at_once(table, cuts, bins, random):
    snapshot = read_snapshot(table.frame, table.schema)
    columns = tuple(
        replace(column, bins=bins) if column.role is Role.SENSITIVE and snapshot.frame[column.name].dtype == pl.Int64
        else replace(column, weight=2.5) if column.role is Role.QUASI else column
        for column in snapshot.schema.columns
    )  # fmt: skip
    snapshot = replace(snapshot, schema=Schema.of(columns))
    bounds = [0, *sorted(min(cut, snapshot.frame.height) for cut in cuts), snapshot.frame.height]
    shards = [replace(snapshot, frame=snapshot.frame[a:b]) for a, b in pairwise(bounds)]
    counted = [count_values(shard) for shard in shards]
    random.shuffle(counted)  # in whichever order they arrive
    domains = Domains.of(snapshot.schema, counted)
    coded = [domains.code(shard) for shard in shards]
    whole = encode(snapshot)
    for at, attribute in enumerate(whole.quasi):
        assert same(attribute.meaning, domains.quasi[at])
        assert np.array_equal(np.concatenate([codes.quasi[at].codes for codes in coded]), attribute.codes)
        assert all(codes.quasi[at].codes.dtype == np.int32 for codes in coded)
    for at, attribute in enumerate(whole.sensitive):
        one, other = attribute.meaning, domains.sensitive[at]
        assert (one.name, one.size, one.ordered) == (other.name, other.size, other.ordered)
        assert (one.levels is None) == (other.levels is None)
        assert one.levels is None or np.array_equal(one.levels, other.levels)
        parts = [codes.sensitive[at] for codes in coded]
        assert np.array_equal(np.concatenate([part.codes for part in parts]), attribute.codes)
        table_of_all = sum(part.reference().counts for part in parts)
        assert np.array_equal(table_of_all, attribute.reference().counts)
    assert sum(codes.n for codes in coded) == whole.n


def test_frequencies_of_shards_are_added_up():
    column = Column("x", Role.QUASI)
    parts = [pl.Series("x", ["a", "a", "b"]), pl.Series("x", ["b", "b", "c"]), pl.Series("x", ["c", "c", None])]
    merged = ValueCounts.merged([ValueCounts.of(part, column) for part in parts])
    assert merged.nulls == 1
    domain = Domain.of(merged, column)
    assert domain.values.to_list() == ["b", "c", "a"]
    assert [domain.code(part).tolist() for part in parts] == [[2, 2, 0], [0, 0, 1], [1, 1, 3]]


@pytest.mark.parametrize(
    ("known", "more"),
    [
        (["a", "b"], ["a", "hiv"]),
        ([1, 2, 5], [1, 3]),
        ([1, 2, 5], [9]),
        ([1, 2, 5], [-1]),
        ([0.5, 1.5], [0.25]),
        ([None], ["hiv"]),
    ],
)
def test_a_value_of_no_shard_that_was_counted_is_refused(known, more):
    dtype = pl.Series(more).dtype
    for role, kind in ((Role.QUASI, Domain), (Role.SENSITIVE, SensitiveDomain)):
        column = Column("x", role)
        domain = kind.of(ValueCounts.of(pl.Series("x", known, dtype=dtype), column), column)
        with pytest.raises(ValueError, match="column 'x' has a value that is not in its domain") as refused:
            domain.code(pl.Series("x", more))
        assert "hiv" not in str(refused.value)


def test_codes_from_elsewhere_are_not_made_here():
    with pytest.raises(ValueError, match="come from elsewhere"):
        SensitiveDomain("x", 3, ordered=False).code(pl.Series("x", ["a"]))
