"""Anatomy: groups in which every sensitive value is different."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core.arrays import offsets_of
from reveil.core.errors import ConfigError
from reveil.core.kernels import deal
from reveil.grouping.groupers.base import Grouper
from reveil.grouping.groupers.mondrian import Mondrian
from reveil.grouping.hilbert import along_curve
from reveil.models.distinct_diversity import DistinctDiversity
from reveil.models.entropy_diversity import EntropyDiversity
from reveil.models.frequency_diversity import FrequencyDiversity
from reveil.models.k_anonymity import KAnonymity
from reveil.models.statistics import Partition

if TYPE_CHECKING:
    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.models.base import Model
    from reveil.models.encoding import Codes


@dataclass(frozen=True, kw_only=True)
class Anatomy(Grouper):
    """Deals records into groups of l different values, and publishes quasi values and sensitive values apart.

    The table is first cut, as Mondrian does, into cells in which no value has more than 1/l of the records. In each
    cell groups take one record of each of the l currently most frequent values, in their order along a space-filling
    curve; a record left over goes to the nearest group that lacks its value. If all have it, it is suppressed: that
    happens only where the whole table has more than 1/l of one value.

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

    def parameters(self) -> dict[str, JSON]:
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

    def group(self, codes: Codes, model: Model, rng: Dice) -> Partition:
        """Deal the records."""
        if len(codes.sensitive) != 1:
            raise ConfigError(
                f"anatomy deals the values of one sensitive column, not of {len(codes.sensitive)}",
                hint="Declare one column as sensitive, or use the method 'mondrian' with recode = \"anatomy\".",
            )
        least = _values_per_group(model)
        # Deal within cells as small as they can be dealt without a rest: there no value has more than 1/l. (Where the
        # table as a whole has too much of one, it is one cell.)
        cells = Mondrian().group(codes, FrequencyDiversity(least), rng.child("cells"))
        place = np.empty(codes.n, np.int64)
        place[along_curve(codes)] = np.arange(codes.n)
        order = cells.order[np.lexsort((place[cells.order], cells.labels[cells.order]))]
        attribute = codes.sensitive[0]
        labels, n_groups = deal.deal(
            attribute.codes[order], cells.offsets[:-1], cells.offsets[1:], least, attribute.domain
        )
        grouped = np.argsort(labels, kind="stable")[int((labels < 0).sum()) :]
        sizes = np.bincount(labels[grouped], minlength=n_groups)
        return Partition(order[grouped], offsets_of(sizes), codes.n)


def _values_per_group(model: Model) -> int:
    """Return how many different values a group needs so that every part holds."""
    needed = [part.k if isinstance(part, KAnonymity) else math.ceil(part.l) for part in model.parts]  # type: ignore[attr-defined]
    return max(needed)
