"""Stack & Deal: groups that have their share of every sensitive value, to the record."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import CodeArray, IntArray, offsets_of
from reveil.core.errors import ConfigError
from reveil.core.kernels import hilbert, stacking
from reveil.grouping.groupers._cutting import next_lower
from reveil.grouping.groupers.base import Grouper, part_by_part
from reveil.models.base import exact_number
from reveil.models.encoding import Codes, Kind
from reveil.models.statistics import GroupStats, Histogram, Partition, Reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reveil.core.json_values import JSON
    from reveil.core.randomness import Dice
    from reveil.models.base import Model
    from reveil.tables.schema import Schema

Deal = Literal["local", "source"]

# A node of this many records fits a core's cache.
_SUBTREE = 1 << 17
# Of so many places of a search, one more or less makes no difference to the boxes.
_FINE = 64
_KEY_BITS = 64
_MOST_BITS = 16


@dataclass(frozen=True, kw_only=True)
class StackDeal(Grouper):
    """Deals the records of every sensitive value evenly to the groups.

    With n records and a model whose groups need k of them there are e = floor(n/k) groups. Several sensitive
    attributes are dealt as one: its values are the combinations that occur. ``deal="source"`` sorts the records by
    falling frequency of their value (ties by the order of the values, then of the records) and deals them in turn,
    without a look at quasi values. ``deal="local"``, the default, deals near records: the table is cut in two along
    one attribute, again and again, and each side gets some of the groups and, of every value, what these groups may
    have; where more or fewer lie there, those nearest to the cut change sides. If a part of the model other than k
    fails, fewer and larger groups are tried: half as many until all hold, then more again, by bisection.

    *Two properties* hold in both, whatever the quasi values are: the sizes of any two groups differ by at most one
    record, and so do the counts of each value (combination). In turn: a run of consecutive cards gives each player
    the same number up to one, and so does the whole stack. Local: let q = floor(c/e) for a value with c records, and
    s = floor(n/e). A node of g groups is *sound* if it has from g q to g (q + 1) records of each value and from g s to
    g (s + 1) in all. The root is sound. Dealing the records of a sound node in turn, value by value, gives every group
    q or q + 1 of each value and s or s + 1 in all, so that any number of its groups can be split off with both sides
    sound. Each cut is such a split, and a sound node of one group is a group with both properties. The same holds of
    all the values up to each one, in the order in which they are dealt: local dealing keeps these shares, too.

    *Why t is nearly the smallest there is*: the fair share of a group, c/e of each value, is as a rule no whole number,
    and no group is off it by a whole record. With the share p of a value in the table, a group of size s' has
    (d - d' p)/s' more or less than p of it, where |d| < 1 and |d'| < 1. So in the distance ``equal`` t is below
    (m + 1)/(2k) for m values. Where the values have an order, local dealing follows it, and so the same holds of the
    shares up to each value: in the distance ``ordered`` t is below 2/k, however many values there are. The stack of
    the source is in another order, and has no such bound. With several attributes the order is that of a space-filling
    curve through the combinations: each group has its share of every neighbourhood, but neither bound holds for one
    attribute alone.

    ``weight`` is that of privacy loss against information loss where the guarantee says ``k = "auto"``: 0.5 if none is
    given. Where k is given, a weight would do nothing, and is refused.

    Guarantee: every group satisfies the model, with the two properties above before anything is suppressed; the t that
    is reached in each sensitive attribute is measured and published.
    Assumes: at least one sensitive column. Numbers with many different values are dealt by value, unless the schema
    puts them in bins.
    Does not protect against: an adversary who knows the algorithm: values decide who is grouped with whom, and how
    many groups there are where the model has other parts than k (the *counted* grade).
    Source: Thammanna Gowda, Bagai et al. 2021 and 2023; thesis 002, chapters 3, 5 and 6; the local dealing is ours.
    """

    name: ClassVar[str] = "stack-deal"
    measures_closeness: ClassVar[bool] = True
    chooses_k: ClassVar[bool] = True
    deal: Deal = "local"
    weight: float | None = None
    recode: str = "boxes"

    def __post_init__(self) -> None:
        self.check_recode()
        if self.deal not in get_args(Deal):
            raise ConfigError(f"stack-deal: unknown deal {self.deal!r}", hint=f"Known: {', '.join(get_args(Deal))}.")
        if self.weight is not None and not 0 <= exact_number("weight", self.weight) <= 1:
            raise ConfigError(
                f"weight must be a number from 0 to 1, not {self.weight!r}",
                hint="Near 1 privacy loss counts, near 0 information loss; weight = 0.5 lets both count the same.",
            )

    @classmethod
    def examples(cls) -> tuple[StackDeal, ...]:
        """Return both ways of dealing."""
        return cls(), cls(deal="source")

    def parameters(self) -> dict[str, JSON]:
        """Return the parameters under their config names."""
        weight = {} if self.weight is None else {"weight": self.weight}
        return {"deal": self.deal, **weight, "recode": self.recode}

    def check_schema(self, schema: Schema) -> None:
        """Refuse a table without a sensitive column: there is nothing to deal."""
        if not schema.sensitive:
            raise _nothing_to_deal()

    def reads_values(self, model: Model) -> bool:  # noqa: ARG002
        """Say that values decide who is grouped with whom."""
        return True

    def group(self, codes: Codes, model: Model, rng: Dice) -> Partition:  # noqa: ARG002
        """Deal the records into as many groups as the model allows."""
        return self._most_groups(codes, model, codes.references())

    def refine(
        self,
        codes: Codes,
        model: Model,
        rng: Dice,
        start: Partition,
        *,
        table: Mapping[str, Reference] | None = None,
        blind: bool = False,
    ) -> Partition:
        """Deal the records of each group of a partition by themselves."""
        if blind:
            return super().refine(codes, model, rng, start, table=table, blind=blind)  # refuses, in its words
        whole = {**codes.references(), **(table or {})}
        return part_by_part(start, lambda records, _: self._most_groups(codes.take(records), model, whole))

    def _most_groups(self, codes: Codes, model: Model, table: Mapping[str, Reference]) -> Partition:
        """Deal into the largest number of groups that a search finds valid; one group is valid, by contract."""
        stack = _Stack.of(codes, nearby=self.deal == "local")
        groups = max(codes.n // model.minimum_size, 1)
        dealt = self.dealt(codes, stack, groups)
        failing = groups
        while not _valid(codes, model, table, dealt):
            failing, groups = groups, max(groups // 2, 1)
            dealt = self.dealt(codes, stack, groups)
            if groups == 1:
                break
        while failing - groups > max(groups // _FINE, 1):
            between = (groups + failing) // 2
            tried = self.dealt(codes, stack, between)
            if _valid(codes, model, table, tried):
                groups, dealt = between, tried
            else:
                failing = between
        return dealt

    def dealt(self, codes: Codes, stack: _Stack, groups: int) -> Partition:
        """Deal the records into so many groups, at most one for each record."""
        if self.deal == "local":
            return _Table(codes, stack, groups).partition()
        order = stack.order
        # Group g gets the cards g, g + e, g + 2e ...
        players = np.argsort(np.arange(codes.n) % groups, kind="stable")
        sizes = codes.n // groups + (np.arange(groups) < codes.n % groups)
        return Partition(order[players], offsets_of(sizes), codes.n)


@dataclass(frozen=True)
class _Stack:
    """The value of each record (a combination, where there are several attributes), and how often each occurs.

    ``ordered``: neighbours in the order of the values are alike.
    """

    values: CodeArray
    counts: IntArray
    ordered: bool

    @classmethod
    def of(cls, codes: Codes, *, nearby: bool) -> _Stack:
        """Number the values by their codes; combinations of several row by row, or ``nearby`` along a curve."""
        if not codes.sensitive:
            raise _nothing_to_deal()
        if len(codes.sensitive) == 1:
            only = codes.sensitive[0]
            counts = np.bincount(only.codes, minlength=only.domain).astype(np.int64)
            return cls(only.codes, counts, only.ordered or only.levels is not None)
        number, distinct = _combinations(codes)
        if not nearby:
            return cls(number.astype(np.int32), np.bincount(number).astype(np.int64), ordered=False)
        bits = max(1, min(_MOST_BITS, _KEY_BITS // len(codes.sensitive)))
        steps = np.array([max(a.domain - 1, 1) for a in codes.sensitive[:_KEY_BITS]])
        points = (distinct[:, :_KEY_BITS] / steps * (2**bits - 1)).astype(np.uint64)
        keys = np.empty(len(points), np.uint64)
        hilbert.places(points, bits, keys)
        return cls(number.astype(np.int32), np.bincount(number).astype(np.int64), ordered=True).by(keys)

    def by(self, keys: npt.NDArray[np.generic]) -> _Stack:
        """Number the values by their keys, ties by their numbers so far."""
        order = np.argsort(keys, kind="stable")
        rank = np.empty(len(keys), np.int32)
        rank[order] = np.arange(len(keys))
        return _Stack(rank[self.values], self.counts[order], self.ordered)

    def for_groups(self, groups: int) -> _Stack:
        """Number values without an order by the part of a record that their fair share has beyond whole ones.

        Shares up to each value are kept, too. In this order that means that no group gets most of the values that it
        is far from its share with: of all orders tried, the one with the smallest t in the distance ``equal``.
        """
        return self if self.ordered else self.by(self.counts % groups)

    @property
    def order(self) -> CodeArray:
        """The records by falling frequency of their value, ties by value and then by place."""
        return np.argsort(self.by(-self.counts).values, kind="stable").astype(np.int32)


def _combinations(codes: Codes) -> tuple[IntArray, IntArray]:
    """Return the number of each record's combination of sensitive values, and the combinations in their order."""
    number: IntArray = np.zeros(codes.n, np.int64)
    first: IntArray = np.zeros(min(codes.n, 1), np.int64)
    for attribute in codes.sensitive:
        key = number * attribute.domain + attribute.codes
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return number, np.stack([attribute.codes[first] for attribute in codes.sensitive], axis=1).astype(np.int64)


class _Table:
    """The records in the order of the cuts so far, and what the kernel needs to know of the attributes."""

    def __init__(self, codes: Codes, stack: _Stack, groups: int) -> None:
        self.codes, self.groups, stack = codes, groups, stack.for_groups(groups)
        columns: CodeArray = np.empty((len(codes.quasi), codes.n), np.int32)
        for a, attribute in enumerate(codes.quasi):
            columns[a] = attribute.codes
        self.records = stacking.StackedRecords(
            columns,
            stack.values.astype(np.int32),
            np.arange(codes.n, dtype=np.int32),
            np.zeros(codes.n, np.bool_),
        )
        self.shares = stacking.Quotas(stack.counts // groups, np.cumsum(stack.counts) // groups)
        positions = [attribute.positions for attribute in codes.quasi]
        self.attributes = stacking.CodeLayout(
            np.concatenate(positions),
            np.concatenate([attribute.boundaries for attribute in codes.quasi]),
            np.concatenate([next_lower(attribute.boundaries) for attribute in codes.quasi]),
            offsets_of([len(p) for p in positions])[:-1],
            np.array([attribute.kind is Kind.TAXONOMY for attribute in codes.quasi]),
            np.array([(attribute.kind is Kind.SET) / max(attribute.null_code - 1, 1) for attribute in codes.quasi]),
        )

    def partition(self) -> Partition:
        """Cut to the end and return the groups.

        Large nodes are cut once, and their sides are new tasks. Which thread takes which node changes nothing: a
        node's cuts depend on its own records only.
        """
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            running = {pool.submit(self._node, 0, self.codes.n, self.groups)} if self.codes.n else set()
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {pool.submit(self._node, *side) for task in done for side in task.result()}
        offsets = np.append(np.flatnonzero(self.records.first), self.codes.n).astype(np.int64)
        return Partition(self.records.numbers, offsets, self.codes.n, self.records.columns.T)

    def _node(self, start: int, end: int, groups: int) -> tuple[tuple[int, int, int], ...]:
        once = groups > 1 and end - start > _SUBTREE
        middle, left = stacking.deal(self.records, start, end, groups, self.shares, self.attributes, once)
        return ((start, middle, left), (middle, end, groups - left)) if once else ()


def proportional(codes: Codes, strata: IntArray, groups: int) -> Partition:
    """Deal near records into so many groups that share every stratum within one record, as values are dealt.

    Strata are numbered from 0 in an order in which neighbours are alike; the first ones together are shared within one
    record, too, and so is the whole.
    """
    return _Table(codes, _Stack(strata.astype(np.int32), np.bincount(strata), ordered=True), groups).partition()


def _valid(codes: Codes, model: Model, table: Mapping[str, Reference], dealt: Partition) -> bool:
    """Ask the model about every group."""
    histograms = {}
    if model.tags.reads_values:
        starts, ends = dealt.offsets[:-1], dealt.offsets[1:]
        histograms = {
            a.name: Histogram.of_segments(a.codes[dealt.order], starts, ends, a.domain) for a in codes.sensitive
        }
    return bool(model.verdict(GroupStats(dealt.sizes, histograms, table)).all())


def _nothing_to_deal() -> ConfigError:
    return ConfigError(
        "stack-deal deals sensitive values, and no column is sensitive",
        hint="Declare the column that nobody should learn as sensitive, or use the method 'mondrian'.",
    )
