"""Who may be in which group of a release: by boxes, quasi values and numbers of rows alone, never by anybody's value.

Whoever holds a release and knows everybody's quasi values knows that much of who was in it, and no more. A *membership*
gives every row that is somebody's a record whose quasi values its box admits, and as many rows as can have one have
one. All such memberships are possible; a record of which they do not all say the same is *ambiguous*: it may be in
several groups, or may have been left out while another took its place. The owner of the table may know better, by
looking at who has which value. But what is decided by that tells it: these records are held back, and these are not,
because these two have the same value. So nothing here looks at a record's own value, and the answer is the same for
every table that agrees with the release.

Records alike in all the columns that are published are one *type*; types and groups that a possible membership
connects are one *component*. Memberships are the maximum flows of a network from types through boxes to groups. Two of
them differ by cycles in the residual network of one of them, so an edge is in some of them if it has flow in one, or
if both its ends are in the same strongly connected component. (A way through a box is taken as possible if the way in
and the way out are, perhaps in different memberships: that can only make more records ambiguous.)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import BoolArray, CodeArray, IntArray, spans
from reveil.releases.linking import boxes_of, hidden_pairs, open_pairs, pairs_in
from reveil.releases.parsing import classes_of

if TYPE_CHECKING:
    from reveil.models.encoding import Codes
    from reveil.releases.linking import DistinctBoxes
    from reveil.releases.release import Release


@dataclass(frozen=True)
class Membership:
    """The possible memberships of the records of a snapshot in the groups of a release.

    ``kind`` is the type of each record. A record of type ``type_[i]`` may be in the group ``group[i]``, a place in
    ``numbers``, which are the groups as the release has them (both ascending, by type). ``left_out``: types of which
    somebody may not be in the release. ``rows`` are those of each group, ``room`` those of them that are somebody's.
    """

    kind: CodeArray = field(repr=False)
    type_: IntArray = field(repr=False)
    group: IntArray = field(repr=False)
    left_out: BoolArray = field(repr=False)
    numbers: CodeArray = field(repr=False)
    rows: IntArray = field(repr=False)
    room: IntArray = field(repr=False)

    @property
    def n_groups(self) -> int:
        """How many groups the release has."""
        return len(self.numbers)

    @cached_property
    def choices(self) -> IntArray:
        """In how many groups a record of each type may be."""
        return np.bincount(self.type_, minlength=len(self.left_out)).astype(np.int64)

    @cached_property
    def inside(self) -> BoolArray:
        """Whether each record may be in the release."""
        return np.asarray(self.choices[self.kind] > 0, np.bool_)

    @cached_property
    def untold(self) -> BoolArray:
        """Whether each record may be in the release, and may also have been left out."""
        return np.asarray(self.inside & self.left_out[self.kind], np.bool_)

    @cached_property
    def several(self) -> BoolArray:
        """Whether each record is ambiguous."""
        return np.asarray(self.untold | (self.choices[self.kind] > 1), np.bool_)

    @cached_property
    def component(self) -> IntArray:
        """The component of each group: groups that a record of some type may be in either of."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        types = len(self.left_out)
        size = types + self.n_groups
        edges = coo_array((np.ones(len(self.type_), np.int8), (self.type_, types + self.group)), shape=(size, size))
        label = connected_components(edges, directed=False)[1][types:]
        return np.unique(label, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def of_record(self) -> IntArray:
        """The component of each record, -1 for those that are in no group."""
        of_type = np.full(len(self.left_out), -1, np.int64)
        of_type[self.type_] = self.component[self.group]
        return of_type[self.kind]


def membership(release: Release, codes: Codes) -> Membership:
    """Return who of the records with these codes may be in which group of a release.

    Rows that a manifest counts as counterfeits, or as records of people who are not in the table, are nobody's. A row
    that nobody fits is nobody's, too. Of columns that the release does not have nothing is known.
    """
    known = tuple(a for a in codes.quasi if a.name in release.cells)
    boxes = boxes_of(release, known)
    row_group = release.classes if release.groups is None else release.groups
    numbers, of_row = np.unique(row_group, return_inverse=True)
    rows = np.bincount(of_row, minlength=len(numbers)).astype(np.int64)
    room = rows - _counterfeits(release, numbers)
    matrix = np.stack([*(a.codes for a in known), np.zeros(codes.n, np.int32)], axis=1)
    kind, first = classes_of(list(matrix.T + 1), codes.n)
    persons = np.bincount(kind, minlength=len(first)).astype(np.int64)
    seat, seat_rows = np.unique(
        boxes.of_class[release.classes].astype(np.int64) * len(numbers) + of_row, return_counts=True
    )
    network = _Network(
        *_inside(matrix[first], boxes, len(known)),
        seat // len(numbers),
        seat % len(numbers),
        np.minimum(seat_rows, room[seat % len(numbers)]),
        persons,
        room,
        len(boxes.lo),
    )
    type_, group, left_out = network.possible()
    real = len(release.classes) - release.manifest.counterfeits.total
    if release.manifest.dirty and network.most > real - release.manifest.dirty:
        # Some rows are of people who are not in the table, and nobody knows which: anybody may have been left out.
        left_out = np.ones_like(left_out)
    return Membership(kind, type_, group, left_out, numbers.astype(np.int32), rows, room)


def _counterfeits(release: Release, numbers: CodeArray) -> IntArray:
    """Return how many counterfeits the manifest counts in each group."""
    told = release.manifest.counterfeits.per_group
    if release.groups is None or not told:
        return np.zeros(len(numbers), np.int64)
    listed = np.array([int(number) for number in told], np.int64)
    counts = np.array(list(told.values()), np.int64)
    place = np.minimum(np.searchsorted(numbers, listed), len(numbers) - 1)
    found = numbers[place] == listed
    return np.bincount(place[found], counts[found], len(numbers)).astype(np.int64)


def _inside(points: CodeArray, boxes: DistinctBoxes, known: int) -> tuple[IntArray, IntArray]:
    """Return all pairs of a type and a box that holds it; ``points`` has one column more than are known, of zeros."""
    points = np.ascontiguousarray(points, np.int32)
    hidden = hidden_pairs(np.ascontiguousarray(points[:, :known]), boxes) if known else None
    nought = np.zeros((len(boxes.lo), 1), np.int32)
    wider = replace(boxes, lo=np.hstack([boxes.lo, nought]), hi=np.hstack([boxes.hi, nought]))
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for point, box in pairs_in(points, wider):
        good = open_pairs(hidden, point, box, len(boxes.lo))
        found.append((point[good], box[good]))
    return np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])


