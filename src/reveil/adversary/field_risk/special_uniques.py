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
LARGEST_KEY = 2**62
BUCKETS_A_ROW = 4


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
    alone = _unique(codes, rows, np.arange(rows))
    unique_by: dict[tuple[int, ...], BoolArray] = {}  # of the rows that are unique at all
    for size in range(1, largest + 1 if len(alone) else 1):
        for chosen in combinations(range(columns), size):
            unique = np.isin(alone, _unique([codes[column] for column in chosen], rows, alone), assume_unique=True)
            covered = np.zeros(len(alone), np.bool_)
            for left_out in range(size):
                covered |= unique_by.get(chosen[:left_out] + chosen[left_out + 1 :], False)
            unique_by[chosen] = unique
            minimal = alone[unique & ~covered]
            score[minimal] += factorial(columns - size)
            smallest[minimal[smallest[minimal] == 0]] = size
    return SpecialUniques(columns, largest, smallest, score)


def _unique(codes: Sequence[CodeArray], rows: int, asked: IntArray) -> IntArray:
    """Return which of the rows asked about nobody else is like, by these columns.

    Keys are counted in buckets, and compared only where two share one: sorting them is what would take the time.
    """
    key, room = np.zeros(rows, np.int64), 1
    for column in codes:
        many = int(column.max(initial=0)) + 1
        if room * many >= LARGEST_KEY:
            key = classes_of([key], rows)[0].astype(np.int64)
            room = int(key.max(initial=0)) + 1
        key = key * many + column
        room *= many
    buckets = min(room, BUCKETS_A_ROW * rows + 1)
    place = key if room == buckets else key % buckets
    alone = np.bincount(place, minlength=buckets)[place[asked]] == 1
    if room > buckets:
        doubtful = np.flatnonzero(~alone)
        touched = np.zeros(buckets, np.bool_)
        touched[place[asked[doubtful]]] = True
        different, many_of = np.unique(key[touched[place]], return_counts=True)
        alone[doubtful] = many_of[np.searchsorted(different, key[asked[doubtful]])] == 1
    found: IntArray = asked[alone]
    return found
