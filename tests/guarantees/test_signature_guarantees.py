"""m-invariance and tau-safety over random series, judged by the enumerator of possible worlds."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.core.errors import ConfigError, DataError, InfeasibleError, RefusedError, VerificationError
from reveil.core.randomness import Dice
from reveil.guarantees.comparing import check_promise
from reveil.releases.admitted import admitted_codes
from reveil.tables.snapshot import Snapshot
from reveil.testing.beliefs import Group
from reveil.testing.series import changed, histories, schema
from reveil.testing.worlds import enumerate_memberships, enumerate_worlds
from reveil.verification import verify
from reveil.verification.arrays import halves, marks_of, set_marks
from reveil.verification.judges.tau_safety import MEMBERS, SETS
from reveil.verification.record import Entry
from tests.guarantees.signatures.plain_memory import PlainMemory, groups_of
from tests.judged import Judged

VALUES = "abcdefgh"
QUASI = ("age", "town")
slow = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def run(guarantee, snapshots, seed=0, domain=None):
    """Publish a series without a vault; verify each release; return the groups of each."""
    own = schema(domain=domain)
    memory = PlainMemory(guarantee, own)
    series = []
    for t, frame in enumerate(snapshots):
        try:
            prepared = memory.publish(frame, Dice.of_seed(seed).child("release", t))
        except InfeasibleError as error:
            if "all the persons of this snapshot rest" not in str(error):
                raise
            series.append([])
            continue
        snapshot = Snapshot(frame, own, "the frame", "polars")
        verify(prepared.release, snapshot, prepared.draft.model, placement=prepared.placement)
        check_promise(guarantee, prepared.release.manifest, own, None)
        series.append(groups_of(prepared, frame, own))
    return series


def judged(series, snapshots):
    """Return the largest share of worlds of any value, for the adversary who knows everybody's events and group."""
    there = [{who for members, _ in groups for who in members} for groups in series]
    worlds = [[Group(members, values) for members, values in groups if members] for groups in series]
    return enumerate_worlds(worlds, changed(snapshots, there)).highest()[0]


def obeys(series, m):
    """Check that releases are m-unique and that everybody's signatures are equal or share nothing."""
    told = {}
    for groups in series:
        for members, values in groups:
            assert members
            assert len(values) == len(set(values)) >= m
            for who in members:
                for before in told.setdefault(who, []):
                    assert before == set(values) or not before & set(values)
                told[who].append(set(values))


@slow
@given(histories(values=VALUES, max_persons=5, max_releases=3, nulls=(*QUASI, "disease")), st.integers(0, 99))
def test_tau_safety_tells_nobody_s_value_with_more_than_one_half(snapshots, seed):
    guarantee = rv.TauSafety(m=2, domain=tuple(VALUES))
    series = run(guarantee, snapshots, seed)
    obeys(series, 2)
    assert judged(series, snapshots) <= Fraction(1, 2)
    for frame, groups in zip(snapshots, series, strict=True):
        assert sum(len(members) for members, _ in groups) == frame.height  # with 8 values and 3 releases nobody rests


@slow
@given(histories(values=VALUES, max_persons=5, max_releases=3, nulls=QUASI), st.integers(0, 99))
def test_the_blind_grade_keeps_the_same_rule(snapshots, seed):
    series = run(rv.TauSafety(m=2, domain=tuple(VALUES), blind=True), snapshots, seed)
    obeys(series, 2)
    assert judged(series, snapshots) <= Fraction(1, 2)


@slow
@given(
    histories(values=VALUES, max_persons=6, max_releases=3, changes=False, nulls=QUASI),
    st.integers(0, 99),
    st.booleans(),
)
def test_with_values_that_never_change(snapshots, seed, blind):
    series = run(rv.TauSafety(m=3, domain=tuple(VALUES), fixed=True, blind=blind), snapshots, seed)
    obeys(series, 3)
    assert judged(series, snapshots) <= Fraction(1, 3)


@slow
@given(histories(values="abcdefghijk", max_persons=6, max_releases=3), st.integers(0, 99))
def test_angelized_releases_keep_the_same_rule(snapshots, seed):
    series = run(rv.TauSafety(m=2, domain=tuple("abcdefghijk"), angelize=True), snapshots, seed)
    obeys(series, 2)


@slow
@given(histories(values="abcde", max_persons=6, max_releases=6, min_releases=4, nulls=QUASI), st.integers(0, 99))
def test_in_a_small_domain_people_come_to_rest_and_the_bound_holds(snapshots, seed):
    series = run(rv.TauSafety(m=2, domain=tuple("abcde")), snapshots, seed)
    obeys(series, 2)
    there = [{who for members, _ in groups for who in members} for groups in series]
    told = {}
    for t, groups in enumerate(series):
        for who in snapshots[t]["pid"].to_list():
            known = set().union(*told.get(who, [set()]))
            assert (who not in there[t]) == (bool(known) and 5 - len(known) < 2)  # what was told decides, nothing else
        for members, values in groups:
            for who in members:
                told.setdefault(who, []).append(set(values))


