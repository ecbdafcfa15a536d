"""Minimality: a publisher that looks at values gives itself away, one that does not tells its bound."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.adversary.attacks.minimality import Minimality, seen
from reveil.adversary.gathering import gather
from reveil.testing import all_tables, outcomes, posterior
from tests.adversary.handmade import evidence_of, found

SCHEMA = rv.Schema(person="pid", quasi=("age",), sensitive="disease")


def rng():
    return np.random.default_rng(1)


def evidence(values, releases=1, changed=None, known="events"):
    persons = [f"p{n}" for n in range(1, len(values) + 1)]
    return evidence_of(
        [persons] * releases, lambda *_: True, [[tuple(values)]] * releases, [[0]] * releases, changed, known=known
    )


def careful(history):
    """Publish one group if it is diverse, and each by itself otherwise: the source of all minimality attacks."""
    (table,) = history
    return {"one group" if len(set(table.values())) > 1 else ("alone", *table.values()): Fraction(1)}


def test_a_cut_that_was_not_made_tells():
    # Two groups are published where both are diverse; one group says that one of the two was not.
    def cuts(history):
        (table,) = history
        left, right = {table["p1"], table["p2"]}, {table["p3"], table["p4"]}
        return {"two groups" if len(left) == len(right) == 2 else "one group": Fraction(1)}

    own = evidence("aabb")
    findings = Minimality(cuts, "one group").run(own, rng())
    assert findings.summary == {"ran": True, "tables": 16, "possible": True}
    assert findings.exact.all()
    # Twelve of the sixteen tables; and six of these give the first person the one value.
    assert {told[0] for told in found(own, findings).values()} == {0.5}


def test_certain_where_only_one_table_gives_the_output():
    own = evidence("ab")
    told = found(own, Minimality(careful, ("alone", "a", "a")).run(own, rng()))
    assert told == {
        ("p1", 0): (1.0, "a", True, pytest.approx(np.nan, nan_ok=True)),
        ("p2", 0): (1.0, "a", True, pytest.approx(np.nan, nan_ok=True)),
    }
    impossible = Minimality(careful, "something else").run(own, rng())
    assert impossible.summary["possible"] is False
    assert not len(impossible.person)


def test_dice_are_part_of_the_publisher():
    def shuffles(history, dice):
        (table,) = history
        order = dice.permutation(len(table))
        return tuple(list(table.values())[i] for i in order) if len(set(table.values())) > 1 else "refused"

    def publisher(history):
        return outcomes(lambda dice: shuffles(history, dice))

    own = evidence("abc")
    findings = Minimality(publisher, ("a", "b", "c")).run(own, rng())
    expected = posterior(
        all_tables(["p1", "p2", "p3"], ["a", "b", "c"]), lambda table, dice: shuffles((table,), dice), dict
    ).given(("a", "b", "c"))
    assert {p: told[0] for (p, _), told in found(own, findings).items()} == {
        p: pytest.approx(float(max(beliefs.values()))) for p, beliefs in expected.items()
    }


def test_known_changes_leave_fewer_histories():
    own = evidence("ab", 2, {"p1": {1: False}, "p2": {1: True}})
    findings = Minimality(lambda history: {"": Fraction(1)}, "").run(own, rng())
    assert findings.summary["tables"] == 4
    assert set(findings.at.tolist()) == {0, 1}
    assert set(findings.release_mask.tolist()) == {0b11}


def test_releases_are_recognised_whatever_their_rows_are_called():
    people = pl.DataFrame({"pid": ["p1", "p2"], "age": [20, 30], "disease": ["a", "b"]})

    def release(table, seed):
        return rv.anonymize(table, SCHEMA, rv.KAnonymity(2), seed=seed)

    assert seen(release(people, 1)) == seen(release(people[::-1], 2))
    assert seen(release(people, 1)) != seen(release(people.with_columns(disease=pl.Series(["a", "a"])), 1))

    def publisher(history):
        table = people.with_columns(disease=pl.Series([history[0][p] for p in people["pid"]]))
        return {seen(release(table, 5)): Fraction(1)}

    own = gather([release(people, 3)], SCHEMA, truth=[people])
    findings = Minimality(publisher).run(own, rng())
    assert findings.summary == {"ran": True, "tables": 4, "possible": True}
    assert findings.belief.tolist() == [0.5, 0.5]


def test_it_says_why_it_does_not_run():
    def why(attack, own):
        findings = attack.run(own, rng())
        assert not len(findings.person)
        assert findings.summary["ran"] is False
        return findings.summary["why"]

    assert "no publisher" in why(Minimality(), evidence("ab"))
    assert "at most 6 persons" in why(Minimality(careful), evidence("abababa"))
    assert "4 values" in why(Minimality(careful), evidence("abcde"))
    assert "not known" in why(Minimality(careful), evidence("ab", known="nothing"))
    assert "histories" in why(Minimality(careful), evidence("abcdab", 3))
