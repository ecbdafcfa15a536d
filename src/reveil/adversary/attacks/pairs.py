"""Pairs: somebody knows which values of two sensitive columns occur together, and leaves out what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from reveil.adversary.appearances import appearances_of
from reveil.adversary.attacks.base import BITS, Attack, Findings, joined, without_ids
from reveil.adversary.chains import agreeing, narrowed
from reveil.adversary.paired_worlds import Side, count_pairs, excluded
from reveil.adversary.sentences import known_to
from reveil.core.arrays import BoolArray, Ragged

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.adversary.appearances import BitArray
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.pairs import PairedColumn
    from reveil.adversary.view import View
    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON

ROUNDS = 20


class PairedValues(Attack):
    """What people can have in two sensitive columns at once, where some pairs of values never occur.

    The releases tell groups of one column and groups of another (tables of single columns, or one with a group number
    for each). A value stays possible for a person while one of the other column stays possible that goes with it; both
    columns are narrowed along lives and inside groups, as by ``tau``, in turn until nothing changes. A set with one
    value is certain. Pieces of up to 40 persons in which a pair is excluded are counted, all worlds of both columns
    together, and their beliefs are exact; elsewhere one of the values left has at least its equal share. People about
    whom the pairs exclude nothing are left to the other attacks. A release that shows both values in one row is not
    used: its rows are pairs already (``values``, ``linkage``).

    All of it rests on the list of pairs: what is not on it is taken to be impossible. No guarantee is about this
    adversary; that values of two columns do not decide each other is what the form with several columns assumes.
    Complexity: that of ``tau`` for both columns and each round. Source: specification, several sensitive columns.
    """

    name: ClassVar[str] = "pairs"
    about: ClassVar[Literal["value", "ever", "range", "guess", "given"]] = "given"
    knows: ClassVar[str] = "which values of two sensitive columns occur together"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return what follows for the column that is attacked, by each of the others."""
        known = evidence.pairs
        if known is None:
            return Findings.not_made("nobody said which values occur together: --pairs truth or a table")
        parts, columns = [], []
        for other in known.others:
            found = _by(evidence, other)
            if found is not None:
                parts.append(found)
                columns.append({"with": other.name, **found.summary})
        if not columns:
            return Findings.not_made(
                "no other column is told apart from this one: a row that shows both values is a pair already"
            )
        attacker = f"somebody who knows {known_to(evidence.known)}, and {self.knows} ({known.source})"
        return without_ids(
            evidence, joined(parts, {"attacker": attacker, "pairs_from": known.source, "columns": columns})
        )


def _by(evidence: Evidence, other: PairedColumn) -> Findings | None:
    """Attack with the help of one other column; None where no release tells it apart from the one attacked."""
    mine, theirs = _apart(evidence, other.evidence)
    if not any(len(view.codes) for view in mine.views) or not any(len(view.codes) for view in theirs.views):
        return None
    sides = [_side(mine), _side(theirs)]
    possible = [other.possible, np.ascontiguousarray(other.possible.T)]
    before = [side.possible.sizes for side in sides]
    touched = excluded(sides[0].possible.masks, sides[1].possible.masks, other.possible)
    for _ in range(ROUNDS):
        moved = False
        for here in (0, 1):
            there = 1 - here
            left = _going_with(sides[there].possible.masks, possible[there], sides[here])
            if ((sides[here].possible.masks & left) != sides[here].possible.masks).any():
                sides[here] = sides[here].narrowed(left)
                moved = True
        if not moved:
            break
    found = count_pairs(sides[0], sides[1], other.possible, touched)
    told = np.flatnonzero((found.belief > 0) & ~found.impossible)
    appearances = sides[0].appearances
    lives = np.zeros(len(evidence.persons), np.int64)
    bits = _bits(evidence, appearances.release)
    np.bitwise_or.at(lives, appearances.person, bits)
    listed = sides[0].listed & (before[0] <= len(evidence.values))
    summary: dict[str, JSON] = {
        "possible_pairs": int(other.possible.sum()),
        "pairs_in_all": other.possible.size,
        "persons": len(np.unique(appearances.person[found.touched])),
        "contradictory": int(found.impossible.sum()),
        "values_left_without": float(before[0][listed].mean()) if listed.any() else 0.0,
        "values_left": float(sides[0].possible.sizes[listed].mean()) if listed.any() else 0.0,
    }
    return Findings(
        appearances.person[told],
        found.belief[told],
        found.value[told],
        found.exact[told],
        lives[appearances.person[told]],
        summary,
        np.where(found.exact[told], np.nan, found.belief[told]),
        appearances.release[told],
    )


def _apart(mine: Evidence, theirs: Evidence) -> tuple[Evidence, Evidence]:
    """Leave out what releases tell that show both values in one row."""
    blank = [_in_one_row(view, mine.column, theirs.column) for view in mine.views]
    first, second = (
        replace(
            column_evidence,
            views=tuple(_silent(v) if out else v for v, out in zip(column_evidence.views, blank, strict=True)),
        )
        for column_evidence in (mine, theirs)
    )
    return first, second


def _in_one_row(view: View, one: str, other: str) -> bool:
    """Return whether one table of a release has both columns."""
    tells = getattr(view.release, "group_values", None)  # evidence may be put together without a release
    return tells is not None and {one, other} <= set(tells()[1].columns)


def _silent(view: View) -> View:
    nothing: Ragged[np.int32] = Ragged.of_lengths(np.zeros(view.n_groups, np.int64), np.zeros(0, np.int32))
    return replace(view, values=nothing, counts=np.zeros(0, np.int64))


def _side(evidence: Evidence) -> Side:
    appearances = appearances_of(evidence)
    alive, broken = agreeing(appearances)
    if broken.any():  # the releases contradict their own rule
        appearances = replace(appearances, rule="none")
        alive = np.ones(len(appearances.candidates.items), np.bool_)
    tells = np.array([len(view.codes) > 0 for view in evidence.views], np.bool_)
    return Side(appearances, alive, narrowed(appearances, alive), tells[appearances.release])


def _going_with(masks: BitArray, possible: BoolArray, side: Side) -> BitArray:
    """Return as bits the values that go with what the other side has left; all of them where that may be anything."""
    domain, everything = possible.shape[0], side.appearances.everything
    kinds, place = np.unique(masks, axis=0, return_inverse=True)
    bits = np.unpackbits(kinds.view(np.uint8), axis=1, bitorder="little")
    together = (bits[:, :domain].astype(np.float32) @ possible.astype(np.float32)) > 0
    laid = np.zeros((len(kinds), len(everything) * 64), np.uint8)
    laid[:, : together.shape[1]] = together
    left = np.packbits(laid, axis=1, bitorder="little").view(np.uint64)
    left[bits[:, domain:].any(axis=1)] = everything  # a value that nobody told goes with any
    return np.ascontiguousarray(left[place.reshape(-1)])


def _bits(evidence: Evidence, release: npt.NDArray[np.int32]) -> IntArray:
    """Return a mask with the bit of each release."""
    shift = release.astype(np.int64) - max(len(evidence.views) - BITS, 0)
    bits: IntArray = np.where(shift >= 0, np.int64(1) << np.maximum(shift, 0), 0)
    return bits
