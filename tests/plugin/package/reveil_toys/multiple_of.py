"""A model that is not monotone: the size of every group is a multiple of a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reveil.models.base import Model, Tags, whole_number


@dataclass(frozen=True)
class MultipleOf(Model):
    """Every group has a multiple of ``number`` records. Union-closed: the sum of two multiples is one."""

    number: int

    tags = Tags(monotone=False, union_closed=True, reads_values=False)

    @classmethod
    def examples(cls):
        return (cls(1), cls(2))

    def __post_init__(self):
        whole_number("number", self.number, least=1)

    @property
    def minimum_size(self):
        return self.number

    def measure(self, stats):
        return np.where(stats.sizes > 0, np.gcd(stats.sizes, self.number), np.inf)

    def verdict(self, stats):
        return stats.sizes % self.number == 0

    def surely(self, sizes, whole):
        return sizes % self.number == 0

    def achieved(self, stats):
        return {"multiple_of": int(np.gcd.reduce(stats.sizes))}

    def parameters(self):
        return {"multiple_of": self.number}

    def sentence(self):
        return f"the size of every group is a multiple of {self.number}"
