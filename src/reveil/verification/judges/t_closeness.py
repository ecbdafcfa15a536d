"""The sensitive values of every group are distributed nearly as in the whole table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.core.errors import VerificationError
from reveil.verification.exact import Whole, as_told, at_most, largest, raised, shown, written
from reveil.verification.judges.base import GroupJudge, ValueJudge, text_told

if TYPE_CHECKING:
    from fractions import Fraction

    from reveil.core.json_values import JSON
    from reveil.verification.arrays import Bools, Codes
    from reveil.verification.counting import GroupCounts, Tally

_ROOM = 2**61


@dataclass(frozen=True, repr=False)
class TCloseness(ValueJudge):
    """Move the earth of a group to where the table has it: the work, by the distance of the values, is at most t.

    With c and C the counts of a group of n and of a table of N records:

    - ``equal``: half the sum of |c/n - C/N| over all values;
    - ``ordered``, s values in a row: the sum of |F(i) - G(i)| over the s - 1 borders between them, over s - 1, where F
      and G are the shares at or below;
    - ``taxonomy`` of height H: the sum of |c/n - C/N| over all nodes below the root, over 2 H.
    """

    t: Fraction | float
    attribute: str | None = None
    distance: str | None = None

    name: ClassVar[str] = "TCloseness"

    @classmethod
    def read(cls, told: Mapping[str, JSON]) -> tuple[GroupJudge, ...]:
        """Return what ``t`` asks for: in one column, or in each."""
        t, distance = told.get("t"), text_told(told, "distance")
        if t is None:
            return ()
        if isinstance(t, Mapping):
            return tuple(cls(written("t", limit), name, distance) for name, limit in t.items())
        return (cls(written("t", t), None, distance),)

    @classmethod
    def keys(cls, told: Mapping[str, object]) -> set[str]:
        """Return ``t`` and its distance."""
        return {"t", "distance"} & told.keys() if told.get("t") is not None else set()

    @property
    def bound(self) -> Fraction:
        """``t`` as it was written."""
        return written("t", self.t)

    def holds_in(self, tally: Tally) -> Bools:
        """Return where the work is at most t."""
        above, below = moved(tally, self.distance)
        return at_most(above, below, self.bound)

    def achieved(self, counts: GroupCounts) -> dict[str, JSON]:
        """Return the largest distance of any group in each column, rounded up to six decimals."""
        return {
            "t": {name: raised(largest(*moved(tally, self.distance))) for name, tally in self.tallies(counts).items()}
        }

    def covers(self, other: GroupJudge) -> bool:
        """Return whether t is as small, in the same column and distance."""
        if not isinstance(other, TCloseness) or not self.same_column(other) or self.distance != other.distance:
            return False
        return as_told(self.bound) <= as_told(other.bound)

    def states(self, claim: str) -> bool:
        """Return whether the claim names t."""
        return f"up to a distance of {shown(self.bound)} " in claim


def moved(tally: Tally, distance: str | None) -> tuple[Whole, Whole]:
    """Return the distance of each group to the table, as numerators and positive denominators."""
    scale = tally.scale
    if distance is None:
        distance = "taxonomy" if scale.nodes is not None else "ordered" if scale.ordered else "equal"
    if (distance == "ordered" and not scale.ordered) or (distance == "taxonomy" and scale.nodes is None):
        raise VerificationError(f"the values have no {distance} distance", hint="The promise asks for one.")
    if not tally.table[tally.value].all():
        raise VerificationError("a group has a value that the table does not have")
    steps = len(tally.table) if distance == "ordered" else 4 if scale.nodes is None else 2 * len(scale.nodes) + 4
    bound = int(tally.total.max(initial=1)) * max(int(tally.table.sum()), 1) * max(steps, 2) * 2
    number = np.int64 if bound < _ROOM else object
    if distance == "ordered":
        return _in_a_row(tally, number)
    leaves = np.arange(scale.size, dtype=np.int32)[None, :]
    nodes = scale.nodes if distance == "taxonomy" and scale.nodes is not None and len(scale.nodes) else leaves
    return _by_nodes(tally, nodes, number)


def _in_a_row(tally: Tally, number: type[np.int64] | type[object]) -> tuple[Whole, Whole]:
    """Return sum_i |N a_i - n C_i| and n N (s - 1): a and C the counts at or below the i-th value of the table.

    From one value of a group to its next, a stays and C grows: so the difference is positive up to a place, which is
    looked up, and negative behind it. Running sums of C give both parts.
    """
    there = np.flatnonzero(tally.table)
    place = np.zeros(len(tally.table), np.int64)
    place[there] = np.arange(len(there))
    below = np.cumsum(tally.table[there]).astype(number)
    running = np.concatenate([np.zeros(1, number), np.cumsum(below)])
    everybody = int(tally.table.sum())
    first = place[tally.value]
    behind = np.append(first[1:], len(there))
    last_of_group = tally.starts + tally.different - 1
    behind[last_of_group] = len(there)
    # What a group has at or below each of its values.
    summed = np.cumsum(tally.count)
    before = summed[tally.starts] - tally.count[tally.starts]
    carried = (summed - np.repeat(before, tally.different)).astype(number) * everybody
    size = np.repeat(tally.total, tally.different).astype(number)
    turn = np.clip(np.searchsorted(below, carried // size, side="right"), first, behind)  # n C <= N a up to here
    more = carried * (turn - first) - size * (running[turn] - running[first])
    less = size * (running[behind] - running[turn]) - carried * (behind - turn)
    work = tally.summed(more + less) + tally.total.astype(number) * running[first[tally.starts]]
    return work, _positive(tally.total.astype(number) * everybody * (len(there) - 1))


def _by_nodes(tally: Tally, nodes: Codes, number: type[np.int64] | type[object]) -> tuple[Whole, Whole]:
    """Return sum |N c - n C| over all nodes of all levels, and 2 H n N, H being the number of levels."""
    everybody = int(tally.table.sum())
    total = tally.total.astype(number)
    work = np.zeros(tally.n_groups, number)
    for level in nodes:
        _, place = np.unique(level, return_inverse=True)
        of_table = np.bincount(place, weights=tally.table).astype(np.int64)
        width = len(of_table)
        key = tally.group * width + place[tally.value]
        distinct, inverse = np.unique(key, return_inverse=True)
        count = np.zeros(len(distinct), np.int64)
        np.add.at(count, inverse, tally.count)
        group, there = distinct // width, of_table[distinct % width]
        expected = total[group] * there
        apart = np.abs(count.astype(number) * everybody - expected)
        # Nodes without a record of the group have their share of the table to be brought.
        rest = np.zeros(tally.n_groups, number)
        np.add.at(rest, group, apart - expected)
        work = work + rest + total * everybody
    return work, _positive(total * (2 * everybody * len(nodes)))


def _positive(denominator: Whole) -> Whole:
    return np.where(denominator > 0, denominator, 1).astype(denominator.dtype)
