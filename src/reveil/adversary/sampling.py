"""Some of the people: everybody is counted, and so many persons are attacked.

Every person has a number that depends on the seed and on who they are; those with the smallest are attacked. So it does
not matter in which order people come, or where.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.errors import ConfigError

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray

_OF_SAMPLES = 0x5A3B1E  # other numbers than those by which people are dealt
ALL = (1 << 64) - 1


@dataclass(frozen=True)
class Draw:
    """Who is attacked: the persons whose numbers are ``most`` or less."""

    seed: int
    most: int = ALL

    def numbers(self, persons: pl.Series) -> npt.NDArray[np.uint64]:
        """Return everybody's number."""
        found: npt.NDArray[np.uint64] = persons.cast(pl.String).hash((self.seed ^ _OF_SAMPLES) & ALL).to_numpy()
        return found

    def takes(self, persons: pl.Series) -> BoolArray:
        """Return who is attacked."""
        taken: BoolArray = self.numbers(persons) <= np.uint64(self.most)
        return taken

    def smallest(self, numbers: npt.NDArray[np.uint64], many: int) -> Draw:
        """Return the draw of so many of some numbers, of all where there are no more."""
        numbers = np.unique(numbers)
        return self if len(numbers) <= many else replace(self, most=int(numbers[many - 1]))


def check_sample(sample: int | None) -> None:
    """Refuse a sample of nobody."""
    if sample is not None and sample < 1:
        raise ConfigError("a sample has at least one person", hint="--sample 1000, for example.")


def some_of(evidence: Evidence, sample: int | None, seed: int) -> Evidence:
    """Return the same with so many persons to attack, drawn by ``seed``; everybody where they are no more than that."""
    if sample is None or sample >= len(evidence.persons):
        return evidence
    draw = Draw(seed)
    return replace(evidence, sample=draw.smallest(draw.numbers(evidence.persons), sample).takes(evidence.persons))


def note_of_sample(attacked: int, everybody: int) -> str:
    """Say what a sample leaves open."""
    return (
        f"{attacked:,} of {everybody:,} persons were attacked, and everybody was counted: what "
        "is found is about these only, and what is not found may be true of the others"
    )
