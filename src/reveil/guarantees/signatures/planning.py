"""Where people go, before groups are formed: what the linear program says, in whole people.

That values are looked at is nothing new: the counted grade takes the groups as given (see exchanging). What the program
leaves over by rounding down goes where the quick way puts it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from reveil.core.arrays import Ragged, ranks_in_rows
from reveil.guarantees.signatures.program import Solution, ValueDemand, solved
from reveil.guarantees.signatures.sets import Sets
from reveil.guarantees.signatures.widths import value_distances

if TYPE_CHECKING:
    from reveil.core.arrays import IntArray
    from reveil.guarantees.signatures.situation import Situation
    from reveil.models.encoding import Codes

MOST_VALUES = 2_048  # with more values, or more signatures, the quick way chooses signatures
MOST_SETS = 8_192
_SMALL = 1e-7


@dataclass(frozen=True)
class Plan:
    """Where records are to go: record r to the bucket of ``sets[of_record[r]]``, -1 where nothing is planned."""

    sets: Sets
    of_record: IntArray = field(repr=False)


def plan(now: Situation, codes: Codes, m: int, ranks: IntArray, rounds: int, *, linked: bool = False) -> Plan:
    """Plan the signatures of a release; ``ranks`` are the places of records on a curve, along which they are dealt.

    ``linked``: groups have no cells of their own, and the records between their members are what they cost.
    """
    old = np.where(now.resting, -1, now.usable)
    values = np.union1d(now.values[~now.resting], now.domain).astype(np.int64)
    active = np.flatnonzero(now.weights)
    if not m <= len(values) <= MOST_VALUES or len(active) > MOST_SETS:
        return Plan(now.sets, old)
    places = np.full(now.width, -1, np.int64)
    places[values] = np.arange(len(values))
    demand, of_mover = _demand(now, active, places, len(values))
    found = solved(demand, value_distances(codes, now.values, values, linked=linked), m, rounds)
    if found is None:
        return Plan(now.sets, old)
    of_record = old.copy()
    shift = len(now.sets)  # the sets of the program stand behind those that are known
    for records, where in (_movers(now, of_mover, found), _newcomers(now, places, ranks, found)):
        of_record[records] = where + shift
    sets = Sets(Ragged(found.sets.offsets, values[found.sets.items].astype(np.int32)))
    every, place = now.sets.join(sets).distinct()
    return Plan(every, np.append(place, -1)[of_record])


def _demand(now: Situation, active: IntArray, places: IntArray, many: int) -> tuple[ValueDemand, IntArray]:
    """Return who has to be placed, and the class of each mover."""
    active_sets = now.sets.take(active)
    index = np.full(len(now.sets), -1, np.int64)
    index[active] = np.arange(len(active))
    place = active_sets.places(index[now.usable[now.keepers]], now.values[now.keepers])
    keep = np.bincount(place, minlength=len(active_sets.members)).astype(np.int64)
    # Codes may be in another order than the places of values; the lists of the program are ascending.
    order = np.lexsort((places[active_sets.members], active_sets.of_member))
    sets = Ragged(active_sets.offsets, places[active_sets.members][order].astype(np.int64))
    fresh = np.bincount(places[now.values[now.fresh]], minlength=many).astype(np.int64)
    told = now.told_values(now.movers)
    keys = pl.DataFrame({"value": places[now.values[now.movers]], "told": told.texts()})
    of_mover = keys.select(pl.struct("value", "told").rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    classes, first, movers = np.unique(of_mover, return_index=True, return_counts=True)
    barred = np.zeros((len(classes), many), np.bool_)
    firsts = told.take(first)
    inside = places[firsts.members]
    barred[firsts.of_member[inside >= 0], inside[inside >= 0]] = True
    moving = places[now.values[now.movers[first]]]
    return ValueDemand(sets, keep[order], fresh, moving, movers.astype(np.int64), barred), of_mover


def _movers(now: Situation, of_mover: IntArray, found: Solution) -> tuple[IntArray, IntArray]:
    """Return movers and their sets: whole numbers first, then one each where the largest parts are left."""
    pairs, share = found.pairs, found.moved
    if not len(pairs):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    whole = np.floor(share + _SMALL)
    # Each pair offers its whole number of places, and one more behind all of these.
    amounts = np.concatenate([whole, (share - whole > _SMALL).astype(np.float64)]).astype(np.int64)
    offered = np.concatenate([pairs, pairs])
    rank = np.concatenate([np.zeros(len(pairs)), 1 - (share - whole)])
    order = np.lexsort((rank, offered[:, 0]))
    offered = np.repeat(offered[order], amounts[order], axis=0)
    # The i-th mover of a class takes the i-th place.
    rows = np.argsort(of_mover, kind="stable")
    stride = len(of_mover) + len(offered)  # parts of places may add up to more places than a class has movers
    mine = of_mover[rows] * stride + ranks_in_rows(np.bincount(of_mover))
    theirs = offered[:, 0] * stride + ranks_in_rows(np.bincount(offered[:, 0]))
    _, taker, place = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    return now.movers[rows[taker]].astype(np.int64), offered[place, 1]


def _newcomers(now: Situation, places: IntArray, ranks: IntArray, found: Solution) -> tuple[IntArray, IntArray]:
    """Return newcomers and their sets: those of one value are dealt evenly along the curve."""
    amounts = np.floor(found.newcomers + _SMALL).astype(np.int64)
    value, owner = found.sets.items, found.sets.owners()
    fresh = now.fresh[np.lexsort((ranks[now.fresh], places[now.values[now.fresh]]))]
    counts = np.bincount(places[now.values[now.fresh]], minlength=len(places))
    label, demanded = np.repeat(owner, amounts), np.repeat(value, amounts)
    # The i-th of n records of a signature stands at (i + 1/2)/n of the curve.
    at = (ranks_in_rows(amounts) + 0.5) / np.repeat(np.maximum(amounts, 1), amounts)
    order = np.lexsort((at, demanded))
    label, demanded = label[order], demanded[order]
    wanted = np.bincount(demanded, minlength=len(counts))
    inside = ranks_in_rows(wanted)
    there = inside < counts[demanded]  # the program may place more than there are, where rows are filled anyway
    starts = np.cumsum(counts) - counts
    # With fewer places than people, the places are spread over all of them.
    spread = inside * np.maximum(counts[demanded] // np.maximum(wanted[demanded], 1), 1)
    return fresh[(starts[demanded] + spread)[there]].astype(np.int64), label[there]
