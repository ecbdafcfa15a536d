"""Which signatures there shall be, and how many records of each value they get: a linear program.

Let G be how many groups a signature has. Everybody who keeps a signature is in its bucket; movers may go to signatures
that share nothing with what they were told; newcomers anywhere. All of them have to be placed, so the rows of all
groups less the people are the counterfeits, and

    minimise    sum over signatures of (price of a row x its values + how far its values lie apart) x G
    subject to  for each signature and value: those who keep it + movers + newcomers placed there <= G
                for each value: newcomers placed >= newcomers there are
                for each class of movers (one value, told the same): all of them placed.

A basic solution of the first release, where there are only newcomers, has at most as many signatures as values. New
signatures are offered by column generation: those that the prices of the values make cheapest, around each value for
newcomers, around each class of movers among the values that they were not told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import BoolArray, IntArray, Ragged
from reveil.guarantees.signatures.frequencies import is_eligible, steps

if TYPE_CHECKING:
    from scipy.sparse import coo_array

FloatArray = npt.NDArray[np.float64]
ROW = 2.5  # what a row more costs: so much width, added over columns, a counterfeit has to save
NEW = 3.0  # what a row of a new signature costs beside, where there are signatures already: buckets stay few
ALL_SETS = 12_000  # up to so many sets of m values all are offered to newcomers at once
LEAST = 0.0005  # column generation ends where two rounds save less than this share of the costs
KEPT = 6  # columns for each value that are kept from round to round
NEAREST = 12  # signatures that a class of movers chooses from, before new ones are offered
_SMALL = 1e-7


@dataclass(frozen=True)
class ValueDemand:
    """Who has to be placed; values are numbers from 0 on.

    ``sets`` are the signatures that people keep, ``keep`` how many keep each of their values (its rows are those of
    ``sets``); ``fresh`` (values) counts newcomers. Movers come in classes: ``moving`` (classes) has their value,
    ``movers`` how many they are, ``barred`` (classes, values) what they were told.
    """

    sets: Ragged[np.int64]
    keep: IntArray = field(repr=False)
    fresh: IntArray = field(repr=False)
    moving: IntArray = field(repr=False)
    movers: IntArray = field(repr=False)
    barred: BoolArray = field(repr=False)


@dataclass(frozen=True)
class Solution:
    """How many go where: ``newcomers`` of each value of each of ``sets``, and ``moved`` of each pair (class, set)."""

    sets: Ragged[np.int64]
    newcomers: FloatArray = field(repr=False)
    pairs: IntArray = field(repr=False)
    moved: FloatArray = field(repr=False)


def solved(demand: ValueDemand, apart: FloatArray, m: int, rounds: int) -> Solution | None:
    """Solve the program, with new sets offered in so many rounds at most; None where there is no solution."""
    program = _Program(demand, apart, m)
    idle, before = 0, np.inf
    prices = (np.zeros(0), np.zeros(0))
    for turn in range(rounds):
        if turn and not program.offer(*prices):
            break
        found = program.solve()
        if found is None:
            return None
        prices = found
        idle = idle + 1 if program.total > (1 - LEAST) * before else 0
        if idle == 2:
            break
        before = program.total
    return program.solution()


class _Program:
    """The sets that are offered so far, and the solution with them.

    Full sets have newcomers and movers of their own in each value; those of ``columns`` are filled by newcomers alone,
    equally many of each value, and so need one number each.
    """

    def __init__(self, demand: ValueDemand, apart: FloatArray, m: int) -> None:
        self.demand, self.apart, self.m = demand, apart, m
        self.begun = len(demand.sets) > 0
        self.sets = [row.astype(np.int64) for row in demand.sets]
        self.known = {tuple(row.tolist()) for row in self.sets}
        self.costs = [self._cost(members, new=False) for members in self.sets]
        self.pairs = self._open(0, NEAREST)
        self.columns = self._first_columns()
        self.column_costs = [self._cost(members, new=True) for members in self.columns]

    def _cost(self, members: IntArray, *, new: bool) -> float:
        price = ROW + NEW * (new and self.begun)
        return price * len(members) + float(self.apart[np.ix_(members, members)].sum()) / 2

    def _open(self, since: int, most: int | None = None) -> IntArray:
        """Return the pairs (class, set) of movers and sets, from one on, open to them; the nearest ``most``."""
        demand = self.demand
        sets = self.sets[since:]
        if not sets or not len(demand.moving):
            return np.zeros((0, 2), np.int64)
        inside = np.zeros((len(sets), len(self.apart)), np.float32)
        for s, members in enumerate(sets):
            inside[s, members] = 1
        fits = (demand.barred.astype(np.float32) @ inside.T == 0) & (inside[:, demand.moving].T > 0)
        if most is not None:
            order = np.argsort(self.costs[since:], kind="stable")
            among = np.cumsum(fits[:, order], axis=1)
            fits[:, order] &= among <= most
        pairs = np.argwhere(fits)
        pairs[:, 1] += since
        return pairs.astype(np.int64)

    def _first_columns(self) -> list[IntArray]:
        """Offer something to everybody: at first all sets of values that occur, where they are not too many."""
        demand = self.demand
        used = np.flatnonzero(demand.fresh)
        rest = np.setdiff1d(np.arange(len(demand.fresh)), used)
        universe = np.sort(np.concatenate([used, rest[: max(self.m - len(used), 0)]]))
        if not self.begun and comb(len(universe), self.m) <= ALL_SETS:
            return [np.array(members, np.int64) for members in combinations(universe.tolist(), self.m)]
        rare = (-ROW / (demand.fresh + 1)).astype(
            np.float64
        )  # a value without newcomers would be filled up with counterfeits
        barred = np.zeros((len(used), len(rare)), np.bool_)
        found, cost = self._around(used, barred, rare)
        found = found[np.isfinite(cost)]
        stuck = np.setdiff1d(np.arange(len(demand.moving)), self.pairs[:, 0])
        around, cost = self._around(demand.moving[stuck], demand.barred[stuck], rare)
        self._add_sets(around[np.isfinite(cost)])
        sets = {tuple(row) for row in np.sort(found, axis=1).tolist()}
        if not self.begun and is_eligible(demand.fresh, self.m):  # then there is a way without counterfeits
            sets |= {tuple(step.values.tolist()) for step in steps(demand.fresh, self.m)}
        return [np.array(members, np.int64) for members in sorted(sets)]

    def _around(self, values: IntArray, barred: BoolArray, price: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return around each value a set that is cheap, one member after another, and how far its values lie apart.

        Where only barred values are left, the cost is infinite, and the set is not to be used.
        """
        chosen = values[:, None]
        away = self.apart[values]
        cost = np.zeros(len(values))
        for _ in range(self.m - 1):
            worth = np.where(barred, np.inf, away - price)
            np.put_along_axis(worth, chosen, np.inf, axis=1)
            best = worth.argmin(axis=1)
            cost = cost + away[np.arange(len(values)), best]
            cost[np.isinf(worth.min(axis=1, initial=np.inf))] = np.inf
            chosen = np.hstack([chosen, best[:, None]])
            away = away + self.apart[best]
        return chosen, cost

    def _add_sets(self, rows: IntArray) -> bool:
        """Offer sets in full, with what movers may have of them."""
        new = sorted({tuple(sorted(row)) for row in rows.tolist()} - self.known)
        since = len(self.sets)
        self.sets += [np.array(members, np.int64) for members in new]
        self.costs += [self._cost(members, new=True) for members in self.sets[since:]]
        self.known |= set(new)
        self.pairs = np.concatenate([self.pairs, self._open(since)])
        return bool(new)

    def solve(self) -> tuple[FloatArray, FloatArray] | None:
        """Solve with the sets at hand; return what a newcomer of each value, and a mover of each class, costs."""
        from scipy.optimize import linprog  # takes a while to load, and quick releases solve nothing

        demand, sets, columns = self.demand, self.sets, self.columns
        values = len(demand.fresh)
        every = Ragged.of_rows(sets, np.int64)
        slots, moves = len(every.items), len(self.pairs)
        keep = np.zeros(slots, np.int64)
        keep[: len(demand.keep)] = demand.keep
        at_slot, at_move = len(sets), len(sets) + slots
        at_column = at_move + moves
        size = at_column + len(columns)
        cost = np.zeros(size)
        cost[: len(sets)], cost[at_column:] = self.costs, self.column_costs
        slot, move = np.arange(slots), np.arange(moves)
        of_move = every.offsets[self.pairs[:, 1]] + self._inside(every)
        entries = [
            (slot, at_slot + slot, 1.0),
            (slot, every.owners(), -1.0),
            (of_move, at_move + move, 1.0),
            (slots + every.items, at_slot + slot, -1.0),
        ]
        if columns:
            ragged = Ragged.of_rows(columns, np.int64)
            entries.append((slots + ragged.items, at_column + ragged.owners(), -1.0))
        upper = np.concatenate([-keep, -demand.fresh]).astype(np.float64)
        placed = np.isin(np.arange(len(demand.moving)), self.pairs[:, 0])
        equal = amounts = None
        if moves:
            equal = _matrix([(self.pairs[:, 0], at_move + move, 1.0)], (len(placed), size))
            amounts = np.where(placed, demand.movers, 0).astype(np.float64)
        below = _matrix(entries, (slots + values, size))
        found = linprog(cost, below, upper, equal, amounts, method="highs-ds")  # type: ignore[call-overload]  # sparse
        if found.status != 0:
            return None
        self.total = float(found.fun)
        self.dear = np.asarray(found.lower.marginals)[at_column:]
        self.x, self.at = np.asarray(found.x), (at_slot, at_move, at_column)
        of_class = np.asarray(found.eqlin.marginals) if moves else np.zeros(len(placed))
        return -np.asarray(found.ineqlin.marginals)[slots:], np.where(placed, of_class, np.inf)

    def _inside(self, every: Ragged[np.int64]) -> IntArray:
        """Return where the value of each pair's movers stands in its set."""
        key = every.owners() * len(self.apart) + every.items
        wanted = self.pairs[:, 1] * len(self.apart) + self.demand.moving[self.pairs[:, 0]]
        return np.searchsorted(key, wanted) - every.offsets[self.pairs[:, 1]]

    def offer(self, price: FloatArray, of_class: FloatArray) -> bool:
        """Offer sets that are cheaper than what their people cost now; return whether there were any."""
        demand = self.demand
        self._forget()
        rows = (ROW + NEW * self.begun) * self.m
        chosen, cost = self._around(np.arange(len(price)), np.zeros((len(price), len(price)), np.bool_), price)
        good = price[chosen].sum(axis=1) - cost - rows > _SMALL
        have = {tuple(members.tolist()) for members in self.columns} | self.known
        more = sorted({tuple(sorted(row)) for row in chosen[good].tolist()} - have)
        self.columns += [np.array(members, np.int64) for members in more]
        self.column_costs += [self._cost(np.array(members), new=True) for members in more]
        if not len(demand.moving):
            return bool(more)
        chosen, cost = self._around(demand.moving, demand.barred, price)
        open_to = np.isfinite(cost)
        chosen, cost = chosen[open_to], cost[open_to]
        good = of_class[open_to] + price[chosen[:, 1:]].sum(axis=1) - cost - rows > _SMALL
        return self._add_sets(chosen[good]) or bool(more)

    def _forget(self) -> None:
        """Keep the columns that are nearest to being used, a few for each value: the program stays small."""
        most = ALL_SETS if len(self.apart) ** 2 <= ALL_SETS else KEPT * len(self.apart)
        if len(self.columns) > most:
            best = np.sort(np.argsort(self.dear, kind="stable")[:most])
            self.columns = [self.columns[j] for j in best]
            self.column_costs = [self.column_costs[j] for j in best]

    def solution(self) -> Solution:
        """Return how many go where; columns are sets like others."""
        at_slot, at_move, at_column = self.at
        amounts = self.x[at_column:]
        used = np.flatnonzero(amounts > 1 - _SMALL)
        newcomers = [self.x[at_slot:at_move], *(np.full(len(self.columns[j]), amounts[j]) for j in used)]
        sets = Ragged.of_rows([*self.sets, *(self.columns[j] for j in used)], np.int64)
        return Solution(sets, np.concatenate(newcomers), self.pairs, self.x[at_move:at_column])


def _matrix(entries: list[tuple[IntArray, IntArray, float]], shape: tuple[int, int]) -> coo_array:
    from scipy.sparse import coo_array

    rows, columns = (np.concatenate([entry[part] for entry in entries]) for part in (0, 1))
    return coo_array((np.concatenate([np.full(len(row), value) for row, _, value in entries]), (rows, columns)), shape)
