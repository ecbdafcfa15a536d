"""Exact Bayes over a publisher's own code: what its output tells somebody who knows it all but the dice.

The publisher runs once for every table that may be and for every way the dice may fall, so the posterior is exact.
This is the adversary of the *blind* grade. Tables of a few persons and a few values are all that is feasible, and
all that is needed: a publisher that looks at values gives itself away on them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from reveil.core.arrays import BoolArray, IntArray

Person: TypeAlias = "Hashable"
Value: TypeAlias = "Hashable"
Secret: TypeAlias = "Hashable"  # noqa: S105 - a person, a person and a time
Table = TypeVar("Table")
P = TypeVar("P", bound="Hashable")
V = TypeVar("V", bound="Hashable")

RUNS = 200_000  # of the publisher, for one table


class EnumeratedDice:
    """Stands in for :class:`reveil.core.randomness.Dice` and falls in a given way, then as low as possible.

    ``fallen`` has the number that each choice gave and how many there were to choose from; all of them are equally
    likely. Draws that would need infinitely many ways to fall are not there. Every child is these dice themselves:
    whatever a draw is for, it is one more choice. (``integers``, ``shuffle`` and ``choice`` are those of NumPy.)
    """

    def __init__(self, fallen: Sequence[tuple[int, int]] = (), *, runs: int = RUNS) -> None:
        self.fallen = list(fallen)
        self._next = 0
        self._runs = runs

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"the dice have no {name!r} that can be enumerated: "
            "draw with permutation, order_by, below or coins, whose outcomes are finitely many and equally likely"
        )

    def child(self, purpose: str, *key: int | str) -> EnumeratedDice:  # noqa: ARG002 - those of Dice
        """Return these dice."""
        return self

    def below(self, end: int) -> int:
        """Choose one of 0, 1, .. ``end - 1``."""
        if end < 1:
            raise ValueError("there is nothing to choose from")
        if end == 1:
            return 0
        if end > self._runs:
            raise ValueError(f"a choice among {end:,} cannot be enumerated in {self._runs:,} runs")
        if self._next == len(self.fallen):
            self.fallen.append((0, end))
        number, among = self.fallen[self._next]
        if among != end:
            raise ValueError("the same dice were asked for something else: what runs depends on more than the dice")
        self._next += 1
        return number

    def following(self) -> list[tuple[int, int]] | None:
        """Return the next way to fall after this one, None if this was the last."""
        if self._next < len(self.fallen):
            raise ValueError("the same dice were asked for less: what runs depends on more than the dice")
        fallen = list(self.fallen)
        while fallen:
            number, among = fallen.pop()
            if number + 1 < among:
                return [*fallen, (number + 1, among)]
        return None

    def integers(
        self,
        low: npt.ArrayLike,
        high: npt.ArrayLike | None = None,
        size: int | tuple[int, ...] | None = None,
        dtype: npt.DTypeLike = np.int64,
        endpoint: bool = False,  # noqa: FBT001, FBT002 - the generator's own signature
    ) -> npt.NDArray[np.integer]:
        """Draw integers from ``low`` (or from 0 if ``high`` is not given) up to ``high``."""
        start, end = (np.zeros_like(low), np.asarray(low)) if high is None else (np.asarray(low), np.asarray(high))
        shape = np.broadcast_shapes(start.shape, end.shape) if size is None else size
        start, end = np.broadcast_to(start, shape), np.broadcast_to(end, shape)
        drawn = [int(a) + self.below(int(b) - int(a) + endpoint) for a, b in zip(start.flat, end.flat, strict=True)]
        # An index of () makes a scalar of an array without dimensions and leaves the others alone.
        return np.array(drawn, dtype).reshape(start.shape)[()]

    def permutation(self, x: int | npt.ArrayLike, axis: int = 0) -> npt.NDArray[np.generic]:
        """Return a copy in any order; of an integer n, the numbers 0 .. n - 1."""
        things = np.arange(x) if isinstance(x, int | np.integer) else np.array(x)
        return np.take(things, self._order(things.shape[axis], things.shape[axis]), axis)

    def order_by(
        self,
        *labels: npt.NDArray[np.integer],
        numbers: npt.NDArray[np.integer] | None = None,  # noqa: ARG002 - whose die it is does not matter here
    ) -> IntArray:
        """Return the places of items sorted by their labels (the last ones count most); equal ones in any order."""
        order = np.lexsort(labels)
        differs = np.any([np.diff(label[order]) != 0 for label in labels], axis=0)
        runs = np.split(order, np.flatnonzero(differs) + 1)
        return np.concatenate([self.permutation(run) for run in runs])

    def coins(self, numbers: int | npt.NDArray[np.integer]) -> BoolArray:
        """Toss a coin for each number, or for each of 0 .. ``numbers - 1``."""
        many = numbers.size if isinstance(numbers, np.ndarray) else numbers
        return np.array([self.below(2) for _ in range(many)], np.bool_)

    def shuffle(self, x: list[object] | npt.NDArray[np.generic], axis: int = 0) -> None:
        """Put an array or a list into any order."""
        if isinstance(x, np.ndarray):
            x[...] = self.permutation(x, axis)
        else:
            x[:] = [x[n] for n in self._order(len(x), len(x))]

    def choice(
        self,
        a: int | npt.ArrayLike,
        size: int | tuple[int, ...] | None = None,
        replace: bool = True,  # noqa: FBT001, FBT002
        p: None = None,
        axis: int = 0,
        shuffle: bool = True,  # noqa: FBT001, FBT002, ARG002 - the order is drawn in either case
    ) -> npt.NDArray[np.generic]:
        """Draw some of many, with or without putting back."""
        if p is not None:
            raise ValueError("only equal chances can be enumerated: draw without p")
        things = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        many = things.shape[axis]
        shape = () if size is None else (size,) if isinstance(size, int | np.integer) else tuple(size)
        wanted = prod(shape)
        if not replace and wanted > many:
            raise ValueError("there are fewer to choose from than are to be drawn")
        drawn = [self.below(many) for _ in range(wanted)] if replace else self._order(many, wanted)
        return np.take(things, np.array(drawn, np.int64).reshape(shape), axis)

    def _order(self, many: int, wanted: int) -> list[int]:
        """Draw ``wanted`` of ``many`` numbers one by one."""
        left = list(range(many))
        return [left.pop(self.below(len(left))) for _ in range(wanted)]


def outcomes(run: Callable[[EnumeratedDice], Hashable], *, runs: int = RUNS) -> dict[Hashable, Fraction]:
    """Return everything that ``run(dice)`` can return, each with its exact probability.

    An exception is not an outcome. Where a refusal tells something, let ``run`` catch it and return it as a word.
    """
    counts: Counter[tuple[Hashable, int]] = Counter()
    fallen: list[tuple[int, int]] | None = []
    done = 0
    while fallen is not None:
        done += 1
        if done > runs:
            raise ValueError("there are too many ways for the dice to fall; take a smaller table or raise runs=")
        dice = EnumeratedDice(fallen, runs=runs)
        output = run(dice)
        fallen = dice.following()
        counts[output, prod(among for _, among in dice.fallen)] += 1
    found: dict[Hashable, Fraction] = {}
    for (output, ways), count in counts.items():
        found[output] = found.get(output, Fraction(0)) + Fraction(count, ways)
    return found


@dataclass(frozen=True)
class Posterior:
    """What each output tells of each secret.

    ``outputs`` has the probability of every output that can occur.
    """

    outputs: Mapping[Hashable, Fraction]
    _joint: Mapping[Hashable, Mapping[Secret, Mapping[Value, Fraction]]] = field(repr=False)

    def given(self, output: Hashable) -> dict[Secret, dict[Value, Fraction]]:
        """Return the belief in each value of each secret for somebody who sees this output."""
        if output not in self.outputs:
            raise ValueError("this output cannot occur")
        total = self.outputs[output]
        return {
            secret: {value: chance / total for value, chance in chances.items()}
            for secret, chances in self._joint[output].items()
        }

    def highest(self) -> tuple[Fraction, Hashable, Secret, Value]:
        """Return the strongest belief that any output gives, with the output, the secret and its value."""
        return max(
            (
                (belief, output, secret, value)
                for output in self.outputs
                for secret, beliefs in self.given(output).items()
                for value, belief in beliefs.items()
            ),
            key=lambda found: found[0],
        )


def posterior(
    tables: Iterable[tuple[Table, Fraction]],
    publish: Callable[[Table, EnumeratedDice], Hashable],
    about: Callable[[Table], Mapping[Secret, Value]],
    *,
    runs: int = RUNS,
) -> Posterior:
    """Run ``publish(table, dice)`` for every table with its prior probability and every way the dice may fall.

    ``publish`` returns all that the adversary sees. ``about(table)`` names the secrets of a table and what they are.
    """
    outputs: dict[Hashable, Fraction] = {}
    joint: dict[Hashable, dict[Secret, dict[Value, Fraction]]] = {}
    for table, prior in tables:
        secrets = about(table)
        for output, chance in _published(table, publish, runs).items():
            weight = prior * chance
            outputs[output] = outputs.get(output, Fraction(0)) + weight
            seen = joint.setdefault(output, {})
            for secret, value in secrets.items():
                chances = seen.setdefault(secret, {})
                chances[value] = chances.get(value, Fraction(0)) + weight
    return Posterior(outputs, joint)


def _published(
    table: Table, publish: Callable[[Table, EnumeratedDice], Hashable], runs: int
) -> dict[Hashable, Fraction]:
    return outcomes(lambda dice: publish(table, dice), runs=runs)


def all_tables(persons: Sequence[P], values: Sequence[V]) -> Iterator[tuple[dict[P, V], Fraction]]:
    """Return every table that gives each person one of the values, all equally likely."""
    prior = Fraction(1, len(values) ** len(persons))
    for drawn in product(values, repeat=len(persons)):
        yield dict(zip(persons, drawn, strict=True)), prior


def all_histories(
    persons: Sequence[Person],
    values: Sequence[Value],
    attendance: Sequence[Collection[Person]],
    changed: Mapping[Person, Mapping[int, bool]] | None = None,
) -> Iterator[tuple[tuple[dict[Person, Value], ...], Fraction]]:
    """Return every series of tables in which these persons are in each one, all equally likely.

    ``changed[person][t]`` tells whether the value in table ``t`` differs from the person's last one before it; where
    nothing is given, it may or may not.
    """
    if not all(set(here) <= set(persons) for here in attendance):
        raise ValueError("a person is present who is not among the persons")
    lives = []
    for person in persons:
        told = (changed or {}).get(person, {})
        times = [t for t, here in enumerate(attendance) if person in here]
        if not set(told) <= set(times[1:]):
            raise ValueError("a change is known of a person who is not in that table, or in none before it")
        found: list[tuple[Value, ...]] = [()]
        for t in times:
            found = [
                (*before, value)
                for before in found
                for value in values
                if t not in told or (value != before[-1]) == told[t]
            ]
        lives.append([dict(zip(times, life, strict=True)) for life in found])
    prior = Fraction(1, max(prod(map(len, lives)), 1))
    for drawn in product(*lives):
        yield (
            tuple(
                {person: life[t] for person, life in zip(persons, drawn, strict=True) if t in life}
                for t in range(len(attendance))
            ),
            prior,
        )
