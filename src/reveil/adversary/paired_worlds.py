"""Worlds of two sensitive columns at once, in which only some pairs of values occur.

A world gives everybody a group and a value in both columns, in every release that tells them. Pieces that hang together
through groups, lives or pairs are counted as by :mod:`reveil.adversary.frontier`: what a person may take is then a life
in one column together with one in the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reveil.adversary import frontier
from reveil.adversary.chains import narrowed
from reveil.adversary.world_options import WorldOptions, known_lives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.adversary.appearances import Appearances, BitArray
    from reveil.adversary.chains import Possible
    from reveil.core.arrays import BoolArray, CodeArray, IntArray

FloatArray = npt.NDArray[np.float64]

PERSONS = 40  # of a piece whose worlds are counted
STATES = 2_000_000  # steps over all pieces


@dataclass(frozen=True, repr=False)
class Side:
    """One column: its appearances, the candidates that its rule leaves, what is left, and where anything is told."""

    appearances: Appearances
    agreed: BoolArray
    possible: Possible
    told: BoolArray

    @property
    def listed(self) -> BoolArray:
        """The appearances with a group."""
        listed: BoolArray = self.appearances.candidates.lengths > 0
        return listed

    def narrowed(self, left: BitArray) -> Side:
        """Narrow again, given that nothing else than these values is left."""
        start = self.possible.masks & left
        return replace(self, possible=narrowed(self.appearances, self.agreed, start))

    @property
    def closed(self) -> BoolArray:
        """The appearances of which all that may be is listed, or of which nothing at all is told."""
        appearances, possible = self.appearances, self.possible
        listed: BoolArray = ~(possible.loose | possible.skipped | appearances.open[appearances.release]) & self.listed
        return listed | ~self.told

    def links(self, first_group: int) -> tuple[IntArray, IntArray]:
        """Return what connects appearances with groups and with each other; groups are numbered from a first one."""
        appearances = self.appearances
        edges = np.flatnonzero(self.possible.alive)
        lives = appearances.before >= 0
        if appearances.rule != "apart":
            lives &= appearances.changed >= 0
        tail = np.concatenate([appearances.candidates.owners()[edges], np.flatnonzero(lives)])
        head = np.concatenate(
            [first_group + appearances.candidates.items[edges].astype(np.int64), appearances.before[lives]]
        )
        return tail, head


@dataclass(frozen=True, repr=False)
class PairBeliefs:
    """For each appearance of the first column the strongest belief and its value (-1: whichever it is)."""

    belief: FloatArray
    value: CodeArray
    exact: BoolArray
    impossible: BoolArray
    touched: BoolArray


def excluded(one: BitArray, other: BitArray, possible: BoolArray) -> BoolArray:
    """Return the appearances for which some pair of what both columns leave does not occur."""
    both = np.concatenate([one, other], axis=1)
    kinds, place = np.unique(both, axis=0, return_inverse=True)
    first, second = (
        np.unpackbits(np.ascontiguousarray(part).view(np.uint8), axis=1, bitorder="little")[:, :size].astype(np.float32)
        for part, size in ((kinds[:, : one.shape[1]], possible.shape[0]), (kinds[:, one.shape[1] :], possible.shape[1]))
    )
    wrong = ((first @ (~possible).astype(np.float32)) * second).sum(axis=1) > 0
    return np.asarray(wrong[place.reshape(-1)], np.bool_)


def count_pairs(one: Side, other: Side, possible: BoolArray, touched: BoolArray) -> PairBeliefs:
    """Say what is left of the first column where pairs exclude something: certain, counted, or at least so much."""
    appearances = one.appearances
    n, sizes = appearances.n, one.possible.sizes
    label, components = _components(one, other)
    bad = np.zeros(components, np.bool_)
    bad[label[one.possible.broken | other.possible.broken]] = True
    concerned = np.zeros(components, np.bool_)
    concerned[label[touched]] = True
    there = concerned[label] & ~bad[label]
    found = PairBeliefs(np.zeros(n), np.full(n, -1, np.int32), np.zeros(n, np.bool_), bad[label], concerned[label])
    told = there & one.listed & ~one.possible.loose
    found.belief[told] = 1 / np.maximum(sizes[told], 1)
    certain = there & (sizes == 1)
    found.belief[certain], found.exact[certain] = 1.0, True
    found.value[certain] = _only(one.possible.masks[certain])
    closed = concerned & ~bad
    closed[label[~(one.closed & other.closed)]] = False
    people = np.zeros(components, np.int64)
    np.add.at(people, label[np.unique(appearances.person * np.int64(components) + label, return_index=True)[1]], 1)
    chosen = closed & (people <= PERSONS)
    if chosen.any():
        _count(one, other, possible, label, chosen, found)
    return found


def _components(one: Side, other: Side) -> tuple[IntArray, int]:
    n, groups = one.appearances.n, one.appearances.n_groups
    (tail, head), (tail2, head2) = one.links(n), other.links(n + groups)
    size = n + groups + other.appearances.n_groups
    tails, heads = np.concatenate([tail, tail2]), np.concatenate([head, head2])
    links = coo_array((np.ones(len(tails), np.int8), (tails, heads)), shape=(size, size))
    many, label = connected_components(links, directed=False)
    return label[:n].astype(np.int64), int(many)


def _only(masks: BitArray) -> CodeArray:
    word = (masks != 0).argmax(axis=1)
    bits = masks[np.arange(len(masks)), word]
    only: CodeArray = (word * 64 + np.bitwise_count(bits - np.uint64(1))).astype(np.int32)
    return only


class _BothColumns:
    """A piece of both columns, in the form in which its worlds are counted: options of the other are numbered below."""

    def __init__(self, first: frontier.Component, second: frontier.Component) -> None:
        self.room = {2 * thing: many for thing, many in first.room.items()}
        self.room |= {2 * thing + 1: many for thing, many in second.room.items()}
        self.choices: list[list[frontier.LifeOptions]] = []

    def lay_out(self, choices: Iterator[list[frontier.LifeOptions]]) -> bool:
        for options in choices:
            if len(options) > frontier.MOST_OPTIONS:
                return False
            self.choices.append(options)
        return True


def _count(one: Side, other: Side, possible: BoolArray, label: IntArray, chosen: BoolArray, found: PairBeliefs) -> None:
    """Count the worlds of some components, those of few appearances first."""
    sides = [_Counted(side, label, chosen) for side in (one, other)]
    members = np.flatnonzero(chosen[label])
    members = members[np.lexsort((one.appearances.release[members], one.appearances.person[members], label[members]))]
    starts = np.flatnonzero(np.diff(label[members], prepend=-1))
    in_order = sorted(frontier.pieces([*starts.tolist(), len(members)], members.tolist()), key=len)
    allowed = frontier.Allowance(STATES)
    value = sides[0].options.options.value
    for options in in_order:
        allowed.steps -= 50 * len(options)
        if allowed.steps < 0:
            return
        parts = [side.component(options) for side in sides]
        if not all(part.lay_out() for part in parts):
            continue
        piece = _BothColumns(*parts)
        lives = _lives(options, one.appearances)
        if not piece.lay_out(_together(parts, sides, lives, possible, allowed)):
            continue
        counted = frontier.count(piece, allowed)
        if counted is None:
            continue
        total, taken = counted
        if not total:
            found.impossible[options] = True
            continue
        by_value: dict[tuple[int, int], int] = {}
        for option, ways in taken.items():
            if option >= 0:
                key = int(sides[0].options.appearance[option]), int(value[option])
                by_value[key] = by_value.get(key, 0) + ways
        best: dict[int, tuple[int, int]] = {}
        for (appearance, code), ways in by_value.items():
            best[appearance] = max(best.get(appearance, (0, 0)), (ways, -code))
        for appearance, (ways, code) in best.items():
            found.belief[appearance], found.value[appearance] = ways / total, -code
            found.exact[appearance] = True


class _Counted:
    """The options of one column."""

    def __init__(self, side: Side, label: IntArray, chosen: BoolArray) -> None:
        self.side = side
        self.options = WorldOptions.of(side.appearances, side.possible, label, chosen)
        self.lives, _ = known_lives(side.appearances)

    def component(self, members: list[int]) -> frontier.Component:
        """Return the part of a piece that the column tells something of."""
        told = [member for member in members if self.side.told[member]]
        return frontier.Component(told, self.options.options, self.lives, self.side.appearances)

    def values(self, life: list[int], options: tuple[int, ...]) -> list[int] | None:
        """Return the values of a life by these options, those between by what is known; None where that cannot be."""
        appearances = self.side.appearances
        told = dict(zip((m for m in life if self.side.told[m]), options, strict=True))
        values = [int(self.options.options.value[told[m]]) if m in told else -1 for m in life]
        for i in range(1, len(life)):
            change, before, now = int(appearances.changed[life[i]]), values[i - 1], values[i]
            if change == 0 and now < 0:
                values[i] = before
            elif change >= 0 and before >= 0 and now >= 0 and (before == now) != (change == 0):
                return None
        for i in range(len(life) - 1, 0, -1):
            if int(appearances.changed[life[i]]) == 0 and values[i - 1] < 0:
                values[i - 1] = values[i]
        return values


def _lives(members: list[int], appearances: Appearances) -> list[list[int]]:
    """Return the appearances of each person of a piece, in the order of time."""
    by_person: dict[int, list[int]] = {}
    for member in members:
        by_person.setdefault(int(appearances.person[member]), []).append(member)
    return list(by_person.values())


def _together(
    parts: list[frontier.Component],
    sides: list[_Counted],
    lives: list[list[int]],
    possible: BoolArray,
    allowed: frontier.Allowance,
) -> Iterator[list[frontier.LifeOptions]]:
    """Yield what each person may take in both columns; more than can be counted where a value of theirs is open."""
    laid = [_by_life(part, side, lives) for part, side in zip(parts, sides, strict=True)]
    for first, second in zip(*laid, strict=True):
        allowed.steps -= len(first) * len(second)
        if any(-1 in values for values, _ in (*first, *second)):
            # A value that no release tells could be anything: how many worlds there are is not known.
            yield [frontier.LifeOptions((), {})] * (frontier.MOST_OPTIONS + 1)
            continue
        yield [
            frontier.LifeOptions(
                (*mine.options, *(-1 - option for option in theirs.options)),
                {2 * thing: many for thing, many in mine.uses.items()}
                | {2 * thing + 1: many for thing, many in theirs.uses.items()},
            )
            for values, mine in first
            for others, theirs in second
            if all(possible[a, b] for a, b in zip(values, others, strict=True))
        ]


def _by_life(
    part: frontier.Component, side: _Counted, lives: list[list[int]]
) -> Iterator[list[tuple[list[int], frontier.LifeOptions]]]:
    """Yield the lives that each person may have had in one column, with the values of all their appearances."""
    told = {persons[0]: choices for persons, choices in zip(part.persons, part.choices, strict=True)}
    nothing = [frontier.LifeOptions((), {})]
    for life in lives:
        first = next((m for m in life if m in told), -1)
        laid = ((side.values(life, choice.options), choice) for choice in told.get(first, nothing))
        yield [(values, choice) for values, choice in laid if values is not None]
