"""The tau-attack against the enumerator of worlds, and against the source's examples."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.adversary import appearances, counting
from reveil.adversary.attacks.tau import Tau
from reveil.adversary.chains import narrowed
from reveil.adversary.gathering import gather
from reveil.testing import enumerate_memberships, hospital
from tests.adversary.handmade import evidence_of, found

quick = settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))
RULES = {
    "unknown": {"kind": "unknown"},
    "tau-safety": {"kind": "tau-safety", "m": 2, "strict": True},
    "m-invariance": {"kind": "m-invariance", "m": 2},
}


def rng():
    return np.random.default_rng(5)


def equal_or_disjoint(person, signatures):
    return all(a == b or not a & b for a in signatures for b in signatures)


def rule_of(kind, present, changed):
    """The rule as the enumerator of worlds takes it."""
    times = {p: [t for t, here in enumerate(present) if p in here] for here in present for p in here}
    gap = any(b > a + 1 for own in times.values() for a, b in pairwise(own))
    if kind == "unknown":
        return None
    if kind == "tau-safety" or not (gap or any(True in own.values() for own in changed.values())):
        return equal_or_disjoint

    def kept(person, signatures):
        """Who stays, with the same value, keeps the signature."""
        lived = list(zip(times[person], signatures, strict=True))
        return all(
            before == after
            for (s, before), (t, after) in pairwise(lived)
            if t == s + 1 and changed.get(person, {}).get(t) is False
        )

    return kept


@st.composite
def published(draw, distinct=False):
    """Persons, groups with values and counterfeits, whom the boxes admit, and what is known of changes."""
    present, values, fakes, fitting, changed = [], [], [], {}, {}
    for t in range(draw(st.integers(1, 3))):
        persons = [p for p in "pqrs" if draw(st.booleans())] or ["p"]
        first = draw(st.integers(0, len(persons)))
        spare = [draw(st.integers(0, 1)), draw(st.integers(0, 1))]
        sizes = [first + spare[0], len(persons) - first + spare[1]]
        alphabet = st.sampled_from("abcde" if distinct else "abc")
        present.append(persons)
        fakes.append(spare)
        values.append([tuple(draw(st.lists(alphabet, min_size=n, max_size=n, unique=distinct))) for n in sizes])
        loose = draw(st.booleans())
        for i, p in enumerate(persons):
            for g in (0, 1):
                home = (i < first) == (g == 0)
                fitting[t, p, g] = home or (sizes[g] > 0 and loose and draw(st.booleans()))
            if any(p in here for here in present[:-1]):
                said = draw(st.sampled_from([None, False, True]))
                if said is not None:
                    changed.setdefault(p, {})[t] = said
    return present, values, fakes, fitting, changed


def check(case, rule, *, complete=True):
    present, values, fakes, fitting, changed = case

    def fits(t, p, g):
        return fitting[t, p, g]

    allowed = rule_of(rule, present, changed)
    beliefs = enumerate_memberships(present, fits, values, fakes, changed, allowed, count="pairs")
    evidence = evidence_of(present, fits, values, fakes, changed, guarantee=RULES[rule])
    findings = Tau().run(evidence, rng())
    told = found(evidence, findings)
    if not beliefs.worlds:
        return
    if findings.summary["rule"] == "broken":
        pytest.fail("a series that obeys its rule is said to break it")
    assert findings.summary["contradictory"] == 0
    for t, persons in enumerate(present):
        for p in persons:
            shares = beliefs.share(p, t)
            if not complete and (p, t) not in told:
                continue
            belief, value, exact, lower = told[p, t]
            top = float(max(shares.values()))
            if exact:
                assert belief == pytest.approx(top), (p, t)
                assert float(shares[value]) == pytest.approx(top)
            elif not np.isnan(lower):
                assert lower <= top + 1e-9
            if belief >= 1:
                assert exact
                assert shares == {value: 1}
            if complete and rule == "unknown" and "drawn" not in findings.summary["found"]:
                assert exact or "at most" in findings.summary["found"]
            if "at most" in findings.summary["found"] and not exact and "at least" not in findings.summary["found"]:
                assert belief >= top - 1e-9


@quick
@given(published())
def test_beliefs_are_shares_of_worlds(case):
    check(case, "unknown")


@quick
@given(published(distinct=True), st.sampled_from(sorted(RULES)))
def test_beliefs_are_shares_of_worlds_of_distinct_values(case, rule):
    check(case, rule)


@quick
@given(published(), st.sampled_from(["tau-safety", "m-invariance"]))
def test_beliefs_obey_a_rule_that_unbalanced_groups_do_not_prove(case, rule):
    check(case, rule)


@quick
@given(published())
def test_one_release_leaves_exactly_what_lies_on_a_perfect_matching(case):
    present, values, fakes, fitting, _ = case
    one = present[:1], lambda t, p, g: fitting[t, p, g], values[:1], fakes[:1]
    laid = appearances.appearances_of(evidence_of(*one))
    left = narrowed(laid, np.ones(len(laid.candidates.items), bool))
    beliefs = enumerate_memberships(*one)
    assert left.sizes.tolist() == [len(beliefs.share(p, 0)) for p in present[0]]


# A limit that holds with 99 % is exceeded now and then: these are the same examples each time.
@settings(quick, derandomize=True)
@given(published(distinct=True), st.sampled_from(sorted(RULES)))
def test_drawn_worlds_have_sound_limits(case, rule):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "SMALL", 0)
        patch.setattr(counting, "PERSONS", 0)
        check(case, rule)


@quick
@given(published(), st.sampled_from(sorted(RULES)), st.integers(0, 8))
def test_candidates_that_are_too_many_are_forgotten_safely(case, rule, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(appearances, "MOST_CANDIDATES", most)
        check(case, rule, complete=False)


@quick
@given(published())
def test_persons_who_may_not_have_been_published(case):
    # The second group is not there: whoever is too many for the first is in no group, with any value at all.
    present, values, fakes, fitting, changed = case
    first = [groups[0] for groups in values]
    domain = sorted({value for own in first for value in own})
    over = [len(own) - spare[0] < len(here) for own, spare, here in zip(first, fakes, present, strict=True)]
    if not all(first) or not domain or not all(over):
        return
    left = [len(here) - len(own) + spare[0] for own, spare, here in zip(first, fakes, present, strict=True)]
    away = [tuple(domain) * len(here) for here in present]
    beliefs = enumerate_memberships(
        present,
        lambda t, p, g: g == 1 or fitting[t, p, 0],
        list(zip(first, away, strict=True)),
        [[spare[0], len(own) - many] for spare, own, many in zip(fakes, away, left, strict=True)],
        changed,
        count="pairs",
    )
    evidence = evidence_of(
        present, lambda t, p, g: fitting[t, p, 0], [[own] for own in first], [f[:1] for f in fakes], changed
    )
    findings = Tau().run(evidence, rng())
    if beliefs.worlds:
        for (p, t), (belief, value, exact, lower) in found(evidence, findings).items():
            shares = beliefs.share(p, t)
            top = float(max(shares.values()))
            assert not exact or belief == pytest.approx(top) == pytest.approx(float(shares[value]))
            assert np.isnan(lower) or lower <= top + 1e-9
            assert belief < 1 or exact


PEOPLE = {
    "p1": [(21, 12, "cataract"), (21, 12, "cataract"), (21, 12, "cataract")],
    "p2": [(22, 14, "pneumonia"), (23, 40, "diarrhea"), (23, 40, "diarrhea")],
    "p3": [(24, 18, "flu"), (24, 18, "flu"), (24, 18, "flu")],
    "p4": [(23, 25, "glaucoma"), None, (23, 25, "glaucoma")],
    "p5": [(41, 20, "flu"), (41, 20, "flu"), (41, 20, "flu")],
    "p6": [(42, 34, "gastritis"), (42, 35, "gastritis"), (42, 35, "gastritis")],
    "p7": [None, (26, 34, "gastritis"), (26, 34, "gastritis")],
}
GROUPS = [["p1 p2", "p3 p4", "p5 p6"], ["p1 p2", "p3 p7", "p5 p6"], ["p1 p2 p4", "p3 p7", "p5 p6"]]
SCHEMA = rv.Schema(person="pid", quasi=("age", "zip"), sensitive="disease")
COLUMNS = ["pid", "age", "zip", "disease"]
DOMAIN = ("cataract", "pneumonia", "flu", "glaucoma", "gastritis", "diarrhea")


def snapshot(t):
    rows = [(p, *own[t]) for p, own in PEOPLE.items() if own[t] is not None]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def as_it_stands(t):
    """The groups of the source, with ranges as somebody would write them in a spreadsheet."""
    rows = []
    for names in GROUPS[t]:
        own = snapshot(t).filter(pl.col("pid").is_in(names.split()))
        cells = [f"{own[name].min()}-{own[name].max()}" for name in ("age", "zip")]
        rows += [(*cells, value) for value in own["disease"]]
    return pl.DataFrame(rows, schema=COLUMNS[1:], orient="row")


def test_three_diverse_releases_betray_people_together():
    snapshots = [snapshot(t) for t in range(3)]
    evidence = gather([as_it_stands(t) for t in range(3)], SCHEMA, truth=snapshots, known="events")
    findings = Tau().run(evidence, rng())
    told = found(evidence, findings)
    certain = {key: value for key, (belief, value, exact, _) in told.items() if exact and belief == 1}
    assert certain["p1", 0] == certain["p1", 1] == "cataract"
    assert certain["p2", 0] == "pneumonia"
    assert certain["p2", 1] == certain["p2", 2] == "diarrhea"
    assert certain["p4", 0] == certain["p4", 2] == "glaucoma"
    assert told["p5", 0][:3] == (0.5, "flu", True)
    masks = {evidence.persons[int(p)]: int(m) for p, m in zip(findings.person, findings.release_mask, strict=True)}
    assert masks["p4"] == 0b101, "p4 was not in the second"
    alone = Tau().run(gather([as_it_stands(0)], SCHEMA, truth=snapshots[:1], known="events"), rng())
    assert alone.belief.max() == 0.5, "each alone is 2-diverse"


def test_the_same_snapshots_published_safely(tmp_path):
    snapshots = [snapshot(t) for t in range(3)]
    series = rv.Series.open(tmp_path / "vault", SCHEMA, rv.TauSafety(m=2, domain=DOMAIN))
    series.adopt(snapshots[0], as_it_stands(0))
    releases = [as_it_stands(0), series.publish(snapshots[1]), series.publish(snapshots[2])]
    findings = Tau().run(gather(releases, SCHEMA, truth=snapshots), rng())
    assert findings.summary["rule"] == "apart"
    assert len(findings.person) == 19
    assert findings.belief.max() == 0.5


@pytest.mark.parametrize("others", [("p",), ("p", "q")])
def test_overlapping_signatures_of_somebody_who_changed(others):
    present = [list(others), ["p", "r"][: len(others)]]
    fakes = [[2 - len(others)]] * 2
    events = {"p": {1: True}}

    def tau(first, second, **options):
        evidence = evidence_of(present, lambda *_: True, [[first], [second]], fakes, events, **options)
        findings = Tau().run(evidence, rng())
        return found(evidence, findings), findings.summary["rule"]

    told, _ = tau(("a", "b"), ("b", "c"))
    assert told["p", 0][:3] == (pytest.approx(2 / 3), "a", True)
    for second in [("b", "a"), ("c", "d")]:
        assert tau(("a", "b"), second)[0]["p", 0][0] == 0.5
    # A manifest that claims what its releases do not keep does not help.
    told, rule = tau(("a", "b"), ("b", "c"), guarantee=RULES["tau-safety"])
    assert rule == "broken"
    assert told["p", 0][0] == pytest.approx(2 / 3)


def test_two_persons_in_both_boxes():
    # Counting worlds in which somebody goes from one signature to the other would make it three of five.
    values = [[("a", "b"), ("b", "c")]] * 2
    case = [["p", "q"]] * 2, lambda *_: True, values, [[1, 1]] * 2, {"p": {1: False}, "q": {1: False}}
    free = evidence_of(*case)
    assert found(free, Tau().run(free, rng()))["p", 0][:3] == (pytest.approx(3 / 5), "b", True)
    ruled = evidence_of(*case, guarantee=RULES["tau-safety"])
    findings = Tau().run(ruled, rng())
    assert findings.belief.max() == 0.5
    assert not findings.exact.any()


def test_a_column_that_is_wholly_suppressed():
    evidence = evidence_of([["a", "b", "c"]], lambda *_: True, [[("1", "1", "2")]], [[0]], known="presence")
    told = found(evidence, Tau().run(evidence, rng()))
    assert told["a", 0][:3] == (pytest.approx(2 / 3), "1", True)


@pytest.mark.parametrize("guarantee", [rv.TauSafety(m=2), rv.TauSafety(m=2, angelize=True), rv.MInvariance(m=2)])
def test_published_series_keep_their_bound(guarantee, tmp_path):
    months = list(hospital.year(60, months=3, seed=4))
    if guarantee.kind == "m-invariance":
        months = [months[0], months[0][:40]]
    series = rv.Series.open(tmp_path / "vault", hospital.schema(), guarantee)
    releases = [series.publish(month) for month in months]
    evidence = gather(releases, hospital.schema(), truth=months)
    findings = Tau().run(evidence, rng())
    assert findings.summary["rule"] == "apart"
    assert findings.belief.max() <= 0.5


def test_careless_releases_of_the_same_people_are_broken():
    months = list(hospital.year(300, months=4, seed=4))
    model = rv.KAnonymity(4) & rv.DistinctDiversity(3)
    releases = [rv.anonymize(month, hospital.schema(), model, seed=1) for month in months]
    evidence = gather(releases, hospital.schema(), truth=months, known="events")
    findings = Tau().run(evidence, rng())
    assert findings.summary["certain"] > 100
    certain = findings.belief >= 1
    for t, view in enumerate(evidence.views):
        true = np.full(len(evidence.persons), -1)
        true[view.present] = view.truth
        own = certain & (findings.at == t)
        assert (true[findings.person[own]] == findings.value[own]).all()
