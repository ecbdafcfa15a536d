"""Regions: prefixes of keys. A block is a region without the regions that are nested in it.

Two axioms (Freeston 1987) hold for every set of prefixes that contains the empty one: the blocks cover the space,
because the whole space is a region; and two regions are nested or disjoint, because of two prefixes either one
continues the other, or they differ in a bit that halves the space between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.kernels import bang
from reveil.core.threads import each
from reveil.grouping.bang.keys import WORD, KeyArray, dimension_of_bit, sort_keys, words_of

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray

FloatArray = npt.NDArray[np.float64]

_TWO_THREADS = 2**14  # keys from which a second thread pays


@dataclass(frozen=True)
class Regions:
    """Regions sorted by prefix and then by level: each comes before those nested in it; the first is the whole space.

    ``words`` (m, W) are the prefixes, left-aligned with zeros behind them; ``levels`` (m,) their lengths in bits;
    ``bits`` how many times each dimension can be halved.
    """

    words: KeyArray = field(repr=False)
    levels: CodeArray = field(repr=False)
    bits: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.levels) == 0 or self.levels[0] != 0:
            raise ValueError("the first region must be the whole space")
        if self.words.shape != (len(self.levels), words_of(self.bits)):
            raise ValueError("a region needs as many words as a key")

    @classmethod
    def whole(cls, bits: tuple[int, ...]) -> Regions:
        """Return the whole space as the only region."""
        return cls(np.zeros((1, words_of(bits)), np.uint64), np.zeros(1, np.int32), bits)

    @classmethod
    def of(cls, words: KeyArray, levels: CodeArray, bits: tuple[int, ...]) -> tuple[Regions, CodeArray]:
        """Sort distinct regions, the whole space among them; return them and the order they were put into."""
        by_level = np.argsort(levels, kind="stable").astype(np.int32)
        order, ordered = sort_keys(words[by_level])
        order = by_level[order]
        return cls(ordered, levels[order], bits), order

    def __len__(self) -> int:
        return len(self.levels)

    @cached_property
    def parents(self) -> CodeArray:
        """The innermost region that encloses each one; -1 for the whole space."""
        out = np.empty(len(self), np.int32)
        bang.parents(self.words, self.levels, out)
        return out

    @cached_property
    def volumes(self) -> FloatArray:
        """The share of the unit cube in each block: the region's volume without those nested in it at the first level.

        Larger nested regions are taken away first. What is left above level j is a multiple of 2**-j: it is either
        exact in a float, or so large that what is still to be taken away hardly matters to it. So even the smallest
        remainder has a small relative error.
        """
        whole = np.ldexp(1.0, -self.levels)
        volumes = whole.copy()
        inner = 1 + np.argsort(self.levels[1:], kind="stable")
        np.subtract.at(volumes, self.parents[inner], whole[inner])
        return volumes

    def box_cells(self) -> tuple[CodeArray, CodeArray]:
        """Return the first and the last cell of each region in each dimension, both (m, d) and inclusive."""
        lo = np.empty((len(self), len(self.bits)), np.int32)
        hi = np.empty_like(lo)
        dimension = dimension_of_bit(self.bits)
        bang.boxes(self.words, self.levels, dimension, np.array(self.bits, np.int64), lo, hi)
        return lo, hi

    def find(self, keys: KeyArray) -> CodeArray:
        """Return the innermost region of each key."""
        out = np.empty(len(keys), np.int32)
        half = len(keys) // 2 if len(keys) > _TWO_THREADS else 0
        each(
            lambda part: bang.find(self.words, self.levels, len(self), keys[part], out[part]),
            [slice(half), slice(half, len(keys))] if half else [slice(None)],
        )
        return out

    def name(self, region: int) -> tuple[int, int]:
        """Return the number and the level of a region: (2, 3) is the prefix 010."""
        level = int(self.levels[region])
        whole = 0
        for word in self.words[region].tolist():
            whole = whole << WORD | word
        return whole >> (WORD * self.words.shape[1] - level), level

    def numbers(self) -> list[tuple[int, int]]:
        """Return the names of all regions."""
        return [self.name(region) for region in range(len(self))]

    @classmethod
    def named(cls, names: list[tuple[int, int]], bits: tuple[int, ...]) -> Regions:
        """Return the regions of these names, sorted; the whole space, (0, 0), must be among them."""
        width = words_of(bits)
        words = np.zeros((len(names), width), np.uint64)
        for i, (number, level) in enumerate(names):
            aligned = number << (WORD * width - level)
            words[i] = [aligned >> WORD * (width - 1 - w) & (2**WORD - 1) for w in range(width)]
        return cls.of(words, np.array([level for _, level in names], np.int32), bits)[0]
