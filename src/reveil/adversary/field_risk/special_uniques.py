"""Special uniques: rows that are unique by few of their columns, and are so likely to be unique anywhere.

A *minimal sample unique* of a row is a set of columns by which it is unique and by no smaller part of which it is. The
score of a row is the sum of (M - s)! over its minimal sets of s of the M columns (Elliot, Manning and Ford 2002, as
SUDA2 and sdcMicro have it where sets of every size are looked for): the smaller and the more of them, the higher.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.releases.parsing import classes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.json_values import JSON

FloatArray = npt.NDArray[np.float64]
LARGEST_SET = 3  # columns; who is unique by more is not special
MOST_SETS = 300  # that are looked at


@dataclass(frozen=True)
class SpecialUniques:
    """The rows with a minimal set of at most ``largest`` columns: its size (0: none) and the score, row by row."""

    columns: int
    largest: int
    smallest_set: IntArray = field(repr=False)
    score: FloatArray = field(repr=False)

    def to_json(self) -> dict[str, JSON]:
        """Return how many rows are special, by the size of their smallest set."""
        many = np.bincount(self.smallest_set, minlength=self.largest + 1)
        return {
            "columns": self.columns,
            "largest_set": self.largest,
            "rows": int(many[1:].sum()),
            "by_size": {str(size): int(many[size]) for size in range(1, self.largest + 1)},
            "highest_score": float(self.score.max(initial=0.0)),
        }


def special_uniques(codes: Sequence[CodeArray], rows: int) -> SpecialUniques:
    """Find the special uniques of a table of codes, by sets of fewer than all its columns, three at most."""
    columns = len(codes)
    largest = min(LARGEST_SET, max(columns - 1, 0))
    while largest > 1 and sum(comb(columns, size) for size in range(1, largest + 1)) > MOST_SETS:
        largest -= 1
    smallest, score = np.zeros(rows, np.int64), np.zeros(rows)
    whole, _ = classes_of([*codes], rows)
    alone = np.flatnonzero(np.bincount(whole, minlength=1)[whole] == 1) if rows else np.zeros(0, np.int64)
    unique_by: dict[tuple[int, ...], BoolArray] = {}  # of the rows that are unique at all
    for size in range(1, largest + 1):
        for chosen in combinations(range(columns), size):
            classes, _ = classes_of([codes[column] for column in chosen], rows)
            unique = (np.bincount(classes, minlength=1)[classes] == 1)[alone] if rows else np.zeros(0, np.bool_)
            covered = np.zeros(len(alone), np.bool_)
            for left_out in range(size):
                covered |= unique_by.get(chosen[:left_out] + chosen[left_out + 1 :], False)
            unique_by[chosen] = unique
            minimal = alone[unique & ~covered]
            score[minimal] += factorial(columns - size)
            smallest[minimal[smallest[minimal] == 0]] = size
    return SpecialUniques(columns, largest, smallest, score)
