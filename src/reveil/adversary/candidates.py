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

from reveil.core.kernels import inside, ranges
from reveil.releases.linking import boxes_of, hidden_pairs, open_pairs, portions
from reveil.releases.nesting import evenly
from reveil.releases.release import classes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.models.encoding import Attribute
    from reveil.releases.groups import Groups
    from reveil.releases.linking import Boxes
    from reveil.releases.release import Release

MOST = 100  # groups that are kept for one person; whoever fits more is nowhere in particular
SAMPLE = 2048  # boxes that are tried first where there are many points, to see who fits too many
HITS = 8  # of the sample, and so many that MOST is exceeded twice over


@dataclass(frozen=True)
class Candidates:
    """Person i of the table may be in the groups ``groups[indptr[i]:indptr[i+1]]``, ascending.

    ``fits`` is how many persons may be in each group. ``crowded`` marks persons who may be in more groups than are
    kept: they have none listed, but count in ``fits``.
    """

    indptr: IntArray
    groups: CodeArray
    fits: IntArray
    crowded: BoolArray


def find_candidates(release: Release, groups: Groups, known: tuple[Attribute, ...], persons: int) -> Candidates:
    """Find the groups whose cells admit each person's values in the known columns."""
    n_groups = len(groups.numbers)
    own = tuple(attribute for attribute in known if attribute.name in release.cells)
    if not own or not n_groups or not persons:
        return _everywhere(persons, n_groups)
    boxes = boxes_of(release, own)
    of_person, first = classes_of([attribute.codes for attribute in own], persons)
    points = np.ascontiguousarray(np.stack([attribute.codes[first] for attribute in own], axis=1), np.int32)
    weights = np.bincount(of_person, minlength=len(points)).astype(np.int64)
    # The groups of each box: a box is a class or several classes that admit the same.
    pair = np.unique(boxes.of_class[release.classes].astype(np.int64) * n_groups + groups.index)
    box_indptr = np.searchsorted(pair // n_groups, np.arange(len(boxes.lo) + 1))
    box_groups = (pair % n_groups).astype(np.int32)

    fits, many = np.zeros(n_groups, np.int64), np.zeros(len(points), np.int64)
    # In a nest, whose place is known fits one box, however many are around it.
    throng = np.zeros(len(points), np.bool_) if boxes.whole else _throng(points, boxes)
    rest = np.flatnonzero(~throng)
    found: list[tuple[CodeArray, CodeArray]] = [(np.zeros(0, np.int32), np.zeros(0, np.int32))]
    hidden = hidden_pairs(points[rest], boxes)
    for place, group in _pairs(points[rest], boxes, box_indptr, box_groups, hidden) if len(rest) else ():
        point = rest[place].astype(np.int32)
        np.add.at(fits, group, weights[point])
        many += np.bincount(point, minlength=len(points))
        good = many[point] <= MOST
        found.append((point[good], group[good]))
    point, group = (np.concatenate([part[i] for part in found]) for i in (0, 1))
    del found
    crowded = throng | (many > MOST)
    if len(np.unique(box_groups)) < len(box_groups):
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
        fits[box_groups[np.repeat(touched, np.diff(box_indptr))]] += int(weights[throng].sum())
    good = ~crowded[point]
    point, group = point[good], group[good]
    order = np.argsort(point.astype(np.int64) * n_groups + group)
    starts = np.searchsorted(point[order], np.arange(len(points) + 1))
    sizes: IntArray = np.diff(starts)[of_person].astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    seat = np.arange(int(indptr[-1])) - np.repeat(indptr[:-1] - starts[of_person], sizes)
    return Candidates(indptr, group[order][seat], fits, crowded[of_person])


def settle(candidates: Candidates, real: IntArray, *, all_published: bool) -> Candidates:
    """Drop the candidates that counting excludes, until nothing changes.

    A group that as many persons may be in as it has records holds them all, and they are in no other. Where everybody
    is published, a person with one candidate is in it, and a group that is full of such persons holds nobody else.
    """
    persons, groups = np.repeat(np.arange(len(candidates.indptr) - 1), np.diff(candidates.indptr)), candidates.groups
    size, n_groups = len(candidates.indptr) - 1, len(real)
    fits = candidates.fits.copy()
    while True:
        own = np.bincount(persons, minlength=size)
        drop = np.zeros(len(groups), np.bool_)
        exact = (fits == real)[groups]
        if exact.any():
            held = np.zeros(size, np.bool_)
            held[persons[exact]] = True
            drop |= held[persons] & ~exact
        if all_published:
            lone = own[persons] == 1
            full = np.bincount(groups[lone], minlength=n_groups) == real
            drop |= full[groups] & ~lone
        if not drop.any():
            break
        np.subtract.at(fits, groups[drop], 1)
        persons, groups = persons[~drop], groups[~drop]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(persons, minlength=size))]).astype(np.int64)
    return Candidates(indptr, groups, fits, candidates.crowded)


