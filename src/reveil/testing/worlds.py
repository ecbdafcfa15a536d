"""All the possible worlds of a tiny series, counted exactly.

A world gives every person a value in every release that has them, so that the rows of every group can be the
members' (rows left over are counterfeits) and everything else that the adversary knows is true. Each world counts
once: which of two rows with equal values is whose makes no second world. The share of the worlds in which a person
has a value is what an adversary believes who finds all worlds equally likely (the *counted* grade).

Worlds are counted and never listed: the persons are taken one after the other, and what matters of those already
taken is only how many rows of each value are left in each group that somebody else still needs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import TYPE_CHECKING, Literal, TypeAlias

from reveil.testing.beliefs import Beliefs, Group, Person, Value, WorldPart

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

Changed: TypeAlias = "Mapping[Person, Mapping[int, bool]]"
Allowed: TypeAlias = "Callable[[Person, list[frozenset[Value]]], bool]"
Plausible: TypeAlias = "Callable[[Person, dict[int, Value]], bool]"
Appearance: TypeAlias = tuple[Person, int]  # a person in a release
Place: TypeAlias = tuple[int, int]  # a group: its release, its number in the release

STEPS = 1_000_000  # a few seconds


def enumerate_worlds(
    releases: Sequence[Sequence[Group]],
    changed: Changed | None = None,
    *,
    plausible: Plausible | None = None,
    steps: int = STEPS,
) -> Beliefs:
    """Count the worlds for an adversary who knows everybody's group in every release.

    ``changed[person][t]`` tells whether the person's value in release ``t`` (counted from 0) differs from the one in
    the last release before it that had the person; where nothing is given, nothing is known. ``plausible(person,
    {t: value})`` may tell more about a person's values over time: that a value stays for good, that it is not back;
    with (record id, value) as the values of the rows, that a record keeps its id.
    """
    appearances: dict[Appearance, tuple[int, ...]] = {}
    for t, groups in enumerate(releases):
        for g, group in enumerate(groups):
            for person in group.members:
                if (person, t) in appearances:
                    raise ValueError("a person is in two groups of one release")
                appearances[person, t] = (g,)
    rows = {(t, g): group.values for t, groups in enumerate(releases) for g, group in enumerate(groups)}
    room = {(t, g): len(group.members) for t, groups in enumerate(releases) for g, group in enumerate(groups)}
    return _Puzzle(appearances, rows, room, changed or {}, None, plausible).beliefs("values", steps)


def enumerate_memberships(
    present: Sequence[Sequence[Person]],
    fits: Callable[[int, Person, int], bool],
    releases_values: Sequence[Sequence[tuple[Value, ...]]],
    counterfeits: Sequence[Sequence[int]],
    changed: Changed | None = None,
    allowed: Allowed | None = None,
    *,
    plausible: Plausible | None = None,
    count: Literal["values", "pairs"] = "values",
    steps: int = STEPS,
) -> Beliefs:
    """Count the worlds for an adversary who knows who is in each release and whom each group's box admits.

    ``fits(t, person, g)`` tells whether the box of group ``g`` of release ``t`` holds the person; the group has the
    rows ``releases_values[t][g]``, of which ``counterfeits[t][g]`` are nobody's. Boxes of single rows are groups of
    one row. ``allowed(person, signatures)`` is asked for a person's sets of values, in the order of the releases,
    and keeps the memberships that the publisher's rule can make.

    With ``count="values"`` a world is who has which value when: it counts once, however many memberships allow it.
    With ``count="pairs"`` a world is that together with who is in which group. ``changed`` and ``plausible`` are
    those of :func:`enumerate_worlds`.
    """
    if not len(present) == len(releases_values) == len(counterfeits):
        raise ValueError("persons, values and counterfeits are not of the same releases")
    appearances: dict[Appearance, tuple[int, ...]] = {}
    for t, (persons, groups, fakes) in enumerate(zip(present, releases_values, counterfeits, strict=True)):
        if len(set(persons)) != len(persons):
            raise ValueError("a person is twice in one release")
        if len(groups) != len(fakes) or sum(map(len, groups)) - sum(fakes) != len(persons):
            raise ValueError("the rows without the counterfeits are not as many as the persons")
        for person in persons:
            appearances[person, t] = tuple(g for g in range(len(groups)) if fits(t, person, g))
    rows = {(t, g): values for t, groups in enumerate(releases_values) for g, values in enumerate(groups)}
    room = {(t, g): len(values) - counterfeits[t][g] for (t, g), values in rows.items()}
    if min(room.values(), default=0) < 0:
        raise ValueError("a group has more counterfeits than rows")
    return _Puzzle(appearances, rows, room, changed or {}, allowed, plausible).beliefs(count, steps)


def enumerate_members(
    persons: Sequence[Person], fits: Callable[[Person, int], bool], room: Sequence[int]
) -> Iterator[tuple[tuple[Person, ...], ...]]:
    """Yield all that whoever holds a release may think of who is in which group, where nobody knows who was left out.

    ``fits(person, g)`` tells whether the box of group ``g`` holds the person, and the group has ``room[g]`` rows that
    are somebody's. As many rows as possible are; persons who find no room were left out. Each of the possibilities is
    the members of all groups, as :class:`Group` takes them.
    """
    places = [[None, *(g for g in range(len(room)) if fits(person, g))] for person in persons]
    found: list[tuple[tuple[Person, ...], ...]] = []
    most = 0
    for chosen in product(*places):
        counts = Counter(g for g in chosen if g is not None)
        if any(counts[g] > room[g] for g in counts):
            continue
        if counts.total() > most:
            found, most = [], counts.total()
        if counts.total() == most:
            pairs = list(zip(persons, chosen, strict=True))
            found.append(tuple(tuple(p for p, group in pairs if group == g) for g in range(len(room))))
    yield from found


@dataclass(frozen=True)
class _Option:
    """Values that a person may have, and the things taken from the stock for that, one way or another."""

    values: tuple[Value, ...]
    demands: tuple[int, ...]


class _Stock:
    """What is left of many things, packed into one integer: a field for each thing, with a spare bit on top."""

    def __init__(self, counts: Mapping[Hashable, int]) -> None:
        self.width = max(counts.values(), default=0).bit_length() + 1
        self.place = {thing: self.width * n for n, thing in enumerate(counts)}
        self.full = sum(count << self.place[thing] for thing, count in counts.items())
        self.spare = sum(1 << (place + self.width - 1) for place in self.place.values())

    def one_of_each(self, things: Iterable[Hashable]) -> int:
        """Return a demand for one of each of these things."""
        return sum(1 << self.place[thing] for thing in things)

    def take(self, left: int, demand: int) -> int | None:
        """Return what is left after a demand, None if there is not enough."""
        # A field that has nothing to give borrows its own spare bit and never touches its neighbour.
        rest = (left | self.spare) - demand
        return rest ^ self.spare if rest & self.spare == self.spare else None

    def only(self, left: int, demanded: int) -> int:
        """Forget of what is left all that is not among the things demanded."""
        return left & (demanded * ((1 << self.width) - 1))


class _Puzzle:
    """What was published and is known, and the worlds that are consistent with it.

    ``appearances`` has the groups in which each person may be in each release, ``rows`` the values of each group and
    ``room`` how many of its rows are persons'.
    """

    def __init__(
        self,
        appearances: Mapping[Appearance, tuple[int, ...]],
        rows: Mapping[Place, tuple[Value, ...]],
        room: Mapping[Place, int],
        changed: Changed,
        allowed: Allowed | None,
        plausible: Plausible | None,
    ) -> None:
        self.appearances, self.room, self.changed, self.allowed, self.plausible = (
            appearances,
            room,
            changed,
            allowed,
            plausible,
        )
        self.rows = {place: Counter(values) for place, values in rows.items()}
        self.attendance: dict[Person, list[int]] = {}
        for person, t in appearances:
            self.attendance.setdefault(person, []).append(t)
        for person, told in changed.items():
            if not set(told) <= set(self.attendance.get(person, [])[1:]):
                raise ValueError("a change is known of a person who is not in that release, or in none before it")

    def beliefs(self, count: str, steps: int) -> Beliefs:
        """Count all the worlds."""
        budget = _Budget(steps)
        parts: dict[Person, list[WorldPart]] = {person: [] for person in self.attendance}
        totals = []
        for appearances, places in self.components():
            total, found = self.solve(appearances, places, count, budget)
            totals.append(total)
            for person, part in found.items():
                parts[person].append(part)
        return Beliefs(prod(totals), parts)

    def components(self) -> list[tuple[list[Appearance], list[Place]]]:
        """Return appearances and groups, those together that a membership or knowledge over time connects."""
        parent: dict[Hashable, Hashable] = {
            node: node for node in (*self.appearances, *(("group", *p) for p in self.rows))
        }

        def root(node: Hashable) -> Hashable:
            while parent[node] != node:
                node = parent[node]
            return node

        for (person, t), groups in self.appearances.items():
            for g in groups:
                parent[root(("group", t, g))] = root((person, t))
        for person, times in self.attendance.items():
            for before, t in pairwise(times):
                if self.allowed or self.plausible or t in self.changed.get(person, {}):
                    parent[root((person, t))] = root((person, before))
        together: dict[Hashable, tuple[list[Appearance], list[Place]]] = {}
        for appearance in self.appearances:
            together.setdefault(root(appearance), ([], []))[0].append(appearance)
        for place in self.rows:
            together.setdefault(root(("group", *place)), ([], []))[1].append(place)
        return list(together.values())

    def solve(
        self, appearances: list[Appearance], places: list[Place], count: str, budget: _Budget
    ) -> tuple[int, dict[Person, WorldPart]]:
        """Count the worlds of one component, and for each person those with each sequence of values."""
        times: dict[Person, tuple[int, ...]] = {}
        for person, t in appearances:
            times[person] = (*times.get(person, ()), t)
        filled = Counter(t for _, t in appearances)
        for t, g in places:
            filled[t] -= self.room[t, g]
        if any(filled.values()):
            return 0, {person: WorldPart(seen, 0, {}) for person, seen in times.items()}
        things = {("row", *place, value): n for place in places for value, n in self.rows[place].items()}
        stock = _Stock(things | {("room", *place): self.room[place] for place in places})
        order = self.ordered(times)
        options = [self.options(person, times[person], stock, count, budget) for person in order]
        total, tallies = _count(stock, options, budget)
        return total, {p: WorldPart(times[p], total, tally) for p, tally in zip(order, tallies, strict=True)}

    def ordered(self, times: Mapping[Person, tuple[int, ...]]) -> list[Person]:
        """Order the persons so that each opens few groups that no earlier one has opened: less has to be kept."""
        groups = {person: {(t, g) for t in seen for g in self.appearances[person, t]} for person, seen in times.items()}
        opened: set[Place] = set()
        order: list[Person] = []
        while groups:
            person = min(groups, key=lambda p: len(groups[p] - opened))
            opened |= groups.pop(person)
            order.append(person)
        return order

    def options(
        self, person: Person, times: tuple[int, ...], stock: _Stock, count: str, budget: _Budget
    ) -> list[_Option]:
        """Return all that a person's values may be, as far as that can be told from the person alone."""
        ways: list[tuple[tuple[int, ...], tuple[Value, ...]]] = [((), ())]
        for t in times:
            differs = self.changed.get(person, {}).get(t)
            ways = [
                ((*groups, g), (*values, value))
                for groups, values in ways
                for g in self.appearances[person, t]
                for value in self.rows[t, g]
                if differs is None or (value != values[-1]) == differs
            ]
            budget.spend(len(ways))
        found: dict[tuple[Value, ...], list[int]] = {}
        for groups, values in ways:
            if self.allowed and not self.allowed(
                person, [frozenset(self.rows[place]) for place in zip(times, groups, strict=True)]
            ):
                continue
            if self.plausible and not self.plausible(person, dict(zip(times, values, strict=True))):
                continue
            taken = list(zip(times, groups, values, strict=True))
            demand = stock.one_of_each([("row", *row) for row in taken] + [("room", t, g) for t, g, _ in taken])
            found.setdefault(values, []).append(demand)
        if count == "pairs":
            return [_Option(values, (demand,)) for values, demands in found.items() for demand in demands]
        return [_Option(values, tuple(demands)) for values, demands in found.items()]


