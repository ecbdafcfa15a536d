"""What frequencies of values allow: which values go together into buckets, and how many counterfeits that takes."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.core.arrays import CodeArray, IntArray
    from reveil.guarantees.signatures.sets import Sets


_REUSED = 512  # signatures that are tried for new records; the largest buckets are what matters


@dataclass(frozen=True)
class Step:
    """A bucket to be: ``amount`` records of each of the values."""

    values: CodeArray
    amount: int


def is_eligible(counts: npt.NDArray[np.integer], m: int) -> bool:
    """Return whether no value has more than one m-th of the records."""
    return int(counts.max(initial=0)) * m <= int(counts.sum())


def padding(counts: IntArray, domain: CodeArray, m: int) -> IntArray:
    """Return how many counterfeits of each value make the records m-eligible, the least frequent values first.

    With the most frequent value at s records of n, ``m * s - n`` counterfeits are needed and are enough; no value
    gets beyond s, so that they can always be found where the domain has m values.
    """
    needed = max(int(counts.max(initial=0)) * m - int(counts.sum()), 0)
    added = np.zeros_like(counts)
    if not needed:
        return added
    in_domain = counts[domain]
    order = np.argsort(in_domain, kind="stable")
    ascending = in_domain[order]
    # The lowest level to which the least frequent values are raised with so many records.
    cost = np.arange(1, len(in_domain) + 1) * ascending - np.cumsum(ascending)
    raised = int(np.searchsorted(cost, needed, side="right"))
    level, more = divmod(needed - int(cost[raised - 1]), raised)
    target = np.full(raised, ascending[raised - 1] + level)
    target[:more] += 1
    added[domain[order[:raised]]] = target - ascending[:raised]
    return added


def steps(counts: npt.NDArray[np.integer], m: int) -> list[Step]:
    """Return the buckets into which m-eligible records go without a rest.

    Repeatedly the beta >= m most frequent values and alpha records of each: beta the smallest from m up, and alpha the
    largest, such that alpha <= s_beta and what remains is m-eligible (s_1 - alpha and s_(beta+1) at most one m-th of
    the remaining records). Equally frequent values in the order of their codes. A heap of frequencies makes this
    cheap for many values. Source: Xiao and Tao 2007; thesis 000, 4.5.1.
    """
    total = int(counts.sum())
    if not is_eligible(counts, m):
        raise ValueError("these records are not m-eligible")
    heap = [(-int(counts[v]), int(v)) for v in np.flatnonzero(counts)]
    heapq.heapify(heap)
    found = []
    while total:
        taken = [heapq.heappop(heap) for _ in range(m)]
        while True:
            beta = len(taken)
            most, least = -taken[0][0], -taken[-1][0]
            beyond = -heap[0][0] if heap else 0
            alpha = min(least, (total - m * beyond) // beta)
            if beta > m:
                alpha = min(alpha, (total - m * most) // (beta - m))
            if alpha >= 1:
                break
            taken.append(heapq.heappop(heap))
        for minus, value in taken:
            if minus + alpha:
                heapq.heappush(heap, (minus + alpha, value))
        found.append(Step(np.sort(np.array([value for _, value in taken], np.int32)), alpha))
        total -= alpha * len(taken)
    return found


def known_steps(counts: npt.NDArray[np.integer], m: int, known: Sets, weights: IntArray) -> list[Step]:
    """Return the buckets into which m-eligible records go without a rest, signatures that exist already first.

    The signatures with the largest ``weights`` get as many records of each of their values as leave the others
    m-eligible; what remains goes by :func:`steps`. Records of one signature are split together, so that boxes stay
    tight over the releases, and large buckets stay balanced when persons leave.
    """
    left = counts.astype(np.int64)
    total = int(left.sum())
    found = []
    for place in np.argsort(-weights, kind="stable")[:_REUSED]:
        values = known.lists[place]
        beta = len(values)
        if weights[place] < 1 or not m <= beta < 2 * m or (values >= len(left)).any():
            continue
        left_steps = left[values]
        left[values] = 0
        alpha = min(int(left_steps.min()), (total - m * int(left.max(initial=0))) // beta)
        if beta > m:
            alpha = min(alpha, (total - m * int(left_steps.max())) // (beta - m))
        alpha = max(alpha, 0)
        left[values] = left_steps - alpha
        total -= alpha * beta
        if alpha:
            found.append(Step(values.astype(np.int32), alpha))
    return [*found, *steps(left, m)]


def parts(ordered: npt.NDArray[np.integer], m: int) -> list[int]:
    """Cut frequencies, in descending order, into runs of m to 2m - 1 so that filling up each run costs least.

    A run is filled up when each of its values has as many records as its most frequent one. Returns the lengths of
    the runs. Fewer than m values are one run. The answer depends on the frequencies alone, not on whose they are.
    """
    size = len(ordered)
    if size < 2 * m:
        return [size]
    cost = [0.0] + [np.inf] * size
    run = [0] * (size + 1)
    for end in range(m, size + 1):
        for length in range(m, min(2 * m - 1, end) + 1):
            here = cost[end - length] + length * int(ordered[end - length])
            if here < cost[end]:
                cost[end], run[end] = here, length
    lengths = []
    while size:
        lengths.append(run[size])
        size -= run[size]
    return lengths[::-1]


def quota(deficit: IntArray, supply: IntArray, m: int) -> IntArray:
    """Return how many new records of each value fill up old buckets.

    All that fit, for a record that fills a hole saves one counterfeit and costs at most one: with counts s_1 >= s_2 ...
    of n remaining records, max(0, m * s_1 - n) counterfeits make them eligible, and taking one record away adds at
    most one to that. Where it does add one, nothing is saved, and records are left with the new ones as long as these
    were eligible without them.
    """
    used = np.minimum(deficit, supply)
    rest = supply - used
    short = int(rest.max(initial=0)) * m - int(rest.sum())
    if short <= 0 or not rest.any():
        return used
    # Give back records of values that stay below the most frequent one, the rarest first.
    room = np.minimum(used, rest.max() - rest)
    order = np.argsort(rest, kind="stable")
    before = np.cumsum(room[order]) - room[order]
    back = np.clip(short - before, 0, room[order])
    if int(back.sum()) < short:
        return used  # they cannot be made eligible so: then every hole that can be filled is
    given = np.zeros_like(used)
    given[order] = back
    return used - given


def fewest_counterfeits(deficit: IntArray, supply: IntArray, m: int) -> int:
    """Return how many counterfeits there must be, whoever goes where: what the balance of values implies.

    Old buckets lack ``deficit`` records of each value; ``supply`` new records fill them or go into new buckets.
    """
    used = np.minimum(deficit, supply)
    rest = supply - used
    return int((deficit - used).sum()) + max(0, m * int(rest.max(initial=0)) - int(rest.sum()))
