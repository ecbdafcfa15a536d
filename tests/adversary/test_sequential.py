"""Sequential linkage: examples of the source, and random projections against the enumerator of worlds."""

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.adversary.attacks.sequential import Sequential
from reveil.adversary.gathering import gather
from reveil.testing import enumerate_memberships
from tests.adversary.handmade import evidence_of, found

quick = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
SCHEMA = rv.Schema(person="pid", quasi=("one", "two"), sensitive="value")


def rng():
    return np.random.default_rng(3)


def projections(people, *, known="presence"):
    """A table of persons with two quasi values and a sensitive one, released with either column alone, exactly."""
    table = pl.DataFrame(people, schema=["pid", "one", "two", "value"], orient="row")
    releases = [table.select("one", "value").sample(fraction=1, shuffle=True, seed=1), table.select("two", "value")]
    return gather(releases, SCHEMA, truth=[table, table], known=known)


def test_two_exact_projections_leave_one_world():
    people = [
        ("Alice", "20", "female", "measles"),
        ("Bob", "20", "male", "hepatitis"),
        ("Carol", "30", "female", "flu"),
        ("David", "30", "male", "angina"),
    ]
    evidence = projections(people)
    findings = Sequential().run(evidence, rng())
    told = found(evidence, findings)
    assert {(p, value): told[p, 0][:3] for p, _, _, value in people} == {
        (p, value): (1.0, value, True) for p, _, _, value in people
    }
    assert set(findings.release_mask.tolist()) == {0b11}
    assert findings.summary["fewest_values"] == 1


def test_who_is_in_the_table_decides():
    # Whoever knows only one person's quasi values would have three worlds; knowing everybody's leaves one.
    people = [("a", "r", "x", "1"), ("b", "s", "x", "2"), ("c", "r", "y", "2")]
    evidence = projections(people)
    told = found(evidence, Sequential().run(evidence, rng()))
    assert told["a", 0][:3] == (1.0, "1", True)
    assert Sequential().run(projections(people, known="nothing"), rng()).summary["ran"] is False


def boxes_of_two_worlds(**options):
    people = {"a": "rx", "b": "ry", "c": "sy", "d": "sx", "e": "tz"}
    boxes = [["rt", "r", "s", "s", "rt"], ["xz", "y", "y", "x", "xz"]]
    values = [[("1",), ("2",), ("3",), ("2",), ("3",)]] * 2
    return evidence_of(
        [list(people)] * 2,
        lambda t, person, row: people[person][t] in boxes[t][row],
        values,
        [[0] * 5] * 2,
        known="presence",
        columns=[["one"], ["two"]],
        **options,
    )


def test_three_worlds_where_two_were_meant():
    evidence = boxes_of_two_worlds()
    findings = Sequential().run(evidence, rng())
    told = found(evidence, findings)
    assert told["b", 0][:3] == (pytest.approx(2 / 3), "2", True)
    assert findings.summary["fewest_values"] == 2
    assert findings.summary["share_of_worlds"] == pytest.approx(2 / 3)


def test_a_promise_of_worlds_is_about_links_and_not_about_shares():
    evidence = boxes_of_two_worlds(guarantee={"kind": "worlds", "l": 2}, bound=0.5)
    findings = Sequential().run(evidence, rng())
    assert findings.belief.max() == 0.5
    assert findings.proven.max() == 0
    assert findings.summary["share_of_worlds"] == pytest.approx(2 / 3)
    three = boxes_of_two_worlds(guarantee={"kind": "worlds", "l": 3}, bound=1 / 3)
    broken = Sequential().run(three, rng())
    assert broken.proven.max() > 1 / 3, "somebody is left with two values"


def test_it_says_why_it_does_not_run():
    same = evidence_of([["p"]] * 2, lambda *_: True, [[("a", "b")]] * 2, [[1]] * 2)
    assert "same quasi columns" in Sequential().run(same, rng()).summary["why"]
    other = {"columns": [["one"], ["two"]]}
    changed = evidence_of([["p"]] * 2, lambda *_: True, [[("a", "b")]] * 2, [[1]] * 2, {"p": {1: True}}, **other)
    assert "changed" in Sequential().run(changed, rng()).summary["why"]


@quick
@given(st.lists(st.tuples(*[st.sampled_from(s) for s in ("rst", "xyz", "123")]), min_size=1, max_size=6), st.data())
def test_shares_of_worlds(rows, data):
    persons = [f"p{n}" for n in range(len(rows))]
    present, values, fitting = [persons] * 2, [], {}
    for t in (0, 1):
        # Boxes of one or two cells around each record; records with the same box are a group.
        boxes = [frozenset({row[t], data.draw(st.sampled_from("rst" if t == 0 else "xyz"))}) for row in rows]
        groups = sorted(set(boxes), key=sorted)
        values.append([tuple(row[2] for row, box in zip(rows, boxes, strict=True) if box == own) for own in groups])
        for p, row in zip(persons, rows, strict=True):
            for g, own in enumerate(groups):
                fitting[t, p, g] = row[t] in own

    def fits(t, p, g):
        return fitting[t, p, g]

    fakes = [[0] * len(own) for own in values]
    beliefs = enumerate_memberships(present, fits, values, fakes, {p: {1: False} for p in persons})
    evidence = evidence_of(present, fits, values, fakes, known="presence", columns=[["one"], ["two"]])
    for (p, t), (belief, value, exact, lower) in found(evidence, Sequential().run(evidence, rng())).items():
        shares = beliefs.share(p, t)
        top = float(max(shares.values()))
        assert lower <= top + 1e-9
        if exact:
            assert belief == pytest.approx(top)
            assert float(shares[value]) == pytest.approx(top)
        assert exact or belief < 1
