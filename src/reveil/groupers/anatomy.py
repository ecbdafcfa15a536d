"""Anatomy: groups in which every sensitive value is different."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from reveil.curve import along_curve
from reveil.errors import ConfigError
from reveil.groupers.base import Grouper
from reveil.kernels import deal
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.statistics import CodeArray, IntArray, Partition

if TYPE_CHECKING:
    from reveil.codes import Codes
    from reveil.models.base import Model


@dataclass(frozen=True, kw_only=True)
class Anatomy(Grouper):
    """Deals records into groups of l different values, and publishes quasi values and sensitive values apart.

    Groups take one record of each of the l currently most frequent values. Which record: the groups are put in random
    order, and each value's records, ordered along a space-filling curve, go in that order to the groups that take the
    value, so that records of one group lie near each other. A record left over goes to the nearest group that lacks
    its value; if all have it, it is suppressed.

    Guarantee: in every group all values are different, at least l of them; so no value has more than 1/l of a group.
    Assumes: one sensitive attribute.
    Does not protect against: finding out *that* somebody is in the table. Published in its own form (two tables), the
    exact quasi values of everybody are in the file. Nor against an adversary who knows the algorithm: the dealing
    looks at values (the *counted* grade).
    Source: Xiao, Tao 2006; thesis 000, chapter 2.
    """

    name: ClassVar[str] = "anatomy"
    suppresses: ClassVar[bool] = True
    recode: str = "anatomy"

    @classmethod
    def examples(cls) -> tuple[Anatomy, ...]:
        """Return both published forms."""
        return cls(), cls(recode="boxes")

    def __post_init__(self) -> None:
        self.check_recode()

    def parameters(self) -> dict[str, Any]:
        """Return the parameters under their config names."""
        return {"recode": self.recode}

    def reason_against(self, model: Model) -> str | None:
        """Say why a model cannot be kept: only sizes and shares of different values are under control."""
        if not isinstance(model, KAnonymity | DistinctDiversity | FrequencyDiversity | EntropyDiversity):
            return "its groups have l different values each, which says nothing about this model"
        return None

    def reads_values(self, model: Model) -> bool:  # noqa: ARG002
        """Say that values decide who is grouped with whom."""
        return True

    def group(self, codes: Codes, model: Model, rng: np.random.Generator) -> Partition:
        """Deal the records."""
        if len(codes.sensitive) != 1:
            raise ConfigError(
                f"anatomy deals the values of one sensitive column, not of {len(codes.sensitive)}",
                hint="Declare one column as sensitive, or use the method 'mondrian' with recode = \"anatomy\".",
            )
        values = codes.sensitive[0].codes
        domain = codes.sensitive[0].domain
        counts = np.bincount(values, minlength=domain).astype(np.int64)
        dealt, left = deal.rounds(counts, _values_per_group(model))
        dealt = rng.permutation(dealt)
        labels = self._hand_out(codes, values, counts, dealt, left)
        order = np.argsort(labels, kind="stable").astype(np.int32)[int((labels < 0).sum()) :]
        sizes = np.bincount(labels[labels >= 0], minlength=len(dealt))
        return Partition(order, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), codes.n)

    @staticmethod
    def _hand_out(codes: Codes, values: CodeArray, counts: IntArray, dealt: CodeArray, left: IntArray) -> IntArray:
        """Give each record its group, -1 for none."""
        labels = np.full(codes.n, -1, np.int64)
        by_value = along_curve(codes)
        by_value = by_value[np.argsort(values[by_value], kind="stable")]
        starts = np.cumsum(counts) - counts
        # Slots in the order of values, and within a value in the order of the groups.
        slots = np.argsort(dealt.ravel(), kind="stable")
        slot_group, slot_value = slots // max(dealt.shape[1], 1), dealt.ravel()[slots]
        used = counts - left
        first_slot = np.cumsum(used) - used
        rank = np.arange(len(slots)) - first_slot[slot_value]
        # The records of a value that are left over are spread evenly among the others, so that the rest stay near.
        place = rank * counts[slot_value] // np.maximum(used[slot_value], 1)
        labels[by_value[starts[slot_value] + place]] = slot_group
        for value in np.flatnonzero(left):
            own = by_value[starts[value] : starts[value] + counts[value]]
            spare = np.flatnonzero(labels[own] < 0)
            lacking = np.setdiff1d(np.arange(len(dealt)), np.flatnonzero((dealt == value).any(axis=1)))
            spare = spare[: len(lacking)]
            # Groups lie along the curve in their order: the nearest is the one at the same share of the way. A group
            # takes one of them; who comes second goes to the next.
            step = np.arange(len(spare))
            wanted = np.maximum.accumulate(spare * len(lacking) // len(own) - step) + step
            labels[own[spare]] = lacking[np.minimum(wanted, len(lacking) - len(spare) + step)]
        return labels


def _values_per_group(model: Model) -> int:
    """Return how many different values a group needs so that every part holds."""
    needed = [part.k if isinstance(part, KAnonymity) else math.ceil(part.l) for part in model.parts]  # type: ignore[attr-defined]
    return max(needed)
