"""Intersection: the persons of one cell, seen from every release in which their value was the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.adversary.attacks.base import Attack, Findings, joined, mask_of
from reveil.adversary.cells import Runs, cell_bounds, runs_of
from reveil.adversary.records import followed, record_cells

if TYPE_CHECKING:
    import numpy.typing as npt

    from reveil.adversary.evidence import Evidence
    from reveil.adversary.view import View
    from reveil.core.arrays import IntArray
    from reveil.core.json_values import JSON

    WordArray = npt.NDArray[np.uint64]

WORD = 64
MOST_WORDS = 64  # of 64 values each; with more values only persons whose groups are known are intersected
AT_ONCE = 1 << 22


class Intersection(Attack):
    """What remains possible when all the groups of a person with one value are laid over each other.

    With record ids, the records of a cell are known and the shares are exact. Without, the persons of a cell have at
    least and at most so many of each value; where that is one number it is exact, else the belief is an estimate
    between proven bounds. Persons who may be in several groups keep the values that any of these has; a value that is
    alone left is certain.
    """

    name: ClassVar[str] = "intersection"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return findings of cells, of sets of possible values and, with ids, of records."""
        runs = runs_of(evidence)
        parts = [in_cells(evidence, runs), in_sets(evidence, runs)]
        summary: dict[str, JSON] = {"runs": len(runs.person), "with_ids": evidence.known == "ids"}
        if evidence.known == "ids":
            parts.append(followed(evidence))
            summary["cells"] = record_cells(evidence)
        return joined(parts, summary)


def in_cells(evidence: Evidence, runs: Runs) -> Findings:
    """Find what the persons of a cell can have, all of whom are here."""
    chosen, cells, bounds = cell_bounds(evidence, runs)
    said, value, belief, proven, exact = bounds.best()
    mask = np.zeros(len(chosen), np.int64)
    for view, groups in zip(evidence.views, runs.where, strict=True):
        mask[groups[chosen] >= 0] |= mask_of(evidence, view.number)
    good = said[cells]
    cells, chosen, mask = cells[good], chosen[good], mask[good]
    lower = np.where(exact[cells], np.nan, proven[cells])
    return Findings(runs.person[chosen], belief[cells], value[cells], exact[cells], mask, lower=lower)


def in_sets(evidence: Evidence, runs: Runs) -> Findings:
    """Find the runs for which one value is left, whichever of their candidate groups they were in."""
    words = -(-len(evidence.values) // WORD)
    if words > MOST_WORDS:
        return Findings.nothing()
    left = np.full((words, len(runs.person)), ~np.uint64(0))
    mask = np.zeros(len(runs.person), np.int64)
    for view, run_of_person in zip(evidence.views, runs.of_view, strict=True):
        # Whoever was perhaps not published may have any value.
        told = np.flatnonzero((view.candidates.lengths > 0) & (view.all_published | (view.sure >= 0)))
        changes = np.zeros(len(told), np.bool_)
        for word in range(words):
            possible = _possible(view, told, word)
            changes |= (left[word][run_of_person[told]] & ~possible) != 0
            left[word][run_of_person[told]] &= possible
        mask[run_of_person[told[changes]]] |= mask_of(evidence, view.number)
    many = np.zeros(len(runs.person), np.int64)
    value = np.zeros(len(runs.person), np.int32)
    for word in range(words):
        bits = np.bitwise_count(left[word])
        many += bits
        one = bits == 1
        value[one] = word * WORD + np.log2(left[word][one].astype(np.float64)).astype(np.int32)
    certain = (many == 1) & (mask > 0)
    parts = []
    for view, run_of_person in zip(evidence.views, runs.of_view, strict=True):
        found = run_of_person[certain[run_of_person]]
        ones = np.ones(len(found))
        at = np.full(len(found), view.number, np.int32)
        parts.append(Findings(runs.person[found], ones, value[found], ones.astype(np.bool_), mask[found], at=at))
    return joined(parts)


def _possible(view: View, persons: IntArray, word: int) -> WordArray:
    """Return which of 64 values each person can have in a release, as bits."""
    owners = view.values.owners()
    here = (view.codes // WORD) == word
    bits = np.zeros(view.n_groups, np.uint64)
    np.bitwise_or.at(bits, owners[here], np.uint64(1) << (view.codes[here] % WORD).astype(np.uint64))
    bits[view.veiled] = ~np.uint64(0)
    out = np.zeros(len(persons), np.uint64)
    ends = np.cumsum(view.candidates.lengths[persons])
    start = 0
    while start < len(persons):
        before = ends[start - 1] if start else 0
        end = max(int(np.searchsorted(ends, before + AT_ONCE, side="right")), start + 1)
        taken = view.candidates.take(persons[start:end])
        out[start:end] = taken.reduce(np.bitwise_or, bits[taken.items])
        start = end
    return out
