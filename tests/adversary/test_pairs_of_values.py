"""Somebody knows which values of two sensitive columns occur together: against all worlds of both columns."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.adversary.attacks.pairs import PairedValues
from reveil.adversary.pairs import KnownPairs, PairedColumn
from reveil.core.errors import ConfigError, DataError
from tests.adversary.handmade import evidence_of, found
from tests.cli.run import reveil

SCHEMA = rv.Schema(person="pid", quasi="age", sensitive=["a", "b"])


def column(series, which, changed=None):
    """Return the evidence of one column: per release the values by person and the groups."""
    present = [list(values) for values, *_ in series]
    groups = [own[1 + which] for own in series]
    values = [
        [tuple(own[0][person][which] for person in group) for group in of_release]
        for own, of_release in zip(series, groups, strict=True)
    ]
    fakes = [[0] * len(of_release) for of_release in groups]
    return replace(evidence_of(present, lambda t, p, g: p in groups[t][g], values, fakes, changed), column="ab"[which])


def attacked(series, possible, changed=({}, {})):
    """Attack column a with the help of b."""
    one, other = (column(series, which, changed[which]) for which in (0, 1))
    allowed = np.array([[(a, b) in possible for b in other.values] for a in one.values])
    return replace(one, pairs=KnownPairs("a test", (PairedColumn("b", other, allowed),)))


def changes(series, which):
    told, last = {}, {}
    for t, (values, *_) in enumerate(series):
        for person, own in values.items():
            if person in last:
                told.setdefault(person, {})[t] = last[person] != own[which]
            last[person] = own[which]
    return told


def worlds(series, possible, *, events):
    """Return the share of all worlds in which each person has each value of a, by listing them."""
    told = [changes(series, which) for which in (0, 1)]

    def arrangements(t, which):
        values = series[t][0]
        parts = []
        for group in series[t][1 + which]:
            rows = [values[person][which] for person in group]
            parts.append({tuple(zip(group, order, strict=True)) for order in permutations(rows)})
        return [dict(pair for part in drawn for pair in part) for drawn in product(*parts)]

    tables = [
        [
            {person: (one[person], other[person]) for person in series[t][0]}
            for one in arrangements(t, 0)
            for other in arrangements(t, 1)
        ]
        for t in range(len(series))
    ]
    shares, total = {}, 0
    for history in product(*tables):
        if not all(pair in possible for table in history for pair in table.values()):
            continue
        last, good = {}, True
        for t, table in enumerate(history):
            for person, pair in table.items():
                for which in (0, 1):
                    if events and person in last and (last[person][which] != pair[which]) != told[which][person][t]:
                        good = False
                last[person] = pair
        if good:
            total += 1
            for t, table in enumerate(history):
                for person, pair in table.items():
                    shares.setdefault((person, t), {}).setdefault(pair[0], 0)
                    shares[person, t][pair[0]] += 1
    return {key: {value: Fraction(n, total) for value, n in own.items()} for key, own in shares.items()}


# One column decides the other, and the groups of both cross: each alone leaves two values.
DECIDED = {"p": ("flu", "x"), "q": ("gout", "y"), "r": ("flu", "x"), "s": ("acne", "z")}


def test_a_column_that_decides_another_gives_everything_away():
    series = [(DECIDED, [("p", "q"), ("r", "s")], [("p", "s"), ("q", "r")])]
    evidence = attacked(series, set(DECIDED.values()))
    told = found(evidence, PairedValues().run(evidence, np.random.default_rng(0)))
    assert {person: (own[0], own[1], own[2]) for (person, _), own in told.items()} == {
        person: (1.0, value, True) for person, (value, _) in DECIDED.items()
    }


def test_pairs_that_all_occur_tell_nothing():
    series = [(DECIDED, [("p", "q"), ("r", "s")], [("p", "s"), ("q", "r")])]
    evidence = attacked(series, set(product(("flu", "gout", "acne"), "xyz")))
    findings = PairedValues().run(evidence, np.random.default_rng(0))
    assert not len(findings.person)
    assert findings.summary["columns"][0]["persons"] == 0


def test_one_impossible_pair_by_hand():
    # Of the four worlds of p and q, (gout, x) excludes two: p = flu, x and q = gout, y, or p = flu, y and q = gout, x.
    values = {"p": ("flu", "x"), "q": ("gout", "y")}
    evidence = attacked([(values, [("p", "q")], [("p", "q")])], {("flu", "x"), ("flu", "y"), ("gout", "y")})
    told = found(evidence, PairedValues().run(evidence, np.random.default_rng(0)))
    assert {person: own[:3] for (person, _), own in told.items()} == {
        "p": (0.5, "flu", True),
        "q": (0.5, "flu", True),
    }


@st.composite
def tables(draw):
    """Draw a series of two columns with groups of their own, and which pairs occur."""
    persons = [f"p{n}" for n in range(draw(st.integers(2, 4)))]
    pairs = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"))
    series, last = [], {}
    for _ in range(draw(st.integers(1, 2))):
        here = draw(st.lists(st.sampled_from(persons), min_size=1, unique=True))
        for person in here:
            if person not in last or draw(st.integers(0, 2)) == 0:
                last[person] = draw(pairs)
        groups = []
        for _ in (0, 1):
            marks = [draw(st.integers(0, 1)) for _ in here]
            groups.append([tuple(p for p, m in zip(here, marks, strict=True) if m == mark) for mark in set(marks)])
        series.append(({person: last[person] for person in here}, *groups))
    possible = {pair for values, *_ in series for pair in values.values()} | draw(st.sets(pairs, max_size=4))
    return series, possible


def _compare(drawn, *, events):
    series, possible = drawn
    told = (changes(series, 0), changes(series, 1)) if events else ({}, {})
    evidence = attacked(series, possible, told)
    findings = PairedValues().run(evidence, np.random.default_rng(0))
    shares = worlds(series, possible, events=events)
    at = findings.at
    for i in range(len(findings.person)):
        own = shares[evidence.persons[int(findings.person[i])], int(at[i])]
        if findings.exact[i]:
            assert findings.belief[i] == pytest.approx(float(own[evidence.values[int(findings.value[i])]]))
        assert findings.proven[i] <= float(max(own.values())) + 1e-9
    assert findings.exact.all()  # such small pieces are always counted


@settings(max_examples=40, deadline=None)
@given(tables(), st.booleans())
def test_beliefs_are_shares_of_the_worlds_of_both_columns(drawn, events):
    _compare(drawn, events=events)


@pytest.mark.slow
@pytest.mark.many
@settings(max_examples=2500, deadline=None)
@given(tables(), st.booleans())
def test_beliefs_are_shares_of_the_worlds_of_both_columns_many(drawn, events):
    _compare(drawn, events=events)


def single_columns():
    """Return a snapshot, and two releases of it that tell one column each, by different quasi columns."""
    schema = rv.Schema(person="pid", quasi=["x", "y"], sensitive=["a", "b"])
    raw = pl.DataFrame(
        {"pid": list("pqrs"), "x": [1, 1, 2, 2], "y": [1, 2, 2, 1]}
        | {name: [DECIDED[person][i] for person in "pqrs"] for i, name in enumerate("ab")}
    )
    releases = [
        rv.anonymize(raw.select(q, s), rv.Schema(quasi=q, sensitive=s), rv.KAnonymity(2))
        for q, s in (("x", "a"), ("y", "b"))
    ]
    return schema, raw, releases


def test_tables_of_single_columns_are_put_together():
    schema, raw, releases = single_columns()
    given = {"truth": [raw, raw], "known": "events"}
    assert rv.audit(releases, schema, **given).summary["certain"] == 0
    for pairs in ("truth", raw.select("a", "b")):
        got = rv.audit(releases, schema, **given, pairs=pairs)
        assert got.attacks["pairs"]["a"]["certain_and_right"] == 4
        assert got.summary["certain"] == 0  # the promise is not about such a reader, nor is the sentence
        assert "which values of two" not in got.sentence
    named = rv.audit(releases, schema, **given, attacks="pairs", threshold=0.5)
    assert not named.held
    assert named.summary["certain_and_right"] == 4
    assert "whose value changed when, and which values of two sensitive columns occur together" in named.sentence


def test_a_value_that_the_table_of_pairs_lacks_goes_with_any():
    schema, raw, releases = single_columns()
    some = raw.filter(pl.col("a") == "flu").select("a", "b")
    got = rv.audit(releases, schema, truth=[raw, raw], known="events", pairs=some)
    assert not got.attacks["pairs"]["a"]["columns"][0]["contradictory"]
    assert got.attacks["pairs"]["a"]["certain"] in (got.attacks["pairs"]["a"]["certain_and_right"], 0)


def test_rows_that_show_both_are_pairs_already():
    raw = pl.DataFrame({"pid": list("pqrs"), "age": [1, 1, 2, 2], "a": list("uvuv"), "b": list("1234")})
    release = raw.drop("pid").with_columns(pl.col("age").cast(pl.String))
    got = rv.audit(release, SCHEMA, truth=raw, attacks="pairs")
    assert "shows both values is a pair already" in got.not_run["pairs"]


def test_what_cannot_be_known_of_pairs_is_refused():
    schema, raw, releases = single_columns()
    given = {"truth": [raw, raw]}
    with pytest.raises(DataError, match="fewer than two sensitive columns"):
        rv.audit(releases, schema, **given, pairs=raw.select("a", "x"))
    with pytest.raises(ConfigError, match="cannot be known without them"):
        rv.audit(releases, schema, population=raw.drop("a", "b"), pairs="truth")
    with pytest.raises(ConfigError, match="pairs must be truth, a file or a table"):
        rv.audit(releases, schema, **given, pairs=3)
    one = rv.Schema(person="pid", quasi=["x", "y"], sensitive="a", plain="b")
    with pytest.raises(ConfigError, match="need a second sensitive column"):
        rv.audit(releases[0], one, truth=raw, pairs="truth")
    assert "--pairs truth or a table" in rv.audit(releases, schema, **given).not_run["pairs"]


def test_on_the_command_line(tmp_path):
    _, raw, releases = single_columns()
    columns = ['pid = "person"', 'x = "quasi"', 'y = "quasi"', 'a = "sensitive"', 'b = "sensitive"']
    (tmp_path / "reveil.toml").write_text("\n".join(["[columns]", *columns, '[guarantee]\nkind = "static"\nk = 2']))
    raw.write_csv(tmp_path / "s.csv")
    for number, release in enumerate(releases):
        release.write(tmp_path / f"r{number}.csv")
    files = (tmp_path / "r0.csv", tmp_path / "r1.csv")
    truth = ("--truth", tmp_path / "s.csv", tmp_path / "s.csv", "--known", "events")
    base = ("audit", *files, "-c", tmp_path / "reveil.toml", *truth)
    done = reveil(*base, "--pairs", tmp_path / "s.csv")
    assert done.returncode == 0, done.stderr
    assert "occur together (s.csv), reads 4 persons' a (4 right) off; the highest belief that is proven" in done.stderr
    done = reveil(*base, "--attack", "pairs", "--threshold", "0.5")
    assert done.returncode == 1
    done = reveil(*base, "--pairs", tmp_path / "reveil.toml")
    assert done.returncode == 2