def _everywhere(persons: int, n_groups: int) -> Candidates:
    """Return candidates for an adversary to whom all boxes look alike."""
    own = n_groups if n_groups <= MOST else 0
    return Candidates(
        np.arange(persons + 1, dtype=np.int64) * own,
        np.tile(np.arange(own, dtype=np.int32), persons),
        np.full(n_groups, persons, np.int64),
        np.full(persons, own < n_groups),
    )


def _throng(points: CodeArray, boxes: Boxes) -> BoolArray:
    """Find the points that fit far too many groups, by samples of the boxes: to list all of them would take hours."""
    throng = np.zeros(len(points), np.bool_)
    n_boxes, size = len(boxes.lo), SAMPLE
    # A larger sample tells of those whom a smaller one could not tell, and who are fewer.
    while n_boxes >= 4 * size and int((~throng).sum()) >= 4 * SAMPLE:
        # Every so many-th box: the order of classes has nothing to do with where they lie.
        step = n_boxes // size
        left = np.flatnonzero(~throng)
        hits = _hits(np.ascontiguousarray(points[left]), boxes, np.arange(step // 2, n_boxes, step))
        throng[left[(hits >= HITS) & (hits * step > 2 * MOST)]] = True
        size *= 8
    return throng


def _hits(points: CodeArray, boxes: Boxes, chosen: IntArray) -> IntArray:
    """Return how many of the chosen boxes each point is in."""
    lo, hi = np.ascontiguousarray(boxes.lo[chosen]), np.ascontiguousarray(boxes.hi[chosen])
    tree = ranges.build(points)
    counts = np.zeros(len(chosen) + 1, np.int64)
    ranges.search(*tree, lo, hi, counts, np.zeros(0, np.int64))
    hits = np.zeros(len(points), np.int64)
    for start, end in portions(np.cumsum(counts)):
        indptr = np.cumsum(np.append(0, counts[start + 1 : end + 1]))
        point = np.zeros(int(indptr[-1]), np.int64)
        if len(point):
            ranges.search(*tree, lo[start:end], hi[start:end], indptr, point)
            box = chosen[np.repeat(np.arange(start, end), np.diff(indptr))]
            hits += np.bincount(point[boxes.contain(box, points[point])], minlength=len(points))
    return hits


def _touched(points: CodeArray, boxes: Boxes) -> BoolArray:
    """Return the boxes whose hull has one of the points inside."""
    touched = np.zeros(len(boxes.lo), np.bool_)
    lo, hi = np.ascontiguousarray(boxes.lo), np.ascontiguousarray(boxes.hi)
    inside.any_inside(*ranges.build(points), lo, hi, touched)
    return touched


def _pairs(
    points: CodeArray, boxes: Boxes, box_indptr: IntArray, box_groups: CodeArray, hidden: IntArray | None
) -> Iterator[tuple[CodeArray, CodeArray]]:
    """Yield, in portions, all pairs of a point and a group that has a box around it, without the hidden boxes."""
    nested = boxes.parent is not None
    even, lo, hi = evenly(points, boxes.lo, boxes.hi) if nested else (points, boxes.lo, boxes.hi)
    even, lo, hi = (np.ascontiguousarray(codes) for codes in (even, lo, hi))
    tree = ranges.build(even)
    counts = np.zeros(len(lo) + 1, np.int64)
    ranges.search(*tree, lo, hi, counts, np.zeros(0, np.int64))
    wide = np.diff(box_indptr)
    for start, end in portions(np.cumsum(counts * np.append(1, wide))):
        indptr = np.cumsum(np.append(0, counts[start + 1 : end + 1]))
        point = np.zeros(int(indptr[-1]), np.int64)
        if not len(point):
            continue
        ranges.search(*tree, lo[start:end], hi[start:end], indptr, point)
        box = np.repeat(np.arange(start, end), np.diff(indptr))
        good = boxes.contain(box, points[point]) & open_pairs(hidden, point, box, len(lo))
        point, box = point[good], box[good]
        sizes = wide[box]
        place = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes - box_indptr[box], sizes)
        yield np.repeat(point, sizes).astype(np.int32), box_groups[place]
