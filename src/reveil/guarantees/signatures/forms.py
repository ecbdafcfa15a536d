"""What a release with signatures looks like: one table of boxes, or two tables, with boxes of their own or none."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from reveil.core.arrays import offsets_of
from reveil.core.errors import ConfigError
from reveil.models.k_anonymity import KAnonymity
from reveil.models.statistics import Partition

if TYPE_CHECKING:
    from reveil.core.randomness import Dice
    from reveil.guarantees.signatures.machine import Groups
    from reveil.models.encoding import Codes

SHOWN = (
    "Who is in the table is shown: quasi values are published as they are. Rows about nobody repeat those of somebody "
    "in their group and can be told from others; which values of a group are nobody's cannot."
)


class ReleaseForm(StrEnum):
    """What ``form`` may say under [guarantee]."""

    BOXES = "boxes"
    ANGELIZED = "angelized"
    EXACT = "exact"


def form_of(form: str | None, *, angelize: bool | None) -> tuple[ReleaseForm, bool]:
    """Return the form asked for, and whether that is the angelized one, which has two names."""
    known = [str(form) for form in ReleaseForm]
    if form is not None and form not in known:
        raise ConfigError(f"there is no form {form!r}", hint=f"form is one of {', '.join(known)}.")
    found = ReleaseForm(form) if form is not None else ReleaseForm.ANGELIZED if angelize else ReleaseForm.BOXES
    angelized = found is ReleaseForm.ANGELIZED
    if angelize is not None and angelize != angelized and (form is not None):
        raise ConfigError(
            f'angelize = {str(angelize).lower()} and form = "{found}" contradict each other',
            hint="Take angelize out: form says it all.",
        )
    return found, angelized


def partition_of(form: ReleaseForm, codes: Codes, groups: Groups, m: int, rng: Dice) -> Partition:
    """Return which published records have a box together."""
    if form is ReleaseForm.BOXES:
        return as_formed(codes, groups)
    real = np.sort(groups.record[groups.record >= 0])
    if form is ReleaseForm.EXACT:
        return Partition(real, np.arange(len(real) + 1, dtype=np.int64), codes.n)
    return tight_partition(codes, real, m, rng)


def as_formed(codes: Codes, groups: Groups) -> Partition:
    """Partition the published records into the groups with signatures."""
    real = groups.record >= 0
    sizes = np.bincount(groups.group[real], minlength=groups.size)
    return Partition(groups.record[real], offsets_of(sizes), codes.n)  # rows come group by group


def tight_partition(codes: Codes, real: np.ndarray[tuple[int], np.dtype[np.int32]], m: int, rng: Dice) -> Partition:
    """Partition the published records by quasi values alone, into classes of at least m where there are so many."""
    from reveil.grouping.groupers.mondrian import Mondrian

    if len(real) < 2 * m:
        return Partition(real, np.array([0, len(real)], np.int64), codes.n)
    quasi_codes = replace(codes, sensitive=()).take(real)
    inner = Mondrian().group(quasi_codes, KAnonymity(m), rng)
    return Partition(real[inner.order], inner.offsets, codes.n)
