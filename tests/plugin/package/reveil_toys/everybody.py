"""A method that parts nobody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reveil.grouping.groupers.base import Grouper
from reveil.models.statistics import Partition


@dataclass(frozen=True)
class Everybody(Grouper):
    """All the records in one group: blind, and valid whenever the table is."""

    name = "everybody"
    recode: str = "boxes"

    @classmethod
    def examples(cls):
        return (cls(),)

    def group(self, codes, model, rng):
        return Partition(np.arange(codes.n, dtype=np.int32), np.array([0, codes.n], np.int64), codes.n)

    def parameters(self):
        return {"recode": self.recode}
