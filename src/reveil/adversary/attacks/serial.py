"""Serial breach: many small chances over many releases make a large one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from reveil.adversary.attacks.base import BITS, Attack, Findings, joined, mask_of
from reveil.adversary.beliefs import group_beliefs

if TYPE_CHECKING:
    from reveil.adversary.attacks.base import FloatArray
    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import CodeArray, IntArray, Ragged

AT_ONCE = 100_000  # persons


class Serial(Attack):
    """Belief that a person ever had a value: one minus the product of (1 - n_s/n) over the releases.

    The adversary knows nothing about whether a value stays, so that releases are independent. The number is exact
    where the person's group is known in each release and nothing is known of changes; who knows that a value did not
    change is not to be told by this. Who may be in a group, but is not known to be in the table, has a share of it
    only: an estimate. Values that the manifests call harmless are not looked at. One that they call permanent is told
    once by the same group of persons, however often they are published together.
    """

    name: ClassVar[str] = "serial"
    about: ClassVar[Literal["value", "ever", "range"]] = "ever"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return, for each person, the value with the largest chance ever to have been theirs."""
        size, domain = len(evidence.persons), max(len(evidence.values), 1)
        independent = evidence.known in ("nothing", "presence", "values")
        exact, mask = np.full(size, independent), np.zeros(size, np.int64)
        marks = rng.integers(1, 2**62, size)
        told = []
        for view in evidence.views:
            group, there = np.full(size, -1, np.int32), np.ones(size)
            known = view.only >= 0
            only_group = view.only[known]
            group[view.present[known]] = only_group
            if not view.all_published:
                there[view.present[known]] = np.minimum(
                    view.real[only_group] / np.maximum(view.fits[only_group], 1), 1.0
                )
            # A group whose members are not known gives no exact number, one that is unknown gives none at all.
            known_members = np.append(view.known_members & ~view.veiled, False)
            exact[view.present] &= known_members[view.only]
            mask[view.present[known]] |= mask_of(evidence, view.number)
            # Who is in a group, as a number: the same persons have the same.
            band = np.zeros(view.n_groups, np.int64)
            np.add.at(band, only_group, marks[view.present[known]])
            told.append(_ReleaseBeliefs(view.values, group_beliefs(view).each, group, there, band))
        parts = []
        harmless, permanent = evidence.declared("harmless"), evidence.declared("permanent")
        for start in range(0, size, AT_ONCE):
            persons = np.arange(start, min(start + AT_ONCE, size))
            keys, sums = _survival(told, persons, domain, harmless, permanent)
            if not len(keys):
                continue
            owner = keys // domain
            # The least survival of each person comes first.
            order = np.lexsort((keys, sums, owner))
            first = order[np.flatnonzero(np.diff(owner[order], prepend=-1))]
            who = owner[first].astype(np.int32)
            belief = -np.expm1(sums[first])
            certain = ~np.isfinite(sums[first])
            codes = (keys[first] % domain).astype(np.int32)
            parts.append(Findings(who, belief, codes, exact[who] | certain, mask[who]))
        return joined(parts, {"releases": min(len(evidence.views), BITS)})


@dataclass(frozen=True)
class _ReleaseBeliefs:
    """What one release tells: the shares of values in groups, everybody's group, and how surely they are in it."""

    values: Ragged[np.int32]
    beliefs: FloatArray
    group: CodeArray
    there: FloatArray
    band: IntArray


def _survival(
    told: list[_ReleaseBeliefs], persons: IntArray, domain: int, harmless: CodeArray, permanent: CodeArray
) -> tuple[IntArray, FloatArray]:
    """Return the pairs of person and value that were ever linked, and the logarithm of the chance they never were."""
    keys, terms, bands = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0, np.int64)]
    for beliefs in told:
        known = persons[beliefs.group[persons] >= 0]
        row, place = beliefs.values.places(beliefs.group[known])
        kept = ~np.isin(beliefs.values.items[place], harmless)
        row, place = row[kept], place[kept]
        keys.append(known[row].astype(np.int64) * domain + beliefs.values.items[place])
        with np.errstate(divide="ignore"):
            terms.append(np.log1p(-beliefs.beliefs[place] * beliefs.there[known[row]]))
        bands.append(beliefs.band[beliefs.group[known[row]]])
    key, term, band = np.concatenate(keys), np.concatenate(terms), np.concatenate(bands)
    if len(permanent):
        permanently = np.isin(key % domain, permanent)
        order = np.lexsort((term, band, key))
        again = np.zeros(len(key), np.bool_)
        same = (np.diff(key[order]) == 0) & (np.diff(band[order]) == 0)
        again[order[1:]] = same
        key, term = key[~(permanently & again)], term[~(permanently & again)]
    pairs, inverse = np.unique(key, return_inverse=True)
    sums = np.zeros(len(pairs))
    np.add.at(sums, inverse, term)
    return pairs, sums
