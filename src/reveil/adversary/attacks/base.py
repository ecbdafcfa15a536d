"""What an attack is, and what it may claim.

An attack reads :class:`~reveil.adversary.evidence.Evidence` and says of some persons how strongly a value may be
believed of them. What it calls exact is the share of all the worlds that agree with the releases it names, taken as
equally likely; an estimate may come with a lower limit, and without one it proves nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

    from reveil.adversary.evidence import Evidence
    from reveil.core.arrays import BoolArray, CodeArray, IntArray
    from reveil.core.json_values import JSON

FloatArray = npt.NDArray[np.float64]

BITS = 63  # releases that a mask can name
ONE = "there is one release, and nothing to compare it with"


@dataclass(frozen=True)
class Findings:
    """What an attack says about persons; a person may occur several times, with different values or releases.

    ``person`` and ``value`` are places in the evidence's persons and values, ``belief`` is how strongly the value may
    be believed, ``exact`` whether that is the exact share of worlds. Bit t of ``release_mask`` is set where release t
    was needed (of more than 63 releases, the last 63 are numbered). ``lower``: a lower limit of the belief that holds
    for all findings of the attack together with 99 %; NaN where there is none. ``at`` is the release in which the
    person has the value; None or -1: the first of those needed that has the person. ``guesses``: what an attack says
    about every person beside that, for the owner.
    """

    person: CodeArray
    belief: FloatArray
    value: CodeArray
    exact: BoolArray
    release_mask: IntArray
    summary: dict[str, Any] = field(default_factory=dict)
    lower: FloatArray | None = None
    at: CodeArray | None = None
    guesses: pl.DataFrame | None = None

    @classmethod
    def nothing(cls, summary: dict[str, JSON] | None = None) -> Findings:
        """Say nothing about anybody."""
        codes, flags = np.zeros(0, np.int32), np.zeros(0, np.bool_)
        return cls(codes, np.zeros(0), codes, flags, np.zeros(0, np.int64), summary or {})

    @classmethod
    def not_made(cls, why: str) -> Findings:
        """Say that the attack was not made, and why: nothing that it could have found is excluded."""
        return cls.nothing({"ran": False, "why": why})

    def without(self, values: CodeArray) -> Findings:
        """Return the findings that are not about some values."""
        return self.keep(~np.isin(self.value, values)) if len(values) else self

    def keep(self, kept: BoolArray) -> Findings:
        """Return some of the findings."""
        return Findings(
            self.person[kept],
            self.belief[kept],
            self.value[kept],
            self.exact[kept],
            self.release_mask[kept],
            self.summary,
            None if self.lower is None else self.lower[kept],
            None if self.at is None else self.at[kept],
            self.guesses,
        )

    @property
    def proven(self) -> FloatArray:
        """What is certain not to be less: an exact belief, a lower limit, or nothing."""
        limits = np.full(len(self.belief), np.nan) if self.lower is None else self.lower
        proven: FloatArray = np.where(self.exact, self.belief, np.nan_to_num(limits))
        return proven


class Attack(ABC):
    """One way to read more out of releases than they should tell.

    ``about`` says what is believed: a person's ``value`` in a release, whether they ``ever`` had it, or that it lies
    in a ``range`` of similar ones; or it is a ``guess`` by what people like them have; or their value ``given``
    something that no promise takes an adversary to know. The bound of a series is about the first, unless its guarantee
    says otherwise. ``knows``: what the adversary knows beside what the audit was told.
    """

    name: ClassVar[str]
    about: ClassVar[Literal["value", "ever", "range", "guess", "given"]] = "value"
    knows: ClassVar[str] = ""

    def about_in(self, evidence: Evidence) -> str:
        """Return what is believed, given what the releases promise."""
        return self.about

    @abstractmethod
    def run(self, evidence: Evidence, rng: np.random.Generator) -> Findings:
        """Attack. The generator is the only source of chance."""


def without_ids(evidence: Evidence, found: Findings) -> Findings:
    """Weaken what was concluded from all releases without the ids of records, where these are known.

    Whoever has them has fewer worlds. What none of the more has is in none of the fewer, so certainty stays; shares do
    not, nor limits.
    """
    if evidence.known != "ids" or len(evidence.views) < 2:
        return found
    certain: BoolArray = found.exact & (found.belief >= 1)
    return replace(found, exact=certain, lower=None)


def mask_of(evidence: Evidence, *numbers: int) -> int:
    """Return a mask with the bits of these releases."""
    first = max(len(evidence.views) - BITS, 0)
    return sum(1 << (number - first) for number in set(numbers) if number >= first)


def joined(parts: list[Findings], summary: dict[str, Any] | None = None) -> Findings:
    """Put findings together."""
    parts = [part for part in parts if len(part.person)]
    if not parts:
        return Findings.nothing(summary)
    lower = at = None
    if any(part.lower is not None for part in parts):
        lower = np.concatenate([np.full(len(p.person), np.nan) if p.lower is None else p.lower for p in parts])
    if any(part.at is not None for part in parts):
        at = np.concatenate([np.full(len(p.person), -1, np.int32) if p.at is None else p.at for p in parts])
    return Findings(
        np.concatenate([part.person for part in parts]),
        np.concatenate([part.belief for part in parts]),
        np.concatenate([part.value for part in parts]),
        np.concatenate([part.exact for part in parts]),
        np.concatenate([part.release_mask for part in parts]),
        summary or {},
        lower,
        at,
    )


def strongest_of(found: Findings) -> Findings:
    """Keep of each person and release what is proven most, and what is believed most."""
    at = np.full(len(found.person), -1, np.int32) if found.at is None else found.at
    kept = np.zeros(len(found.person), np.bool_)
    for first, then in ((found.proven, found.belief), (found.belief, found.proven)):
        order = np.lexsort((-then, -first, at, found.person))
        new = (np.diff(found.person[order], prepend=-1) != 0) | (np.diff(at[order], prepend=-2) != 0)
        kept[order[new]] = True
    return found.keep(kept)
