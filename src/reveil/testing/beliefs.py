"""What somebody believes who counts worlds: in which share of them a person has a value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

Person: TypeAlias = "Hashable"
Value: TypeAlias = "Hashable"  # None is a value like any other


@dataclass(frozen=True)
class Group:
    """A published group: the persons in it, and its sensitive values, one for each row, counterfeits included."""

    members: tuple[Person, ...]
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if len(set(self.members)) != len(self.members):
            raise ValueError("a person is twice in one group")
        if len(self.values) < len(self.members):
            raise ValueError("a group has fewer rows than members")


@dataclass(frozen=True)
class WorldPart:
    """How many of the worlds of one component give a person which values at these times."""

    times: tuple[int, ...]
    worlds: int
    counts: Mapping[tuple[Value, ...], int]


@dataclass(frozen=True)
class Beliefs:
    """How many worlds there are, and in which share of them a person has a value.

    Without any world there is nothing to believe: then ``worlds`` is 0 and the other questions raise ``ValueError``.
    """

    worlds: int
    _parts: Mapping[Person, Sequence[WorldPart]] = field(repr=False)

    def share(self, person: Person, t: int) -> dict[Value, Fraction]:
        """Return the share of the worlds for each value that the person can have in release ``t``."""
        for part in self._of(person):
            if t in part.times:
                at = part.times.index(t)
                tally: Counter[Value] = Counter()
                for values, count in part.counts.items():
                    tally[values[at]] += count
                return {value: Fraction(count, part.worlds) for value, count in tally.items()}
        raise ValueError("the person is not in this release")

    def ever(self, person: Person, value: Value) -> Fraction:
        """Return the share of the worlds in which the person has the value in one release or more."""
        never = Fraction(1)
        # The parts of a person have no group and no knowledge in common, so their worlds combine freely.
        for part in self._of(person):
            never *= Fraction(sum(c for values, c in part.counts.items() if value not in values), part.worlds)
        return 1 - never

    def highest(self) -> tuple[Fraction, Person, int, Value]:
        """Return the largest share there is, whose it is, when, and of which value (the first of equal ones)."""
        return max(
            (
                (share, person, t, value)
                for person in self._parts
                for part in self._of(person)
                for t in part.times
                for value, share in self.share(person, t).items()
            ),
            key=lambda found: found[0],
        )

    def highest_ever(self) -> tuple[Fraction, Person, Value]:
        """Return the largest share of worlds in which anybody ever has a value (the first of equal ones)."""
        return max(
            (
                (self.ever(person, value), person, value)
                for person in self._parts
                for value in dict.fromkeys(v for part in self._of(person) for values in part.counts for v in values)
            ),
            key=lambda found: found[0],
        )

    def _of(self, person: Person) -> Sequence[WorldPart]:
        if not self.worlds:
            raise ValueError("no world is consistent with what was published and is known")
        if person not in self._parts:
            raise ValueError("the person is in no release")
        return self._parts[person]
