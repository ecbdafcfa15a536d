"""How strongly may each value be believed? Shares of worlds, where they can be had, and limits where they cannot.

* A set with one value is certain.
* *Symmetry*: where all groups that anything connects have each of their values equally often, and the value sets of
  any two are equal or share nothing, the values of a set can be renamed into each other in all the releases at once.
  So whoever is in a group with the set S has each of its values in the same share of worlds: 1/|S|. Who may be in
  groups with different sets has a mixture of such shares, at most that of the smallest set. Where the publisher's rule
  keeps every person's sets equal or apart, that holds whatever else connects the groups.
* A group by itself, of records only: the share of a value is its share of the rows.
* A few appearances that are connected: all worlds are counted, one by one or, of up to 40 persons, by states
  (:mod:`reveil.adversary.frontier`) as long as there are not too many. More: worlds are drawn, and weighed by how
  likely each was to be drawn; a limit that holds for all of them together with 99 % comes from the effective number of
  draws.
* Otherwise one of the values that are left has at least its equal share, and that is all that is said.

A world is who is in which group with which value; with ``once``, who has which value, however they may be placed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reveil.adversary import frontier
from reveil.adversary.world_options import WorldOptions, known_lives
from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged
from reveil.core.kernels import worlds
from reveil.releases.parsing import classes_of

if TYPE_CHECKING:
    from reveil.adversary.appearances import Appearances, BitArray
    from reveil.adversary.chains import Possible

FloatArray = npt.NDArray[np.float64]

SMALL = 12  # appearances of a component whose worlds are counted
STEPS = 100_000  # for counting one component
PERSONS = 40  # of a component whose worlds are counted state by state
STATES = 2_000_000  # steps of that, over all components
MEDIUM = 64  # appearances of a component whose worlds are drawn
DRAWN = 4000  # worlds
DRAWS = 100_000_000  # options of appearances of drawn worlds, over all components
ENOUGH = 100  # effective draws below which an estimate says nothing
DOUBT = 0.01

HOW = ("unknown", "certain", "symmetry", "shares", "counted", "drawn", "at least", "at most")
_UNKNOWN, _CERTAIN, _SYMMETRY, _SHARES, _COUNTED, _DRAWN, _AT_LEAST, _AT_MOST = range(len(HOW))


@dataclass(frozen=True, repr=False)
class CountedBeliefs:
    """For each appearance the strongest belief, its value, how it was found (a place in ``HOW``) and a limit below it.

    ``impossible``: appearances whose component has no world at all: what is known does not fit together.
    """

    belief: FloatArray
    value: CodeArray
    how: npt.NDArray[np.int8]
    lower: FloatArray
    impossible: BoolArray

    @property
    def exact(self) -> BoolArray:
        """Whether the belief is the share of worlds itself."""
        exact: BoolArray = (self.how >= _CERTAIN) & (self.how <= _COUNTED)
        return exact

    def tell(self, at: BoolArray, how: int, belief: FloatArray | float, value: CodeArray, lower: FloatArray) -> None:
        """Put down what was found about some appearances."""
        self.how[at] = how
        self.belief[at], self.value[at], self.lower[at] = belief, value, lower


def believed(
    appearances: Appearances,
    possible: Possible,
    rng: np.random.Generator,
    *,
    once: bool = False,
    asked: BoolArray | None = None,
    states: int | None = None,
) -> CountedBeliefs:
    """Find how strongly each appearance's values may be believed; worlds are counted for the persons ``asked`` for.

    Larger pieces are counted in at most so many steps (``states``); of those that are left limits are told.
    """
    n = appearances.n
    found = CountedBeliefs(
        np.zeros(n), np.zeros(n, np.int32), np.zeros(n, np.int8), np.full(n, np.nan), possible.broken.copy()
    )
    groups = _Candidates.of(appearances, possible)
    listed = groups.many > 0
    sizes, first = possible.sizes, _first_value(possible.masks)
    label, of_group = components_of(appearances, possible)
    components = int(max(label.max(initial=-1), of_group.max(initial=-1))) + 1
    bad = np.zeros(components, np.bool_)
    bad[label[possible.broken]] = True
    found.impossible[:] = bad[label]
    sound = ~found.impossible

    one = sound & (sizes == 1)
    found.tell(one, _CERTAIN, 1.0, first[one], np.ones(int(one.sum())))
    even = sound & listed & (found.how == _UNKNOWN) & _symmetric(appearances, groups, label, of_group, components)
    settled = even & (groups.signatures == 1) & ~possible.loose
    share = 1 / np.maximum(groups.least, 1)
    found.tell(settled, _SYMMETRY, share[settled], first[settled], share[settled])
    rest = even & ~settled & (groups.least > 1)
    # Some value has at least its equal share, of those whose values are all among the ones that are left.
    limit = np.where(possible.loose, np.nan, 1 / np.maximum(sizes, 1))
    found.tell(rest, _AT_MOST, share[rest], first[rest], limit[rest])
    _tell_shares(appearances, possible, groups, label, of_group, components, found)

    members = np.bincount(label, minlength=components)
    closed = ~bad
    closed[label[possible.loose | possible.skipped | appearances.open[appearances.release] | ~listed]] = False
    if asked is not None:
        wanted = np.zeros(components, np.bool_)
        wanted[label[asked[appearances.person]]] = True
        closed &= wanted
    needed = np.zeros(components, np.bool_)
    needed[label[sound & listed & (found.how == _UNKNOWN)]] = True
    small = needed & closed & (members <= SMALL)
    _count(appearances, possible, label, small, found, once=once)
    needed[:] = False
    needed[label[~found.impossible & listed & (found.how == _UNKNOWN)]] = True
    people = np.zeros(components, np.int64)
    np.add.at(people, label[np.unique(appearances.person * np.int64(components) + label, return_index=True)[1]], 1)
    if not once:
        _count_by_states(appearances, possible, label, needed & closed & (people <= PERSONS), found, states)
        needed[:] = False
        needed[label[~found.impossible & listed & (found.how == _UNKNOWN)]] = True
    medium = needed & closed & (members <= MEDIUM)
    if medium.any():
        looks = _looks(appearances, possible, label, medium)
        medium[np.flatnonzero(medium)[np.cumsum(looks[medium]) * DRAWN > DRAWS]] = False
    _draw(appearances, possible, label, medium, rng, found)

    left = ~found.impossible & listed & (found.how == _UNKNOWN)
    found.tell(left, _AT_LEAST, 1 / sizes[left], first[left], limit[left])
    # Such a limit is about whichever value it is: none of them is named.
    found.value[(found.how == _AT_LEAST) | (found.how == _AT_MOST)] = -1
    return found


@dataclass(frozen=True, repr=False)
class _Candidates:
    """The groups left for each appearance: how many, with how many signatures, and the fewest values of one."""

    appearance: IntArray
    group: IntArray
    many: IntArray
    signatures: IntArray
    least: IntArray

    @classmethod
    def of(cls, appearances: Appearances, possible: Possible) -> _Candidates:
        edges = np.flatnonzero(possible.alive)
        appearance = appearances.candidates.owners()[edges]
        group = appearances.candidates.items[edges].astype(np.int64)
        many = np.bincount(appearance, minlength=appearances.n)
        left = Ragged.of_lengths(many, group)
        signature = appearances.signature[group]
        lowest, highest = left.reduce(np.minimum, signature), left.reduce(np.maximum, signature)
        signatures = np.where(many > 0, np.where(lowest == highest, 1, 2), 0)
        least = left.reduce(np.minimum, appearances.distinct[group])
        return cls(appearance, group, many, signatures, least)


def _first_value(masks: BitArray) -> CodeArray:
    """Return the first value of each set."""
    word = (masks != 0).argmax(axis=1)
    bits = masks[np.arange(len(masks)), word]
    lowest = bits & (~bits + np.uint64(1))
    first: CodeArray = (word * 64 + np.bitwise_count(lowest - np.uint64(1))).astype(np.int32)
    return first


def components_of(appearances: Appearances, possible: Possible) -> tuple[IntArray, IntArray]:
    """Number what anything connects: a possible membership, or knowledge of a life. Of appearances, and of groups."""
    edges = np.flatnonzero(possible.alive)
    appearance = appearances.candidates.owners()[edges]
    told = (appearances.changed >= 0) & (appearances.before >= 0)
    if appearances.rule == "apart":
        told = appearances.before >= 0
    tail = np.concatenate([appearance, np.flatnonzero(told)])
    head = np.concatenate(
        [appearances.n + appearances.candidates.items[edges].astype(np.int64), appearances.before[told]]
    )
    size = appearances.n + appearances.n_groups
    links = coo_array((np.ones(len(tail), np.int8), (tail, head)), shape=(size, size))
    label = connected_components(links, directed=False)[1].astype(np.int64)
    return label[: appearances.n], label[appearances.n :]


def _symmetric(
    appearances: Appearances, groups: _Candidates, label: IntArray, of_group: IntArray, components: int
) -> BoolArray:
    """Return the appearances whose values can be renamed into each other."""
    if appearances.rule == "apart":
        uneven = np.zeros(int(appearances.signature.max(initial=-1)) + 1, np.bool_)
        uneven[appearances.signature[~appearances.balanced]] = True
        odd = np.zeros(appearances.n, np.bool_)
        odd[groups.appearance[uneven[appearances.signature[groups.group]]]] = True
        return ~odd
    odd = np.zeros(components, np.bool_)
    odd[of_group[~appearances.balanced]] = True
    # Persons whose groups are not listed may tie any groups together.
    odd[label[appearances.open[appearances.release]]] = True
    owner = appearances.values.owners()
    pair, _ = classes_of([of_group[owner], appearances.values.items], len(owner))
    _, example = classes_of([pair, appearances.signature[owner]], len(owner))
    sets = np.bincount(pair[example], minlength=1)
    # A value that is in two different sets of one component ties them together.
    odd[of_group[owner[sets[pair] > 1]]] = True
    return ~odd[label]


def _tell_shares(
    appearances: Appearances,
    possible: Possible,
    groups: _Candidates,
    label: IntArray,
    of_group: IntArray,
    components: int,
    found: CountedBeliefs,
) -> None:
    """Tell the shares of groups that nothing else is connected with, that have records only, all of them known."""
    members, many = np.bincount(label, minlength=components), np.bincount(of_group, minlength=components)
    if not len(appearances.counts):
        return
    rows, top = (
        appearances.values.reduce(np.add, appearances.counts),
        appearances.values.reduce(np.maximum, appearances.counts),
    )
    code = np.zeros(appearances.n_groups, np.int32)
    owner = appearances.values.owners()
    best = np.flatnonzero(appearances.counts == top[owner])[::-1]
    code[owner[best]] = appearances.values.items[best]
    group = np.zeros(appearances.n, np.int64)
    group[groups.appearance] = groups.group
    alone = (groups.many == 1) & (members[label] == appearances.room[group]) & (many[label] == 1) & ~possible.loose
    alone &= (rows[group] == appearances.room[group]) & (possible.sizes == appearances.distinct[group])
    # All of the component are members of the group: not the same persons elsewhere, and nobody who is not listed.
    inside = np.bincount(group[groups.many == 1], minlength=appearances.n_groups)
    alone &= (inside[group] == appearances.room[group]) & ~appearances.open[appearances.release]
    alone &= ~found.impossible & (found.how == _UNKNOWN)
    share = top[group] / np.maximum(rows[group], 1)
    found.tell(alone, _SHARES, share[alone], code[group[alone]], share[alone])


def _count(
    appearances: Appearances,
    possible: Possible,
    label: IntArray,
    small: BoolArray,
    found: CountedBeliefs,
    *,
    once: bool,
) -> None:
    """Count all the worlds of the small components."""
    if not small.any():
        return
    these = WorldOptions.of(appearances, possible, label, small)
    tally = np.zeros(len(these.appearance), np.int64)
    number = worlds.count(these.options, *known_lives(appearances), once, STEPS, tally)
    total = np.zeros(int(label.max()) + 1, np.int64)
    total[these.component] = number
    counted = small.copy()
    counted[these.component] = number > 0
    members = these.appearances.items
    found.impossible[members[(total == 0)[label[members]]]] = True
    appearance, weight, value = these.best(appearances, tally.astype(np.float64))
    good = counted[label[appearance]] & (found.how[appearance] == _UNKNOWN)
    appearance, share, value = appearance[good], weight[good] / total[label[appearance[good]]], value[good]
    at = np.zeros(appearances.n, np.bool_)
    at[appearance] = True
    found.tell(at, _COUNTED, share, value, share)


def _count_by_states(
    appearances: Appearances,
    possible: Possible,
    label: IntArray,
    chosen: BoolArray,
    found: CountedBeliefs,
    states: int | None,
) -> None:
    """Count the worlds of components of not too many persons, those of few appearances first."""
    if not chosen.any():
        return
    these = WorldOptions.of(appearances, possible, label, chosen)
    lives, _ = known_lives(appearances)
    allowed = frontier.Allowance(STATES if states is None else states)
    members = these.appearances.items.tolist()
    in_order = sorted(frontier.pieces(these.appearances.offsets.tolist(), members), key=len)
    value, owner = these.options.value, these.appearance
    for choices in in_order:
        component = frontier.Component(choices, these.options, lives, appearances)
        counted = frontier.count(component, allowed) if component.lay_out() else None
        if allowed.steps < 0:
            return
        if counted is None:
            continue
        total, taken = counted
        if not total:
            found.impossible[choices] = True
            continue
        best: dict[int, tuple[int, int]] = {}
        by_value: dict[tuple[int, int], int] = {}
        for option, ways in taken.items():
            key = int(owner[option]), int(value[option])
            by_value[key] = by_value.get(key, 0) + ways
        for (appearance, code), ways in by_value.items():
            best[appearance] = max(best.get(appearance, (0, 0)), (ways, -code))
        for appearance, (ways, code) in best.items():
            if found.how[appearance] == _UNKNOWN:
                found.how[appearance], found.value[appearance] = _COUNTED, -code
                found.belief[appearance] = found.lower[appearance] = ways / total


def _looks(appearances: Appearances, possible: Possible, label: IntArray, chosen: BoolArray) -> IntArray:
    """Return how many options the appearances of each chosen component have together: what one drawn world costs."""
    edges = np.flatnonzero(possible.alive)
    appearance = appearances.candidates.owners()[edges]
    wanted = chosen[label[appearance]]
    looks = np.zeros(len(chosen), np.int64)
    np.add.at(looks, label[appearance[wanted]], appearances.distinct[appearances.candidates.items[edges[wanted]]])
    return looks


def _draw(
    appearances: Appearances,
    possible: Possible,
    label: IntArray,
    medium: BoolArray,
    rng: np.random.Generator,
    found: CountedBeliefs,
) -> None:
    """Draw worlds of the components that are too large to be counted."""
    if not medium.any():
        return
    these = WorldOptions.of(appearances, possible, label, medium)
    tally = np.zeros(len(these.appearance))
    longest = int(these.appearances.lengths.max())
    total, squares = worlds.draw(these.options, *known_lives(appearances), rng.random((DRAWN, longest)), tally)
    weight, effective = np.zeros(int(label.max()) + 1), np.zeros(int(label.max()) + 1)
    weight[these.component] = total
    effective[these.component] = np.divide(total**2, squares, out=np.zeros(len(total)), where=squares > 0)
    # Hoeffding's inequality, for all values of all appearances at once.
    tests = max(len(np.unique(these.appearance * appearances.domain + these.options.value)), 1)
    appearance, sums, value = these.best(appearances, tally)
    good = (effective[label[appearance]] >= ENOUGH) & (found.how[appearance] == _UNKNOWN)
    appearance, sums, value = appearance[good], sums[good], value[good]
    # No number of draws makes anything certain.
    share = np.minimum(sums / weight[label[appearance]], 1 - 1 / (effective[label[appearance]] + 1))
    limit = share - np.sqrt(np.log(tests / DOUBT) / (2 * effective[label[appearance]]))
    at = np.zeros(appearances.n, np.bool_)
    at[appearance] = True
    found.tell(at, _DRAWN, share, value, np.maximum(limit, 1 / possible.sizes[appearance]))
