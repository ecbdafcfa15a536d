"""Which groups may hold whom: persons with known quasi values against the published boxes.

A person may be in every group that has a row whose cells admit their values. Persons alike in all known columns are
one *point*; boxes are searched in a tree over the points, so that neither many persons alike nor many groups alike
cost more than a few. Then counting helps: a group with as many persons who may be in it as it has records holds all
of them, and a group whose seats are taken holds nobody else.

Where boxes are nested, a person is in no box that those further inside leave no room in: with all columns known that
leaves the innermost one, else those that have something left where the known columns put the person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import BoolArray, CodeArray, IntArray, Ragged, offsets_of
from reveil.core.kernels import inside, ranges, tallies
from reveil.releases.box_search import points_inside
from reveil.releases.linking import boxes_of, hidden_pairs, open_pairs
from reveil.releases.nesting import evenly
from reveil.releases.parsing import classes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.models.encoding import Attribute
    from reveil.releases.groups import ReleaseGroups
    from reveil.releases.linking import DistinctBoxes
    from reveil.releases.release import Release

MOST_GROUPS = 100  # groups that are kept for one person; whoever fits more is nowhere in particular
SAMPLE = 2048  # boxes that are tried first where there are many points, to see who fits too many
HITS = 8  # of the sample, and so many that MOST is exceeded twice over


@dataclass(frozen=True)
class Candidates:
    """Person i of the table may be in the groups ``groups[i]``, ascending.

    ``fits`` is how many persons may be in each group. ``crowded`` marks persons who may be in more groups than are
    kept: they have none listed, but count in ``fits``.
    """

    groups: Ragged[np.int32]
    fits: IntArray
    crowded: BoolArray


def find_candidates(release: Release, groups: ReleaseGroups, known: tuple[Attribute, ...], persons: int) -> Candidates:
    """Find the groups whose cells admit each person's values in the known columns."""
    n_groups = len(groups.numbers)
    published = tuple(attribute for attribute in known if attribute.name in release.cells)
    if not published or not n_groups or not persons:
        return _everywhere(persons, n_groups)
    boxes = boxes_of(release, published)
    of_person, first = classes_of([attribute.codes for attribute in published], persons)
    points = np.ascontiguousarray(np.stack([attribute.codes[first] for attribute in published], axis=1), np.int32)
    weights = np.bincount(of_person, minlength=len(points)).astype(np.int64)
    # The groups of each box: a box is a class or several classes that admit the same.
    pair = np.unique(boxes.of_class[release.classes].astype(np.int64) * n_groups + groups.index)
    box_groups = Ragged.of_sorted_owners(pair // n_groups, len(boxes.lo), (pair % n_groups).astype(np.int32))

    fits, many = np.zeros(n_groups, np.int64), np.zeros(len(points), np.int64)
    # In a nest, whose place is known fits one box, however many are around it.
    throng = np.zeros(len(points), np.bool_) if boxes.whole else _throng(points, boxes)
    rest = np.flatnonzero(~throng)
    if boxes.hulls_suffice:
        many[rest], inside_boxes = _tallied(points[rest], boxes.lo, boxes.hi, box_groups.lengths, weights[rest])
        np.add.at(fits, box_groups.items, np.repeat(inside_boxes, box_groups.lengths))
        listed = rest[many[rest] <= MOST_GROUPS]
        place, group = _listed(points[listed], many[listed], boxes, box_groups)
        point = listed[place].astype(np.int32)
    else:
        point, group = _tested(points, rest, weights, boxes, box_groups, fits, many)
    crowded = throng | (many > MOST_GROUPS)
    if len(np.unique(box_groups.items)) < len(box_groups.items):
        # Boxes that share a group (rows with boxes of their own) may name a pair twice.
        pair = np.unique(point.astype(np.int64) * n_groups + group)
        point, group = (pair // n_groups).astype(np.int32), (pair % n_groups).astype(np.int32)
        if not crowded.any():
            # Counted twice, a person makes a group look fuller than it is: less is concluded, never more.
            fits = np.zeros(n_groups, np.int64)
            np.add.at(fits, group, weights[point])
    if throng.any():
        # How many of the throng a group could hold is not counted: if any, then all.
        touched = _touched(points[throng], boxes)
        fits[box_groups.items[np.repeat(touched, box_groups.lengths)]] += int(weights[throng].sum())
    good = ~crowded[point]
    point, group = point[good], group[good]
    pair = point.astype(np.int64) * n_groups + group
    pair.sort()
    of_point = Ragged.of_sorted_owners(pair // n_groups, len(points), (pair % n_groups).astype(np.int32))
    return Candidates(of_point.take(of_person), fits, crowded[of_person])


def exclude_by_counting(candidates: Candidates, real: IntArray, *, all_published: bool) -> Candidates:
    """Drop the candidates that counting excludes, until nothing changes.

    A group that as many persons may be in as it has records holds them all, and they are in no other. Where everybody
    is published, a person with one candidate is in it, and a group that is full of such persons holds nobody else.
    """
    persons, groups = candidates.groups.owners(), candidates.groups.items
    size, n_groups = len(candidates.groups), len(real)
    fits = candidates.fits.copy()
    while True:
        n_candidates = np.bincount(persons, minlength=size)
        drop = np.zeros(len(groups), np.bool_)
        exact = (fits == real)[groups]
        if exact.any():
            held = np.zeros(size, np.bool_)
            held[persons[exact]] = True
            drop |= held[persons] & ~exact
        if all_published:
            lone = n_candidates[persons] == 1
            full = np.bincount(groups[lone], minlength=n_groups) == real
            drop |= full[groups] & ~lone
        if not drop.any():
            break
        np.subtract.at(fits, groups[drop], 1)
        persons, groups = persons[~drop], groups[~drop]
    return Candidates(Ragged.of_sorted_owners(persons, size, groups), fits, candidates.crowded)


def _everywhere(persons: int, n_groups: int) -> Candidates:
    """Return candidates for an adversary to whom all boxes look alike."""
    listed = n_groups if n_groups <= MOST_GROUPS else 0
    return Candidates(
        Ragged.of_lengths(np.full(persons, listed), np.tile(np.arange(listed, dtype=np.int32), persons)),
        np.full(n_groups, persons, np.int64),
        np.full(persons, listed < n_groups),
    )


def _throng(points: CodeArray, boxes: DistinctBoxes) -> BoolArray:
    """Find the points that fit far too many groups, by samples of the boxes: to list all of them would take hours."""
    throng = np.zeros(len(points), np.bool_)
    n_boxes, size = len(boxes.lo), SAMPLE
    # A larger sample tells of those whom a smaller one could not tell, and who are fewer.
    while n_boxes >= 4 * size and int((~throng).sum()) >= 4 * SAMPLE:
        # Every so many-th box: the order of classes has nothing to do with where they lie.
        step = n_boxes // size
        left = np.flatnonzero(~throng)
        hits = _hits(np.ascontiguousarray(points[left]), boxes, np.arange(step // 2, n_boxes, step))
        throng[left[(hits >= HITS) & (hits * step > 2 * MOST_GROUPS)]] = True
        size *= 8
    return throng


def _hits(points: CodeArray, boxes: DistinctBoxes, chosen: IntArray) -> IntArray:
    """Return how many of the chosen boxes each point is in."""
    lo, hi = np.ascontiguousarray(boxes.lo[chosen]), np.ascontiguousarray(boxes.hi[chosen])
    if boxes.hulls_suffice:
        return _tallied(points, lo, hi, np.ones(len(lo), np.int64), np.ones(len(points), np.int64))[0]
    hits = np.zeros(len(points), np.int64)
    for point, place in points_inside(points, lo, hi):
        hits += np.bincount(point[boxes.contain(chosen[place], points[point])], minlength=len(points))
    return hits


def _touched(points: CodeArray, boxes: DistinctBoxes) -> BoolArray:
    """Return the boxes whose hull has one of the points inside."""
    touched = np.zeros(len(boxes.lo), np.bool_)
    lo, hi = np.ascontiguousarray(boxes.lo), np.ascontiguousarray(boxes.hi)
    inside.any_inside(ranges.build(points), lo, hi, touched)
    return touched


def _tallied(
    points: CodeArray, lo: CodeArray, hi: CodeArray, amounts: IntArray, weights: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the sum of the amounts of the boxes around each point, and of the weights of the points in each box."""
    hits, sums = np.zeros(len(points), np.int64), np.zeros(len(lo), np.int64)
    if len(points):
        tallies.tally(ranges.build(np.ascontiguousarray(points)), lo, hi, amounts, weights, hits, sums)
    return hits, sums


def _listed(
    points: CodeArray, many: IntArray, boxes: DistinctBoxes, box_groups: Ragged[np.int32]
) -> tuple[IntArray, CodeArray]:
    """Return all pairs of a point and a group that has a box around it; ``many`` is how many each point has."""
    offsets = offsets_of(many)
    found = np.zeros(int(offsets[-1]), np.int32)
    if len(found):
        tree = ranges.build(np.ascontiguousarray(points))
        tallies.items_around(tree, boxes.lo, boxes.hi, box_groups.offsets, box_groups.items, offsets[:-1].copy(), found)
    return np.repeat(np.arange(len(points)), many), found


def _tested(
    points: CodeArray,
    rest: IntArray,
    weights: IntArray,
    boxes: DistinctBoxes,
    box_groups: Ragged[np.int32],
    fits: IntArray,
    many: IntArray,
) -> tuple[CodeArray, CodeArray]:
    """Return the same where hulls do not say what boxes hold; count into ``fits`` of groups and ``many`` of points."""
    found: list[tuple[CodeArray, CodeArray]] = [(np.zeros(0, np.int32), np.zeros(0, np.int32))]
    hidden = hidden_pairs(points[rest], boxes)
    for place, group in _pairs(points[rest], boxes, box_groups, hidden) if len(rest) else ():
        point = rest[place].astype(np.int32)
        np.add.at(fits, group, weights[point])
        many += np.bincount(point, minlength=len(points))
        good = many[point] <= MOST_GROUPS
        found.append((point[good], group[good]))
    return np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found])


def _pairs(
    points: CodeArray, boxes: DistinctBoxes, box_groups: Ragged[np.int32], hidden: IntArray | None
) -> Iterator[tuple[CodeArray, CodeArray]]:
    """Yield, in portions, all pairs of a point and a group that has a box around it, without the hidden boxes."""
    nested = boxes.parent is not None
    even, lo, hi = evenly(points, boxes.lo, boxes.hi) if nested else (points, boxes.lo, boxes.hi)
    for point, box in points_inside(even, lo, hi, box_groups.lengths):
        good = boxes.contain(box, points[point]) & open_pairs(hidden, point, box, len(lo))
        which, place = box_groups.places(box[good])
        yield point[good][which].astype(np.int32), box_groups.items[place]
