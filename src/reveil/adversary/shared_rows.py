"""People share the rows of groups: from what each may have to what each has, given that every row is somebody's.

Somebody's belief in a value is their chance of it times how much their groups have left of it; how much is left follows
from what all the others take. Both are solved for in turn (Sinkhorn's scaling), which gives the likeliest common
explanation, not the exact average over all worlds: what comes out is a guess, and how good it is, is measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from reveil.adversary.view import View
    from reveil.core.arrays import Ragged

FloatArray = npt.NDArray[np.float64]

ROUNDS = 30
CLOSE = 1e-3  # on average a row of beliefs sums up to one with no more than this amiss
_TINY = 1e-300


@dataclass(frozen=True)
class SharedRows:
    """Who may be in which group (``members``), and how many rows of each value every group has (``rows``)."""

    members: csr_array = field(repr=False)
    rows: FloatArray = field(repr=False)

    @classmethod
    def of(cls, view: View, groups: Ragged[np.int32], domain: int) -> SharedRows:
        """Lay out a release for people who may be in these groups."""
        shape = (len(groups), view.n_groups)
        members = csr_array((np.ones(len(groups.items)), groups.items, groups.offsets), shape=shape)
        values = (view.counts.astype(np.float64), view.codes, view.values.offsets)
        rows = csr_array(values, shape=(view.n_groups, max(domain, 1))).toarray()
        return cls(members, rows * (view.real / np.maximum(view.sizes, 1))[:, None])

    def singly(self, chances: FloatArray) -> FloatArray:
        """Return beliefs of somebody who looks at one person's groups and forgets the others in them."""
        shares = self.rows / np.maximum(self.rows.sum(axis=1, keepdims=True), _TINY)
        return normalised(chances * (self.members @ shares), chances)

    def together(self, chances: FloatArray, rounds: int = ROUNDS) -> tuple[FloatArray, FloatArray]:
        """Return beliefs that use up the rows, and how much each group has left of each value."""
        left: FloatArray = self.rows / np.maximum(self.rows.sum(axis=1, keepdims=True), _TINY)
        for _ in range(rounds):
            beliefs = chances * (self.members @ left)
            sums = beliefs.sum(axis=1)
            there = sums > _TINY
            if np.abs(sums[there] - 1).mean() < CLOSE if there.any() else True:
                break
            weight = np.where(there, 1 / np.maximum(sums, _TINY), 0.0)
            taken = self.members.T @ (weight[:, None] * chances)
            left = np.where(taken > _TINY, self.rows / np.maximum(taken, _TINY), 0.0)
        return normalised(chances * (self.members @ left), chances), left


def normalised(beliefs: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return rows that sum up to one; those of zeros are taken from elsewhere."""
    sums = beliefs.sum(axis=1, keepdims=True)
    return np.where(sums > _TINY, beliefs / np.maximum(sums, _TINY), otherwise)
