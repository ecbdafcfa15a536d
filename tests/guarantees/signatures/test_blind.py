"""The blind grade, by exact Bayes: all tables, all dice, this code."""

from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from reveil.guarantees.signatures import blind, machine
from reveil.guarantees.signatures.sets import Sets
from reveil.guarantees.signatures.situation import Situation, exhausted
from reveil.guarantees.signatures.space import Space
from reveil.testing.bayes import outcomes

M = 2


def release(grade, values, told, domain, points, dice, *, fixed=False):
    """Form groups; the output is who is with whom, under which values, with how many counterfeits."""
    sets = list(dict.fromkeys(block for own in told for block in own))
    pairs = [(i, sets.index(block)) for i, own in enumerate(told) for block in own]
    records = np.array([i for i, _ in pairs], np.int32)
    blocks = np.array([s for _, s in pairs], np.int32)
    codes = np.arange(domain, dtype=np.int32)
    known = Sets.of(sets)
    rests = exhausted(len(values), known, records, blocks, codes, M) & (not fixed)
    now = Situation(np.array(values, np.int32), known, records, blocks, codes, rests)
    if grade == "blind":
        groups = blind.form_groups(now, points, M, dice)
    else:
        ranks = np.argsort(np.argsort(points[:, 0], kind="stable"), kind="stable")
        groups = machine.form_groups(now, Space(points, ranks), M, dice)
    found = []
    for g in range(groups.size):
        own = groups.group == g
        members = frozenset(groups.record[own & (groups.record >= 0)].tolist())
        found.append((members, frozenset(groups.value[own].tolist()), int((groups.record[own] < 0).sum())))
    return frozenset(found)


def signatures(output, size):
    told = [()] * size
    for members, values, _ in output:
        for record in members:
            told[record] = (values,)
    return told


def highest_posterior(grade, first, second, domain, points, *, fixed=False):
    """Return the largest posterior of any value of any person at any time, over all that can be published.

    ``first`` are the persons of the first release, ``second`` maps those of the second one to what happened: "new",
    "same" or "changed". Everybody knows that; before anything is published, all values are equally likely.
    """

    @cache
    def published(values, told, who):
        return outcomes(lambda dice: release(grade, values, told, domain, points[list(who)], dice, fixed=fixed))

    joint = defaultdict(lambda: defaultdict(Fraction))
    for before in product(range(domain), repeat=len(first)):
        for one, p in published(before, ((),) * len(first), tuple(first)).items():
            told = dict(zip(first, signatures(one, len(first)), strict=True))
            if not second:
                joint[one, None][before, ()] += p
                continue
            choices = []
            for who, event in second.items():
                old = before[first.index(who)] if event != "new" else None
                choices.append([v for v in range(domain) if event == "new" or (v == old) == (event == "same")])
            for after in product(*choices):
                past = tuple(told.get(who, ()) for who in second)
                for other, q in published(after, past, tuple(second)).items():
                    joint[one, other][before, after] += p * q
    highest = Fraction(0)
    for worlds in joint.values():
        total = sum(worlds.values())
        shares = defaultdict(Fraction)
        for (before, after), weight in worlds.items():
            for i, value in enumerate(before):
                shares[1, i, value] += weight
            for i, value in enumerate(after):
                shares[2, i, value] += weight
        highest = max(highest, *(share / total for share in shares.values()))
    return highest


APART = np.array([[0.0], [0.3], [0.35], [1.0]])
TIED = np.zeros((4, 1))


@pytest.mark.parametrize(
    ("points", "domain"),
    [
        (APART, 3),
        pytest.param(TIED, 3, marks=pytest.mark.slow),
        pytest.param(APART, 4, marks=pytest.mark.slow),
    ],
    ids=["apart", "tied", "four values"],
)
def test_one_blind_release_tells_each_value_with_one_half_at_most(points, domain):
    assert highest_posterior("blind", [0, 1, 2], {}, domain, points) <= Fraction(1, M)


@pytest.mark.slow
@pytest.mark.parametrize(
    "second",
    [
        {0: "same", 1: "same"},
        {0: "changed", 1: "same"},
        {0: "changed", 1: "changed"},
        {0: "same", 2: "new"},
        {1: "changed", 2: "new"},
    ],
)
def test_two_blind_releases_tell_each_value_with_one_half_at_most(second):
    domain = 4 if "new" in second.values() else 5  # more tables than that take too long
    assert highest_posterior("blind", [0, 1], second, domain, APART) <= Fraction(1, M)


@pytest.mark.slow
def test_new_persons_beside_old_ones_with_the_same_signature():
    second = {0: "same", 2: "new", 3: "new"}
    assert highest_posterior("blind", [0, 1], second, 3, APART, fixed=True) <= Fraction(1, M)


@pytest.mark.slow
def test_everybody_leaves_but_one():
    assert highest_posterior("blind", [0, 1, 2], {1: "same"}, 3, TIED) <= Fraction(1, M)


def test_the_counted_grade_is_not_blind():
    """Two new persons, both a: counterfeits of the two rarest values, which no other table gives."""
    assert highest_posterior("counted", [0, 1], {}, 4, APART) > Fraction(1, M)
