"""Partitions with nested regions for tests: random ones, and given ones."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import reveil as rv
from reveil.core.randomness import Dice
from reveil.grouping.groupers.base import Grouper
from reveil.models.statistics import GroupRegions, Partition
from reveil.tables.snapshot import read_snapshot
from tests.made import made


@dataclass(frozen=True)
class Nest(Grouper):
    """Groups records by the innermost of some regions: given ones (lo, hi, level), or random halves of halves.

    The first ``out`` records are left out.
    """

    regions: tuple = ()
    seed: int = 0
    out: int = 0
    recode: str = "nested"
    name: ClassVar[str] = "nest"
    suppresses: ClassVar[bool] = True
    makes_regions: ClassVar[bool] = True

    @classmethod
    def examples(cls):
        return ()

    def parameters(self):
        return {"recode": self.recode}

    def group(self, codes, model, rng):
        regions = self.regions or halves(codes, np.random.default_rng(self.seed))
        lo, hi = (np.array([region[end] for region in regions], np.int32) for end in (0, 1))
        level = np.array([region[2] for region in regions], np.int32)
        points = codes.matrix()[:, None, :]
        inside = ((points >= lo) & (points <= hi)).all(axis=2)
        own = np.where(inside, level, -1).argmax(axis=1)
        records = np.arange(min(self.out, codes.n - 1), codes.n)
        order = records[np.argsort(own[records], kind="stable")].astype(np.int32)
        used, sizes = np.unique(own[records], return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Partition(order, offsets, codes.n, regions=GroupRegions(lo[used], hi[used], level[used]))


def halves(codes, rng):
    """Cut the space of codes again and again, anywhere, and keep some of the parts; the whole is always kept."""
    regions, waiting = [], [((0,) * len(codes.quasi), tuple(a.null_code for a in codes.quasi), 0)]
    while waiting:
        lo, hi, level = waiting.pop()
        if not level or rng.random() < 0.5:
            regions.append((lo, hi, level))
        wide = [a for a in range(len(lo)) if hi[a] > lo[a]]
        if wide and level < 6 and rng.random() < 0.9:
            a = int(rng.choice(wide))
            cut = int(rng.integers(lo[a], hi[a]))
            waiting.append((lo, (*hi[:a], cut, *hi[a + 1 :]), level + 1))
            waiting.append(((*lo[:a], cut + 1, *lo[a + 1 :]), hi, level + 1))
    return regions


def published(table, method, *, suppress=0.0):
    return rv.anonymize(table.frame, table.schema, rv.KAnonymity(1), method, suppress=suppress, seed=1)


def prepared(frame, schema, method, k=1):
    """Return release, placement, codes and model."""
    return made(rv.Static(k=k), read_snapshot(frame, schema), Dice.of_seed(1), method)


def grid(side=8):
    """One record on every point of a square."""
    points = list(itertools.product(range(side), repeat=2))
    return {"x": [x for x, _ in points], "y": [y for _, y in points]}
