"""What an attack calls exact or certain, against all possible worlds of tiny series."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reveil as rv
from reveil.adversary.gathering import gather
from reveil.core import registry
from reveil.testing.worlds import enumerate_memberships, enumerate_worlds
from tests.adversary.tables import SCHEMA, as_groups, publish, snapshot

VALUES = "abcd"
ATTACKS = ("homogeneity", "skewness", "intersection", "difference", "absence", "correspondence")


@st.composite
def published(draw, max_persons=5, max_releases=3):
    """Draw, for each release, the persons' values and their groups."""
    persons = [f"p{n}" for n in range(draw(st.integers(2, max_persons)))]
    series, last = [], {}
    for _ in range(draw(st.integers(2, max_releases))):
        here = draw(st.lists(st.sampled_from(persons), min_size=1, unique=True))
        for person in here:
            if person not in last or draw(st.integers(0, 3)) == 0:
                last[person] = draw(st.sampled_from(VALUES))
        marks = [draw(st.integers(0, 1)) for _ in here]
        groups = [tuple(p for p, m in zip(here, marks, strict=True) if m == mark) for mark in set(marks)]
        series.append(({person: last[person] for person in here}, groups))
    return series


def changes(series, numbers):
    """Return what is known of changes to somebody who sees only these releases."""
    told, last = {}, {}
    for t, number in enumerate(numbers):
        for person, value in series[number][0].items():
            if person in last:
                told.setdefault(person, {})[t] = last[person] != value
            last[person] = value
    return told


def gathered(series, known="events"):
    releases = [publish(values, groups) for values, groups in series]
    return gather(releases, SCHEMA, truth=[snapshot(values) for values, _ in series], known=known)


def run(name, evidence):
    return registry.find("attacks", name)().run(evidence, np.random.default_rng(0))


@given(published())
@settings(max_examples=40, deadline=None)
def test_exact_is_the_share_of_worlds_and_bounds_hold(series):
    evidence = gathered(series)
    assert all(view.known_members.all() for view in evidence.views)
    worlds = {}
    for name in ATTACKS:
        found = run(name, evidence)
        for i in range(len(found.person)):
            numbers = tuple(t for t in range(len(series)) if found.release_mask[i] >> t & 1)
            if numbers not in worlds:
                seen = [as_groups(*series[t]) for t in numbers]
                worlds[numbers] = enumerate_worlds(seen, changes(series, numbers))
            person = evidence.persons[int(found.person[i])]
            at = -1 if found.at is None else int(found.at[i])
            at = next(t for t in numbers if person in series[t][0]) if at < 0 else at
            if at not in numbers:
                continue  # a value that is known not to have changed since
            share = worlds[numbers].share(person, numbers.index(at)).get(evidence.values[int(found.value[i])], 0)
            if found.exact[i]:
                assert found.belief[i] == pytest.approx(float(share)), (name, numbers)
            assert found.proven[i] <= float(share) + 1e-9, (name, numbers)


@given(published())
@settings(max_examples=40, deadline=None)
def test_serial_is_the_share_of_worlds_in_which_a_value_was_ever_had(series):
    evidence = gathered(series, "presence")
    worlds = enumerate_worlds([as_groups(*own) for own in series])
    found = run("serial", evidence)
    assert found.exact.all()
    for who, belief, value in zip(found.person, found.belief, found.value, strict=True):
        person = evidence.persons[int(who)]
        assert belief == pytest.approx(float(worlds.ever(person, evidence.values[int(value)])))


@st.composite
def overlapping(draw):
    """Draw releases whose boxes overlap: persons on a line, groups with intervals around their members."""
    n = draw(st.integers(2, 5))
    values, series = [draw(st.sampled_from(VALUES)) for _ in range(n)], []
    for _ in range(draw(st.integers(1, 2))):
        here = draw(st.lists(st.integers(0, n - 1), min_size=1, unique=True))
        marks = [draw(st.integers(0, 2)) for _ in here]
        groups = [[p for p, m in zip(here, marks, strict=True) if m == mark] for mark in sorted(set(marks))]
        series.append((here, groups))
        values = [draw(st.sampled_from(VALUES)) if draw(st.integers(0, 4)) == 0 else own for own in values]
        series[-1] = (here, groups, list(values))
    return series


@given(overlapping())
@settings(max_examples=40, deadline=None)
def test_certain_is_certain_where_boxes_overlap(series):
    schema = rv.Schema(person="pid", quasi="x", sensitive="disease")
    frames = [
        pl.DataFrame({"pid": [f"p{p}" for p in here], "x": here, "disease": [v[p] for p in here]})
        for here, _, v in series
    ]
    releases = [
        pl.DataFrame(
            [(f"[{min(g)}, {max(g)}]", v[p]) for g in groups for p in g], schema=["x", "disease"], orient="row"
        )
        for _, groups, v in series
    ]
    # Groups with equal boxes are one group to a reader.
    seen = []
    for _, groups, v in series:
        boxes = {}
        for group in groups:
            boxes.setdefault((min(group), max(group)), []).extend(v[p] for p in group)
        seen.append(boxes)
    evidence = gather(releases, schema, truth=frames, known="events")
    worlds = enumerate_memberships(
        [here for here, _, _ in series],
        lambda t, person, g: list(seen[t])[g][0] <= person <= list(seen[t])[g][1],
        [[tuple(own) for own in boxes.values()] for boxes in seen],
        [[0] * len(boxes) for boxes in seen],
        _changed(series),
    )
    for name in ATTACKS:
        found = run(name, evidence)
        for i in np.flatnonzero(found.exact & (found.belief >= 1)):
            person = int(evidence.persons[int(found.person[i])][1:])
            numbers = [t for t in range(len(series)) if found.release_mask[i] >> t & 1]
            at = -1 if found.at is None else int(found.at[i])
            at = next(t for t in numbers if person in series[t][0]) if at < 0 else at
            assert worlds.share(person, at) == {evidence.values[int(found.value[i])]: 1}, name


def _changed(series):
    told, last = {}, {}
    for t, (here, _, values) in enumerate(series):
        for person in here:
            if person in last:
                told.setdefault(person, {})[t] = last[person] != values[person]
            last[person] = values[person]
    return told
