"""Permanent values: who was once in a group with one stays with the same persons.

A value that lasts is told again by every release: with other persons around them each time, its holders stand out
({o1, o2} has H and F, then {o1, o3} has H and F and {o2, o4} has H and C: o1 has H in three worlds of four). So a group
that has a permanent value is a *cohort* for good. In every later release its persons are a group of their own again,
or none of them is published; and each permanent value that it was told to have is in it as often as at first.

Theorem. Under these rules the releases tell of a permanent value s only that n_s of the n persons of a cohort have it:
each with n_s/n, however often they are published. And the survival of the other values, counted as if releases were
independent, is not above the truth: with q = 1 - n_s/n, x_j the shares of another value in release j, o has it ever
with q(1 - prod(1 - x_j/q)) <= 1 - prod(1 - x_j), because whoever has s has nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import BoolArray, CodeArray, offsets_of_sorted
from reveil.core.kernels.budget_items import Items
from reveil.core.kernels.budget_mending import allowed

if TYPE_CHECKING:
    import polars as pl

    from reveil.guarantees.lifetime.grouping import Rule
    from reveil.guarantees.lifetime.survival import Pairs


@dataclass(frozen=True)
class Cohorts:
    """The cohorts of the persons of a snapshot.

    ``member``: the cohort of each record, -1 for who is in none. ``told``: the value with which each was told first,
    a permanent one as soon as it was told; -1 for who is in none. ``broken``: cohorts of which somebody is absent, or
    was erased: of a tombstone nobody knows any more what was told first.
    """

    member: CodeArray = field(repr=False)
    told: CodeArray = field(repr=False)
    broken: CodeArray = field(repr=False)
    last: int = 0

    @classmethod
    def of(cls, rows: pl.DataFrame, records: int) -> Cohorts:
        """Take the cohorts from all the rows of a ledger: ``record`` (-1: absent), ``cohort``, ``value``."""
        record = rows["record"].to_numpy()
        cohort, value = rows["cohort"].to_numpy(), rows["value"].to_numpy()
        member, told = np.full(records, -1, np.int32), np.full(records, -1, np.int32)
        here = record >= 0
        member[record[here]], told[record[here]] = cohort[here], value[here]
        broken = np.unique(cohort[~here | (value < 0)]).astype(np.int32)
        return cls(member, told, broken, int(cohort.max(initial=0)))


@dataclass(frozen=True)
class KeptCohorts:
    """What becomes of cohorts: who rests with them, what is published, and which of it is not today's value."""

    rests: BoolArray = field(repr=False)
    values: CodeArray = field(repr=False)


def keep_together(
    cohorts: Cohorts,
    values: CodeArray,
    rests: BoolArray,
    permanent: CodeArray,
    harmless: CodeArray,
    pairs: Pairs,
    needs: np.ndarray,
    rule: Rule,
) -> KeptCohorts:
    """Decide what of the cohorts is published.

    A cohort rests if one of its persons is absent or rests. Who has a permanent value that their cohort was told to
    have, and was not told with it themselves, is published with their value as first told; and so is the whole cohort
    where the values of today would break somebody's bound. A cohort rests, too, if its values as first told would
    break one, whatever those of today are: who rests depends on what was told alone.
    """
    cohort = cohorts.member
    inside = np.flatnonzero(cohort >= 0)
    if not len(inside):
        return KeptCohorts(rests, values)
    resting = np.union1d(cohorts.broken, cohort[inside][rests[inside]])
    is_permanent = np.isin(cohorts.told, permanent)
    # Pairs of a cohort and a permanent value that was told of it.
    room = int(max(values.max(initial=0), cohorts.told.max(initial=0), permanent.max(initial=0))) + 1
    known = np.unique(cohort[is_permanent].astype(np.int64) * room + cohorts.told[is_permanent])
    acquired = np.isin(values, permanent) & np.isin(cohort.astype(np.int64) * room + values, known) & (cohort >= 0)
    now = np.where((cohort >= 0) & (is_permanent | acquired), cohorts.told, values).astype(np.int32)
    bad = broken_groups(cohort, now, permanent, harmless, pairs, needs, rule)
    now = np.where(np.isin(cohort, bad) & (cohort >= 0), cohorts.told, now).astype(np.int32)
    told = np.where(cohort >= 0, cohorts.told, values).astype(np.int32)
    bad = broken_groups(cohort, told, permanent, harmless, pairs, needs, rule)
    out = rests | ((cohort >= 0) & np.isin(cohort, np.union1d(resting, bad)))
    return KeptCohorts(
        out, np.where(now >= 0, now, values).astype(np.int32)
    )  # who was erased rests, whatever their value


def broken_groups(
    groups: CodeArray,
    values: CodeArray,
    permanent: CodeArray,
    harmless: CodeArray,
    pairs: Pairs,
    needs: np.ndarray,
    rule: Rule,
) -> CodeArray:
    """Return the groups that would not be allowed with these values.

    Somebody's pair with a permanent value needs nothing more: their cohort tells nothing new of it.
    """
    inside = np.flatnonzero(groups >= 0)
    order = inside[np.argsort(groups[inside], kind="stable")]
    names, begin, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    spending = ~np.isin(pairs.value, permanent) & (needs > 0)
    record, value, need = pairs.record[spending], pairs.value[spending], needs[spending]
    starts = offsets_of_sorted(record, len(groups))
    bounded = np.where(np.isin(values, harmless), -1, values).astype(np.int32)
    domain = int(max(bounded.max(initial=0), value.max(initial=0))) + 1
    most = rule.most(int(sizes.max(initial=0)))
    good = allowed(order, begin, begin + sizes, Items(bounded, starts, value, need, domain), most)
    broken: CodeArray = names[~good].astype(np.int32)
    return broken
