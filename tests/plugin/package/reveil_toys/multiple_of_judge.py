"""The judge of the model, written from its definition: it shares no line with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reveil.verification.judges.base import GroupJudge


@dataclass(frozen=True, repr=False)
class MultipleOf(GroupJudge):
    """Divide the rows of every group."""

    number: int

    name = "MultipleOf"
    reads_values = False

    @classmethod
    def read(cls, told):
        return (cls(told["multiple_of"]),) if "multiple_of" in told else ()

    @classmethod
    def keys(cls, told):
        return {"multiple_of"} & told.keys()

    def holds(self, counts):
        return np.asarray(counts.sizes % self.number == 0, np.bool_)

    def achieved(self, counts):
        return {"multiple_of": int(np.gcd.reduce(counts.sizes))}

    def covers(self, other):
        return isinstance(other, MultipleOf) and self.number % other.number == 0

    def states(self, claim):
        return f"a multiple of {self.number}" in claim
