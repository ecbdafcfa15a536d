"""The enumerator of worlds against the definition, spelt out, and against worked examples."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reveil.testing import Group, enumerate_memberships, enumerate_worlds

quick = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
half = Fraction(1, 2)


def listed(appearances, memberships, rows, real, changed, allowed=None):
    """All pairs (membership, values) by trying every row for everybody: the definition, for comparison."""
    pairs = set()
    times = {person: [t for p, t in appearances if p == person] for person, _ in appearances}
    for groups in memberships:
        where = dict(zip(appearances, groups, strict=True))
        members = {place: [s for s in appearances if (s[1], where[s]) == place] for place in rows}
        if any(len(members[place]) != real[place] for place in rows):
            continue
        if allowed and not all(
            allowed(person, [frozenset(rows[t, where[person, t]]) for t in own]) for person, own in times.items()
        ):
            continue
        for dealt in product(*(permutations(rows[place], len(members[place])) for place in rows)):
            world = {}
            for place, values in zip(rows, dealt, strict=True):
                world |= dict(zip(members[place], values, strict=True))
            if all(
                (world[person, t] != world[person, times[person][times[person].index(t) - 1]]) == differs
                for person, told in changed.items()
                for t, differs in told.items()
            ):
                pairs.add((groups, tuple(world[appearance] for appearance in appearances)))
    return pairs


def check(beliefs, appearances, worlds):
    assert beliefs.worlds == len(worlds)
    if not worlds:
        with pytest.raises(ValueError, match="no world"):
            beliefs.highest()
        return
    top = Fraction(0)
    for n, (person, t) in enumerate(appearances):
        counts = Counter(values[n] for values in worlds)
        expected = {value: Fraction(count, len(worlds)) for value, count in counts.items()}
        assert beliefs.share(person, t) == expected
        top = max(top, *expected.values())
    assert beliefs.highest()[0] == top
    share, person, t, value = beliefs.highest()
    assert beliefs.share(person, t)[value] == share
    ever = {}
    for person in {person for person, _ in appearances}:
        own = [n for n, (p, _) in enumerate(appearances) if p == person]
        for value in "abcz":
            hits = sum(any(values[n] == value for n in own) for values in worlds)
            ever[person, value] = Fraction(hits, len(worlds))
            assert beliefs.ever(person, value) == ever[person, value]
    assert beliefs.highest_ever()[0] == max(ever.values())


@st.composite
def knowledge(draw, attendance):
    """Some of the changes of some of the persons, not always possible ones."""
    told = {}
    for person in sorted({p for here in attendance for p in here}):
        times = [t for t, here in enumerate(attendance) if person in here][1:]
        said = {t: draw(st.sampled_from([None, False, True])) for t in times}
        told[person] = {t: differs for t, differs in said.items() if differs is not None}
    return told


@st.composite
def published(draw):
    releases = []
    for _ in range(draw(st.integers(1, 3))):
        labels = {p: draw(st.sampled_from([0, 1, None])) for p in "pqrs"[: draw(st.integers(1, 4))]}
        groups = []
        for label in (0, 1):
            members = tuple(p for p, own in labels.items() if own == label)
            size = len(members) + draw(st.integers(0, 1))
            groups.append(Group(members, tuple(draw(st.lists(st.sampled_from("abc"), min_size=size, max_size=size)))))
        releases.append(groups)
    return releases, draw(knowledge([[p for g in groups for p in g.members] for groups in releases]))


@quick
@given(published())
def test_known_groups_are_enumerated_as_defined(case):
    releases, changed = case
    appearances = [(p, t) for t, groups in enumerate(releases) for group in groups for p in group.members]
    rows = {(t, g): group.values for t, groups in enumerate(releases) for g, group in enumerate(groups)}
    where = {(p, t): g for t, groups in enumerate(releases) for g, group in enumerate(groups) for p in group.members}
    real = {(t, g): len(releases[t][g].members) for t, g in rows}
    worlds = [values for _, values in listed(appearances, [tuple(where.values())], rows, real, changed)]
    if appearances:
        check(enumerate_worlds(releases, changed), appearances, worlds)


@st.composite
def boxed(draw):
    """Persons, two groups in each release, and whom they admit."""
    present, values, fakes, fitting = [], [], [], {}
    for t in range(draw(st.integers(1, 2))):
        persons = list("pqr"[: draw(st.integers(1, 3))])
        first = draw(st.integers(0, len(persons)))
        spare = draw(st.lists(st.integers(0, 1), min_size=2, max_size=2))
        sizes = [first + spare[0], len(persons) - first + spare[1]]
        present.append(persons)
        fakes.append(spare)
        values.append([tuple(draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))) for n in sizes])
        fitting |= {(t, p, g): draw(st.sampled_from([True, True, False])) for p in persons for g in (0, 1)}
    return present, values, fakes, fitting, draw(knowledge(present))


def anywhere(t, person, group):
    return True


def equal_or_disjoint(person, signatures):
    return all(a == b or not a & b for a in signatures for b in signatures)


@quick
@given(boxed(), st.sampled_from([None, equal_or_disjoint]), st.sampled_from(["values", "pairs"]))
def test_unknown_groups_are_enumerated_as_defined(case, allowed, count):
    present, values, fakes, fitting, changed = case
    appearances = [(p, t) for t, persons in enumerate(present) for p in persons]
    rows = {(t, g): own for t, groups in enumerate(values) for g, own in enumerate(groups)}
    real = {(t, g): len(own) - fakes[t][g] for (t, g), own in rows.items()}
    memberships = product(*([g for g in (0, 1) if fitting[t, p, g]] for p, t in appearances))
    pairs = listed(appearances, list(memberships), rows, real, changed, allowed)
    worlds = [v for _, v in pairs] if count == "pairs" else list({v for _, v in pairs})
    beliefs = enumerate_memberships(
        present, lambda t, p, g: fitting[t, p, g], values, fakes, changed, allowed, count=count
    )
    check(beliefs, appearances, worlds)


@pytest.mark.parametrize(
    ("first", "second"),
    [(("p",), ("p",)), (("p", "q"), ("p", "r"))],
    ids=["beside counterfeits", "beside others"],
)
def test_overlapping_signatures_of_somebody_who_changed(first, second):
    changed = {"p": {1: True}}
    beliefs = enumerate_worlds([[Group(first, ("a", "b"))], [Group(second, ("b", "c"))]], changed)
    assert beliefs.worlds == 3
    assert beliefs.share("p", 0) == {"a": Fraction(2, 3), "b": Fraction(1, 3)}
    assert beliefs.highest()[0] == Fraction(2, 3)
    equal = enumerate_worlds([[Group(first, ("a", "b"))], [Group(second, ("b", "a"))]], changed)
    assert equal.worlds == 2
    assert equal.highest()[0] == half
    apart = enumerate_worlds([[Group(first, ("a", "b"))], [Group(second, ("d", "c"))]], changed)
    assert apart.worlds == 4
    assert apart.highest()[0] == half


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("r", [0, 1, 2, 5])
def test_ever_grows_with_known_changes_inside_a_signature(m, r):
    group = Group(("p",), tuple("abcd"[:m]))
    beliefs = enumerate_worlds([[group]] * (r + 1), {"p": dict.fromkeys(range(1, r + 1), True)})
    assert beliefs.highest()[0] == Fraction(1, m), "at each time the bound is kept"
    assert beliefs.ever("p", "a") == 1 - Fraction(m - 1, m) * Fraction(m - 2, m - 1) ** r
    assert beliefs.highest_ever()[0] == beliefs.ever("p", "a")


R1 = [
    Group(("p1", "p2"), ("cataract", "pneumonia")),
    Group(("p3", "p4"), ("flu", "glaucoma")),
    Group(("p5", "p6"), ("flu", "gastritis")),
]
R2 = [
    Group(("p1", "p2"), ("cataract", "diarrhea")),
    Group(("p3", "p7"), ("flu", "gastritis")),
    Group(("p5", "p6"), ("flu", "gastritis")),
]
R3 = [Group(("p1", "p2", "p4"), ("cataract", "diarrhea", "glaucoma")), *R2[1:]]
EVENTS = {
    "p1": {1: False, 2: False},
    "p2": {1: True, 2: False},
    "p3": {1: False, 2: False},
    "p4": {2: False},
    "p5": {1: False, 2: False},
    "p6": {1: False, 2: False},
    "p7": {2: False},
}


def test_three_diverse_releases_are_not_safe_together():
    beliefs = enumerate_worlds([R1, R2, R3], EVENTS)
    assert beliefs.share("p1", 0) == beliefs.share("p1", 1) == {"cataract": 1}
    assert beliefs.share("p2", 0) == {"pneumonia": 1}
    assert beliefs.share("p2", 1) == {"diarrhea": 1}
    assert "glaucoma" not in beliefs.share("p2", 2)
    assert beliefs.share("p4", 0) == beliefs.share("p4", 2) == {"glaucoma": 1}
    assert enumerate_worlds([R1], {}).highest()[0] == half, "each alone is 2-diverse"
    # Knowing only that p2 did not change between the last two is enough to exclude one value.
    assert enumerate_worlds([R1, R2, R3], {"p2": {2: False}}).share("p2", 2).keys() == {"cataract", "diarrhea"}


def test_the_same_snapshots_with_kept_signatures_are_safe():
    safe2 = [
        Group(("p1",), ("cataract", "pneumonia")),
        Group(("p3",), ("flu", "glaucoma")),
        Group(("p2", "p7"), ("diarrhea", "gastritis")),
        Group(("p5", "p6"), ("flu", "gastritis")),
    ]
    safe3 = [safe2[0], Group(("p3", "p4"), ("flu", "glaucoma")), *safe2[2:]]
    beliefs = enumerate_worlds([R1, safe2, safe3], EVENTS)
    assert beliefs.worlds > 0
    assert beliefs.highest()[0] == half


@quick
@given(
    st.lists(st.lists(st.sampled_from([0, 1, None]), min_size=4, max_size=4), min_size=1, max_size=4),
    st.lists(st.integers(0, 2), min_size=4, max_size=4),
    st.sets(st.tuples(st.integers(0, 3), st.integers(1, 3))),
)
def test_kept_signatures_bound_everybody(places, blocks, changes):
    # Everybody has one signature for good, whatever changes; who shares a group with whom differs.
    signatures = [tuple("ab"), tuple("abc"), tuple("cde")]
    releases = []
    for row in places:
        groups = {}
        for person, label in enumerate(row):
            if label is not None:
                groups.setdefault((blocks[person], label), []).append(person)
        # Two of a signature in one group, a third would have no row: the rest of them make a group of their own.
        releases.append(
            [
                Group(tuple(members[i : i + 2]), signatures[block])
                for (block, _), members in groups.items()
                for i in range(0, len(members), 2)
            ]
        )
    attendance = {p: [t for t, row in enumerate(places) if row[p] is not None] for p in range(4)}
    changed = {p: {t: (p, t) in changes for t in own[1:]} for p, own in attendance.items()}
    beliefs = enumerate_worlds(releases, changed)
    for person, own in attendance.items():
        for t in own:
            m = len(signatures[blocks[person]])
            shares = beliefs.share(person, t) if beliefs.worlds else {}
            assert all(share == Fraction(1, m) for share in shares.values())


def test_knowledge_of_every_kind():
    # Values that stay for good.
    releases = [
        [Group(("o1", "o2"), ("H", "F"))],
        [Group(("o1", "o3"), ("H", "F")), Group(("o2", "o4"), ("H", "C"))],
    ]
    stays = enumerate_worlds(releases, plausible=lambda person, own: own.get(0) != "H" or own.get(1, "H") == "H")
    assert stays.ever("o1", "H") == Fraction(3, 4)
    # Without knowledge, the survival product.
    assert enumerate_worlds(releases).ever("o1", "H") == 1 - half * half
    four = [Group(tuple("wxyz"), tuple("HFCG"))]
    assert enumerate_worlds([four, [Group(tuple("wxyz"), tuple("HABC"))]]).ever("w", "H") == Fraction(7, 16)
    assert enumerate_worlds([[Group(tuple("wxyz"), tuple("aabc"))]]).worlds == 12
    # Record ids: a record keeps its id, and a person is one record.
    rows = [
        [Group(("p0", "p1", "p2", "p3"), ((0, "b"), (1, "c"), (2, "c"), (3, "c")))],
        [Group(("p2", "p3"), ((2, "c"), (3, "b")))],
    ]
    followed = enumerate_worlds(rows, plausible=lambda person, own: len({number for number, _ in own.values()}) == 1)
    assert {value for _, value in followed.share("p2", 0)} == {"c"}
    assert followed.worlds == 4


def test_boxes_of_single_rows_over_two_projections():
    # One table, released with one column, then with the other; the boxes cover two worlds, a third fits too.
    people = {"a": "rx", "b": "ry", "c": "sy", "d": "sx", "e": "tz"}
    boxes = [["rt", "r", "s", "s", "rt"], ["xz", "y", "y", "x", "xz"]]
    values = [[(1,), (2,), (3,), (2,), (3,)]] * 2
    beliefs = enumerate_memberships(
        [list(people)] * 2,
        lambda t, person, row: people[person][t] in boxes[t][row],
        values,
        [[0] * 5] * 2,
        {person: {1: False} for person in people},
    )
    assert beliefs.worlds == 3
    assert beliefs.share("b", 0)[2] == Fraction(2, 3)


def test_long_series_without_knowledge_fall_apart():
    beliefs = enumerate_worlds([[Group(("p", "q"), ("a", "b"))]] * 60)
    assert beliefs.worlds == 2**60
    assert beliefs.ever("p", "a") == 1 - Fraction(1, 2**60)


def test_null_is_a_value():
    beliefs = enumerate_worlds([[Group(("p", "q"), (None, "b"))]] * 2, {"p": {1: True}})
    assert beliefs.worlds == 2
    assert beliefs.ever("p", None) == 1


@pytest.mark.parametrize(
    ("reason", "wrong"),
    [
        ("too large", lambda: enumerate_worlds([[Group(tuple(range(8)), tuple(range(8)))]], steps=100)),
        ("fewer rows", lambda: Group(("p", "q"), ("a",))),
        ("twice", lambda: Group(("p", "p"), ("a", "b"))),
        ("two groups", lambda: enumerate_worlds([[Group(("p",), ("a",)), Group(("p",), ("a",))]])),
        ("a change is known", lambda: enumerate_worlds([[Group(("p",), ("a",))]], {"p": {0: True}})),
        ("not in this release", lambda: enumerate_worlds([[Group(("p",), ("a",))], []]).share("p", 1)),
        ("in no release", lambda: enumerate_worlds([[Group(("p",), ("a",))]]).ever("q", "a")),
        ("not as many", lambda: enumerate_memberships([["p"]], anywhere, [[("a", "b")]], [[0]])),
        ("same releases", lambda: enumerate_memberships([["p"]], anywhere, [], [])),
        ("more counterfeits", lambda: enumerate_memberships([["p"]], anywhere, [[("a",), ("b", "c")]], [[2, 0]])),
        ("twice in one", lambda: enumerate_memberships([["p", "p"]], anywhere, [[("a", "b")]], [[0]])),
    ],
)
def test_what_cannot_be_enumerated_is_said(reason, wrong):
    with pytest.raises(ValueError, match=reason):
        wrong()