@slow
@given(histories(values="abcdefg", max_persons=6, max_releases=3, returns=False, changes=False), st.integers(0, 99))
def test_m_invariance_holds_while_nobody_returns_and_nothing_changes(snapshots, seed):
    try:
        series = run(rv.MInvariance(2), snapshots, seed)
    except InfeasibleError:
        return  # the new records are not eligible: refused, as the original does
    obeys(series, 2)
    assert judged(series, snapshots) <= Fraction(1, 2)


def table(rows):
    return pl.DataFrame(
        [(pid, age, "north", disease) for pid, age, disease in rows],
        schema={"pid": pl.Int64, "age": pl.Int64, "town": pl.String, "disease": pl.String},
        orient="row",
    )


def test_the_rule_of_the_source_breaks_the_bound_and_the_mended_one_does_not():
    """{a, b} and then {b, c} for a person who is known to have changed: a at the first time in 2 of 3 worlds."""
    first = table([(1, 20, "a"), (2, 21, "b")])
    second = table([(1, 20, "c"), (3, 21, "b")])
    loose = run(rv.TauSafety(m=2, strict=False, domain=tuple("abc")), [first, second])
    assert judged(loose, [first, second]) == Fraction(2, 3)
    strict = run(rv.TauSafety(m=2, domain=tuple("abcdefg")), [first, second])
    assert judged(strict, [first, second]) == Fraction(1, 2)


def test_m_invariance_forgets_who_left_and_tau_safety_does_not():
    snapshots = [
        table([(1, 20, "a"), (2, 21, "b"), (3, 60, "c"), (4, 61, "d")]),
        table([(3, 60, "c"), (4, 61, "d")]),
        table([(1, 20, "a"), (4, 21, "d"), (5, 60, "e"), (6, 61, "f")]),
    ]
    safe = run(rv.TauSafety(m=2, domain=tuple(VALUES)), snapshots)
    assert judged(safe, snapshots) == Fraction(1, 2)
    broken = [judged(run(rv.MInvariance(2), snapshots, seed), snapshots) for seed in range(12)]
    assert max(broken) > Fraction(1, 2)


def test_m_invariance_refuses_new_records_that_are_not_eligible():
    with pytest.raises(InfeasibleError, match="not 2-eligible"):
        run(rv.MInvariance(2), [table([(1, 20, "a"), (2, 21, "a"), (3, 22, "b")])])


def test_a_domain_that_is_too_small_is_refused_with_the_m_that_fits():
    with pytest.raises(InfeasibleError, match="needs 8 possible values") as caught:
        rv.TauSafety(m=3).check(schema(domain=list("abcdefg")), None)
    assert "largest m that fits is 2" in str(caught.value)
    with pytest.raises(InfeasibleError, match="needs 5 possible values"):
        run(rv.TauSafety(m=2), [table([(1, 20, "a"), (2, 21, "b")])])
    run(rv.TauSafety(m=2, fixed=True), [table([(1, 20, "a"), (2, 21, "b")])])


def test_fixed_refuses_a_value_that_changes():
    with pytest.raises(RefusedError, match="1 persons have another sensitive value"):
        run(rv.TauSafety(m=2, fixed=True), [table([(1, 20, "a"), (2, 21, "b")]), table([(1, 20, "b"), (2, 21, "b")])])


def test_blind_needs_a_declared_domain_and_values_in_it():
    with pytest.raises(ConfigError, match="blind needs the domain"):
        rv.TauSafety(m=2, blind=True).check(schema(), None)
    with pytest.raises(DataError, match="1 records have a value that the domain does not have") as caught:
        run(rv.TauSafety(m=2, blind=True, domain=tuple("abcde")), [table([(1, 20, "a"), (2, 21, "zz")])])
    assert "zz" not in str(caught.value)


@pytest.mark.parametrize(
    ("own", "match"),
    [
        (rv.Schema(quasi=["age"], sensitive="disease"), "needs a person column"),
        (
            rv.Schema(person="pid", quasi=["age"], sensitive=["disease", "town"]),
            "2 sensitive columns in the angel",
        ),
        (rv.Schema(person="pid", quasi=["age"], sensitive="disease", plain="town"), "plain column 'town' in the angel"),
        (rv.Schema(person="pid", quasi=["group"], sensitive="disease"), "a column 'group' of its own"),
    ],
)
def test_schemas_that_cannot_work_are_refused(own, match):
    with pytest.raises(ConfigError, match=match):
        rv.TauSafety(m=2).check(own, None)


@pytest.mark.parametrize("m", [1, 0, True, 2.5, "3"])
def test_m_must_be_a_whole_number_from_2_up(m):
    for guarantee in (rv.TauSafety, rv.MInvariance):
        with pytest.raises(ConfigError, match="m must be"):
            guarantee(m=m)


