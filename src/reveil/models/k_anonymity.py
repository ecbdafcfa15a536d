"""k-anonymity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.models.base import FloatArray, Model, Tags, whole_number
from reveil.models.limits import Limit, Over

if TYPE_CHECKING:
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON
    from reveil.models.statistics import GroupStats


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every group has at least ``k`` records.

    *Guarantee*: someone who knows all the quasi-identifiers of a person finds no fewer than k records that could
    be theirs.

    *Assumes*: one record for each person; the quasi columns are all that others may know.

    *Does not protect against*: learning a sensitive value without finding the record. If all the records of a
    group have the same value, whoever is known to be in the group has it: ask for diversity as well. Nor against
    several releases held side by side, nor against somebody who knows a sensitive value of a person and looks only at
    the records that have it.

    *Closure*: monotone: a superset has at least as many records. Union-closed: it follows, a union is a superset
    of both. (Of groups that are not empty: the empty group is valid and its supersets need not be.)

    *Source*: Sweeney 2002.

    The level of a group is its number of records, of an empty group infinity.

    >>> KAnonymity(10).sentence()
    'every group has at least 10 records'
    """

    k: int

    tags: ClassVar[Tags] = Tags(monotone=True, union_closed=True, reads_values=False)

    @classmethod
    def examples(cls) -> tuple[KAnonymity, ...]:
        """Return what the contract suite tries."""
        return (cls(1), cls(3))

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k, least=1))

    @property
    def minimum_size(self) -> int:
        """The threshold itself."""
        return self.k

    def measure(self, stats: GroupStats) -> FloatArray:
        """Return the number of records of each group; infinity where there are none."""
        return np.where(stats.sizes > 0, stats.sizes, np.inf)

    def verdict(self, stats: GroupStats) -> BoolArray:
        """Return where there are at least k records or none."""
        valid: BoolArray = (stats.sizes >= self.k) | (stats.sizes == 0)
        return valid

    def surely(self, sizes: IntArray, whole: GroupStats) -> BoolArray:  # noqa: ARG002
        """Return where there are at least k records or none: the rest does not matter."""
        sure: BoolArray = (sizes >= self.k) | (sizes == 0)
        return sure

    def achieved(self, stats: GroupStats) -> dict[str, JSON]:
        """Return the size of the smallest group, 0 for a release without records."""
        filled = stats.sizes[stats.sizes > 0]
        return {"k": int(filled.min()) if len(filled) else 0}

    def parameters(self) -> dict[str, JSON]:
        """Return ``k``."""
        return {"k": self.k}

    def sentence(self) -> str:
        """Return the claim in plain words."""
        return f"every group has at least {self.k} record{'' if self.k == 1 else 's'}"

    def limits(self, over: Over = "release") -> tuple[Limit, ...]:
        """Return that nobody's row is found with more than one in k."""
        return (Limit("link", over, self.sentence(), at_most=1 / self.k, model=self),)
