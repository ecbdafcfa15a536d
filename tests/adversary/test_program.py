"""Somebody knows the publisher's program: estimates by simulation, against exact Bayes on tiny tables."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest

import reveil as rv
from reveil.adversary import gather
from reveil.adversary.attacks.program import KnownProgram, Program, group_keys, lower_limit
from reveil.adversary.drawn_worlds import DrawnWorlds
from reveil.testing import all_tables, posterior
from reveil.testing.beliefs import Group
from reveil.testing.worlds import enumerate_worlds
from tests.adversary.handmade import evidence_of
from tests.cli.run import reveil

SCHEMA = rv.Schema(person="pid", quasi="age", sensitive="illness")
PERSONS = ["p0", "p1", "p2", "p3"]
VALUES = ["acne", "flu", "gout"]


def program(table, halves):
    """Publish two halves where each has two values; but by one in two falls of the dice all people in one group."""
    return published(tuple(table[person] for person in PERSONS), halves)


@cache
def published(values, halves):
    table = dict(zip(PERSONS, values, strict=True))
    frame = pl.DataFrame({"pid": PERSONS, "age": range(4), "illness": [table[person] for person in PERSONS]})
    diverse = all(len({table[person] for person in half}) == 2 for half in (PERSONS[:2], PERSONS[2:]))
    cut = halves and diverse
    return rv.anonymize(frame, SCHEMA, rv.KAnonymity(2 if cut else 4), seed=1)


def seen(release):
    return tuple(sorted(map(repr, group_keys(release, "illness"))))


ORACLE = {}


def exact(output):
    """Return the exact posterior of each person, all tables being equally likely."""
    if not ORACLE:
        known = {(tuple(t.values()), h): seen(program(t, h)) for t, _ in all_tables(PERSONS, VALUES) for h in (0, 1)}
        ORACLE["all"] = posterior(
            all_tables(PERSONS, VALUES), lambda table, dice: known[tuple(table.values()), dice.below(2)], dict
        )
    return ORACLE["all"].given(output)


def simulated(history, seed):
    return [program(history[0], int(np.random.default_rng(seed).integers(2)))]


def attacked(table, halves, runs, seed=0):
    """Return the evidence, what was found, and the exact posterior."""
    release = program(table, halves)
    frame = pl.DataFrame({"pid": PERSONS, "age": range(4), "illness": [table[person] for person in PERSONS]})
    evidence = gather([release], SCHEMA, truth=[frame])
    evidence = replace(evidence, program=KnownProgram(simulated, np.inf, runs))
    found = Program().run(evidence, np.random.default_rng(seed))
    return evidence, found, exact(seen(release))


# All in one group: each half may have had one value twice, or the dice fell so.
TOGETHER = {"p0": "flu", "p1": "flu", "p2": "gout", "p3": "acne"}
CUT = {"p0": "flu", "p1": "gout", "p2": "flu", "p3": "gout"}


@pytest.mark.parametrize(("table", "halves"), [(TOGETHER, 1), (CUT, 1), (CUT, 0)])
def test_the_limit_covers_the_exact_posterior(table, halves):
    evidence, found, truth = attacked(table, halves, runs=400)
    assert found.summary["tables"] == 400
    assert found.summary["equal_weights"]
    assert found.summary["reproduced"] > 50
    assert not found.exact.any()
    for who, value, belief, lower in zip(found.person, found.value, found.belief, found.lower, strict=True):
        own = truth[evidence.persons[int(who)]]
        share = own.get(evidence.values[int(value)], Fraction(0))
        assert lower <= share
        assert belief == pytest.approx(float(share), abs=0.2)


def test_what_the_program_tells_is_more_than_the_worlds_do():
    # A quarter has acne by the rows; the program tells that a half has one value twice, or the dice fell so.
    _, _, truth = attacked(TOGETHER, 1, runs=1)
    assert truth["p0"]["flu"] == Fraction(1, 2)
    _, _, cut = attacked(CUT, 1, runs=1)
    assert max(cut["p0"].values()) == Fraction(1, 2)
    assert {value: float(share) for value, share in exact(seen(program(CUT, 0)))["p0"].items()} == {
        "flu": pytest.approx(0.5),
        "gout": pytest.approx(0.5),
    }


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("seed", range(20))
def test_the_limit_covers_the_exact_posterior_many_times(seed):
    tables = [table for table, _ in all_tables(PERSONS, VALUES)]
    table = tables[int(np.random.default_rng(seed).integers(len(tables)))]
    evidence, found, truth = attacked(table, seed % 2, runs=300, seed=seed)
    for who, value, lower in zip(found.person, found.value, found.lower, strict=True):
        assert lower <= truth[evidence.persons[int(who)]].get(evidence.values[int(value)], 0)


def test_tables_are_drawn_alike_by_their_weights():
    # Two releases; nobody changed but q. Weighed, the draws have the shares of all worlds.
    present = [["p", "q", "r"], ["p", "q", "r"]]
    groups = [[("p", "q", "r")], [("p", "q"), ("r",)]]
    values = [[("a", "b", "c")], [("a", "d"), ("c",)]]
    changed = {"p": {1: False}, "q": {1: True}, "r": {1: False}}
    evidence = evidence_of(present, lambda t, who, g: who in groups[t][g], values, [[0], [0, 0]], changed)
    drawn = DrawnWorlds(evidence)
    assert drawn.possible
    rng = np.random.default_rng(0)
    shares = np.zeros((6, len(evidence.values)))
    for _ in range(500):
        own, weight = drawn.draw(rng)
        shares[np.arange(6), own] += np.exp(weight)
    shares /= shares.sum(axis=1, keepdims=True)
    seen_as = [
        [Group(group, rows) for group, rows in zip(g, v, strict=True)] for g, v in zip(groups, values, strict=True)
    ]
    worlds = enumerate_worlds(seen_as, changed)
    for t in (0, 1):
        for i, who in enumerate(present[t]):
            for value, share in worlds.share(who, t).items():
                assert shares[3 * t + i, evidence.values.to_list().index(value)] == pytest.approx(float(share), abs=0.1)


def test_limits_by_hand():
    assert lower_limit(0, 10, 0.01) == 0
    assert lower_limit(10, 10, 0.05) == pytest.approx(0.05 ** (1 / 10))


CONFIG = """
[columns]
pid = "person"
age = "quasi"
illness = "sensitive"
[guarantee]
kind = "static"
k = 2
l = 2
"""


def test_on_the_command_line(tmp_path):
    (tmp_path / "reveil.toml").write_text(CONFIG)
    frame = pl.DataFrame({"pid": PERSONS, "age": range(4), "illness": list(TOGETHER.values())})
    frame.write_csv(tmp_path / "s.csv")
    base = ("-c", tmp_path / "reveil.toml")
    assert reveil("publish", tmp_path / "s.csv", *base, "-o", tmp_path / "r.csv").returncode == 0
    audit = ("audit", tmp_path / "r.csv", *base)
    truth = ("--truth", tmp_path / "s.csv")
    done = reveil(*audit, *truth, "--attack", "program", "--minutes", "0.02", "--json", tmp_path / "a.json", "--all")
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "a.json").read_text())
    own = found["attacks"]["program"]
    assert own["tables"] >= 1
    assert own["attacker"].endswith("the publisher's program and settings")
    assert own["about"] == "given"  # the counted grade is not about it
    for wrong, says in (
        ((*truth, "--minutes", "1"), "--minutes needs --attack program"),
        (("--population", tmp_path / "s.csv", "--attack", "program"), "--attack program needs --truth"),
        ((*truth, "--attack", "program", "--minutes", "0"), "--minutes"),
    ):
        done = reveil(*audit, *wrong)
        assert (done.returncode, says in done.stderr) == (2, True), done.stderr
    plain = rv.audit(tmp_path / "r.csv", SCHEMA, truth=frame)
    assert "--attack program --minutes M" in plain.not_run["program"]