def test_the_signature_rule_is_judged_from_the_published_values():
    frame = table([(1, 20, "a"), (2, 21, "b")])
    own = schema()
    guarantee = rv.TauSafety(m=2, domain=tuple("abcdefg"))
    prepared = PlainMemory(guarantee, own).publish(frame, Dice.of_seed(0))
    for values, good in (("ab", True), ("cd", True), ("bc", False), ("abc", False), ("a", False)):
        marks = marks_of(pl.Series(list(values)))
        high, low = halves(set_marks(np.zeros(len(marks), np.int64), marks, 1))
        value_high, value_low = halves(marks)
        judged = Judged(guarantee)
        every = np.ones(len(marks), np.int64)
        members = MEMBERS.frame(high=high * every, low=low * every, value_high=value_high, value_low=value_low)
        judged.apply((Entry(SETS, SETS.frame(who=[7], high=high, low=low)), Entry(MEMBERS, members)))
        shown = judged.shown(prepared, [7, 8], 2)
        if good:
            judged.check(shown)
        else:
            with pytest.raises(VerificationError, match="1 persons would get a signature"):
                judged.check(shown)


@pytest.mark.parametrize("effort", ["quick", "normal"])
def test_counterfeits_reach_the_lower_bound_where_nobody_moves(effort):
    """A search may take a few more where cells become much narrower by it; never fewer than there must be."""
    rng = np.random.default_rng(5)
    memory = PlainMemory(rv.TauSafety(m=3, domain=tuple(VALUES), effort=effort), schema())
    people = {pid: (int(rng.integers(18, 90)), str(rng.choice(list(VALUES)))) for pid in range(300)}
    for t in range(5):
        frame = table([(pid, age, disease) for pid, (age, disease) in people.items()])
        prepared = memory.publish(frame, Dice.of_seed(t))
        total = prepared.release.manifest["counterfeits"]["total"]
        fewest = prepared.draft.remembered.facts["fewest_counterfeits"]
        assert total == fewest if effort == "quick" else fewest <= total <= len(people) / 10
        people = {pid: own for pid, own in people.items() if rng.random() > 0.2}
        people |= {300 + 100 * t + i: (int(rng.integers(18, 90)), str(rng.choice(list(VALUES)))) for i in range(60)}


def test_near_records_share_a_group():
    """Boxes follow the quasi values: much narrower than those of groups made by dice."""
    rng = np.random.default_rng(1)
    rows = [(pid, int(rng.integers(0, 10_000)), VALUES[int(rng.integers(0, 8))]) for pid in range(2000)]

    def width(guarantee):
        prepared = PlainMemory(guarantee, schema()).publish(table(rows), Dice.of_seed(0))
        cells = prepared.release.cells["age"]
        spans = (cells.distinct.struct.field("hi") - cells.distinct.struct.field("lo")).to_numpy()
        return float(spans[cells.index[prepared.release.classes]].mean())

    assert width(rv.TauSafety(m=2)) < width(rv.MInvariance(2, effort="quick")) / 5


@settings(slow, max_examples=20)
@given(histories(values=VALUES, max_persons=4, max_releases=2), st.integers(0, 99))
def test_who_does_not_know_the_groups_is_bounded_too(snapshots, seed):
    """Boxes, counterfeits and events are known, groups are not: all memberships under the rule are counted."""
    own = schema()
    memory = PlainMemory(rv.TauSafety(m=2, domain=tuple(VALUES)), own)
    present, holds, values, fakes = [], [], [], []
    for t, frame in enumerate(snapshots):
        prepared = memory.publish(frame, Dice.of_seed(seed).child("release", t))
        release = prepared.release
        numbers, index = np.unique(release.groups, return_inverse=True)
        classes = [release.classes[index == g][0] for g in range(len(numbers))]
        inside = np.ones((frame.height, len(numbers)), np.bool_)
        for attribute in prepared.draft.codes.quasi:
            cells = release.cells[attribute.name]
            admitted = admitted_codes(cells, attribute)
            for g, class_ in enumerate(classes):
                inside[:, g] &= admitted.contains(np.full(frame.height, cells.index[class_]), attribute.codes)
        persons = frame["pid"].to_list()
        present.append(persons)
        holds.append({(person, g): bool(inside[i, g]) for i, person in enumerate(persons) for g in range(len(numbers))})
        texts = release.values["disease"].to_list()
        values.append([tuple(v for v, i in zip(texts, index, strict=True) if i == g) for g in range(len(numbers))])
        fakes.append([release.manifest["counterfeits"]["per_group"].get(str(number), 0) for number in numbers])
    beliefs = enumerate_memberships(
        present,
        lambda t, person, g: holds[t][person, g],
        values,
        fakes,
        changed(snapshots),
        lambda _, told: all(a == b or not a & b for a in told for b in told),
        count="pairs",
    )
    assert beliefs.worlds
    assert beliefs.highest()[0] <= Fraction(1, 2)
