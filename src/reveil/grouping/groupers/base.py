"""What a grouper is: codes and a model in, a partition out in which every group is valid.

To add one: a file in this folder, a line under ``[project.entry-points."reveil.groupers"]``, and an entry in
``tests/grouping/groupers/cases.py``. The contract suite of :mod:`reveil.testing` finds it by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core import registry
from reveil.core.arrays import CodeArray, offsets_of
from reveil.core.errors import ConfigError, InfeasibleError
from reveil.models.statistics import GroupStats, Histogram, Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.grouping.recoders.base import Recoder
    from reveil.grouping.sampling import Sampling
    from reveil.models.base import Model
    from reveil.models.encoding import Codes
    from reveil.models.statistics import Reference
    from reveil.tables.schema import Schema


class Grouper(ABC):
    """Proposes a partition in which every group satisfies a model."""

    name: ClassVar[str]
    suppresses: ClassVar[bool] = False  # whether a record may end in no group
    refuses: ClassVar[Mapping[str, str]] = {}  # settings that one may look for here, and why there are none
    makes_regions: ClassVar[bool] = False  # whether its partitions have nested regions around the groups
    measures_closeness: ClassVar[bool] = False  # whether releases tell the t they reach, asked for or not
    chooses_k: ClassVar[bool] = False  # whether k = "auto" may be asked for; then it has a weight
    recode: str  # in which form the partition is published: the name of a recoder
    weight: float | None = None  # of privacy loss against information loss, where it chooses k

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Grouper, ...]:
        """Return the instances that the contract suite tries: one for each way of working."""

    @abstractmethod
    def group(self, codes: Codes, model: Model, rng: Dice) -> Partition:
        """Partition the records. The table as a whole satisfies the model; every group must too."""

    def refine(
        self,
        codes: Codes,
        model: Model,
        rng: Dice,
        start: Partition,
        *,
        table: Mapping[str, Reference] | None = None,  # noqa: ARG002
        blind: bool = False,
    ) -> Partition:
        """Partition each group of a partition further; each is valid, and so is every group that comes of it.

        ``table`` is what models compare groups with, where that is not the records at hand. ``blind``: no choice may
        look at who has which value; see :meth:`~reveil.models.base.Model.surely`.
        """
        if blind and self.reads_values(model):
            raise ConfigError(
                f"the method {self.name!r} looks at who has which value", hint="blind = true needs 'mondrian'."
            )
        return part_by_part(start, lambda records, at: self.group(codes.take(records), model, rng.child("part", at)))

    def unsearched(self) -> Grouper | None:
        """Return this method without its search for narrow cells, which hides who stretches a group, or None."""
        return None

    def carried_over(
        self,
        codes: Codes,
        layout: Mapping[str, JSON] | None,  # noqa: ARG002
        *,
        part: bool = False,  # noqa: ARG002
    ) -> tuple[Grouper, Codes, Mapping[str, JSON] | None]:
        """Go on from what was kept of the last release, for a series: return who groups, which codes, what to keep.

        ``layout`` is what was returned the last time, None at the first; ``part``: ``codes`` are of some records or
        columns of the table only. Most methods keep nothing.
        """
        return self, codes, None

    def forgetting(self, layout: Mapping[str, JSON], values: Mapping[str, pl.Series]) -> Mapping[str, JSON] | None:  # noqa: ARG002
        """Return what is left of a layout when a person is erased: ``values`` are those that somebody else still has.

        What another method kept is of no use to this one, and may hold anything.
        """
        return None

    def reason_against(self, model: Model) -> str | None:
        """Say why this grouper cannot keep a model, or None if it can."""
        if not model.tags.union_closed:
            return "groups with equal boxes are one group to a reader, and the model does not survive that union"
        return None

    def lacks(self, model: Model) -> str | None:  # noqa: ARG002
        """Say what this grouper needs that a model as a whole does not ask for, or None."""
        return None

    def reason_against_cells(self) -> str | None:
        """Say why a table in shards cannot be grouped, or None if it can.

        Cells are found by :mod:`reveil.grouping.top_cuts` and grouped by ``group_cell``, or are blocks of
        :mod:`reveil.grouping.bang.in_shards`.
        """
        return f"the method {self.name!r} looks at all records at once"

    @abstractmethod
    def parameters(self) -> dict[str, JSON]:
        """Return the parameters under their config names."""

    def check_schema(self, schema: Schema) -> None:  # noqa: B027  (most schemas suit most methods)
        """Refuse, before any data is read, columns that this grouper cannot publish."""

    def reading(self, schema: Schema) -> Schema:
        """Return the schema with which tables are read for this grouper: to publish them, and to verify what was."""
        return schema

    def recoder(self) -> Recoder:
        """Return the recoder that publishes the partition."""
        found: type[Recoder] = registry.find("recoders", self.recode)
        return found()

    def sampling(self, model: Model) -> Sampling | None:  # noqa: ARG002
        """Return what a grouper that publishes a random sample promises beside the model; None if it does not."""
        return None

    def check_recode(self) -> None:
        """Refuse a form that nobody registered, and nested regions where this grouper makes none."""
        if registry.find("recoders", self.recode).needs_regions and not self.makes_regions:
            raise ConfigError(
                f"the method {self.name!r} makes no nested regions to publish",
                hint="Publish boxes, or use the method 'bang' with form = \"nested\".",
            )

    def reads_values(self, model: Model) -> bool:
        """Return whether any choice depends on sensitive values; if not, the grouping is blind."""
        return model.tags.reads_values


def part_by_part(start: Partition, group: Callable[[CodeArray, int], Partition]) -> Partition:
    """Partition each group of a partition by itself, given its records and number; records keep their places."""
    orders, sizes = [start.order[:0]], [np.zeros(0, np.int64)]
    for number, (first, last) in enumerate(pairwise(start.offsets)):
        records = start.order[first:last]
        inner = group(records, number)
        orders.append(records[inner.order])
        sizes.append(inner.sizes)
    offsets = offsets_of(np.concatenate(sizes))
    return Partition(np.concatenate(orders), offsets, start.n)


def check_plan(grouper: Grouper, model: Model, *, auto: bool = False) -> None:
    """Refuse a pair that cannot work, before any data is read, and say which would. ``auto``: k is to be chosen."""
    if grouper.weight is not None and not auto:
        raise ConfigError(
            "weight is for choosing k, and k is not to be chosen",
            hint='Ask for k = "auto" under [guarantee] (kind = "static"), or take weight out.',
        )
    for part in model.parts:
        reason = grouper.reason_against(part)
        if reason is not None:
            would = _suited(lambda other, part=part: other.reason_against(part) is None)  # type: ignore[misc]
            raise ConfigError(f"the method {grouper.name!r} cannot keep {part!r}: {reason}", hint=would)
    lacking = grouper.lacks(model)
    if lacking is not None:
        would = _suited(lambda other: not other.lacks(model) and not any(map(other.reason_against, model.parts)))
        raise ConfigError(f"the method {grouper.name!r} {lacking}", hint=would)


def _suited(good: Callable[[Grouper], bool]) -> str:
    """Name the registered methods that would do."""
    suited = [name for name, cls in registry.everything("groupers").items() if good(cls.examples()[0])]
    return f"These methods can: {', '.join(suited)}." if suited else "No registered method can keep it."


def check_feasible(codes: Codes, model: Model) -> None:
    """Refuse a table that does not satisfy the model even as one group."""
    read = codes.sensitive if model.tags.reads_values else ()
    start, end = np.zeros(1, np.int64), np.array([codes.n], np.int64)
    histograms = {a.name: Histogram.of_segments(a.codes, start, end, a.domain) for a in read}
    whole = GroupStats(end, histograms, {a.name: a.reference() for a in read})
    for part in model.parts:
        if not part.verdict(whole)[0]:
            raise InfeasibleError(
                f"the whole table does not satisfy {part!r} ({part.sentence()})",
                hint=f"All {codes.n:,} records together reach {level_in_words(part.achieved(whole))}. Ask for no more.",
            )


def level_in_words(achieved: dict[str, JSON]) -> str:
    """Return the levels that records reach, for a message."""
    return ", ".join(f"{key} = {value}" for key, value in achieved.items())
