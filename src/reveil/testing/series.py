"""Hypothesis strategies: small series of snapshots in which everything happens that happens to people.

They are inserted, stay, leave, come back with the same or another value, move, grow older, fall ill otherwise.
Columns with a single value, ties and nulls occur, and snapshots with one person.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import polars as pl
from hypothesis import strategies as st

from reveil.tables.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

Person: TypeAlias = "Hashable"  # an integer or a text
Value: TypeAlias = "Hashable"

PERSON, SENSITIVE = "pid", "disease"
QUASI: Mapping[str, Sequence[Value]] = MappingProxyType(
    {"age": tuple(range(20, 28)), "town": ("Ash", "Birk", "Corn", "Dale")}
)


def schema(quasi: Collection[str] = tuple(QUASI), *, domain: Sequence[Value] | None = None) -> Schema:
    """Return the schema of the snapshots. ``domain``: declare these sensitive values, in this order."""
    orders = {} if domain is None else {SENSITIVE: tuple(domain)}
    return Schema(person=PERSON, quasi=tuple(quasi), sensitive=SENSITIVE, orders=orders)


def histories(
    max_persons: int = 6,
    max_releases: int = 4,
    values: Sequence[Value] = "abcdefg",
    quasi: Mapping[str, Sequence[Value]] = QUASI,
    *,
    returns: bool = True,
    changes: bool = True,
    nulls: Collection[str] = (*QUASI, SENSITIVE),
    min_releases: int = 1,
) -> st.SearchStrategy[list[pl.DataFrame]]:
    """Draw the snapshots of a series, each with one person or more.

    ``quasi`` has the values of each quasi column. Without ``returns`` whoever leaves stays away, without ``changes``
    a person's sensitive value is always the same. ``nulls`` names the columns in which values may be missing.

    The simplest series is one person who stays with the first of all values; counterexamples shrink towards it.
    """
    columns = {**quasi, SENSITIVE: values}
    steps = max_releases - 1
    cells = [_room(len(column) + 1) for column in columns.values()]
    # Few numbers for each person: hypothesis takes at most five neighbouring ones at once out of a counterexample.
    # Each has the first cells in its lowest digits and what happens above them, so that less is a quieter life.
    life = st.builds(
        _Life,
        here=st.sampled_from(_attendances(max_releases, returns=returns)),
        quasi=_digits([*cells[:-1], *[_room(2 * len(quasi))] * steps]),
        value=_digits([cells[-1], *[2 * cells[-1] if changes else 1] * steps]),
    )
    plan = st.builds(
        _Plan,
        releases=st.integers(min_releases, max_releases),
        text=st.booleans(),
        backwards=st.booleans(),
        pools=st.tuples(*(_pool(column, nulls=name in nulls) for name, column in columns.items())),
        lives=st.lists(life, min_size=1, max_size=max_persons),
    )
    return _snapshots(plan, {name: pl.Series([*column]).dtype for name, column in columns.items()})


def changed(
    snapshots: Sequence[pl.DataFrame], published: Sequence[Collection[Person]] | None = None
) -> dict[Person, dict[int, bool]]:
    """Return whether each person's value differs from the one before, for every snapshot but the person's first.

    ``published``: count only the persons who were really in each release, not those who rested or were held back.
    """
    told: dict[Person, dict[int, bool]] = {}
    last: dict[Person, Value] = {}
    for t, table in enumerate(truth(snapshots)):
        for person, value in table.items():
            if published is not None and person not in published[t]:
                continue
            of_person = told.setdefault(person, {})
            if person in last:
                of_person[t] = value != last[person]
            last[person] = value
    return told


def present(snapshots: Sequence[pl.DataFrame]) -> list[list[Person]]:
    """Return the persons of each snapshot."""
    return [snapshot[PERSON].to_list() for snapshot in snapshots]


def truth(snapshots: Sequence[pl.DataFrame]) -> list[dict[Person, Value]]:
    """Return the sensitive value of each person of each snapshot."""
    return [dict(snapshot.select(PERSON, SENSITIVE).iter_rows()) for snapshot in snapshots]


@dataclass(frozen=True)
class _Life:
    """One person in numbers. Numbers of cells are wrapped to the values that the column has."""

    here: tuple[bool, ...]
    quasi: list[int]  # the first cell of each column; for each step, from 1, the column that moves on to its next cell
    value: list[int]  # the first cell; for each step, from 1, the next cell

    def rows(self, pools: Sequence[Sequence[Value]]) -> list[tuple[Value, ...]]:
        """Return the cells in each release, whether the person is there or not."""
        width = len(pools) - 1
        numbers = [*self.quasi[:width], self.value[0]]
        rows = []
        # Other numbers for a step say that nothing happens: most people stay most of the time.
        for moves, news in zip([0, *self.quasi[width:]], [0, *self.value[1:]], strict=True):
            if 0 < moves <= width:
                numbers[moves - 1] += 1
            if 0 < news <= len(pools[-1]):
                numbers[-1] = news - 1
            rows.append(tuple(pool[number % len(pool)] for pool, number in zip(pools, numbers, strict=True)))
        return rows


@dataclass(frozen=True)
class _Plan:
    """A series in numbers."""

    releases: int
    text: bool
    backwards: bool
    pools: tuple[list[Value], ...]
    lives: list[_Life]


@st.composite
def _snapshots(
    draw: st.DrawFn, plans: st.SearchStrategy[_Plan], types: Mapping[str, pl.DataType]
) -> list[pl.DataFrame]:
    """Draw a plan and carry it out. (Mapped, a counterexample would be shown as the plan, not as the frames.)"""
    plan = draw(plans)
    here = [list(life.here[: plan.releases]) for life in plan.lives]
    _leave_none_empty(here)
    ids = [f"p{n}" if plan.text else n for n in range(1, len(here) + 1)]
    people = [life.rows(plan.pools) for life in plan.lives]
    kinds = {PERSON: pl.String() if plan.text else pl.Int64(), **types}
    snapshots = []
    for t in range(plan.releases):
        rows = [(person, *times[t]) for person, times, there in zip(ids, people, here, strict=True) if there[t]]
        cells = zip(*rows[:: -1 if plan.backwards else 1], strict=True)
        snapshots.append(pl.DataFrame([pl.Series(n, c, k) for (n, k), c in zip(kinds.items(), cells, strict=True)]))
    return snapshots


def _room(numbers: int) -> int:
    """Return a power of two with room for so many numbers: what happens moves in time when bits are shifted."""
    return 1 << (numbers - 1).bit_length()


def _digits(bases: Sequence[int]) -> st.SearchStrategy[list[int]]:
    """Draw digits, the lowest first, as one number."""

    def digits(number: int) -> list[int]:
        found = []
        for base in bases:
            number, digit = divmod(number, base)
            found.append(digit)
        return found

    return st.integers(0, prod(bases) - 1).map(digits)


def _pool(column: Sequence[Value], *, nulls: bool) -> st.SearchStrategy[list[Value]]:
    """Draw which values a column has at all: sometimes one, sometimes null among them."""
    full = [list(column[:size]) for size in range(1, len(column) + 1)]
    return st.sampled_from([*full, *([*values, None] for values in full if nulls)])


def _attendances(releases: int, *, returns: bool) -> list[tuple[bool, ...]]:
    """Return who may be there when: from some release to some other, perhaps with a gap; half of them always."""
    found = {
        tuple(start <= t < end and not left <= t < back for t in range(releases))
        for start, left, back, end in combinations_with_replacement(range(releases + 1), 4)
        if returns or left == back
    }
    simplest = sorted((here for here in found if any(here)), key=lambda here: [not there for there in here[::-1]])
    return [simplest[0]] * len(simplest) + simplest[1:]


def _leave_none_empty(here: list[list[bool]]) -> None:
    """Put somebody into the snapshots that have nobody, so that nobody comes back for that reason.

    A series that begins without anybody gets its first person earlier, one that loses everybody keeps somebody.
    """
    first = here[0]
    if not any(times[0] for times in here):
        start = first.index(True) if any(first) else 1
        first[:start] = [True] * start
    for t in range(1, len(first)):
        if not any(times[t] for times in here):
            next(times for times in here if times[t - 1])[t] = True
