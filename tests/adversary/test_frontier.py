"""Worlds counted state by state: the same as counted one by one, and for pieces that nobody could list."""

from math import comb

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reveil.adversary import counting
from reveil.adversary.attacks.tau import Tau
from tests.adversary.handmade import evidence_of, found
from tests.adversary.test_tau import RULES, check, published


@pytest.fixture
def _by_states(monkeypatch):
    """Nothing is counted one by one."""
    monkeypatch.setattr(counting, "SMALL", 0)


@pytest.mark.usefixtures("_by_states")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(published(), st.sampled_from(sorted(RULES)))
def test_states_count_the_same_worlds(case, rule):
    check(case, rule)


def chain(people, *, value=None):
    """Return a chain of pairs: person i may be in group i // 2, and every second one in the next group, too."""
    groups = people // 2
    values = [[value(g) if value else ("a", "b", "c")[g % 3], ("b", "c", "d")[g % 3]] for g in range(groups)]

    def fits(_, person, g):
        i = int(person[1:])
        return g == i // 2 or (i % 2 == 1 and g == i // 2 + 1) or (i % 2 == 0 and i >= 2 and g == i // 2 - 1)

    here = [f"p{i}" for i in range(people)]
    return evidence_of([here], fits, [values], [[0] * groups])


def test_forty_persons_are_exact():
    findings = Tau().run(chain(40), np.random.default_rng(0))
    assert findings.exact.all()
    assert set(findings.summary["found"]) <= {"counted", "certain"}
    assert findings.summary["found"]["counted"] > 30
    # Eight persons of the same chain can be listed: both ways agree there.
    few = chain(8)
    listed = found(few, Tau().run(few, np.random.default_rng(0)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "SMALL", 0)
        assert found(few, Tau().run(few, np.random.default_rng(0))) == listed


def test_one_large_group_is_a_matter_of_counting():
    """Twenty people, two groups of ten that admit all of them: nine and two have gout, the others flu."""
    values = [["gout"] * 9 + ["flu"], ["gout"] * 2 + ["flu"] * 8]
    evidence = evidence_of([[f"p{i}" for i in range(20)]], lambda *_: True, [values], [[0, 0]])
    told = found(evidence, Tau().run(evidence, np.random.default_rng(0)))
    assert {(round(belief, 9), value, exact) for belief, value, exact, _ in told.values()} == {(11 / 20, "gout", True)}
    assert comb(20, 10) > counting.STEPS  # more worlds than are listed


def test_too_many_states_are_given_up(monkeypatch):
    monkeypatch.setattr(counting, "STATES", 10)
    findings = Tau().run(chain(40), np.random.default_rng(0))
    assert not findings.exact[findings.belief < 1].any()
    assert "drawn" in findings.summary["found"] or "at least" in findings.summary["found"]
