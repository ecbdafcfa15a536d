"""How strongly may each value be believed? Shares of worlds, where they can be had, and limits where they cannot.

* A set with one value is certain.
* *Symmetry*: where all groups that anything connects have each of their values equally often, and the value sets of
  any two are equal or share nothing, the values of a set can be renamed into each other in all the releases at once.
  So whoever is in a group with the set S has each of its values in the same share of worlds: 1/|S|. Who may be in
  groups with different sets has a mixture of such shares, at most that of the smallest set. Where the publisher's rule
  keeps every person's sets equal or apart, that holds whatever else connects the groups.
* A group by itself, of records only: the share of a value is its share of the rows.
* A few slots that are connected: all worlds are counted. More: worlds are drawn, and weighed by how likely each was to
  be drawn; a limit that holds for all of them together with 99 % comes from the effective number of draws.
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

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged, offsets_of_sorted
from reveil.core.kernels import worlds
from reveil.releases.release import classes_of

if TYPE_CHECKING:
    from reveil.adversary.appearances import BitArray, Slots
    from reveil.adversary.chains import Possible

FloatArray = npt.NDArray[np.float64]

SMALL = 12  # slots of a component whose worlds are counted
STEPS = 100_000  # for counting one component
MEDIUM = 64  # slots of a component whose worlds are drawn
DRAWN = 4000  # worlds
DRAWS = 100_000_000  # options of slots of drawn worlds, over all components
ENOUGH = 100  # effective draws below which an estimate says nothing
DOUBT = 0.01

HOW = ("unknown", "certain", "symmetry", "shares", "counted", "drawn", "at least", "at most")
_UNKNOWN, _CERTAIN, _SYMMETRY, _SHARES, _COUNTED, _DRAWN, _AT_LEAST, _AT_MOST = range(len(HOW))


@dataclass(frozen=True, repr=False)
class CountedBeliefs:
    """For each slot the strongest belief, its value, how it was found (a place in ``HOW``) and a limit below it.

    ``impossible``: slots whose component has no world at all: what is known does not fit together.
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
        """Put down what was found about some slots."""
        self.how[at] = how
        self.belief[at], self.value[at], self.lower[at] = belief, value, lower


def believed(slots: Slots, possible: Possible, rng: np.random.Generator, *, once: bool = False) -> CountedBeliefs:
    """Find how strongly each slot's values may be believed."""
    n = slots.n
    found = CountedBeliefs(
        np.zeros(n), np.zeros(n, np.int32), np.zeros(n, np.int8), np.full(n, np.nan), possible.broken.copy()
    )
    groups = _Candidates.of(slots, possible)
    listed = groups.many > 0
    sizes, first = possible.sizes, _first_value(possible.masks)
    label, of_group = _components(slots, possible)
    components = int(max(label.max(initial=-1), of_group.max(initial=-1))) + 1
    bad = np.zeros(components, np.bool_)
    bad[label[possible.broken]] = True
    found.impossible[:] = bad[label]
    sound = ~found.impossible

    one = sound & (sizes == 1)
    found.tell(one, _CERTAIN, 1.0, first[one], np.ones(int(one.sum())))
    even = sound & listed & (found.how == _UNKNOWN) & _symmetric(slots, groups, label, of_group, components)
    settled = even & (groups.signatures == 1) & ~possible.loose
    share = 1 / np.maximum(groups.least, 1)
    found.tell(settled, _SYMMETRY, share[settled], first[settled], share[settled])
    rest = even & ~settled & (groups.least > 1)
    # Some value has at least its equal share, of those whose values are all among the ones that are left.
    limit = np.where(possible.loose, np.nan, 1 / np.maximum(sizes, 1))
    found.tell(rest, _AT_MOST, share[rest], first[rest], limit[rest])
    _tell_shares(slots, possible, groups, label, of_group, components, found)

    members = np.bincount(label, minlength=components)
    closed = ~bad
    closed[label[possible.loose | possible.skipped | slots.open[slots.release] | ~listed]] = False
    needed = np.zeros(components, np.bool_)
    needed[label[sound & listed & (found.how == _UNKNOWN)]] = True
    small = needed & closed & (members <= SMALL)
    _count(slots, possible, label, small, found, once=once)
    needed[:] = False
    needed[label[~found.impossible & listed & (found.how == _UNKNOWN)]] = True
    medium = needed & closed & (members <= MEDIUM)
    if medium.any():
        looks = _looks(slots, possible, label, medium)
        medium[np.flatnonzero(medium)[np.cumsum(looks[medium]) * DRAWN > DRAWS]] = False
    _draw(slots, possible, label, medium, rng, found)

    left = ~found.impossible & listed & (found.how == _UNKNOWN)
    found.tell(left, _AT_LEAST, 1 / sizes[left], first[left], limit[left])
    # Such a limit is about whichever value it is: none of them is named.
    found.value[(found.how == _AT_LEAST) | (found.how == _AT_MOST)] = -1
    return found


