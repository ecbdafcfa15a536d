"""Whatever was adopted, and whoever was left out of it: every promise holds in all the worlds that agree.

A world is a possible membership of the adopted release (nobody knows who was left out, or who of two is in which of two
boxes) together with the values of everybody. The bounds are asked for each membership by itself; then they hold for
any mixture of them. What the adopted release alone told is not covered by any promise: a person may be believed as
strongly as it made them, and no more.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest

import reveil as rv
from reveil.testing import Group, enumerate_worlds
from tests.series.adopted import Case, Told, own_first, random_case, random_groups

FAST = range(8)  # two thousand are slow


def check_values(told: Told, m: int) -> None:
    before = told.adopted_share()
    for releases, found in told.beliefs(changes=True):
        for t, groups in enumerate(releases):
            for person in (person for group in groups for person in group.members):
                most = max(found.share(person, t).values())
                assert most <= max(Fraction(1, m), before.get(person, Fraction(0))), (told, person, t, most)


def tau(seed: int) -> None:
    m, values = 2 + (seed % 4 == 0), "abcdefghij"
    guarantee = rv.TauSafety(m, domain=tuple(values) if seed % 3 else None)
    check_values(Told.of(random_case(seed, values[: 4 + seed % 6], changes=True, returns=True), guarantee, seed), m)


def m_invariance(seed: int) -> None:
    values = "abcdefg"[: 4 + seed % 4]
    check_values(Told.of(random_case(seed, values, changes=False, returns=False), rv.MInvariance(2), seed), 2)


def global_(seed: int) -> None:
    guarantee = rv.GlobalGuarantee(2 if seed % 2 else 1.5, rv.ConstantRatio(releases=2 + seed % 2))
    told = Told.of(random_case(seed, "abcdefgh", changes=True, returns=True, people=9), guarantee, seed)
    before = told.adopted_share()
    for releases, found in told.beliefs(changes=False):
        for person in {person for groups in releases for group in groups for person in group.members}:
            values = {v for groups in releases for group in groups if person in group.members for v in group.values}
            most = max(found.ever(person, value) for value in values)
            assert most <= max(1 / Fraction(guarantee.l), before.get(person, Fraction(0))), (told, person, most)


def refinement(seed: int) -> None:
    changes = bool(seed % 2)
    diversity = ("distinct", "frequency")[seed % 3 == 0]
    guarantee = rv.Refinement(k=2, l=2, diversity=diversity, slack=1, dirty=("allow", "never")[seed % 5 == 0])
    told = Told.of(random_case(seed, "abcdef"[: 3 + seed % 4], changes=changes, returns=True), guarantee, seed)
    # Groups that were not safe are not covered; nobody of them is published later.
    where = dict(told.case.first.select("pid", "x").iter_rows())
    bad = [(low, high) for low, high, values in told.case.groups if not good(values, diversity)]
    spoiled = {person for person, x in where.items() if any(low <= x <= high for low, high in bad)}
    again = {person for groups in told.later for group in groups for person in group.members}
    certain = {p for p in spoiled if all(any(p in own for own in members) for members in told.memberships())}
    assert not certain & again, told
    for releases, found in told.beliefs(changes=not changes):
        attendance = {
            person: tuple(
                next((g for g, group in enumerate(groups) if person in group.members), -1) for groups in releases
            )
            for person in {p for groups in releases for group in groups for p in group.members}
        }
        sizes = Counter(attendance.values())
        for person, own in attendance.items():
            if own[0] >= 0 and not good(told.case.groups[own[0]][2], diversity):
                continue
            assert sizes[own] >= 2, (told, person, releases)
            for t in (t for t, group in enumerate(own) if group >= 0):
                shares = found.share(person, t)
                assert len(shares) >= 2, (told, person, t)
                if diversity == "frequency":
                    assert max(shares.values()) <= Fraction(1, 2), (told, person, t, shares)


def good(values: str, diversity: str) -> bool:
    return len(set(values)) >= 2 and (diversity == "distinct" or 2 * max(map(values.count, values)) <= len(values))


def two_adopted(seed: int) -> None:
    """Two releases of tools that know no series: no newcomer pays, and nobody is told on further than they did."""
    first = random_case(seed, "abcde", changes=False, returns=True, people=4)
    rng = random.Random(seed)  # noqa: S311 -- for tests
    people = {person: (x, value) for person, x, value in first.frames[1].iter_rows()}
    second = Case(first.frames[1:], random_groups(people, rng), None)
    told = Told.of(second, rv.TauSafety(2, domain=tuple("abcdefghij")), seed, before=first)
    for one in Told(first).memberships():
        for two in told.memberships():
            releases = [Told(first).series(one)[0], *told.series(two)]
            alone, found = (enumerate_worlds(own, unchanged(own)) for own in (releases[:2], releases))
            for t, groups in enumerate(releases if found.worlds else []):
                for person in (person for group in groups for person in group.members):
                    times = [at for at in (0, 1) if any(person in group.members for group in releases[at])]
                    bound = max([Fraction(1, 2), *(max(alone.share(person, at).values()) for at in times)])
                    assert max(found.share(person, t).values()) <= bound, (told, person, t)


def own_release_first(seed: int, values: str, guarantee, *, returns: bool = True, diversity: str = "frequency") -> None:
    """A release of this series, one of another tool, and more of this series: no more is told than by the first two."""
    made = own_first(seed, values, guarantee, returns=returns)
    if made is None:
        return
    first, told = made
    if not told.later:
        return
    for members in told.memberships():
        releases = [first, *told.series(members)]
        alone, found = (enumerate_worlds(own, unchanged(own)) for own in (releases[:2], releases))
        for t, groups in enumerate(releases if found.worlds else []):
            for person in (person for group in groups for person in group.members):
                times = [at for at in (0, 1) if any(person in group.members for group in releases[at])]
                before, after = [alone.share(person, at) for at in times], found.share(person, t)
                if diversity == "distinct":
                    assert len(after) >= min([2, *map(len, before)]), (told, person, t)
                else:
                    bound = max([Fraction(1, 2), *(max(own.values()) for own in before)])
                    assert max(after.values()) <= bound, (told, person, t)


def refinement_after_own(seed: int) -> None:
    diversity = ("distinct", "frequency")[seed % 2]
    guarantee = rv.Refinement(k=2, l=2, diversity=diversity, slack=1, dirty=("allow", "never")[seed % 3 == 0])
    own_release_first(seed, "abcdef"[: 3 + seed % 4], guarantee, diversity=diversity)


def tau_after_own(seed: int) -> None:
    own_release_first(seed, "abcdef", rv.TauSafety(2, domain=tuple("abcdefghij")))


def m_invariance_after_own(seed: int) -> None:
    own_release_first(seed, "abcdef"[: 4 + seed % 3], rv.MInvariance(2), returns=False)


def global_after_own(seed: int) -> None:
    guarantee = rv.GlobalGuarantee(1.2, rv.ConstantRatio(releases=3))  # tables as small as these bear no more
    made = own_first(seed, "abcdefgh", guarantee, returns=True)
    if made is None or not made[1].later:
        return
    first, told = made
    for members in told.memberships():
        releases = [first, *told.series(members)]
        alone, found = enumerate_worlds(releases[:2]), enumerate_worlds(releases)
        for person in {person for groups in releases for group in groups for person in group.members}:
            values = {v for groups in releases for group in groups if person in group.members for v in group.values}
            most = max(found.ever(person, value) for value in values)
            early = any(person in group.members for groups in releases[:2] for group in groups)
            before = max(alone.ever(person, value) for value in values) if early else Fraction(0)
            assert most <= max(1 / Fraction("1.2"), before), (told, person, most)


def unchanged(releases: list[list[Group]]) -> dict[str, dict[int, bool]]:
    known: dict[str, dict[int, bool]] = {}
    for t, groups in enumerate(releases):
        for person in (person for group in groups for person in group.members):
            known.setdefault(person, {})[t] = False
    return {person: dict(list(own.items())[1:]) for person, own in known.items()}


CHECKS = {
    "tau-safety": tau,
    "m-invariance": m_invariance,
    "global": global_,
    "refinement": refinement,
    "two adopted": two_adopted,
}
OWN_FIRST = {
    "tau-safety": tau_after_own,
    "m-invariance": m_invariance_after_own,
    "global": global_after_own,
    "refinement": refinement_after_own,
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_every_promise_holds_whoever_was_left_out(check):
    for seed in FAST:
        check(seed)


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("hundred", range(20))
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_every_promise_holds_in_two_thousand_series(check, hundred):
    for seed in range(100 * hundred, 100 * hundred + 100):
        check(seed)


@pytest.mark.parametrize("check", OWN_FIRST.values(), ids=OWN_FIRST)
def test_every_promise_holds_after_a_release_of_its_own(check):
    for seed in range(17):  # refinement: 12 and 16 were broken while parts of cut cells were published
        check(seed)


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("fifty", range(10))
@pytest.mark.parametrize("check", OWN_FIRST.values(), ids=OWN_FIRST)
def test_every_promise_holds_after_its_own_in_five_hundred_series(check, fifty):
    for seed in range(50 * fifty, 50 * fifty + 50):
        check(seed)
