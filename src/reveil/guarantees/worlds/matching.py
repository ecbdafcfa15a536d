"""One release: rows whose boxes cover, in every world, somebody who has their values there.

The rows begin as one of the worlds. For each next world, every row is matched with a different person who has the
row's values in that world, and its box is widened to cover that person: the release is then consistent with that
world, too (theorem 4.3 of the source). The matching decides how much is lost. Among the rows and persons with equal
values both sides are halved alike, again and again, until at most p are left, and in each such run the matching that
loses least is found exactly. Then the pairs are regrouped along a space-filling curve, and each run of at most p pairs
is matched exactly again, which can only lose less. Rows of a kind of values for which the projected alternative
(:mod:`~reveil.guarantees.worlds.projection`) would still lose less are taken from there (:func:`better`).

Nothing here knows which world is the truth: the rows depend on the worlds, on quasi values and on the order in which
dice take the worlds. The time is that of one release, however many there were.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reveil.core.arrays import CodeArray, IntArray, ranks_in_rows
from reveil.core.kernels import widening
from reveil.core.threads import each
from reveil.guarantees.worlds.space import CodeSpace, curve_keys

if TYPE_CHECKING:
    from reveil.core.randomness import Dice
    from reveil.guarantees.worlds.space import FloatArray
    from reveil.models.encoding import Codes

Matchings = npt.NDArray[np.int32]

_FEW = 64
_PARTS = 8  # of the runs, per core: some take longer than others


@dataclass(frozen=True)
class _Rows:
    """The rows so far: their boxes, who is inside, and what is published of their values."""

    space: CodeSpace
    kinds: CodeArray = field(repr=False)
    boxes: widening.RowBoxes = field(repr=False)
    members: CodeArray = field(repr=False)

    @classmethod
    def of(cls, codes: Codes, kinds: CodeArray, worlds: int) -> _Rows:
        space = CodeSpace.of(codes)
        members = np.empty((codes.n, worlds), np.int32)
        members[:, 0] = np.arange(codes.n)
        return cls(space, kinds, widening.boxes(space.points, space.attributes.nulls), members)

    def partners(self, kinds: CodeArray, done: int, p: int) -> CodeArray:
        """Match every row, with ``done`` members so far, with a person of its kind."""
        places = self.space.places
        middle = places[self.members[:, :done]].mean(axis=1)
        rows, persons = np.argsort(self.kinds, kind="stable"), np.argsort(kinds, kind="stable")
        _halve(rows, persons, self.kinds[rows], middle, places, p)
        found = self._solved(rows, persons, done, p)
        along = curve_keys((middle * done + places[found]) / (done + 1))
        rows = np.lexsort((along, self.kinds))
        return self._solved(rows, found[rows], done, p)

    def _solved(self, rows: IntArray, persons: IntArray | CodeArray, done: int, p: int) -> CodeArray:
        """Match rows with the persons beside them, exactly within runs of at most p of one kind."""
        from scipy.optimize import linear_sum_assignment

        starts = _runs(self.kinds[rows], p)
        sizes = np.diff(starts)
        found = np.empty(len(rows), np.int32)
        alone = starts[:-1][sizes == 1]
        found[rows[alone]] = persons[alone]

        def solve(part: IntArray) -> None:
            for run in part:
                here = slice(starts[run], starts[run + 1])
                rows_here, others = rows[here], persons[here]
                costs = widening.costs(
                    self.space.points, self.boxes, self.members, done, rows_here, others, self.space.attributes
                )
                found[rows_here] = others[linear_sum_assignment(costs)[1]]

        several = np.flatnonzero(sizes > 1)
        # Threads are not worth it for a few runs.
        each(solve, np.array_split(several, (os.cpu_count() or 1) * _PARTS if len(several) > _FEW else 1))
        return found

    def widen(self, partners: CodeArray, done: int) -> None:
        """Let each box cover its partner."""
        self.members[:, done] = partners
        widening.widen(self.space.points, partners, self.space.attributes.nulls, self.boxes)


def matched(codes: Codes, kinds: CodeArray, p: int, rng: Dice) -> Matchings:
    """Return the record that each row covers in each world, a row of the result for each world.

    ``kinds[i, record]`` numbers what is published of the values that the record's person has in world i; the rows
    have those of one of the worlds.
    """
    order = rng.permutation(len(kinds))
    first = kinds[order[0]]
    found = np.empty(kinds.shape, np.int32)
    found[order[0]] = np.arange(codes.n)
    if not codes.quasi or (kinds == first).all():
        # Nothing to widen, or nobody's published values differ between the worlds.
        for world in order[1:]:
            found[world, np.argsort(first, kind="stable")] = np.argsort(kinds[world], kind="stable")
        return found
    rows = _Rows.of(codes, first, len(order))
    for done, world in enumerate(order[1:], start=1):
        found[world] = rows.partners(kinds[world], done, p)
        rows.widen(found[world], done)
    return found


def better(codes: Codes, kinds: CodeArray, one: Matchings, other: Matchings) -> Matchings:
    """Take, for each kind of published values, those of two sets of rows that lose less; the first where both do."""
    if not codes.quasi:
        return one
    space = CodeSpace.of(codes)
    row_kinds = [kinds[0][rows[0]] for rows in (one, other)]
    lost = [
        np.bincount(
            of_row,
            widening.widths_of(space.points, np.ascontiguousarray(rows.T), space.attributes),
            minlength=int(kinds[0].max()) + 1,
        )
        for of_row, rows in zip(row_kinds, (one, other), strict=True)
    ]
    first = lost[0] <= lost[1]
    return np.hstack([one[:, first[row_kinds[0]]], other[:, ~first[row_kinds[1]]]])


def _halve(rows: IntArray, persons: IntArray, kinds: CodeArray, middle: FloatArray, places: FloatArray, p: int) -> None:
    """Put rows and persons, sorted by kind, into an order in which runs of at most p lie near each other.

    Both sides are split at the same rank along the attribute in which the persons vary most. (Ranks along a
    space-filling curve drift apart: a surplus on one side shifts all that follows.)
    """
    starts = _runs(kinds, p)
    first = np.append(np.flatnonzero(np.diff(kinds[starts[:-1]], prepend=-1)), len(starts) - 1)  # of each kind
    several = np.flatnonzero(np.diff(first) > 1).tolist()

    def split(kind: int) -> None:
        parts = [(int(first[kind]), int(first[kind + 1]))]
        while parts:
            one, end = parts.pop()
            if end - one < 2:
                continue
            here = slice(starts[one], starts[end])
            spread = places[persons[here]]
            widest = int(np.argmax(spread.var(axis=0)))
            persons[here] = persons[here][np.argsort(spread[:, widest], kind="stable")]
            rows[here] = rows[here][np.argsort(middle[rows[here], widest], kind="stable")]
            parts += [(one, (one + end) // 2), ((one + end) // 2, end)]

    each(split, several, len(persons))


def _runs(kinds: CodeArray, p: int) -> IntArray:
    """Return where the runs begin, and the end: equal kinds, cut as evenly as possible into at most p."""
    n = len(kinds)
    begins = np.flatnonzero(np.concatenate([[True], kinds[1:] != kinds[:-1]])) if n else np.zeros(0, np.int64)
    sizes = np.diff(np.append(begins, n))
    parts = -(-sizes // p)
    of_part = np.repeat(np.arange(len(begins)), parts)
    which = ranks_in_rows(parts)
    return np.append(begins[of_part] + which * sizes[of_part] // parts[of_part], n).astype(np.int64)
