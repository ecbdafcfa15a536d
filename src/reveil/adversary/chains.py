"""What can everybody have? Sets of values, narrowed along lives and inside groups until nothing changes.

Everything here only ever takes away what no world has: whatever is left over may still be impossible, but a set with
one value is certain.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from reveil.adversary.appearances import numbered
from reveil.adversary.matching import Network, matchable
from reveil.core.kernels import chains
from reveil.releases.parsing import classes_of

if TYPE_CHECKING:
    from reveil.adversary.appearances import Appearances, BitArray
    from reveil.core.arrays import BoolArray, IntArray

LARGEST = 10_000_000  # edges of persons with rows that are matched together
ROUNDS = 50


@dataclass(frozen=True, repr=False)
class Possible:
    """What is left: the values of each appearance as bits, and which of its candidates may still be its group.

    ``first`` are the values before anything was concluded from other releases or other persons. Appearances that are
    ``loose`` may be in no group, appearances that are ``broken`` exclude themselves: what is known does not fit
    together. ``skipped``: appearances of parts that were too large to be matched.
    """

    masks: BitArray
    first: BitArray
    alive: BoolArray
    loose: BoolArray
    broken: BoolArray
    skipped: BoolArray
    rounds: int = 0

    @property
    def sizes(self) -> IntArray:
        """How many values are left for each appearance."""
        sizes: IntArray = np.bitwise_count(self.masks).sum(axis=1, dtype=np.int64)
        return sizes


def agreeing(appearances: Appearances) -> tuple[BoolArray, BoolArray]:
    """Return the candidates that the rule of the manifests leaves, and the appearances that it leaves none of."""
    alive, broken = np.ones(len(appearances.candidates.items), np.bool_), np.zeros(appearances.n, np.bool_)
    if appearances.rule == "none":
        return alive, broken
    loose = _may_be_outside(appearances, alive)
    candidates = chains.LiveCandidates(
        appearances.candidates.offsets, appearances.candidates.items, appearances.sets, loose, alive
    )
    marks = chains.Marks(np.zeros(appearances.n, np.bool_), broken)
    lives, everywhere = appearances.by_person, appearances.rule == "apart"
    for _ in range(ROUNDS):
        moved = chains.agree(
            lives.offsets, lives.items, candidates, appearances.before, appearances.kept, everywhere, marks
        )
        if not moved:
            break
    return alive, broken


def narrowed(appearances: Appearances, alive: BoolArray, start: BitArray | None = None) -> Possible:
    """Narrow everybody's values to a fix-point, from everything or from what is known to be left at the start."""
    masks = np.broadcast_to(appearances.everything, (appearances.n, len(appearances.everything))).copy()
    if start is not None:
        masks &= start
    broken, skipped = np.zeros(appearances.n, np.bool_), np.zeros(appearances.n, np.bool_)
    dirty, alive = np.ones(appearances.n, np.bool_), alive.copy()
    loose = _may_be_outside(appearances, alive)
    candidates = chains.LiveCandidates(
        appearances.candidates.offsets, appearances.candidates.items, appearances.sets, loose, alive
    )
    marks = chains.Marks(dirty, broken)
    chains.admit(candidates, masks, marks)
    left = Possible(masks, masks.copy(), alive, loose, broken, skipped)
    rounds = 0
    while rounds < ROUNDS:
        rounds += 1
        moved = chains.chain(appearances.before, appearances.changed, masks, marks) + chains.admit(
            candidates, masks, marks
        )
        for number in range(len(appearances.appearance_starts) - 1):
            of_release = slice(appearances.appearance_starts[number], appearances.appearance_starts[number + 1])
            if dirty[of_release].any():
                moved += _match(appearances, number, left, dirty)
                dirty[of_release] = False
        if not moved:
            break
    return replace(left, rounds=rounds)


