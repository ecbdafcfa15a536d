"""Drawing tables that agree with the releases: who has which value when, one world at a time, with its weight.

The appearances of a component take their values one after another, in the order of lives: a row of a group that is
left, and that agrees with what is known of the life. Each row is as likely as any other; a table that was likelier to
be drawn weighs less, so that all agreeing tables count alike. Where nothing but its group connects people, all weights
are equal. A component that ends with somebody who finds no row is drawn again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.adversary import frontier
from reveil.adversary.appearances import appearances_of
from reveil.adversary.chains import agreeing, narrowed
from reveil.adversary.counting import components_of
from reveil.adversary.world_options import WorldOptions, known_lives

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import IntArray

TRIES = 1000


class DrawnWorlds:
    """Draws worlds; ``possible`` is False where what is known does not fit together."""

    def __init__(self, evidence: Evidence) -> None:
        appearances = appearances_of(evidence)
        alive, broken = agreeing(appearances)
        left = narrowed(appearances, alive)
        self.possible = not (broken.any() or left.broken.any() or left.skipped.any() or appearances.open.any())
        self.appearances, self.domain = appearances, len(evidence.values)
        label, _ = components_of(appearances, left)
        everything = np.ones(int(label.max(initial=-1)) + 1, np.bool_)
        self.laid = WorldOptions.of(appearances, left, label, everything)
        self.loose = left.loose
        self.lives, _ = known_lives(appearances)
        laid = self.laid.appearances
        self.components = frontier.pieces(laid.offsets.tolist(), laid.items.tolist())

    def draw(self, rng: np.random.Generator) -> tuple[IntArray, float] | None:
        """Return the value of each appearance and the logarithm of the world's weight; None where none was found."""
        values = np.full(self.appearances.n, -1, np.int64)
        weight = 0.0
        for component in self.components:
            for _ in range(TRIES):
                drawn = self._drawn(component, rng)
                if drawn is not None:
                    break
            else:
                return None
            for member, value in drawn[0].items():
                values[member] = value
            weight += drawn[1]
        return values, weight

    def _drawn(self, component: list[int], rng: np.random.Generator) -> tuple[dict[int, int], float] | None:
        """Fill one component; None where somebody finds nothing."""
        given, appearances = self.laid.options, self.appearances
        rows: dict[int, int] = {}
        room: dict[int, int] = {}
        value: dict[int, int] = {}
        option: dict[int, int] = {}
        weight = 0.0
        for member in component:
            choices = []
            for o in range(int(given.first[member]), int(given.first[member + 1])):
                row, group = int(given.row[o]), int(given.group[o])
                many = rows.setdefault(row, int(appearances.counts[row]))
                if (
                    many
                    and room.setdefault(group, int(appearances.room[group]))
                    and self._fits(member, o, value, option)
                ):
                    choices.append((many, int(given.value[o]), o))
            if self.loose[member]:  # in no group, with any value
                choices += [(1, v, -1) for v in range(self.domain) if self._lives(member, v, value)]
            total = sum(many for many, _, _ in choices)
            if not total:
                return None
            ticket = int(rng.integers(total))
            for many, chosen, o in choices:
                ticket -= many
                if ticket < 0:
                    value[member], option[member] = chosen, o
                    weight += np.log(total / many)
                    if o >= 0:
                        rows[int(given.row[o])] -= 1
                        room[int(given.group[o])] -= 1
                    break
        return value, weight

    def _lives(self, member: int, value: int, values: dict[int, int]) -> bool:
        """Return whether a value agrees with the one before it in the same life."""
        before, changed = int(self.lives.before[member]), int(self.lives.changed[member])
        return before not in values or changed < 0 or (values[before] == value) == (changed == 0)

    def _fits(self, member: int, o: int, values: dict[int, int], options: dict[int, int]) -> bool:
        """Return whether an option agrees with the life so far, and its group with the rule of signatures."""
        given, lives = self.laid.options, self.lives
        if not self._lives(member, int(given.value[o]), values):
            return False
        j, first = int(lives.before[member]), True
        while j >= 0:
            if options.get(j, -1) >= 0 and (lives.everywhere or (bool(lives.kept[member]) and first)):
                one, other = lives.sets[int(given.group[o])], lives.sets[int(given.group[options[j]])]
                apart = bool(lives.everywhere) and not bool((one & other).any())
                if not apart and not bool((one == other).all()):
                    return False
            j, first = int(lives.before[j]), False
        return True
