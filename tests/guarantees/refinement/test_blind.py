"""Exact Bayes over all tables of a few persons: blind refinement tells no more than the shares of a cell."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import polars as pl
import pytest

import reveil as rv
from reveil.core.randomness import Dice
from tests.guarantees.plain_book import PlainSeries

SCHEMA = rv.Schema(person="pid", quasi=("age",), sensitive="disease")
PEOPLE = 5


def published(guarantee: rv.Refinement, values: tuple[str, ...], rounds: list[list[int]]) -> tuple[object, ...]:
    """Return all that a series shows to somebody who knows who is where, and all dice: groups and their values."""
    series = PlainSeries(SCHEMA, guarantee, check=False)
    seen = []
    for people in rounds:
        frame = pl.DataFrame({"pid": people, "age": [20 + p for p in people], "disease": [values[p] for p in people]})
        try:
            prepared = series.publish(frame, Dice.of_seed(3))
        except rv.InfeasibleError:
            seen.append("nobody")
            continue
        told = prepared.release.table["disease"].to_list()
        groups = defaultdict(list)
        for person, (row, group) in series.placed(prepared, people).items():
            groups[group].append((person, told[row]))
        seen.append(
            frozenset(
                (frozenset(p for p, _ in members), tuple(sorted(v for _, v in members))) for members in groups.values()
            )
        )
    return tuple(seen)


def surprises(guarantee: rv.Refinement, rounds: list[list[int]], letters: str) -> int:
    """Count beliefs that differ from the shares of a cell, over all tables and all that they can show."""
    tables = defaultdict(list)
    for values in product(letters, repeat=PEOPLE):
        tables[published(guarantee, values, rounds)].append(values)
    found = 0
    for seen, possible in tables.items():
        if "nobody" in seen:
            continue
        cells = defaultdict(list)
        for person in range(PEOPLE):
            own = [next((members for members, _ in groups if person in members), None) for groups in seen]
            cells[tuple(own)].append(person)
        for groups, cell in cells.items():
            if not any(groups):
                continue
            for person, value in product(cell, letters):
                belief = Fraction(sum(values[person] == value for values in possible), len(possible))
                counts = {Counter(values[p] for p in cell)[value] for values in possible}
                found += counts != {belief * len(cell)}
    return found


ROUNDS = [[0, 1, 2, 3, 4], [0, 1, 2, 3]]


def test_blind_cells_tell_their_shares_and_nothing_else() -> None:
    assert not surprises(rv.Refinement(k=2, l=2, blind=True, slack=1), ROUNDS, "ab")


@pytest.mark.slow
def test_blind_cells_of_three_values_tell_their_shares() -> None:
    assert not surprises(rv.Refinement(k=2, l=2, blind=True, slack=1), ROUNDS[:1], "abc")


@pytest.mark.slow
def test_counted_cells_tell_more() -> None:
    # Five people with a, a, a, b, c are not cut in two and three: then the two have a and a, or b and c.
    assert surprises(rv.Refinement(k=2, l=2, slack=1), ROUNDS[:1], "abc")


@pytest.mark.parametrize("settings", [{"t": 0.2, "k": 2}, {"t": {"disease": 0.3}}])
def test_closeness_cannot_be_blind(settings: dict[str, object]) -> None:
    with pytest.raises(rv.ConfigError, match="without looking at who has which value"):
        rv.Refinement(blind=True, **settings)


def test_gain_cannot_be_blind() -> None:
    with pytest.raises(rv.ConfigError, match="gain"):
        rv.Refinement(k=2, l=2, blind=True).check(SCHEMA, rv.Mondrian(choose="gain"))
