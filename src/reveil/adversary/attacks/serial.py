"""Serial breach: many small chances over many releases make a large one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from reveil.adversary.attacks.base import BITS, Attack, Findings, joined, mask_of
from reveil.adversary.cells import spread
from reveil.adversary.shares import shares_of

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence
    from reveil.statistics import CodeArray, IntArray

AT_ONCE = 100_000  # persons


class Serial(Attack):
    """Belief that a person ever had a value: one minus the product of (1 - n_s/n) over the releases.

    The adversary knows nothing about whether a value stays, so that releases are independent. The number is exact
    where the person's group is known in each release and nothing is known of changes; who knows that a value did not
    change is not to be told by this.
    """

    name: ClassVar[str] = "serial"
    about: ClassVar[Literal["value", "ever", "range"]] = "ever"

    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Return, for each person, the value with the largest chance ever to have been theirs."""
        size, domain = len(evidence.persons), max(len(evidence.values), 1)
        independent = evidence.known in ("nothing", "presence")
        exact, mask = np.full(size, independent), np.zeros(size, np.int64)
        groups: list[CodeArray] = []
        logs = []
        for view in evidence.views:
            group = np.full(size, -1, np.int32)
            known = view.sure >= 0
            group[view.present[known]] = view.sure[known]
            groups.append(group)
            # A group that is not settled gives no exact number, one that is unknown gives none at all.
            settled = np.append(view.settled, False)
            exact[view.present] &= settled[view.sure]
            mask[view.present[known]] |= mask_of(evidence, view.number)
            with np.errstate(divide="ignore"):
                logs.append(np.log1p(-shares_of(view).each))
        parts = []
        for start in range(0, size, AT_ONCE):
            persons = np.arange(start, min(start + AT_ONCE, size))
            keys, sums = _survival(evidence, groups, logs, persons, domain)
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


def _survival(
    evidence: Evidence, groups: list[CodeArray], logs: list[np.ndarray], persons: IntArray, domain: int
) -> tuple[IntArray, np.ndarray]:
    """Return the pairs of person and value that were ever linked, and the logarithm of the chance they never were."""
    keys, terms = [np.zeros(0, np.int64)], [np.zeros(0)]
    for view, group, log in zip(evidence.views, groups, logs, strict=True):
        known = persons[group[persons] >= 0]
        row, place = spread(view.indptr, group[known])
        keys.append(known[row].astype(np.int64) * domain + view.codes[place])
        terms.append(log[place])
    pairs, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    sums = np.zeros(len(pairs))
    np.add.at(sums, inverse, np.concatenate(terms))
    return pairs, sums
