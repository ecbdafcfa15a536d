"""Somebody who follows records and knows who was in the table when: all ways to give the rows of a cell to people."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import permutations

import polars as pl
import pytest

import reveil as rv
from tests.guarantees.plain_book import PlainSeries
from tests.guarantees.refinement.plain_cells import Told

SCHEMA = rv.Schema(person="pid", quasi=("age",), sensitive="disease")
PEOPLE = 6


def published(seed: int, guarantee: rv.Refinement) -> Told:
    """Publish a random series of six people who come and go and change."""
    dice = random.Random(seed)  # noqa: S311
    value = {p: dice.choice("abcdef") for p in range(PEOPLE)}
    series, told = PlainSeries(SCHEMA, guarantee, seed), Told()
    for time in range(4):
        people = [p for p in range(PEOPLE) if not time or dice.random() < 0.75]
        for person in people if time else []:
            value[person] = dice.choice("abcdef") if dice.random() < 0.3 else value[person]
        frame = pl.DataFrame({"pid": people, "age": [30] * len(people), "disease": [value[p] for p in people]})
        try:
            prepared = series.publish(frame)
        except rv.RefusedError:
            continue
        told.add(prepared.release, series.placed(prepared, people), people)
    return told


def highest_belief(told: Told) -> Fraction:
    """Return the largest share of the ways in which a person has a value, over all persons, releases and values."""
    worst = Fraction(0)
    for cell in told.cells():
        times = [t for t, own in enumerate(told.releases) if cell[0] in own]
        rows = {p: [told.releases[t][p][1] for t in times] for p in cell}
        # Who was not in the table has a row that did not change then.
        away = {p: [i for i, t in enumerate(times) if p not in told.asked[t] and i] for p in cell}
        beliefs: Counter[tuple[object, int, object]] = Counter()
        ways = 0
        for order in permutations(cell):
            given = dict(zip(cell, order, strict=True))
            if all(rows[given[p]][i] == rows[given[p]][i - 1] for p in cell for i in away[p]):
                ways += 1
                beliefs.update((p, i, rows[given[p]][i]) for p in cell for i in range(len(times)))
        worst = max([worst, *(Fraction(n, ways) for n in beliefs.values())])
    return worst


@pytest.mark.parametrize("seed", range(12))
def test_whoever_knows_who_left_believes_no_more_than_the_bound(seed: int) -> None:
    told = published(seed, rv.Refinement(k=2, l=2, diversity="frequency", slack=1))
    assert highest_belief(told) <= Fraction(1, 2)
