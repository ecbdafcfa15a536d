"""Where the people of a large table go: by a plan as in memory, where an effort allows to look for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.effort import Effort
from reveil.grouping.cut_tree import quasi_column
from reveil.guarantees.signatures.binned import VALUE
from reveil.guarantees.signatures.by_counts import CountedDemand, Decision, decided, planned_counts
from reveil.guarantees.signatures.exchanging import SWEEPS
from reveil.guarantees.signatures.machine import GROUPS_OF_SIGNATURE
from reveil.guarantees.signatures.widths import value_distances
from reveil.guarantees.static.in_shards import NUMBER, SEAT
from reveil.models.encoding import Attribute, Codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reveil.engines.shards import Shards
    from reveil.models.domains import Domain

_SAMPLED = 200_000  # records by which a plan knows how far values lie apart
_SIGNED = 63  # bits of a die that a column keeps


def decided_on(
    coded: Shards, records: int, quasi: Sequence[Domain], demand: CountedDemand, m: int, effort: str
) -> Decision:
    """Decide how many go where: by a plan, where the effort allows to look for one and there are groups enough.

    How far values lie apart is read off some records that dice choose.
    """
    if effort == Effort.QUICK:
        return decided(demand, m)
    most = min(1.0, _SAMPLED / max(records, 1))
    work = TakeSome(int(most * 2**_SIGNED) if most < 1 else 2**_SIGNED - 1)
    some = coded.map(work, coded.schema).collect().sort(NUMBER)
    values = np.union1d(np.union1d(some[VALUE].to_numpy(), demand.domain), np.flatnonzero(demand.fresh)).astype(
        np.int32
    )
    values = np.union1d(values, demand.sets.members).astype(np.int32)
    codes = Codes(tuple(Attribute(d, some[quasi_column(a)].to_numpy()) for a, d in enumerate(quasi)), (), some.height)
    apart = value_distances(codes, some[VALUE].to_numpy(), values.astype(np.int64))
    plan = planned_counts(demand, apart, values, m, SWEEPS[Effort(effort)].rounds)
    found = decided(demand, m, plan)
    groups = found.sets.lists.reduce(np.maximum, found.newcomers)
    first = not demand.keep.any() and not len(demand.movers)
    if first and int(groups.sum()) < GROUPS_OF_SIGNATURE * int((groups > 0).sum()):
        return decided(demand, m)  # whoever leaves a signature of few groups leaves a hole that hardly anybody fills
    return found


@dataclass(frozen=True)
class TakeSome:
    """Work: the records whose dice are low."""

    below: int

    def __call__(self, table: pl.DataFrame) -> pl.DataFrame:
        """Take some of a shard."""
        return table.filter(pl.col(SEAT) <= self.below)
