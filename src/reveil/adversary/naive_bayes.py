"""Naive Bayes: the chances of a sensitive value given quasi values, learnt from people whose value is (half) known.

Quasi values come as small whole numbers, a column of them for each attribute (:class:`Features`): every value of a
category, numbers and dates in bins of about equally many people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import csr_array

from reveil.models.encoding import encode_quasi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.core.arrays import CodeArray
    from reveil.tables.schema import Schema

FloatArray = npt.NDArray[np.float64]

BINS = 24
SMOOTHING = 5.0  # made-up people per value and attribute, spread as everybody is


@dataclass(frozen=True)
class Features:
    """``codes[i, a]`` is what person i has in attribute a, one of ``sizes[a]``."""

    codes: CodeArray = field(repr=False)
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def marks(self) -> csr_array:
        """Return a row for each value of each attribute, with a one for each person who has it."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        rows, n = (self.codes + starts[:-1]).ravel(), len(self.codes)
        people = np.repeat(np.arange(n), len(self.sizes))
        return csr_array((np.ones(len(rows)), (rows, people)), shape=(int(starts[-1]), n))


def features_of(tables: Sequence[pl.DataFrame], schema: Schema) -> list[Features]:
    """Code the quasi columns that all tables have, alike in all of them."""
    common = [name for name in schema.quasi if all(name in table.columns for table in tables)]
    ends = np.cumsum([table.height for table in tables])
    columns, sizes = [], []
    for name in common:
        parts = [table[name] for table in tables]
        if len({part.dtype for part in parts}) > 1:
            parts = [part.cast(pl.Float64 if all(p.dtype.is_numeric() for p in parts) else pl.String) for part in parts]
        attribute = encode_quasi(pl.concat(parts), schema[name])
        codes, size = attribute.codes, len(attribute.domain) + 1
        if size > BINS:
            many = np.bincount(codes, minlength=size)
            middle = (np.cumsum(many) - many / 2) / max(len(codes), 1)
            codes, size = np.minimum((middle * BINS).astype(np.int32), BINS - 1)[codes], BINS
        columns.append(codes.astype(np.int32))
        sizes.append(size)
    total = int(ends[-1]) if len(ends) else 0
    stacked = np.stack(columns, axis=1) if columns else np.zeros((total, 0), np.int32)
    return [Features(part, tuple(sizes)) for part in np.split(stacked, ends[:-1])]


@dataclass(frozen=True)
class NaiveBayes:
    """Logarithms of the chances of each value, and of each attribute's values given it."""

    values: FloatArray = field(repr=False)
    given: FloatArray = field(repr=False)

    @classmethod
    def learn(cls, people: Sequence[tuple[Features, FloatArray]]) -> NaiveBayes:
        """Learn from people and how strongly each value is believed of each; rows of zeros teach nothing."""
        seen = sum((features.marks() @ beliefs for features, beliefs in people), np.zeros(()))
        sizes = people[0][0].sizes
        values = sum((beliefs.sum(axis=0) for _, beliefs in people), np.zeros(())) + 1e-3
        counted = np.asarray(seen, np.float64).reshape(sum(sizes), len(values))
        rows = np.repeat(np.arange(len(sizes)), sizes)
        by_attribute = np.zeros((len(sizes), len(values)))
        np.add.at(by_attribute, rows, counted)
        everybody = counted.sum(axis=1) + 1e-9
        spread = everybody / np.bincount(rows, everybody, len(sizes))[rows]
        given = (counted + SMOOTHING * spread[:, None]) / (by_attribute[rows] + SMOOTHING)
        return cls(np.log(values / values.sum()), np.log(given))

    def chances(self, features: Features) -> FloatArray:
        """Return the chance of each value for each person."""
        sums = np.tile(self.values, (len(features), 1))
        start = 0
        for place, size in enumerate(features.sizes):
            sums += self.given[start : start + size][features.codes[:, place]]
            start += size
        sums -= sums.max(axis=1, keepdims=True)
        chances: FloatArray = np.exp(sums)
        chances /= chances.sum(axis=1, keepdims=True)
        return chances
