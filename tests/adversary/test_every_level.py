"""Thousands of tiny series at each level of knowledge: beliefs are shares of worlds, and nothing certain is wrong.

``make test-slow`` tries 400 at each level; ``REVEIL_SERIES=5000`` in its environment tries as many, for some minutes.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from reveil.core import registry
from reveil.testing.beliefs import Group
from reveil.testing.worlds import enumerate_worlds
from tests.adversary.handmade import evidence_of

ONE_BY_ONE = ("homogeneity", "skewness", "intersection", "difference", "absence", "correspondence")
ATTACKS = (*ONE_BY_ONE, "tau")
LEVELS = ("nothing", "presence", "events", "ids")
SERIES = int(os.environ.get("REVEIL_SERIES", "400"))


def series_of(dice):
    """Draw, for each release, the persons' values and their groups."""
    persons = [f"p{n}" for n in range(dice.integers(2, 6))]
    series, last = [], {}
    for _ in range(dice.integers(1, 4)):
        here = [p for p in persons if dice.random() < 0.75] or persons[:1]
        for person in here:
            if person not in last or dice.random() < 0.25:
                last[person] = "abcd"[dice.integers(4)]
        marks = dice.integers(0, 2, len(here))
        groups = [tuple(p for p, m in zip(here, marks, strict=True) if m == mark) for mark in np.unique(marks)]
        series.append(({person: last[person] for person in here}, groups))
    return persons, series


def changes(series, numbers):
    """Return what is known of changes to somebody who sees only these releases."""
    told, last = {}, {}
    for t, number in enumerate(numbers):
        for person, value in series[number][0].items():
            if person in last:
                told.setdefault(person, {})[t] = last[person] != value
            last[person] = value
    return told


def evidence_at(level, persons, series, dice):
    """Return what somebody has who knows so much."""
    everybody = level == "nothing"
    present = [persons if everybody else list(values) for values, _ in series]
    where = [{p: g for g, group in enumerate(groups) for p in group} for _, groups in series]
    for own, (_, groups) in zip(where, series, strict=True):
        for person in persons if everybody else ():  # who is not there fits some group
            own.setdefault(person, int(dice.integers(len(groups))))
    values = [[tuple(of[p] for p in group) for group in groups] for of, groups in series]
    changed = changes(series, range(len(series))) if level in ("events", "ids") else None
    fakes = [[0] * len(groups) for _, groups in series]
    evidence = evidence_of(present, lambda t, p, g: where[t][p] == g, values, fakes, changed, known=level)
    codes = {value: code for code, value in enumerate(evidence.values.to_list())}
    views = []
    for view, (of, groups) in zip(evidence.views, series, strict=True):
        rows = [person for group in groups for person in group]
        truth = np.array([codes.get(of.get(p), -1) for p in present[view.number]], np.int32)
        views.append(
            replace(
                view,
                truth=truth,
                row_codes=np.array([codes[of[p]] for p in rows], np.int32),
                row_ids=pl.Series(rows, dtype=pl.String) if level == "ids" else None,
            )
        )
    return replace(evidence, views=tuple(views))


def shares_at(level, series, numbers, persons, evidence):
    """Return a function from person, place in ``numbers`` and value to the share of worlds, every world counted."""
    known = changes(series, numbers) if level in ("events", "ids") else None
    if level == "nothing":  # whoever fits a group may have any of its rows, or not be there; nothing links releases

        def share(person, place, value):
            view = evidence.views[numbers[place]]
            group = int(view.candidates[evidence.persons.to_list().index(person)][0])
            values = [series[numbers[place]][0][other] for other in series[numbers[place]][1][group]]
            return values.count(value) / int(view.fits[group])

        return share
    keyed = level == "ids"  # a row is a record and its value, and a person's record keeps its id

    def told(person, t):
        return (person, series[t][0][person]) if keyed else series[t][0][person]

    seen = [[Group(group, tuple(told(person, t) for person in group)) for group in series[t][1]] for t in numbers]
    same = (lambda _, own: len({row[0] for row in own.values()}) < 2) if keyed else None
    worlds = enumerate_worlds(seen, known, plausible=same)

    def share(person, place, value):
        own = worlds.share(person, place).items()
        return float(sum(part for row, part in own if (row[1] if keyed else row) == value))

    return share


def check(level, seed):
    """Compare what the attacks say of one series with all its worlds, and with the truth; return how much was exact."""
    dice = np.random.default_rng([seed, *level.encode()])
    persons, series = series_of(dice)
    evidence = evidence_at(level, persons, series, dice)
    shares, compared = {}, 0
    for name in ATTACKS:
        found = registry.find("attacks", name)().run(evidence, np.random.default_rng(0))
        for i in range(len(found.person)):
            # What tau concludes rests on the lives of everybody that anything connects: on all releases.
            numbers = tuple(t for t in range(len(series)) if name == "tau" or found.release_mask[i] >> t & 1)
            person = evidence.persons[int(found.person[i])]
            at = -1 if found.at is None else int(found.at[i])
            at = next((t for t in numbers if person in series[t][0]), -1) if at < 0 else at
            value = evidence.values[int(found.value[i])]
            said = (name, level, seed, person, at)
            if found.exact[i] and found.belief[i] >= 1:
                assert series[at][0].get(person) == value, said
            if at not in numbers or found.value[i] < 0:
                continue
            if numbers not in shares:
                shares[numbers] = shares_at(level, series, numbers, persons, evidence)
            share = shares[numbers](person, numbers.index(at), value)
            if found.exact[i]:
                assert found.belief[i] == pytest.approx(share), said
                compared += 1
            assert found.proven[i] <= share + 1e-9, said
    return compared


@pytest.mark.parametrize("level", LEVELS)
def test_beliefs_and_certainty(level):
    assert sum(check(level, seed) for seed in range(40)) > 0


@pytest.mark.slow
@pytest.mark.many
@pytest.mark.parametrize("level", LEVELS)
def test_beliefs_and_certainty_of_many(level):
    assert sum(check(level, seed) for seed in range(SERIES)) > SERIES // 5
