"""Plain twin of :mod:`reveil.core.kernels.worlds`, for one component."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Option: TypeAlias = tuple[int, str]  # a group and a value
World: TypeAlias = tuple[Option, ...]


@dataclass(frozen=True)
class Component:
    """Appearances in the order in which they are filled: their options, the one before, and whether the value changed.

    ``rows[group]`` are the values of a group and ``room[group]`` its records. ``everywhere``: any two sets of values
    of one person are equal or share nothing. ``kept``: the set is that of the appearance before.
    """

    options: Sequence[Sequence[Option]]
    before: Sequence[int]
    changed: Sequence[int]
    rows: Mapping[int, Sequence[str]]
    room: Mapping[int, int]
    everywhere: bool
    kept: Sequence[bool]

    def good(self, world: World) -> bool:
        """Return whether the first appearances may take these options."""
        taken, used = Counter(world), Counter(group for group, _ in world)
        if any(many > self.rows[group].count(value) for (group, value), many in taken.items()):
            return False
        if any(many > self.room[group] for group, many in used.items()):
            return False
        return all(self._follows(i, world) for i in range(len(world)))

    def _follows(self, i: int, world: World) -> bool:
        j = self.before[i]
        if j >= 0 and self.changed[i] >= 0 and (world[j][1] != world[i][1]) != bool(self.changed[i]):
            return False
        own = set(self.rows[world[i][0]])
        if j >= 0 and self.kept[i] and own != set(self.rows[world[j][0]]):
            return False
        while j >= 0 and self.everywhere:
            other = set(self.rows[world[j][0]])
            if own != other and own & other:
                return False
            j = self.before[j]
        return True

    def worlds(self) -> Iterator[World]:
        """Yield every choice of an option for each appearance that may be."""
        return (world for world in product(*self.options) if self.good(world))


def count(component: Component, *, once: bool) -> tuple[int, list[Counter[Option | str]]]:
    """Return how many worlds there are, and for each appearance how many take each option (``once``: each value)."""
    if once:
        values = {tuple(value for _, value in world) for world in component.worlds()}
        return len(values), [Counter(own) for own in zip(*values, strict=True)]
    worlds = list(component.worlds())
    return len(worlds), [Counter(own) for own in zip(*worlds, strict=True)]


def draw(component: Component, dice: Sequence[Sequence[float]]) -> tuple[float, float, list[Counter[Option]]]:
    """Return the sums of the weights and of their squares, and for each appearance the weight of each option."""
    total, squares = 0.0, 0.0
    tally: list[Counter[Option]] = [Counter() for _ in component.options]
    for line in dice:
        weight = 1.0
        world: World = ()
        for own, number in zip(component.options, line, strict=False):
            fitting = [option for option in own if component.good((*world, option))]
            weight *= len(fitting) / len(own)
            if not fitting:
                break
            world = (*world, fitting[int(number * len(fitting))])
        total += weight
        squares += weight**2
        for appearance, option in enumerate(world):
            tally[appearance][option] += weight  # type: ignore[assignment]  # counters of weights
    return total, squares, tally