class _Network:
    """Types, the boxes that hold them, seats (the rows of a group with one box), groups."""

    def __init__(
        self,
        type_: IntArray,
        box: IntArray,
        seat_box: IntArray,
        seat_group: IntArray,
        seat_rows: IntArray,
        persons: IntArray,
        room: IntArray,
        n_boxes: int,
    ) -> None:
        self.type_, self.box, self.seat_box, self.seat_group = type_, box, seat_box, seat_group
        self.seat_rows, self.persons, self.room, self.n_boxes = seat_rows, persons, room, n_boxes
        self.most = 0  # how many records can be in the release at once

    def possible(self) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the pairs of a type and a group that some membership has, and which types may be left out."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        types, groups = len(self.persons), len(self.room)
        at_box, at_group = types, types + self.n_boxes
        tail = np.concatenate([self.type_, at_box + self.seat_box])
        head = np.concatenate([at_box + self.box, at_group + self.seat_group])
        size = at_group + groups
        edges = coo_array((np.ones(len(tail), np.int8), (tail, head)), shape=(size, size))
        count, label = connected_components(edges, directed=False)
        of_type, of_box, of_group = label[:types], label[at_box:at_group], label[at_group:]
        boxes, many = (np.bincount(owner, minlength=count) for owner in (of_box, of_group))
        people = np.bincount(of_type, self.persons, count).astype(np.int64)
        space = np.bincount(of_group, self.room, count).astype(np.int64)
        # One box and one group: all who fit are in it, or there are too many of them, and nobody knows who is.
        plain = (boxes == 1) & (many == 1)
        left_out = (people > space)[of_type]
        self.most = int(np.minimum(people, space)[plain].sum())
        simple = plain[of_type[self.type_]] & (space[of_type[self.type_]] > 0)
        group_of = np.full(count, -1, np.int64)
        group_of[of_group] = np.arange(groups)
        found = [np.stack([self.type_[simple], group_of[of_type[self.type_[simple]]]])]
        rest = ~plain[of_type[self.type_]]
        if rest.any():
            pairs, loose = self._flow(rest, ~plain[of_box[self.seat_box]])
            found.append(pairs)
            hard = np.zeros(types, np.bool_)
            hard[self.type_[rest]] = True
            left_out = np.where(hard, loose, left_out)
        every = np.unique(np.concatenate(found, axis=1), axis=1)
        return every[0], every[1], np.asarray(left_out, np.bool_)

    def _flow(self, edges: BoolArray, seats: BoolArray) -> tuple[IntArray, BoolArray]:
        """Return what is possible where somebody has a choice."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components, maximum_flow

        type_, box = self.type_[edges], self.box[edges]
        seat_box, seat_group, seat_rows = self.seat_box[seats], self.seat_group[seats], self.seat_rows[seats]
        types, tail = np.unique(type_, return_inverse=True)
        boxes, both = np.unique(np.concatenate([box, seat_box]), return_inverse=True)
        groups, goal = np.unique(seat_group, return_inverse=True)
        # Nodes: source, types, boxes, seats, groups, sink.
        at_box = 1 + len(types)
        at_seat = at_box + len(boxes)
        at_group = at_seat + len(seat_box)
        sink = at_group + len(groups)
        seat = at_seat + np.arange(len(seat_box))
        tails = np.concatenate(
            [
                np.zeros(len(types), np.int64),
                1 + tail,
                at_box + both[len(box) :],
                seat,
                at_group + np.arange(len(groups)),
            ]
        )
        heads = np.concatenate(
            [1 + np.arange(len(types)), at_box + both[: len(box)], seat, at_group + goal, np.full(len(groups), sink)]
        )
        capacity = np.concatenate(
            [self.persons[types], self.persons[type_], seat_rows, seat_rows, self.room[groups]]
        ).astype(np.int32)
        graph = coo_array((capacity, (tails, heads)), shape=(sink + 1, sink + 1)).tocsr()
        result = maximum_flow(graph, 0, sink)
        self.most += int(result.flow_value)
        left = graph - result.flow
        left.eliminate_zeros()
        strong = connected_components(left, directed=True, connection="strong")[1]
        sent = np.asarray(result.flow[tails, heads]).ravel()
        open_ = (capacity > 0) & ((sent > 0) | (strong[tails] == strong[heads]))
        n, e = len(types), len(type_)
        way_in, way_out = open_[n : n + e], open_[n + e : n + e + len(seat_box)]
        loose = np.zeros(len(self.persons), np.bool_)
        loose[types] = (sent[:n] < capacity[:n]) | (strong[1 : 1 + n] == strong[0])
        pairs = _joined(type_[way_in], box[way_in], seat_box[way_out], seat_group[way_out])
        return pairs, loose


def _joined(type_: IntArray, box: IntArray, seat_box: IntArray, group: IntArray) -> IntArray:
    """Return the types beside the groups that they reach through a box."""
    order = np.argsort(seat_box, kind="stable")
    first = np.searchsorted(seat_box[order], box)
    many = np.searchsorted(seat_box[order], box, side="right") - first
    place = spans(first, many)
    pairs: IntArray = np.stack([np.repeat(type_, many), group[order][place]]).astype(np.int64)
    return pairs
