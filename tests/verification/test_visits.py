"""The judge makes the records of visits again, all persons at once: as the reader makes them, and no other value."""

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.errors import DataError, VerificationError
from reveil.tables.snapshot import read_snapshot
from reveil.verification.visits import check_visits

RULES = ["sum", "mean", "min", "max", "first by day", "last by day", "most frequent, ties min"]
ROW = st.tuples(
    st.integers(0, 4), st.one_of(st.none(), st.integers(-3, 3)), st.one_of(st.none(), st.sampled_from("abc"))
)


def schema(rule: str, whole: bool) -> rv.Schema:
    return rv.Schema(
        person="pid",
        identifiers="day",
        quasi=("visits", "cost"),
        sensitive="s",
        types={"cost": "number", "s": "text"},
        coarse={} if whole else {"cost": {"top": 2, "round": 2}},
        input={
            "rows": "visits",
            "keep": "last by day",
            "summarise": {"visits": "count", "cost": rule, "s": "most frequent, ties max"},
        },
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(ROW, min_size=1, max_size=14), st.sampled_from(RULES), st.booleans(), st.booleans(), st.randoms())
def test_records_are_made_again_and_no_other_value_passes(rows, rule, whole, fractions, random):
    days = random.sample(range(100), len(rows))
    frame = pl.DataFrame(
        [(pid, day, cost, s) for day, (pid, cost, s) in zip(days, rows, strict=True)],
        schema={"pid": pl.Int64, "day": pl.Int64, "cost": pl.Int64, "s": pl.String},
        orient="row",
    )
    if fractions:
        frame = frame.with_columns(pl.col("cost") / 3)
    own = schema(rule, whole)
    try:
        snapshot = read_snapshot(frame, own)
    except DataError:  # a column of nothing but missing cells, say
        return
    names = ["visits", "cost", "s"]
    check_visits(snapshot.raw.frame, snapshot.raw.visits, snapshot, names)
    record = random.randrange(snapshot.frame.height)
    for name, other in (("visits", 99), ("cost", 1.25), ("s", "d")):
        changed = snapshot.frame[name].to_list()
        changed[record] = other if changed[record] != other else None
        column = pl.Series(name, changed, pl.Float64 if name == "cost" else snapshot.frame.schema[name])
        wrong = replace(snapshot, frame=snapshot.frame.with_columns(column))
        with pytest.raises(VerificationError, match=f"column '{name}'"):
            check_visits(snapshot.raw.frame, snapshot.raw.visits, wrong, names)
    twice = replace(snapshot, frame=pl.concat([snapshot.frame, snapshot.frame[:1]]))
    with pytest.raises(VerificationError, match="one record for each person"):
        check_visits(snapshot.raw.frame, snapshot.raw.visits, twice, names)


def test_sums_that_cancel_are_added_without_rounding():
    cost = [1e16, 1.0, -1e16, 5.0]
    frame = pl.DataFrame({"pid": [1, 1, 1, 2], "day": [1, 2, 3, 4], "cost": cost, "s": list("aabb")})
    snapshot = read_snapshot(frame, schema("sum", whole=True))
    exact = replace(snapshot, frame=snapshot.frame.with_columns(cost=pl.Series([1.0, 5.0])))
    check_visits(snapshot.raw.frame, snapshot.raw.visits, exact, ["cost"])


def test_whole_numbers_are_compared_exactly():
    many = 2**62
    frame = pl.DataFrame({"pid": [1, 1, 2], "day": [1, 2, 3], "cost": [many, 1, 7], "s": list("abc")})
    snapshot = read_snapshot(frame, schema("sum", whole=True))
    check_visits(snapshot.raw.frame, snapshot.raw.visits, snapshot, ["cost"])
    wrong = replace(snapshot, frame=snapshot.frame.with_columns(cost=pl.Series([many, 7])))
    with pytest.raises(VerificationError, match="'cost'"):
        check_visits(snapshot.raw.frame, snapshot.raw.visits, wrong, ["cost"])
