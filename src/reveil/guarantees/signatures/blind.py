"""Groups whose making tells nothing: the blind grade of tau-safety.

Theorem. Let w be a table and O an output of :func:`form_groups` for it. For a signature S of O (one pool's bucket, or
an old bucket), let w' be w with the values of the persons in that bucket renamed by a permutation of S. Then
P(O | w') = P(O | w). Over a series, everybody is renamed who has the signature S, in all the releases at once, and the
same holds for each release given those before it. So, when every assignment of values of the domain to persons is
equally likely beforehand, each of the at least m values of S is equally likely for everyone in it, for somebody who
knows this code and all but the dice.

Proof, by the places where values matter.

* Old buckets are what was told: who is in them does not change. They are split by quasi values, with every value's
  list treated alike and ties by dice; a renaming permutes the lists. Holes are counterfeits, never new records.
* New records are pooled by what their persons were told (nothing, or the same signatures). A pool that is m-eligible
  goes into buckets by :func:`~reveil.guarantees.signatures.frequencies.known_steps`, a function of its frequencies and
  of how many persons keep which signature; who goes where is drawn by dice. Each bucket has equally many records of
  each of its values, so a renaming within it leaves the frequencies as they were: the same steps, and the same number
  of equally likely draws.
* A pool that is not m-eligible has its values sorted by frequency, ties by dice, and cut into runs of m to 2m - 1
  values; each run is a bucket with all the records of its values. A renaming within a run permutes frequencies within
  the run: they sort and cut as before, and the number of ways to break ties is the same. A pool of fewer than m values
  is one run, filled up with values drawn from the rest of the domain: as likely for any of its values.
* Whether a pool is eligible depends on its frequencies up to renaming, and a renaming changes those of its own pool
  only. A renaming within S, which shares nothing with what the persons were told, leaves everybody in their pool.
* Records of equal signatures are split together, old and new: they are renamed together.
* Ties in a split are broken by dice of their own, not by those that drew the bucket.

The price: only ineligible pools and the holes of old buckets cost counterfeits, but the dice place records where a
look at distances would have placed them closer.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.core.arrays import CodeArray, Ragged, offsets_of
from reveil.guarantees.signatures.frequencies import Step, fewest_counterfeits, is_eligible, known_steps, parts, steps
from reveil.guarantees.signatures.machine import Buckets, Groups, bucketed
from reveil.guarantees.signatures.sets import Sets

if TYPE_CHECKING:
    from reveil.core.randomness import Dice
    from reveil.guarantees.signatures.situation import Situation
    from reveil.guarantees.signatures.space import FloatArray


def form_groups(now: Situation, points: FloatArray, m: int, rng: Dice) -> Groups:
    """Form the groups of a release in the blind grade."""
    new = np.concatenate([now.fresh, now.movers])
    lots, ties = rng.child("lots").permutation(new).astype(np.int32), rng.child("ties").permutation(now.size)
    keepers = now.keepers
    old = bucketed(now.sets, now.usable[keepers], now.values[keepers], keepers)
    buckets = _together([old, *_new_buckets(now, lots, m, rng)])
    groups = _tied(buckets, ties).split(points, swap=False)
    deficit = np.bincount(old.sets.members, weights=old.holes, minlength=now.width).astype(np.int64)
    supply = np.bincount(now.values[new], minlength=now.width).astype(np.int64)
    return replace(groups, fewest=fewest_counterfeits(deficit, supply, m))


def _new_buckets(now: Situation, lots: CodeArray, m: int, rng: Dice) -> list[Buckets]:
    """Put the new records of each pool into buckets, in the order of their lots."""
    if not len(lots):
        return []
    pool = _pools(now)[lots]
    lots = lots[np.argsort(pool, kind="stable")]
    starts = offsets_of(np.bincount(pool))
    sets: list[CodeArray] = []
    orders: list[CodeArray] = []
    starts = np.unique(starts)  # pools without new records have none
    told = now.told_values(lots[starts[:-1]])  # of one person of each pool: the others were told the same
    for p, (start, end) in enumerate(pairwise(starts)):
        barred = told.lists[p]
        for members, lists in _pool_buckets(lots[start:end], now, barred, m, rng.child("pool", p)):
            sets.append(members)
            orders += lists
    made = Sets(Ragged.of_rows(sets, np.int32))
    return [Buckets(made, Ragged.of_rows(orders, np.int32))]


def _pool_buckets(
    records: CodeArray, now: Situation, barred: CodeArray, m: int, rng: Dice
) -> list[tuple[CodeArray, list[CodeArray]]]:
    """Return the buckets of one pool: the values of each, and a list of records for each value."""
    order = np.argsort(now.values[records], kind="stable")
    values, counts = np.unique(now.values[records], return_counts=True)
    lists = list(Ragged.of_lengths(counts, records[order]))
    if is_eligible(counts, m):
        plan = steps(counts, m) if len(barred) else _known_steps(values, counts, now, m)
        used = np.zeros(len(values), np.int64)
        found = []
        for step in plan:
            chosen = [lists[v][used[v] : used[v] + step.amount] for v in step.values]
            used[step.values] += step.amount
            found.append((values[step.values].astype(np.int32), chosen))
        return found
    by_frequency = np.lexsort((rng.child("equally frequent").permutation(len(values)), -counts))
    found, at = [], 0
    for length in parts(counts[by_frequency], m):
        run = by_frequency[at : at + length]
        at += length
        members, chosen = values[run], [lists[v] for v in run]
        if length < m:
            rest = np.setdiff1d(now.domain, np.concatenate([members, barred]))
            absent = rng.child("absent values", at).permutation(rest)[: m - length]
            members = np.concatenate([members, absent])
            chosen += [records[:0]] * (m - length)
        inside = np.argsort(members)
        found.append((members[inside].astype(np.int32), [chosen[i] for i in inside]))
    return found


def _pools(now: Situation) -> npt.NDArray[np.int64]:
    """Number the pools: records whose persons were told the same."""
    pairs = pl.DataFrame({"record": now.block_records, "set": now.block_sets}).sort("record", "set")
    told = pairs.group_by("record").agg(pl.col("set")).with_columns(pool=pl.col("set").rank("dense") - 1)
    pools = np.zeros(now.size, np.int64)
    pools[told["record"].to_numpy()] = told["pool"].to_numpy() + 1
    return pools


def _known_steps(values: CodeArray, counts: npt.NDArray[np.integer], now: Situation, m: int) -> list[Step]:
    """Return the steps of those who were told nothing, old signatures first; they speak of places in ``values``."""
    places = np.full(now.width, len(values), np.int32)
    places[values] = np.arange(len(values))
    return known_steps(counts, m, Sets(Ragged(now.sets.offsets, places[now.sets.members])), now.weights)


def _together(buckets: list[Buckets]) -> Buckets:
    """Put the records of equal signatures into one bucket."""
    joined = buckets[0].sets
    for more in buckets[1:]:
        joined = joined.join(more.sets)
    sets, place = joined.distinct()
    records = Ragged.concatenate([bucket.records for bucket in buckets])
    slot = records.owners()
    return bucketed(sets, place[joined.of_member[slot]], joined.members[slot], records.items)


def _tied(buckets: Buckets, ties: npt.NDArray[np.int64]) -> Buckets:
    """Order each list by dice that decide nothing else."""
    records = buckets.records
    order = np.lexsort((ties[records.items], records.owners()))
    return Buckets(buckets.sets, Ragged(records.offsets, records.items[order]))