@dataclass(frozen=True, repr=False)
class _Candidates:
    """The groups that are left for each slot: how many, with how many signatures, and the fewest values of one."""

    slot: IntArray
    group: IntArray
    many: IntArray
    signatures: IntArray
    least: IntArray

    @classmethod
    def of(cls, slots: Slots, possible: Possible) -> _Candidates:
        edges = np.flatnonzero(possible.alive)
        slot = slots.candidates.owners()[edges]
        group = slots.candidates.items[edges].astype(np.int64)
        many = np.bincount(slot, minlength=slots.n)
        left = Ragged.of_lengths(many, group)
        signature = slots.signature[group]
        lowest, highest = left.reduce(np.minimum, signature), left.reduce(np.maximum, signature)
        signatures = np.where(many > 0, np.where(lowest == highest, 1, 2), 0)
        least = left.reduce(np.minimum, slots.distinct[group])
        return cls(slot, group, many, signatures, least)


def _first_value(masks: BitArray) -> CodeArray:
    """Return the first value of each set."""
    word = (masks != 0).argmax(axis=1)
    bits = masks[np.arange(len(masks)), word]
    lowest = bits & (~bits + np.uint64(1))
    first: CodeArray = (word * 64 + np.bitwise_count(lowest - np.uint64(1))).astype(np.int32)
    return first


def _components(slots: Slots, possible: Possible) -> tuple[IntArray, IntArray]:
    """Number what anything connects: a possible membership, or knowledge of a life. Of slots, and of groups."""
    edges = np.flatnonzero(possible.alive)
    slot = slots.candidates.owners()[edges]
    told = (slots.changed >= 0) & (slots.before >= 0)
    if slots.rule == "apart":
        told = slots.before >= 0
    tail = np.concatenate([slot, np.flatnonzero(told)])
    head = np.concatenate([slots.n + slots.candidates.items[edges].astype(np.int64), slots.before[told]])
    size = slots.n + slots.n_groups
    links = coo_array((np.ones(len(tail), np.int8), (tail, head)), shape=(size, size))
    label = connected_components(links, directed=False)[1].astype(np.int64)
    return label[: slots.n], label[slots.n :]


def _symmetric(slots: Slots, groups: _Candidates, label: IntArray, of_group: IntArray, components: int) -> BoolArray:
    """Return the slots whose values can be renamed into each other."""
    if slots.rule == "apart":
        uneven = np.zeros(int(slots.signature.max(initial=-1)) + 1, np.bool_)
        uneven[slots.signature[~slots.balanced]] = True
        odd = np.zeros(slots.n, np.bool_)
        odd[groups.slot[uneven[slots.signature[groups.group]]]] = True
        return ~odd
    odd = np.zeros(components, np.bool_)
    odd[of_group[~slots.balanced]] = True
    # Persons whose groups are not listed may tie any groups together.
    odd[label[slots.open[slots.release]]] = True
    owner = slots.values.owners()
    pair, _ = classes_of([of_group[owner], slots.values.items], len(owner))
    _, example = classes_of([pair, slots.signature[owner]], len(owner))
    sets = np.bincount(pair[example], minlength=1)
    # A value that is in two different sets of one component ties them together.
    odd[of_group[owner[sets[pair] > 1]]] = True
    return ~odd[label]


def _tell_shares(
    slots: Slots,
    possible: Possible,
    groups: _Candidates,
    label: IntArray,
    of_group: IntArray,
    components: int,
    found: CountedBeliefs,
) -> None:
    """Tell the shares of groups that nothing else is connected with, that have records only, all of them known."""
    members, many = np.bincount(label, minlength=components), np.bincount(of_group, minlength=components)
    if not len(slots.counts):
        return
    rows, top = slots.values.reduce(np.add, slots.counts), slots.values.reduce(np.maximum, slots.counts)
    code = np.zeros(slots.n_groups, np.int32)
    owner = slots.values.owners()
    best = np.flatnonzero(slots.counts == top[owner])[::-1]
    code[owner[best]] = slots.values.items[best]
    group = np.zeros(slots.n, np.int64)
    group[groups.slot] = groups.group
    alone = (groups.many == 1) & (members[label] == slots.room[group]) & (many[label] == 1) & ~possible.loose
    alone &= (rows[group] == slots.room[group]) & (possible.sizes == slots.distinct[group])
    # All of the component are members of the group: not the same persons elsewhere, and nobody who is not listed.
    inside = np.bincount(group[groups.many == 1], minlength=slots.n_groups)
    alone &= (inside[group] == slots.room[group]) & ~slots.open[slots.release]
    alone &= ~found.impossible & (found.how == _UNKNOWN)
    share = top[group] / np.maximum(rows[group], 1)
    found.tell(alone, _SHARES, share[alone], code[group[alone]], share[alone])


