"""The strongest finding about each person: how findings of different attacks are compared, dated and counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from reveil.adversary.attacks.base import BITS, Findings

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.adversary.view import View
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.json_values import JSON

FloatArray = npt.NDArray[np.float64]

TOLERANCE = 1e-9
LIMITS = (0.5, 0.2)


@dataclass(frozen=True)
class Strongest:
    """The best finding of each of some persons, with what is needed to compare it with others."""

    person: CodeArray
    belief: FloatArray
    proven: FloatArray
    value: CodeArray
    exact: BoolArray
    mask: IntArray
    at: CodeArray
    attack: CodeArray
    ever: BoolArray

    def at_places(self, places: IntArray) -> Strongest:
        """Keep some of the findings."""
        return Strongest(*(getattr(self, name)[places] for name in self.__dataclass_fields__))


def every_finding(found: Findings, number: int, *, ever: bool) -> Strongest:
    """Return all findings of an attack in the form in which they are compared."""
    at = np.full(len(found.person), -1, np.int32) if found.at is None else found.at
    return Strongest(
        found.person,
        found.belief,
        found.proven,
        found.value,
        found.exact,
        found.release_mask,
        at,
        np.full(len(found.person), number, np.int32),
        np.full(len(found.person), ever),
    )


def strongest(whole: Strongest, bound: float | None, persons: int) -> Strongest:
    """Keep one finding of each person: a proven breach before all, then belief, then exactness, then few releases."""
    limit = np.inf if bound is None else bound + TOLERANCE
    breach = whole.proven > limit
    top, proven = np.zeros(persons), np.zeros(persons)
    np.maximum.at(top, whole.person, whole.belief)
    np.maximum.at(proven, whole.person, whole.proven)
    # Sorting is dear: only what can win is sorted.
    able = np.flatnonzero(breach | (whole.belief >= top[whole.person] - TOLERANCE))
    whole = whole.at_places(able)
    few = np.bitwise_count(whole.mask.astype(np.uint64))
    rounded = np.round(whole.belief, 9)
    keys = (whole.attack, few, ~whole.exact, -whole.proven, -rounded, ~breach[able], whole.person)
    order = np.lexsort(keys)
    first = order[np.flatnonzero(np.diff(whole.person[order], prepend=-1))]
    best = whole.at_places(first)
    # A weaker finding may be proven where the strongest is an estimate: both are told.
    return replace(best, proven=proven[best.person])


def concatenated(parts: list[Strongest]) -> Strongest:
    """Put findings of several attacks behind each other."""
    nobody = every_finding(Findings.nothing(), 0, ever=False)
    names = Strongest.__dataclass_fields__
    return Strongest(*(np.concatenate([getattr(part, name) for part in (nobody, *parts)]) for name in names))


def dated(evidence: Evidence, best: Strongest) -> Strongest:
    """Say of which release the value is: the first of those needed that has the person."""
    at = best.at.copy()
    for view in evidence.views:
        there = np.zeros(len(evidence.persons), np.bool_)
        there[view.present] = True
        needed = has_bit(evidence, best.mask, view.number)
        at[(at < 0) & needed & there[best.person]] = view.number
    return replace(best, at=at)


def has_bit(evidence: Evidence, mask: IntArray, number: int) -> BoolArray:
    """Return which masks name a release."""
    bit = number - max(len(evidence.views) - BITS, 0)
    has: BoolArray = ((mask >> max(bit, 0)) & 1).astype(np.bool_) & (bit >= 0)
    return has


def _truth(view: View, persons: int) -> CodeArray:
    truth = np.full(persons, -1, np.int32)
    if view.truth is not None:
        truth[view.present] = view.truth
    return truth


def rightness(evidence: Evidence, best: Strongest) -> npt.NDArray[np.int8]:
    """Return whether each finding is right: 1 or 0, -1 where nobody knows."""
    right = np.full(len(best.person), -1, np.int8)
    for view in evidence.views:
        true_value = _truth(view, len(evidence.persons))[best.person]
        asked = (true_value >= 0) & (best.value >= 0) & ((best.at == view.number) | best.ever)
        right[asked] = np.maximum(right[asked], true_value[asked] == best.value[asked])
    return right


def counts(best: Strongest, right: npt.NDArray[np.int8], bound: float | None) -> dict[str, JSON]:
    """Count the persons of whom something is certain, or proven beyond a limit."""
    certain = best.exact & (best.belief >= 1 - TOLERANCE)
    above = {str(limit): int((best.proven > limit + TOLERANCE).sum()) for limit in LIMITS}
    return {
        "certain": int(certain.sum()),
        "certain_and_right": int((certain & (right == 1)).sum()) if (right >= 0).any() else None,
        "above": {**above, "bound": None if bound is None else int((best.proven > bound + TOLERANCE).sum())},
        "highest": float(best.belief.max(initial=0.0)),
        "highest_proven": float(best.proven.max(initial=0.0)),
    }


def framed(evidence: Evidence, best: Strongest, right: npt.NDArray[np.int8], names: list[str]) -> pl.DataFrame:
    """Return findings as a table for people, with names of persons, values and attacks."""
    masks, place = np.unique(best.mask, return_inverse=True)
    listed = [
        [view.number + 1 for view in evidence.views if has_bit(evidence, masks[i : i + 1], view.number)[0]]
        for i in range(len(masks))
    ]
    return pl.DataFrame(
        {
            "person": evidence.persons.gather(best.person),
            "belief": best.belief,
            "value": _named(evidence, best.value),
            "attack": pl.Series(names, dtype=pl.String).gather(best.attack),
            "releases": pl.Series(listed, dtype=pl.List(pl.Int64)).gather(place),
            "exact": best.exact,
            "right": pl.Series(right, dtype=pl.Int8).replace_strict(
                {1: True, 0: False, -1: None}, return_dtype=pl.Boolean
            ),
            "proven": best.proven,
        }
    )


def _named(evidence: Evidence, value: CodeArray) -> pl.Series:
    """Return values as texts; null where the belief is about whichever value it is."""
    if not len(evidence.values):
        return pl.Series([None] * len(value), dtype=pl.String)
    texts = evidence.values.gather(np.maximum(value, 0))
    return pl.select(pl.when(pl.Series(value >= 0)).then(texts)).to_series()


def facts_of(evidence: Evidence, certain: Strongest, names: list[str]) -> pl.DataFrame:
    """Return what can be read off: one line for each person and release, by the attack that needs fewest releases."""
    few = np.bitwise_count(certain.mask.astype(np.uint64))
    order = np.lexsort((certain.attack, few, certain.at, certain.person))
    key = certain.person[order].astype(np.int64) * (len(evidence.views) + 1) + certain.at[order]
    first = order[np.flatnonzero(np.diff(key, prepend=-2))]
    kept = certain.at_places(first)
    frame = framed(evidence, kept, rightness(evidence, kept), names)
    frame = frame.insert_column(1, pl.Series("release", kept.at + 1, dtype=pl.Int64))
    return frame.drop("proven", "belief", "exact")
