"""Skewness: a group whose values are spread otherwise than the table's tells something about its members."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.adversary.attacks.base import Attack, Findings, joined
from reveil.adversary.beliefs import FloatArray, believed, group_beliefs, likeliest
from reveil.core.arrays import Ragged, sums_of

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import IntArray


class Skewness(Attack):
    """Belief in the value that gains most over its share of the whole table.

    The summary has the distance of the groups' distributions from the table's: half the sum of the differences, so
    that 0 is no difference and 1 nothing in common.
    """

    name: ClassVar[str] = "skewness"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return one finding for each person and release."""
        parts, farthest, mean, gain = [], 0.0, [], 0.0
        for view in evidence.views:
            if not len(view.codes):
                continue
            shares = group_beliefs(view)
            share, base, away = from_table(
                view.values, view.counts, view.sizes, view.table_shares(len(evidence.values))
            )
            farthest = max(farthest, float(away.max(initial=0.0)))
            mean.append(float(np.average(away, weights=view.sizes)))
            gain = max(gain, float((share / base).max(initial=0.0)))
            _, place = likeliest(Ragged(view.values.offsets, np.arange(len(share), dtype=np.int32)), share - base)
            best, value = np.zeros(view.n_groups), np.full(view.n_groups, -1, np.int32)
            told = place >= 0
            best[told], value[told] = shares.each[place[told]], view.codes[place[told]]
            parts.append(believed(evidence, view, None, best, value))
        return joined(parts, {"distance_max": farthest, "distance_mean_per_release": mean, "largest_ratio": gain})


def from_table(
    values: Ragged[np.int32], counts: IntArray, sizes: IntArray, table: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the share of each count in its group, that of its value in the table, and how far each group is away."""
    owners = values.owners()
    share = counts / np.maximum(sizes[owners], 1)
    base = table[values.items]
    # What a group lacks, others have too much of: half the sum is the sum of what it has too much.
    away = sums_of(owners, np.maximum(share - base, 0), len(values))
    return share, base, away
