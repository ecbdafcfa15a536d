"""The groups of a release as a reader finds them: their numbers, their rows, and how many of these are counterfeit.

Which rows are counterfeit is nobody's to know; how many there are in a group, the manifest tells.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from reveil.core.arrays import CodeArray, IntArray
    from reveil.releases.manifest_parts import Counterfeits
    from reveil.releases.release import Release

_DENSE = 4  # numbers up to so many times the rows are looked up in a table instead of being sorted
_DIGITS = 10  # of the largest group number there can be


@dataclass(frozen=True)
class ReleaseGroups:
    """Group i has the published number ``numbers[i]``, ``rows[i]`` rows and ``fakes[i]`` counterfeits among them.

    ``index`` is the group of each row. A release without a column ``group`` has its classes for groups.
    """

    numbers: IntArray
    index: CodeArray = field(repr=False)
    rows: IntArray
    fakes: IntArray

    @property
    def real(self) -> IntArray:
        """Rows per group that are records."""
        real: IntArray = self.rows - self.fakes
        return real


def groups_of(release: Release) -> ReleaseGroups:
    """Find the groups of a release, and the counterfeits that its manifest places in them.

    Numbers that no row has, and more counterfeits than a group has rows, are left out here: they are for verification
    to complain about.
    """
    published = release.classes if release.groups is None else release.groups
    numbers, index = renumbered(published)
    rows = np.bincount(index, minlength=len(numbers)).astype(np.int64)
    fakes = np.zeros(len(numbers), np.int64)
    if release.groups is not None and len(numbers):
        told = placed(release.manifest.counterfeits)
        group = np.array(list(told), np.int64)
        place = np.minimum(np.searchsorted(numbers, group), len(numbers) - 1)
        known = numbers[place] == group
        fakes[place[known]] = np.array(list(told.values()), np.int64)[known]
    return ReleaseGroups(numbers, index, rows, np.minimum(fakes, rows))


def placed(counterfeits: Counterfeits) -> dict[int, int]:
    """Return the counterfeits per group number that a manifest tells, as far as they can be read."""
    return {
        int(number): many
        for number, many in counterfeits.per_group.items()
        if number.isdecimal() and len(number) <= _DIGITS and str(int(number)) == number and 0 < many < 2**31
    }


def renumbered(published: npt.NDArray[np.integer]) -> tuple[IntArray, CodeArray]:
    """Return the distinct numbers, ascending, and the place of each given one among them."""
    most = int(published.max(initial=-1)) + 1
    if most > _DENSE * len(published) + 1024:
        numbers, index = np.unique(published, return_inverse=True)
        return numbers.astype(np.int64), index.astype(np.int32)
    seen = np.zeros(most, np.bool_)
    seen[published] = True
    place = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    return np.flatnonzero(seen), place[published]
