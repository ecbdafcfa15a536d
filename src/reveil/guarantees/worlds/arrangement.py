"""The values of each bucket in a cycle of which every l consecutive ones differ."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import CodeArray, IntArray, offsets_of, ranks_in_rows


@dataclass(frozen=True)
class Arrangement:
    """The places of all buckets, one after the other: bucket b has the places ``starts[b]`` to ``starts[b + 1]``.

    ``values`` is the value z of each place, and ``bucket`` the bucket of each place.
    """

    starts: IntArray
    bucket: IntArray = field(repr=False)
    values: CodeArray = field(repr=False)

    @property
    def sizes(self) -> IntArray:
        """How many places each bucket has."""
        return np.diff(self.starts)


def arranged(bucket: npt.NDArray[np.integer], values: CodeArray, l: int) -> Arrangement:
    """Order the values of each bucket (given per record) so that any l cyclically consecutive ones differ.

    Lemma 8.1 of the source. Assumes: no value occurs in more than q = floor(n/l) of the n records of a bucket. Sort
    the values by falling count, fill an array of q rows column by column (its entry A(i, j) is z_{i+qj}; the source
    prints i+rj) and read it row by row. A row has at least l entries, and equal values are either one full column
    (those with q records come first) or fewer than q entries in a row down the columns: l consecutive entries of the
    reading order meet no value twice.

    What comes out depends on how many records of a bucket have each value, and on nothing else.
    """
    n_values = int(values.max(initial=0)) + 1
    sizes = np.bincount(bucket)
    starts = offsets_of(sizes)
    keys, counts = np.unique(bucket.astype(np.int64) * n_values + values, return_counts=True)
    order = np.lexsort((keys % n_values, -counts, keys // n_values))
    sorted_values = np.repeat((keys % n_values)[order], counts[order]).astype(np.int32)
    of_place = np.repeat(np.arange(len(sizes)), sizes)
    inside = ranks_in_rows(sizes)
    rows = np.maximum(sizes // l, 1)[of_place]
    reading = np.lexsort((inside // rows, inside % rows, of_place))
    return Arrangement(starts, of_place, sorted_values[reading])