@dataclass(frozen=True, repr=False)
class _Options:
    """The slots of some components in the order of lives, and what each may take."""

    slots: Ragged[np.int64]  # of each component
    component: IntArray
    slot: IntArray  # of each option
    options: worlds.Options

    @classmethod
    def of(cls, slots: Slots, possible: Possible, label: IntArray, chosen: BoolArray) -> _Options:
        own = np.flatnonzero(chosen[label])
        own = own[np.lexsort((slots.release[own], slots.person[own], label[own]))]
        starts = np.flatnonzero(np.diff(label[own], prepend=-1))
        there = chosen[label]
        edges = np.flatnonzero(possible.alive)
        slot = slots.candidates.owners()[edges]
        edges, slot = edges[there[slot]], slot[there[slot]]
        group = slots.candidates.items[edges].astype(np.int64)
        which, row = slots.values.places(group)
        slot, group, value = slot[which], group[which], slots.values.items[row]
        bit = np.uint64(1) << (value % 64).astype(np.uint64)
        good = (possible.masks[slot, value // 64] & bit) != 0
        slot, group, value, row = slot[good], group[good], value[good], row[good]
        options = offsets_of_sorted(slot, slots.n)
        distinct, place = np.unique(slot * slots.domain + value, return_inverse=True)
        rank = place - np.searchsorted(distinct, slot * slots.domain)
        listed = Ragged(np.append(starts, len(own)).astype(np.int64), own)
        laid = worlds.Options(listed.offsets, own, options, group, value, row, rank)
        return cls(listed, label[own[starts]], slot, laid)

    def best(self, slots: Slots, weight: FloatArray) -> tuple[IntArray, FloatArray, CodeArray]:
        """Return the slots, the largest weight of a value of each, and that value."""
        keys, place = np.unique(self.slot * slots.domain + self.options.value, return_inverse=True)
        summed = np.bincount(place, weight, len(keys))
        slot, value = keys // slots.domain, (keys % slots.domain).astype(np.int32)
        order = np.lexsort((-summed, slot))
        first = order[np.flatnonzero(np.diff(slot[order], prepend=-1))]
        return slot[first], summed[first].astype(np.float64), value[first]


def _known(slots: Slots) -> tuple[worlds.Lives, worlds.Free]:
    """Return what is known of lives, and the rows and the room that there are."""
    kept = slots.kept & (slots.rule == "kept")
    lives = worlds.Lives(slots.before, slots.changed, slots.rule == "apart", kept, slots.sets)
    return lives, worlds.Free(slots.counts.copy(), slots.room.copy())


def _count(
    slots: Slots,
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
    these = _Options.of(slots, possible, label, small)
    tally = np.zeros(len(these.slot), np.int64)
    number = worlds.count(these.options, *_known(slots), once, STEPS, tally)
    total = np.zeros(int(label.max()) + 1, np.int64)
    total[these.component] = number
    counted = small.copy()
    counted[these.component] = number > 0
    own = these.slots.items
    found.impossible[own[(total == 0)[label[own]]]] = True
    slot, weight, value = these.best(slots, tally.astype(np.float64))
    good = counted[label[slot]] & (found.how[slot] == _UNKNOWN)
    slot, share, value = slot[good], weight[good] / total[label[slot[good]]], value[good]
    at = np.zeros(slots.n, np.bool_)
    at[slot] = True
    found.tell(at, _COUNTED, share, value, share)


def _looks(slots: Slots, possible: Possible, label: IntArray, chosen: BoolArray) -> IntArray:
    """Return how many options the slots of each chosen component have together: what one drawn world costs."""
    edges = np.flatnonzero(possible.alive)
    slot = slots.candidates.owners()[edges]
    own = chosen[label[slot]]
    looks = np.zeros(len(chosen), np.int64)
    np.add.at(looks, label[slot[own]], slots.distinct[slots.candidates.items[edges[own]]])
    return looks


def _draw(
    slots: Slots,
    possible: Possible,
    label: IntArray,
    medium: BoolArray,
    rng: np.random.Generator,
    found: CountedBeliefs,
) -> None:
    """Draw worlds of the components that are too large to be counted."""
    if not medium.any():
        return
    these = _Options.of(slots, possible, label, medium)
    tally = np.zeros(len(these.slot))
    longest = int(these.slots.lengths.max())
    total, squares = worlds.draw(these.options, *_known(slots), rng.random((DRAWN, longest)), tally)
    weight, effective = np.zeros(int(label.max()) + 1), np.zeros(int(label.max()) + 1)
    weight[these.component] = total
    effective[these.component] = np.divide(total**2, squares, out=np.zeros(len(total)), where=squares > 0)
    # Hoeffding's inequality, for all values of all slots at once.
    tests = max(len(np.unique(these.slot * slots.domain + these.options.value)), 1)
    slot, sums, value = these.best(slots, tally)
    good = (effective[label[slot]] >= ENOUGH) & (found.how[slot] == _UNKNOWN)
    slot, sums, value = slot[good], sums[good], value[good]
    # No number of draws makes anything certain.
    share = np.minimum(sums / weight[label[slot]], 1 - 1 / (effective[label[slot]] + 1))
    limit = share - np.sqrt(np.log(tests / DOUBT) / (2 * effective[label[slot]]))
    at = np.zeros(slots.n, np.bool_)
    at[slot] = True
    found.tell(at, _DRAWN, share, value, np.maximum(limit, 1 / possible.sizes[slot]))