def _parts(appearances: Appearances, number: int, alive: BoolArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return the edges of a release left, their appearances, and the part of each appearance and of each group.

    Persons and groups are in one part if candidates connect them; appearances without a candidate are in none (-1).
    """
    start, end = appearances.appearance_starts[number], appearances.appearance_starts[number + 1]
    first, groups = appearances.group_starts[number], int(np.diff(appearances.group_starts)[number])
    first_edge, last_edge = appearances.candidates.offsets[start], appearances.candidates.offsets[end]
    left = np.flatnonzero(alive[first_edge:last_edge])
    edges = first_edge + left
    appearance = np.repeat(np.arange(end - start), appearances.candidates.lengths[start:end])[left]
    group = appearances.candidates.items[edges] - first
    many = np.bincount(appearance, minlength=end - start)
    if (many <= 1).all():
        of_group = np.arange(groups)
    else:
        several = many[appearance] > 1
        size = groups + int(end - start)
        links = coo_array(
            (np.ones(int(several.sum()), np.int8), (group[several], groups + appearance[several])), shape=(size, size)
        )
        of_group = connected_components(links, directed=False)[1][:groups].astype(np.int64)
    of_appearance = np.full(end - start, -1, np.int64)
    of_appearance[appearance] = of_group[group]
    return edges, appearance + start, of_appearance, of_group


def _outside(appearances: Appearances, number: int, of_appearance: IntArray, of_group: IntArray) -> IntArray:
    """Return how many persons of each part may be in no group."""
    parts = int(of_group.max(initial=-1)) + 1
    if appearances.open[number]:
        return np.full(parts, appearances.unplaced[number], np.int64)
    start, end = appearances.group_starts[number], appearances.group_starts[number + 1]
    room = np.bincount(of_group, appearances.room[start:end], parts).astype(np.int64)
    # Everybody's groups are listed and all of them are full: who is too many in a part is in no group at all.
    outside: IntArray = np.maximum(np.bincount(of_appearance[of_appearance >= 0], minlength=parts) - room, 0)
    return outside


def _may_be_outside(appearances: Appearances, alive: BoolArray) -> BoolArray:
    """Return the appearances that may be in no group."""
    loose: BoolArray = appearances.candidates.lengths == 0
    for number in np.flatnonzero(appearances.unplaced > 0):
        start, end = appearances.appearance_starts[number], appearances.appearance_starts[number + 1]
        _, _, of_appearance, of_group = _parts(appearances, int(number), alive)
        outside = np.append(_outside(appearances, int(number), of_appearance, of_group), 1)
        loose[start:end] |= outside[of_appearance] > 0
    return loose


@dataclass(frozen=True, repr=False)
class _Edges:
    """Persons with the groups that may hold them, the part of each edge, and what parts may leave outside.

    The edges of an appearance lie together. ``tight``: edges of groups with a value that somebody who may be in them
    may not have. In the others whoever may be in a group may have any row of it.
    """

    edge: IntArray
    appearance: IntArray
    group: IntArray
    part: IntArray
    outside: IntArray
    tight: BoolArray


def _edges_to_match(appearances: Appearances, number: int, left: Possible, dirty: BoolArray) -> _Edges:
    """Return the edges of the parts of a release in which a matching may exclude something.

    Parts in which nothing has happened since they were last looked at are left alone, and so are groups whose members
    are all known and may have every value: there everything is possible. So are parts that are too large.
    """
    edge, appearance, of_appearance, of_group = _parts(appearances, number, left.alive)
    start, end = appearances.appearance_starts[number], appearances.appearance_starts[number + 1]
    outside = _outside(appearances, number, of_appearance, of_group)
    parts, part, group = (
        len(outside),
        of_appearance[appearance - start],
        appearances.candidates.items[edge].astype(np.int64),
    )
    tight = np.zeros(appearances.n_groups, np.bool_)
    tight[group[(appearances.sets[group] & ~left.masks[appearance]).any(axis=1)]] = True
    worth = (np.bincount(of_group, minlength=parts) > 1) | (outside > 0)
    worth[part[tight[group]]] = True
    touched = np.zeros(parts, np.bool_)
    touched[part[dirty[appearance]]] = True
    wanted = worth & touched
    size = np.bincount(part, appearances.distinct[group], parts) * wanted
    order = np.argsort(size, kind="stable")
    large = order[np.cumsum(size[order]) > LARGEST]
    wanted[large] = False
    left.skipped[start:end] |= np.isin(of_appearance, large)
    chosen = wanted[part]
    group = group[chosen]
    return _Edges(edge[chosen], appearance[chosen], group, part[chosen], outside, tight[group])


def _rows_to_match(
    appearances: Appearances, masks: BitArray, edges: _Edges, shown: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the rows with values that those on the shown edges may have, and the edge of each."""
    which, row = appearances.values.places(edges.group[shown])
    edge, code = shown[which], appearances.values.items[row]
    bit = np.uint64(1) << (code % 64).astype(np.uint64)
    good = (masks[edges.appearance[edge], code // 64] & bit) != 0
    return edge[good], row[good]


def _match(appearances: Appearances, number: int, left: Possible, dirty: BoolArray) -> int:
    """Keep of one release what lies on a perfect matching of persons with rows; return by how much that is less."""
    edges = _edges_to_match(appearances, number, left, dirty)
    if not len(edges.edge):
        return 0
    masks, appearance, group = left.masks, edges.appearance, edges.group
    # Persons with one and the same candidate and the same possible values are of one kind, and one stands for all.
    last = np.flatnonzero(np.diff(appearance, append=-1))
    many = np.repeat(np.diff(last, prepend=-1), np.diff(last, prepend=-1))
    alone, apart = np.where(many == 1, group + 1, 0), np.where(many == 1, 0, appearance + 1)
    kind, example = classes_of([alone, apart, numbered(masks[appearance])], len(appearance))
    stands = np.zeros(appearances.n, np.bool_)
    stands[appearance[example]] = True
    shown = stands[appearance]
    values = appearances.values
    of_rows, row = _rows_to_match(appearances, masks, edges, np.flatnonzero(shown & edges.tight))
    # Where everybody may have every value, all the rows of a group are one: who has which of them is all the same.
    whole = np.flatnonzero(shown & ~edges.tight & (appearances.rows[group] > 0))
    edge, row = np.concatenate([of_rows, whole]), np.concatenate([row, len(values.items) + group[whole]])

    rows, row_place = np.unique(row, return_inverse=True)
    one = rows < len(values.items)
    of_group, counts = rows - len(values.items), np.zeros(len(rows), np.int64)
    of_group[one] = np.searchsorted(values.offsets, rows[one], side="right") - 1
    counts[one] = appearances.counts[rows[one]]
    counts[~one] = appearances.rows[of_group[~one]]
    groups, group_place = np.unique(of_group, return_inverse=True)
    persons = np.bincount(kind[last], minlength=len(example)).astype(np.int64)
    found = matchable(
        Network(
            persons,
            edges.part[example],
            kind[edge].astype(np.int64),
            row_place,
            counts,
            group_place,
            appearances.room[groups],
            edges.outside,
        )
    )
    lies = found.edges
    union = np.zeros((len(example), masks.shape[1]), np.uint64)
    lying = np.flatnonzero(lies[: len(of_rows)])
    code = values.items[row[lying]]
    np.bitwise_or.at(union, (kind[edge[lying]], code // 64), np.uint64(1) << (code % 64).astype(np.uint64))
    lying = edge[len(of_rows) :][lies[len(of_rows) :]]
    np.bitwise_or.at(union, kind[lying], appearances.sets[group[lying]])
    reached = np.zeros(len(appearance), np.bool_)
    reached[edge[lies]] = True
    # The only edge of somebody who is not shown is that of the one who stands for them.
    reached |= (many == 1) & reached[example[kind]]

    here, kind = appearance[last], kind[last]
    bad = ~found.possible[edges.part[last]]
    stays = found.outside[kind] | bad
    after = np.where(stays[:, None], masks[here], masks[here] & union[kind])
    moved = (after != masks[here]).any(axis=1).sum() + (~reached).sum() + (left.loose[here] & ~stays).sum()
    masks[here] = after
    left.alive[edges.edge] = reached
    left.loose[here] &= stays
    left.broken[here] |= bad
    return int(moved)
