"""Somebody knows sensitive values of their target and reads the others: exact, by brute force on tiny tables."""

from __future__ import annotations

import json
import os
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.errors import ConfigError
from tests.cli.run import reveil

SERIES = int(os.environ.get("REVEIL_SERIES", "400"))  # as in test_every_level
SCHEMA = rv.Schema(person="pid", quasi="age", sensitive=["a", "b", "c"])


def table(groups):
    """Return a snapshot and a release of it in which each group has a box of its own."""
    rows = [(age, *values) for age, group in enumerate(groups) for values in group]
    raw = {"pid": [f"p{i}" for i in range(len(rows))], "age": [10 * row[0] for row in rows]}
    frame = pl.DataFrame(raw | {name: [row[i + 1] for row in rows] for i, name in enumerate("abc")})
    release = frame.drop("pid").with_columns(pl.col("age").cast(pl.String)).sort("age", "c", "b", "a")
    return frame, release


def strongest(group, mine, column, many):
    """Return the highest belief about somebody's value in a column, over all the worlds of their group.

    A world says who has which row. Known are the values of the target in ``many`` other columns, the worst choice.
    """
    names = "abc"
    best = Fraction(0)
    for choice in combinations([name for name in names if name != column], many):
        shares = Counter()
        for world in permutations(group):
            own = world[0]  # the target is the first of the group
            if all(own[names.index(name)] == mine[names.index(name)] for name in choice):
                shares[own[names.index(column)]] += 1
        best = max(best, Fraction(max(shares.values()), shares.total()))
    return best


VALUE = st.sampled_from("xyz")
GROUPS = st.lists(st.lists(st.tuples(VALUE, VALUE, VALUE), min_size=1, max_size=4), min_size=1, max_size=3)


def _compare(groups, many):
    frame, release = table(groups)
    found = rv.audit(release, SCHEMA, truth=frame, known="values", values_known=many, attacks="values")
    everybody = [(group, values) for group in groups for values in group]
    expected = [max(strongest(group, values, column, many) for column in "abc") for group, values in everybody]
    told = {row["person"]: row for row in found.persons.iter_rows(named=True)}
    assert all(row["exact"] for row in told.values())
    assert [told[f"p{i}"]["belief"] for i in range(len(everybody))] == pytest.approx(list(map(float, expected)))


@settings(max_examples=30, deadline=None)
@given(GROUPS, st.sampled_from([1, 2]))
def test_exact_against_brute_force(groups, many):
    _compare(groups, many)


@pytest.mark.slow
@pytest.mark.many
@settings(max_examples=SERIES, deadline=None)
@given(GROUPS, st.sampled_from([1, 2]))
def test_exact_against_brute_force_many(groups, many):
    _compare(groups, many)


# k = 4 and three values in every column, but each row is found by one value of another.
GROUP = [("flu", "x", "1"), ("gout", "y", "2"), ("ache", "z", "3"), ("flu", "w", "4")]


def test_one_known_value_finds_the_row_and_reads_the_others():
    frame, release = table([GROUP])
    for known in ("presence", "values"):
        found = rv.audit(release, SCHEMA, truth=frame, known=known)
        assert found.summary["certain"] == (4 if known == "values" else 0)
    assert found.summary["certain_and_right"] == 4
    assert "who is in which release and 1 other sensitive value of their target; 4 of" in found.sentence
    own = found.attacks["values"]["a"]
    assert own | {"mean": 0, "mean_without": 0} == own | {"values_known": 1, "columns": ["b", "c"], "rows_found": 4} | {
        "mean": 0,
        "mean_without": 0,
    }
    assert (own["mean"], own["mean_without"]) == (1.0, 0.5)
    assert found.held  # no promise is about this adversary
    assert not rv.audit(release, SCHEMA, truth=frame, known="values", threshold=0.5).held


def test_it_does_not_run_where_no_value_is_known():
    frame, release = table([GROUP])
    found = rv.audit(release, SCHEMA, truth=frame)
    assert found.attacks["values"]["a"]["ran"] is False


