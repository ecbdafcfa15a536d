"""Buckets: neighbours whose values may change places. No value has more than one in l records of a bucket.

Two ways. :func:`diverse_buckets` cuts wherever both sides stay diverse, as the source does: fine buckets, but a cut
that was not made tells something about values. :func:`blind_buckets` cuts by quasi values alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import CodeArray, IntArray, offsets_of_sorted
from reveil.core.errors import InfeasibleError
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.grouping.hilbert import along_curve
from reveil.models.frequency_diversity import FrequencyDiversity

if TYPE_CHECKING:
    from reveil.core.randomness import Dice
    from reveil.models.encoding import Codes


LARGEST = 50  # records of a blind bucket, in multiples of l
_CHANCE = 0.001  # that values dealt at random make some bucket not diverse


def largest_l(values: CodeArray) -> int:
    """Return the largest whole l for which no value has more than one in l of the records."""
    return len(values) // int(np.bincount(values).max()) if len(values) else 0


def diverse_buckets(codes: Codes, l: int, rng: Dice) -> IntArray:
    """Return the bucket of each record, cut as finely as the values allow (Mondrian)."""
    return Mondrian().group(codes, FrequencyDiversity(l), rng).labels.astype(np.int64)


def blind_buckets(codes: Codes, values: CodeArray, l: int) -> IntArray:
    """Return the bucket of each record, cut by quasi values alone.

    All buckets have one size s (or one record more). It is the smallest multiple of l for which values dealt at random
    would leave every bucket diverse but for a chance of one in a thousand, and 50 l at most: it follows from how often
    each value occurs in all, which the releases tell anyway and which is the same in every world. Neighbours along
    the curve have values that are alike, so a bucket has no neighbours: the curve is cut into s stretches, and every
    bucket takes one record of each, the first bucket the first ones. Such a bucket is more like the whole table than a
    random one.

    No choice depends on who has which value. A bucket that is not diverse all the same is refused; nothing is
    published then, and that there was no refusal is true of every world of the set alike.
    """
    order = along_curve(codes) if codes.quasi else np.arange(codes.n)
    labels = _cut(order, values, l)
    if is_diverse(labels, values, l):
        return labels
    would_do = next((k for k in range(l - 1, 1, -1) if is_diverse(_cut(order, values, k), values, k)), None)
    raise InfeasibleError(
        f"blind = true finds no buckets in which no value has more than one in {l} records, "
        f"up to {LARGEST * l:,} records",
        hint=(f"l = {would_do} would do; taken because of this refusal, it tells something. " if would_do else "")
        + "With blind = false buckets follow the values, and the claim holds up to what their boundaries tell.",
    )


def is_diverse(labels: IntArray, values: CodeArray, l: int) -> bool:
    """Return whether no value has more than one in l records of any bucket."""
    domain = int(values.max(initial=0)) + 1
    keys, counts = np.unique(labels * domain + values, return_counts=True)
    return bool((counts * l <= np.bincount(labels)[keys // domain]).all())


def blind_size(counts: IntArray, l: int) -> int:
    """Return the size of blind buckets for a table that has each value so many times.

    A bucket of s out of n records has k of the c records with a value by the hypergeometric law, if values are dealt
    at random; the chances of all buckets and values are added up.
    """
    from scipy.stats import hypergeom

    n = int(counts.sum())
    for size in range(l, LARGEST * l, l):
        buckets = max(n // size, 1)
        small, more = divmod(n, buckets)
        fails = (buckets - more) * np.sum(hypergeom.sf(small // l, n, counts, small))
        fails += more * np.sum(hypergeom.sf((small + 1) // l, n, counts, small + 1)) if more else 0
        if fails <= _CHANCE:
            return size
    return LARGEST * l


def _cut(order: IntArray, values: CodeArray, l: int) -> IntArray:
    """Cut records in the order of the curve into buckets that take one record of each stretch."""
    n = len(order)
    counts = np.bincount(values)
    size = min(blind_size(counts[counts > 0].astype(np.int64), l), n)
    place = np.arange(n)
    section = place * size // n
    begins = offsets_of_sorted(section, size)[:-1]
    along = (place - begins[section]) / np.bincount(section, minlength=size)[section]
    labels = np.empty(n, np.int64)
    labels[order[np.lexsort((section, along))]] = place * max(n // size, 1) // n
    return labels
