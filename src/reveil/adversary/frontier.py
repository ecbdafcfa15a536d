"""Worlds of larger pieces, counted without listing them: person by person, remembering only what is still open.

The persons of a component are placed one after another. What the placed ones leave to the others is how often each row
of a group that is still open was taken; everything else about them can be forgotten. So the ways to get to each such
state are added up from the front, those to go on from it from the back, and the worlds in which a person takes an
option are the products of both. Numbers are Python's integers: nothing is rounded. The cost is that of the states,
which are few where groups hang together in chains, and may be too many elsewhere: then the component is given up.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from reveil.adversary.appearances import Appearances
    from reveil.core.kernels.worlds import Lives, Options

STEPS = 300_000  # for one component
MOST_OPTIONS = 500  # of one person over all their appearances
State = tuple[int, ...]


class LifeOptions(NamedTuple):
    """What one person may take: an option for each of their appearances, and how often each thing is used by it."""

    options: tuple[int, ...]
    uses: dict[int, int]


@dataclass
class Allowance:
    """How many more steps may be made, over all components."""

    steps: int


class LaidOut(Protocol):
    """What is counted: what each person may take, and how much there is of everything."""

    room: dict[int, int]
    choices: list[list[LifeOptions]]


class Component:
    """One component: its persons, what each may take, and how much there is of everything."""

    def __init__(self, members: list[int], given: Options, lives: Lives, appearances: Appearances) -> None:
        self.given, self.lives, self.appearances = given, lives, appearances
        self.room: dict[int, int] = {}
        by_person: dict[int, list[int]] = defaultdict(list)
        for member in members:
            by_person[int(appearances.person[member])].append(member)
        self.persons = list(by_person.values())
        self.choices: list[list[LifeOptions]] = []

    def lay_out(self) -> bool:
        """List what everybody may take; False where that is too much."""
        for person_things in self.persons:
            chosen: list[tuple[int, ...]] = [()]
            for place, member in enumerate(person_things):
                more = range(int(self.given.first[member]), int(self.given.first[member + 1]))
                chosen = [
                    (*so_far, o) for so_far in chosen for o in more if self._fits(person_things, place, so_far, o)
                ]
                if len(chosen) > MOST_OPTIONS:
                    return False
            self.choices.append([LifeOptions(options, self._uses(options)) for options in chosen])
        return True

    def _fits(self, things: list[int], place: int, so_far: tuple[int, ...], option: int) -> bool:
        """Return whether an option agrees with what is known of the life so far."""
        member, value, group = things[place], self.given.value, self.given.group
        earlier = dict(zip(things, so_far, strict=False))
        j = int(self.lives.before[member])
        if j in earlier:
            same = int(value[earlier[j]]) == int(value[option])
            if (self.lives.changed[member] == 0 and not same) or (self.lives.changed[member] == 1 and same):
                return False
        first = True
        while j >= 0:
            bound = j in earlier and (self.lives.everywhere or (bool(self.lives.kept[member]) and first))
            if bound and not self._together(int(group[option]), int(group[earlier[j]])):
                return False
            first, j = False, int(self.lives.before[j])
        return True

    def _together(self, one: int, other: int) -> bool:
        sets = self.lives.sets
        if bool((sets[one] == sets[other]).all()):
            return True
        return bool(self.lives.everywhere) and not bool((sets[one] & sets[other]).any())

    def _uses(self, options: tuple[int, ...]) -> dict[int, int]:
        """Count the rows and the room that options take; room is numbered below zero."""
        uses: dict[int, int] = defaultdict(int)
        for option in options:
            row, group = int(self.given.row[option]), int(self.given.group[option])
            uses[row] += 1
            uses[-1 - group] += 1
            self.room[row], self.room[-1 - group] = int(self.appearances.counts[row]), int(self.appearances.room[group])
        return dict(uses)


def count(component: LaidOut, allowed: Allowance) -> tuple[int, dict[int, int]] | None:
    """Return how many worlds there are, and in how many each option is taken; None where it takes too long."""
    order = _order(component)
    choices = [component.choices[person] for person in order]
    last: dict[int, int] = {}
    for place, options in enumerate(choices):
        for choice in options:
            last.update(dict.fromkeys(choice.uses, place))
    # What is open before each person: used by somebody earlier, and wanted by them or somebody later.
    opened: list[list[int]] = [[]]
    for place, options in enumerate(choices):
        seen = set(opened[-1]) | {thing for choice in options for thing in choice.uses}
        opened.append(sorted(thing for thing in seen if last[thing] > place))
    forward = _forward(component, choices, opened, allowed)
    if forward is None:
        return None
    total = sum(forward[-1].values())
    taken: dict[int, int] = defaultdict(int)
    backward: dict[State, int] = dict.fromkeys(forward[-1], 1)
    for place in range(len(choices) - 1, -1, -1):
        before: dict[State, int] = defaultdict(int)
        for state, ways in forward[place].items():
            for choice in choices[place]:
                after = _after(state, choice, opened[place], opened[place + 1], component.room)
                on = 0 if after is None else backward.get(after, 0)
                if on:
                    before[state] += on
                    for option in choice.options:
                        taken[option] += ways * on
        backward = dict(before)
    return total, dict(taken)


def _forward(
    component: LaidOut, choices: list[list[LifeOptions]], opened: list[list[int]], allowed: Allowance
) -> list[dict[State, int]] | None:
    """Return the states before each person with the ways to get there; None where they are too many."""
    forward: list[dict[State, int]] = [{(): 1}]
    left = STEPS
    for place, options in enumerate(choices):
        layer: dict[State, int] = defaultdict(int)
        cost = len(forward[-1]) * max(len(options), 1)
        allowed.steps -= cost
        left -= cost
        if left < 0 or allowed.steps < 0:
            return None
        for state, ways in forward[-1].items():
            for choice in options:
                after = _after(state, choice, opened[place], opened[place + 1], component.room)
                if after is not None:
                    layer[after] += ways
        forward.append(dict(layer))
    return forward


def _after(state: State, choice: LifeOptions, before: list[int], now: list[int], room: dict[int, int]) -> State | None:
    """Return what is used once somebody took their choice; None where there is not enough."""
    used = dict(zip(before, state, strict=True))
    for thing, many in choice.uses.items():
        used[thing] = used.get(thing, 0) + many
        if used[thing] > room[thing]:
            return None
    return tuple(used.get(thing, 0) for thing in now)


def _order(component: LaidOut) -> list[int]:
    """Place next who opens the fewest new things and closes the most: few things are open at a time then."""
    wanted = [{thing for choice in options for thing in choice.uses} for options in component.choices]
    waiting: dict[int, int] = defaultdict(int)
    for things in wanted:
        for thing in things:
            waiting[thing] += 1
    rest, order = set(range(len(wanted))), []
    opened: set[int] = set()
    while rest:
        best = min(
            rest, key=lambda p: (len(wanted[p] - opened) - sum(waiting[t] == 1 for t in wanted[p]), len(wanted[p]), p)
        )
        rest.remove(best)
        order.append(best)
        opened |= wanted[best]
        for thing in wanted[best]:
            waiting[thing] -= 1
    return order


def pieces(starts: list[int], members: list[int]) -> list[list[int]]:
    """Return the members of each component, which begins at each start."""
    return [members[begin:end] for begin, end in pairwise(starts)]