def test_whoever_may_be_in_several_groups_is_estimated_unless_all_rows_agree():
    frame = pl.DataFrame({"pid": ["p", "q", "r", "s"], "age": [5, 1, 9, 5], "a": list("uuvv"), "b": list("1234")})
    release = pl.DataFrame({"age": ["[1, 5]", "[1, 5]", "[5, 9]", "[5, 9]"], "a": list("uuvv"), "b": list("1234")})
    schema = rv.Schema(person="pid", quasi="age", sensitive=["a", "b"])
    found = rv.audit(release, schema, truth=frame, known="values", attacks="values")
    told = {(row["person"], row["column"]): row for row in found.persons.iter_rows(named=True)}
    # p and s may be in either group; whoever knows their b finds the one row that has it.
    assert all(row["exact"] and row["belief"] == 1 for row in told.values())
    other = {"a": pl.Series(list("uuvu")), "b": pl.Series(list("1114"))}
    blurred, truth = release.with_columns(**other), frame.with_columns(**other)
    found = rv.audit(blurred, schema, truth=truth, known="values", attacks="values")
    p = found.persons.filter(pl.col("person") == "p").row(0, named=True)
    assert not p["exact"]
    assert p["belief"] == pytest.approx(2 / 3)


def test_what_cannot_be_known_is_refused():
    frame, release = table([GROUP])
    with pytest.raises(ConfigError, match="cannot be known without the snapshots"):
        rv.audit(release, SCHEMA, population=frame.select("pid", "age"), known="values")
    with pytest.raises(ConfigError, match="values_known must be a whole number from 1 to 2, not 3"):
        rv.audit(release, SCHEMA, truth=frame, known="values", values_known=3)
    one = rv.Schema(person="pid", quasi="age", sensitive="a", plain=["b", "c"])
    with pytest.raises(ConfigError, match="needs a second sensitive column"):
        rv.audit(release, one, truth=frame, known="values")


CONFIG = """
[columns]
pid = "person"
age = "quasi"
a = "sensitive"
b = { role = "sensitive", type = "text" }
c = { role = "sensitive", type = "text" }
[guarantee]
kind = "static"
k = 4
l = 2
"""


def test_on_the_command_line_with_the_warnings_of_publish_and_the_manifest(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    frame, _ = table([GROUP])
    frame.write_csv(tmp_path / "s.csv")
    base = ("-c", tmp_path / "reveil.toml")
    done = reveil("publish", tmp_path / "s.csv", *base, "-o", tmp_path / "r.csv")
    assert done.returncode == 0, done.stderr
    assert "note: 3 sensitive columns are published in the same row" in done.stderr
    assumes = json.loads((tmp_path / "r.manifest.json").read_text())["assumes"]
    assert any("whoever knows one may find the row by it and read the others" in line for line in assumes)
    audit = ("audit", tmp_path / "r.csv", *base, "--truth", tmp_path / "s.csv")
    found = reveil(*audit, "--known", "values", "--values-known", "2")
    assert found.returncode == 0
    assert "4 persons' a can be read off" in found.stderr
    assert "by somebody who knows who is in which release and 2 other sensitive values of their target" in found.stderr
    assert "no guarantee is about somebody who knows sensitive values" in found.stderr
    assert reveil(*audit, "--known", "values", "--threshold", "0.5").returncode == 1
    wrong = reveil(*audit, "--values-known", "2")
    assert (wrong.returncode, "--values-known needs --known values" in wrong.stderr) == (2, True)


def test_one_sensitive_column_needs_no_warning(tmp_path):
    frame, _ = table([GROUP])
    schema = rv.Schema(person="pid", quasi="age", sensitive="a", identifiers=["b", "c"])
    assumes = rv.anonymize(frame, schema, rv.KAnonymity(4)).manifest["assumes"]
    assert not any("read the others" in line for line in assumes)
