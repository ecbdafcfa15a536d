"""Who rests so that groups exist, and who will rest from the next release on: by what was told, and nothing of today.

A pair is used up when it needs a larger group than ``largest`` for one row with its value. Where people need such
groups and there are too many of them for the table, no groups exist in which everybody's budget suffices. Then those
with the smallest budgets rest: ``largest`` is lowered until groups exist. Of today's values only that decides, whether
groups were found for the table as a whole; whom it concerns follows from the budgets alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.errors import InfeasibleError
from reveil.guarantees.lifetime.global_release import (
    SURVIVAL,
    FormedGroups,
    PublishableRecords,
    Terms,
    make_groups,
    told_after,
)
from reveil.guarantees.lifetime.grouping import SOONER, needed_by
from reveil.guarantees.lifetime.survival import Pairs

if TYPE_CHECKING:
    from reveil.core.randomness import Dice
    from reveil.guarantees.base import Memory
    from reveil.models.encoding import Codes
    from reveil.tables.snapshot import Snapshot

STEPS = 16  # so many sizes of the largest group are told apart where groups have to be found
STRIDE = 4  # of which every fourth is tried first
_NO_WAY = (
    "No largest works for this table: too few people have enough of their budgets left to hide each other. New people "
    "in the table help; a series with a larger alpha, or more releases, from its first release on lasts longer."
)
WORTH_SAYING = 0.1  # of those who are published: from there on the owner is told that they will rest


def made_now(
    snapshot: Snapshot, codes: Codes, memory: Memory, terms: Terms, rng: Dice, *, lower: bool
) -> tuple[Terms, PublishableRecords, FormedGroups]:
    """Group everybody who does not rest. Where no groups exist, let more people rest if ``lower``, or say who would."""
    now = PublishableRecords.of(memory, terms)
    try:
        return terms, now, make_groups(snapshot, codes, now, terms, memory, rng)
    except InfeasibleError as error:
        if not terms.rule.strategy.grows:
            raise
        found = _lowered(snapshot, codes, memory, terms, rng)
        if found is None:
            raise InfeasibleError(error.message, hint=_NO_WAY if error.hint == SOONER else error.hint) from None
        if lower:
            return found
        many = int(found[1].out.sum()) - int(now.out.sum())
        raise InfeasibleError(
            error.message,
            hint=f"largest = {found[0].largest:g} works: {many:,} more persons of this table rest then. Without "
            "largest, as many rest as have to. It may be changed in a series at any time.",
        ) from None


def _lowered(
    snapshot: Snapshot, codes: Codes, memory: Memory, terms: Terms, rng: Dice
) -> tuple[Terms, PublishableRecords, FormedGroups] | None:
    """Return the release with the most people for whom groups were found; None if there is none.

    Fewer people with small budgets make it easier, until there are too few people for a group. So some sizes are tried
    first, the largest ones before the others, then those between the first that works and the one before it.
    """
    candidates = _thresholds(memory, terms)

    def tried(at: int) -> tuple[Terms, PublishableRecords, FormedGroups] | None:
        with_less = replace(terms, largest=float(candidates[at]))
        now = PublishableRecords.of(memory, with_less)
        try:
            return with_less, now, make_groups(snapshot, codes, now, with_less, memory, rng)
        except InfeasibleError:
            return None

    coarse = list(range(len(candidates) - 1, -1, -STRIDE))
    finer = [at for at in range(len(candidates) - 1, -1, -1) if at not in coarse]
    for at in [*coarse, *finer]:
        found = tried(at)
        if found is None:
            continue
        between = range(at + 1, min(at + STRIDE, len(candidates))) if at in coarse else range(0)
        return next((better for more in reversed(between) if (better := tried(more)) is not None), found)
    return None


def _thresholds(memory: Memory, terms: Terms) -> np.ndarray:
    """Return largest groups to try, ascending: each lets another part of the people with small budgets rest."""
    pairs = Pairs.of(memory.book.of_records(SURVIVAL))
    needs = np.where(np.isin(pairs.value, terms.permanent), 0.0, needed_by(pairs, terms.rule))
    hardest = np.zeros(len(memory.values))
    np.maximum.at(hardest, pairs.record, needs)
    least = terms.rule.strategy.ratio(terms.rule.l)
    tight = hardest[(hardest > least) & (hardest <= terms.largest)]
    if not len(tight):
        return np.zeros(0)
    parts = np.quantile(tight, np.arange(1, STEPS) / STEPS)
    # A tenth is as exact as anybody would write it; rounded down, so that the limit lets nobody in beyond it.
    written = np.concatenate([[np.ceil(least * 10)], np.floor(parts * 10)]) / 10
    return np.unique(written[(written >= least) & (written < terms.largest)])


def rest_next(made: FormedGroups, now: PublishableRecords, terms: Terms, largest: float) -> int:
    """Return how many of those who are published now will rest in the next release, whatever their value is then."""
    after = told_after(made, now, terms)
    lasts = np.isin(after.value, terms.permanent)
    used = terms.rule.strategy.used_up(after.survival, after.links, terms.rule.l, largest) & ~lasts
    return len(np.unique(after.record[used]))


def said_ahead(resting: int, published: int) -> str | None:
    """Say that many will rest, one release ahead; None where they are few."""
    if resting < max(1, WORTH_SAYING * published):
        return None
    return (
        f"from the next release on {resting:,} of the {published:,} people published now rest "
        f"({resting / published:.0%}): what may be told about them is used up then (reveil history --budget shows it)"
    )