class _Budget:
    """Steps that may be taken before an enumeration is given up."""

    def __init__(self, steps: int) -> None:
        self.most = self.left = steps

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise ValueError(f"the series is too large to enumerate: more than {self.most:,} steps; raise steps=")


def _count(
    stock: _Stock, options: list[list[_Option]], budget: _Budget
) -> tuple[int, list[Counter[tuple[Value, ...]]]]:
    """Count the ways to choose one option for each person from the stock, and those ways by each person's values.

    A state is the set of all that may be left after the choices so far: a set, because the same values may be taken
    in several ways and still are one world.
    """
    later = [0]
    for choices in reversed(options):
        demanded = later[-1]
        for option in choices:
            for demand in option.demands:
                demanded |= demand
        later.append(demanded)
    later.reverse()

    layers: list[Counter[frozenset[int]]] = [Counter({frozenset([stock.full]): 1})]
    moves: list[list[tuple[frozenset[int], tuple[Value, ...], frozenset[int]]]] = []
    for choices, needed in zip(options, later[1:], strict=True):
        layer: Counter[frozenset[int]] = Counter()
        moves.append([])
        for state, ways in layers[-1].items():
            for option in choices:
                budget.spend(len(state) * len(option.demands))
                tried = (stock.take(left, demand) for left in state for demand in option.demands)
                after = frozenset(stock.only(left, needed) for left in tried if left is not None)
                if after:
                    layer[after] += ways
                    moves[-1].append((state, option.values, after))
        layers.append(layer)

    tallies: list[Counter[tuple[Value, ...]]] = []
    onward: Counter[frozenset[int]] = Counter(dict.fromkeys(layers[-1], 1))
    for layer, steps in zip(layers[-2::-1], moves[::-1], strict=True):
        before: Counter[frozenset[int]] = Counter()
        tally: Counter[tuple[Value, ...]] = Counter()
        for state, values, after in steps:
            if onward[after]:
                before[state] += onward[after]
                tally[values] += layer[state] * onward[after]
        tallies.append(tally)
        onward = before
    return sum(layers[-1].values()), tallies[::-1]
