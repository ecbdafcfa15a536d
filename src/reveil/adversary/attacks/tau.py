"""The tau-attack: what people can have, chained along their lives and through the groups they share with others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from reveil.adversary.appearances import Appearances, appearances_of
from reveil.adversary.attacks.base import BITS, Attack, Findings, without_ids
from reveil.adversary.chains import Possible, agreeing, narrowed
from reveil.adversary.counting import HOW, CountedBeliefs, believed
from reveil.adversary.separate_signatures import known_signatures

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray, IntArray
    from reveil.core.json_values import JSON


class Tau(Attack):
    """Sets of possible values, chained along the event list to a fix-point, then shares of worlds.

    A person's values in a release are those of the groups that may hold them. Whoever is known not to have changed
    has the same value before and after, whoever is known to have changed has another; and inside a group a value stays
    possible for a person only while all the others can still have their rows, counterfeits being rows that may stay
    without a person. Both is repeated until nothing changes. A set with one value is certain.

    The worlds are those that obey the rule which the manifests declare: with tau-safety, and with m-invariance while
    nobody returns or changes, a person's signatures are equal or share nothing. Where all groups have each value
    equally often, that alone gives the beliefs (:mod:`reveil.adversary.separate_signatures`). Where the releases
    contradict their own rule it is dropped, and the summary says so. A world is who is in which group with which value.
    :mod:`reveil.adversary.counting` says how beliefs are found, and which of them are exact.
    Source: thesis 000, chapter 4.
    """

    name: ClassVar[str] = "tau"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Chain, match, and count."""
        laid = appearances_of(evidence, candidates=False)
        if laid.rule == "apart" and laid.balanced.all() and (laid.distinct > 1).all():
            kept = kept_apart(evidence, laid)
            if kept is not None:
                return without_ids(evidence, kept)
            appearances, rule = replace(appearances_of(evidence), rule="none"), "broken"
            alive = np.ones(len(appearances.candidates.items), np.bool_)
        else:
            appearances = appearances_of(evidence)
            rule = appearances.rule
            alive, broken = agreeing(appearances)
            if broken.any():
                appearances, rule = replace(appearances, rule="none"), "broken"
                alive = np.ones(len(appearances.candidates.items), np.bool_)
        possible = narrowed(appearances, alive)
        found = believed(appearances, possible, rng, asked=evidence.sample, states=evidence.states)
        return without_ids(evidence, findings(evidence, appearances, possible, found, {"rule": rule}))


def kept_apart(evidence: Evidence, appearances: Appearances) -> Findings | None:
    """Return what renaming proves, None if the releases contradict their rule."""
    signatures = known_signatures(evidence, appearances)
    if signatures.broken.any():
        return None
    told = np.flatnonzero(signatures.many > 0)
    agreed = signatures.agreed[told]
    belief = 1 / signatures.least[told]
    value = np.where(agreed, appearances.values.items[appearances.values.offsets[signatures.group[told]]], -1).astype(
        np.int32
    )
    summary: dict[str, JSON] = {
        "rule": appearances.rule,
        "certain": int((agreed & (belief >= 1)).sum()),
        "found": {how: int(many) for how, many in (("symmetry", agreed.sum()), ("at most", (~agreed).sum())) if many},
        "contradictory": 0,
        "rounds": 0,
    }
    lower = np.where(agreed, belief, np.nan)
    release = appearances.release[told]
    return Findings(appearances.person[told], belief, value, agreed, _bits(evidence, release), summary, lower, release)


def findings(
    evidence: Evidence, appearances: Appearances, possible: Possible, found: CountedBeliefs, summary: dict[str, JSON]
) -> Findings:
    """Return what was found about each person in each release, and how it was found."""
    told = np.flatnonzero((found.how > 0) & ~found.impossible)
    bits = _bits(evidence, appearances.release)
    lives = np.zeros(len(evidence.persons), np.int64)
    # A release with suppressed values is not chained, and nothing rests on it.
    chained = np.bincount(appearances.release, appearances.candidates.lengths, len(evidence.views)) > 0
    np.bitwise_or.at(lives, appearances.person, np.where(chained[appearances.release], bits, 0))
    methods = np.bincount(found.how[told], minlength=len(HOW))
    certain = told[found.exact[told] & (found.belief[told] >= 1)]
    summary = {
        **summary,
        "certain": len(np.unique(appearances.person[certain])),
        "found": {HOW[i]: int(methods[i]) for i in range(1, len(HOW)) if methods[i]},
        "contradictory": int(found.impossible.sum()),
        "rounds": possible.rounds,
    }
    return Findings(
        appearances.person[told],
        found.belief[told],
        found.value[told],
        found.exact[told],
        np.where(_told_by_one_release(possible, found), bits, lives[appearances.person])[told],
        summary,
        found.lower[told],
        appearances.release[told],
    )


def _told_by_one_release(possible: Possible, found: CountedBeliefs) -> BoolArray:
    """Return the appearances of which one release tells by itself what was found; else the whole life tells it."""
    alone: BoolArray = (possible.masks == possible.first).all(axis=1)
    return alone & ~np.isin(found.how, [HOW.index("counted"), HOW.index("drawn")])


def _bits(evidence: Evidence, release: np.typing.NDArray[np.int32]) -> IntArray:
    """Return a mask with the bit of each release."""
    shift = release.astype(np.int64) - max(len(evidence.views) - BITS, 0)
    bits: IntArray = np.where(shift >= 0, np.int64(1) << np.maximum(shift, 0), 0)
    return bits
