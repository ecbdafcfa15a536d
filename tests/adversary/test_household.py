"""What the values of a household tell of one of its members: by hand, and against all worlds of small groups."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.errors import ConfigError
from tests.cli.run import reveil

SCHEMA = rv.Schema(person="pid", identifiers="home", quasi="age", sensitive="illness", relation="home")


def table(groups):
    """Return a snapshot and a release of it; a group is a list of (household, value) with an age of its own."""
    rows = [(10 * age, *own) for age, group in enumerate(groups) for own in group]
    frame = pl.DataFrame(
        {
            "pid": [f"p{i}" for i in range(len(rows))],
            "age": [row[0] for row in rows],
            "home": pl.Series([row[1] for row in rows], dtype=pl.String),
            "illness": [row[2] for row in rows],
        }
    )
    return frame, frame.select(pl.col("age").cast(pl.String), "illness").sort("age", "illness")


def attacked(groups, **more):
    frame, release = table(groups)
    return rv.audit(release, SCHEMA, truth=frame, attacks="household", **more)


def told(found):
    return {row["person"]: (row["belief"], row["value"], row["exact"]) for row in found.persons.iter_rows(named=True)}


def test_of_two_in_a_group_of_two_one_tells_the_other():
    found = attacked([[("a", "flu"), ("a", "gout")], [("b", "flu"), ("c", "gout")]])
    assert told(found) == {"p0": (1.0, "flu", True), "p1": (1.0, "gout", True)}
    own = found.attacks["household"]["releases"][0]
    assert (own["persons"], own["in_one_group"], own["mean"], own["mean_without"]) == (2, 2, 1.0, 0.5)
    assert "the values of everybody else in their target's household" in found.sentence


def test_the_rows_that_are_left_by_hand():
    # Of flu, flu, gout, acne a relative has one flu: one of the three others is the target's.
    found = attacked([[("a", "flu"), ("a", "flu"), (None, "gout"), (None, "acne")]])
    assert told(found) == {"p0": (pytest.approx(1 / 3), "acne", True), "p1": (pytest.approx(1 / 3), "acne", True)}
    # A relative in another group takes nothing away; likeness is measured beside it.
    found = attacked([[("a", "flu"), (None, "gout")], [("a", "flu"), (None, "acne")]])
    assert told(found) == {"p0": (0.5, "flu", True), "p2": (0.5, "acne", True)}
    own = found.attacks["household"]["releases"][0]
    assert (own["alike"], own["alike_by_chance"]) == (1.0, pytest.approx(1 / 6))
    assert own["guesses"]["right"] == 2
    assert own["guesses_by_rows"]["right"] == 1


def test_no_promise_is_about_it_and_nobody_is_read_off_by_it():
    frame, release = table([[("a", "flu"), ("a", "gout")]])
    found = rv.audit(release, SCHEMA, truth=frame)
    assert found.attacks["household"]["certain"] == 2
    assert found.summary["certain"] == 0
    assert "household" in found.ran
    assert not attacked([[("a", "flu"), ("a", "gout")]], threshold=0.5).held
    unrelated = rv.Schema(person="pid", identifiers="home", quasi="age", sensitive="illness")
    assert "relation = true" in rv.audit(release, unrelated, truth=frame).not_run["household"]


def worlds(group, target):
    """Return the shares of the target's values over all worlds of the group in which the relatives have theirs."""
    home = group[target][0]
    relatives = [i for i, (own, _) in enumerate(group) if own == home and own is not None and i != target]
    shares = Counter()
    for world in {tuple(order) for order in permutations([value for _, value in group])}:
        if all(world[i] == group[i][1] for i in relatives):
            shares[world[target]] += 1
    return {value: Fraction(many, shares.total()) for value, many in shares.items()}


GROUPS = st.lists(
    st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from("xyz")), min_size=1, max_size=5),
    min_size=1,
    max_size=3,
)


def _compare(groups):
    found = told(attacked(groups))
    everybody = [(group, i) for group in groups for i in range(len(group))]
    homes = Counter(home for group in groups for home, _ in group)
    for number, (group, place) in enumerate(everybody):
        home = group[place][0]
        if home is None or homes[home] < 2:
            assert f"p{number}" not in found
            continue
        belief, value, exact = found[f"p{number}"]
        shares = worlds(group, place)
        assert exact
        assert belief == pytest.approx(float(max(shares.values())))
        assert shares[value] == max(shares.values())


@settings(max_examples=30, deadline=None)
@given(GROUPS)
def test_exact_against_all_worlds(groups):
    _compare(groups)


@pytest.mark.slow
@pytest.mark.many
@settings(max_examples=1000, deadline=None)
@given(GROUPS)
def test_exact_against_all_worlds_many(groups):
    _compare(groups)


def test_a_relation_is_an_identifier_and_there_is_one():
    with pytest.raises(ConfigError, match="is quasi and cannot have relation"):
        rv.Schema(quasi=["age", "home"], sensitive="illness", relation="home")
    with pytest.raises(ConfigError, match="relation names columns without a role"):
        rv.Schema(quasi="age", sensitive="illness", relation="home")


CONFIG = """
[columns]
pid = "person"
age = "quasi"
home = { role = "identifier", relation = true }
illness = "sensitive"
[guarantee]
kind = "static"
k = 2
"""


def test_from_the_config_to_the_promise_and_the_audit(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    frame, _ = table([[("a", "flu"), ("a", "gout")], [("b", "flu"), ("c", "gout")]])
    frame.write_csv(tmp_path / "s.csv")
    base = ("-c", tmp_path / "reveil.toml")
    done = reveil("publish", tmp_path / "s.csv", *base, "-o", tmp_path / "r.csv")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "r.manifest.json").read_text())
    assert any("people who belong together are taken one by one" in line for line in manifest["assumes"])
    assert any("What the values of a household tell" in line for line in manifest["promise"]["not_covered"])
    assert "home" not in (tmp_path / "r.csv").read_text() + json.dumps(manifest)
    assert reveil("verify", tmp_path / "r.csv", tmp_path / "s.csv", *base).returncode == 0
    done = reveil("audit", tmp_path / "r.csv", *base, "--truth", tmp_path / "s.csv")
    assert done.returncode == 0
    assert "in their target's household, reads 2 persons' illness (2 right) off" in done.stderr
    twice = CONFIG.replace('pid = "person"', 'pid = { role = "person", relation = true }')
    (tmp_path / "reveil.toml").write_text(twice)
    done = reveil("audit", tmp_path / "r.csv", *base, "--truth", tmp_path / "s.csv")
    assert done.returncode == 2
    assert "column 'pid' is person and cannot have relation" in done.stderr
