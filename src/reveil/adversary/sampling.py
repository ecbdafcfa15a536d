"""Some of the people: everybody is counted, and so many persons are attacked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from reveil.adversary.evidence import Evidence


def some_of(evidence: Evidence, sample: int | None, seed: int) -> Evidence:
    """Return the same with so many persons to attack, drawn by ``seed``; everybody where they are no more than that."""
    if sample is None or sample >= len(evidence.persons):
        return evidence
    drawn = np.random.default_rng([seed, *b"sample"]).permutation(len(evidence.persons)) < sample
    return replace(evidence, sample=drawn)
